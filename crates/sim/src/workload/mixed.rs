//! `mixed`: sequential writers and one random reader, the case in which schedulers differ most [P].
//!
//! Without a scheduler the reader queues behind megabytes of writes. The reader is synchronous;
//! each writer keeps iodepth large writes in flight. The default 4 × 64 writes of 128 KiB exceed a
//! queue of 128, so requests wait in the scheduler rather than in the device. The primary metric is
//! the reader's.

use elevator::Op;

use crate::workload::client::Client;
use crate::workload::paced::Paced;
use crate::workload::random::Scatter;
use crate::workload::row::{Params, Seat};
use crate::workload::sequential::Stream;

pub(crate) fn clients(params: &Params) -> u32 {
    params.writers.saturating_add(1)
}

pub(crate) fn is_reader(params: &Params, index: u32) -> bool {
    index == params.writers
}

pub(crate) fn iodepth(params: &Params, index: u32) -> u32 {
    if is_reader(params, index) { 1 } else { params.iodepth }
}

pub(crate) fn build(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    if is_reader(params, seat.index) {
        Box::new(Paced::new(Scatter::new(seat.rng(), params.block_size, seat.len, 100), params))
    } else {
        let stream =
            Stream::new(Op::Write, params.write_size, seat.len, seat.index, params.writers);
        Box::new(Paced::new(stream, &Params { think_time_ns: 0, ..params.clone() }))
    }
}
