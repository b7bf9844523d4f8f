//! The schedulers that schedlab runs itself, one row each.
//!
//! Names, help, properties, benchmarks and documentation are generated from the rows. To add a
//! scheduler, write its file in `algorithm/` with its row, and one line here.

use crate::algorithm;
use crate::kind::ElevatorKind;

pub static ELEVATORS: &[ElevatorKind] = &[
    // Current Linux.
    algorithm::none::ROW,
    algorithm::mq_deadline::ROW,
    algorithm::kyber::ROW,
    algorithm::bfq::ROW,
    // Linux before blk-mq.
    algorithm::linus_24::ROW,
    algorithm::noop::ROW,
    algorithm::deadline::ROW,
    algorithm::cfq::ROW,
    // The anticipatory family.
    algorithm::anticipatory::ROW,
    algorithm::antic_95::ROW,
    algorithm::wpcas::ROW,
    // The literature.
    algorithm::fcfs::ROW,
    algorithm::sstf::ROW,
    algorithm::scan::ROW,
    algorithm::c_scan::ROW,
    algorithm::look::ROW,
    algorithm::c_look::ROW,
    algorithm::fscan::ROW,
    algorithm::vscan_r::ROW,
    algorithm::sptf::ROW,
    algorithm::asptf::ROW,
    // Reservations.
    algorithm::yfq::ROW,
    algorithm::argon::ROW,
    algorithm::pclock::ROW,
    algorithm::drr::ROW,
    algorithm::mbac::ROW,
    algorithm::dvt::ROW,
    algorithm::hybrid::ROW,
    algorithm::bfq_2010::ROW,
    // Real time.
    algorithm::edf::ROW,
    algorithm::scan_edf::ROW,
    algorithm::dm_scan::ROW,
    algorithm::rg_scan::ROW,
    algorithm::gsr::ROW,
    // Current research.
    algorithm::adios::ROW,
    algorithm::k2::ROW,
    algorithm::sfq_d::ROW,
    algorithm::flashfq::ROW,
    algorithm::mqfq::ROW,
    algorithm::iocost::ROW,
    algorithm::gimbal::ROW,
    // Our own.
    algorithm::occupancy::ROW,
];

pub fn find(name: &str) -> Option<&'static ElevatorKind> {
    ELEVATORS.iter().find(|row| row.name == name)
}
