//! The device properties (crates/sim/tests/it/device/watch.rs, the same file) on the C disk.

use kernel_model::disk::CDisk;
use proptest::prelude::*;
use sim::device::device;
use sim::{DEVICES, DeviceModel, stream};

// Only that crate's mutants use `PROPERTIES`.
#[allow(dead_code)]
#[path = "../../../../sim/tests/it/device/watch.rs"]
mod watch;

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_row_of_the_kernels_disk_keeps_every_property(row in 0..DEVICES.len(), variant in 0..3_usize, seed: u64) {
        let row = &DEVICES[row];
        if row.toml.contains("model = \"flash\"") {
            return Ok(());
        }
        let changes = match (variant, row.name) {
            (0, _) => "",
            (1, "null") => ":service_ns=500000:servers=3:queue_depth=8:distribution=exponential",
            (_, "null") => ":service_ns=500000:queue_depth=4",
            (1, _) => ":queue_depth=16:write_cache=512:immediate_reporting=1",
            _ => ":queue_depth=8:order=arrival:segments=2:segment_sectors=64:read_ahead=64:write_cache=64",
        };
        let specification = format!("{}{changes}", row.name);
        let ours = device(&specification, seed).unwrap();
        let make = || -> Box<dyn DeviceModel> {
            Box::new(CDisk::from_device(ours.as_ref()).unwrap())
        };
        let draws = || -> Box<dyn FnMut(u64) -> u64> {
            let mut numbers = stream(seed, "commands");
            Box::new(move |bound| numbers.below(bound))
        };
        if let Err(broken) = watch::watch_twice(make, 120, draws) {
            prop_assert!(false, "{} breaks {}: {}", specification, broken.property, broken.why);
        }
    }
}
