//! Fits of the simulator's disks, whose parameters are known.

use sim::device::device;
use sim::fit::{Drive, Facts, FitError, ModelDrive, Read, Timed};
use sim::{Stream, stream};

fn drive(specification: &str) -> ModelDrive {
    ModelDrive::new(specification, device(specification, 1).unwrap())
}

fn worst(specification: &str, fitted: &sim::fit::hdd::Hdd) -> f64 {
    let truth = device(specification, 1).unwrap().geometry();
    let (cylinders, ..) = fitted.shape();
    (1..cylinders.min(truth.cylinders))
        .map(|d| (fitted.curve.seek_ns(d) / truth.seek.seek_ns(d) as f64 - 1.0).abs())
        .fold(0.0, f64::max)
}

/// A drive behind a host that delays submission and completion by up to a few microseconds.
struct Late<'a> {
    of: &'a mut ModelDrive,
    random: Stream,
    most_ns: u64,
}

impl Drive for Late<'_> {
    fn facts(&self) -> &Facts {
        self.of.facts()
    }

    fn now(&self) -> u64 {
        self.of.now()
    }

    fn read(&mut self, read: Read, not_before: u64) -> Result<Timed, FitError> {
        let began = self.of.now().max(not_before);
        let ended = self.of.read(read, began + self.random.below(self.most_ns))?.ended;
        Ok(Timed { began, ended: ended + self.random.below(self.most_ns) })
    }

    fn read_many(&mut self, depth: u32, reads: &[Read]) -> Result<Vec<Timed>, FitError> {
        self.of.read_many(depth, reads)
    }
}

#[test]
fn the_hp97560_comes_back_from_reads_alone() {
    let mut drive = drive("hp97560");
    let fitted = sim::fit::hdd::measure(&mut drive, 1, &mut |_| {}).unwrap();
    assert_eq!(fitted.shape(), (1962, 19, 1));
    assert_eq!(fitted.rpm(), 4002);
    let keys = fitted.keys();
    assert!(keys.contains("zones = [[1962, 72, 8, 18"), "{keys}");
    assert!(keys.contains("read_ahead = 128") && keys.contains("segment_sectors = 256"), "{keys}");
    let worst = worst("hp97560", &fitted);
    println!(
        "seek curve of hp97560: at most {:.3} % off, after {} s of reads",
        worst * 100.0,
        drive.now() / 1_000_000_000
    );
    assert!(worst < 0.02, "{worst}");
    let error = sim::fit::held_out::error_of(&mut drive, &keys, 2).unwrap().unwrap();
    assert!(error.demerit < 0.02, "{error:?}");
}

#[test]
fn zoned_disks_are_fitted_through_a_host_that_is_late() {
    for (name, late_ns, most) in [
        ("c2200a-like", 30_000, 0.01),
        ("c2247a", 1, 0.15),
        ("cheetah9lp", 30_000, 0.05),
        ("barracuda7200", 1, 0.05),
    ] {
        let mut of = drive(name);
        let mut late = Late { of: &mut of, random: stream(5, "late"), most_ns: late_ns };
        let fitted = sim::fit::hdd::measure(&mut late, 1, &mut |_| {}).unwrap();
        let error = sim::fit::held_out::error_of(&mut late, &fitted.keys(), 2).unwrap().unwrap();
        let (cylinders, truth) = (fitted.shape().0, device(name, 1).unwrap().geometry().cylinders);
        println!("{name}: demerit {:.3}, {cylinders} of {truth} cylinders", error.demerit);
        assert!(error.demerit < most, "{name}: {error:?}");
        assert!(cylinders.abs_diff(truth) * 20 < truth, "{name}: {cylinders} of {truth} cylinders");
    }
}

#[test]
fn a_device_without_a_spindle_has_no_revolution() {
    let mut flash = drive("sata-ssd:capacity_mib=256");
    let error = sim::fit::hdd::measure(&mut flash, 1, &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("no revolution") || error.contains("does not evict"), "{error}");
}
