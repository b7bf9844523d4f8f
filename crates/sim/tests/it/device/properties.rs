//! Properties of every row of the device table, for any sequence of commands.

use elevator::{Op, Time};
use proptest::prelude::*;
use sim::device::{Command, device, device_from_toml};
use sim::{DEVICES, DeviceModel, stream};

use super::watch::watch_twice;

/// A smaller flash, because preconditioning would dominate the time.
fn specification(row: usize, variant: usize) -> String {
    let row = &DEVICES[row];
    let flash = row.toml.contains("model = \"flash\"");
    let hdd = row.toml.contains("model = \"hdd\"");
    let changes = match variant {
        _ if flash => [
            "capacity_mib=64",
            "capacity_mib=64:early_completion=0",
            "capacity_mib=64:precondition=steady:buffer_kib=256:queues=3:queue_depth=6:command_slots=7\
             :read_priority=3:program_suspends=2:erase_suspends=3:program_suspend_ns=100000:erase_suspend_ns=700000:resume_ns=1000",
        ][variant],
        1 if hdd => "queue_depth=16:write_cache=512:immediate_reporting=1",
        2 if hdd => {
            "queue_depth=8:order=arrival:segments=2:segment_sectors=64:read_ahead=64:write_cache=64:immediate_reporting=0"
        }
        1 => "service_ns=500000:servers=3:queue_depth=8:distribution=exponential",
        2 => "service_ns=500000:queue_depth=4",
        _ => return row.name.to_owned(),
    };
    format!("{}:{changes}", row.name)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_row_keeps_every_property(row in 0..DEVICES.len(), variant in 0..3_usize, seed in any::<u64>()) {
        let specification = specification(row, variant);
        let make = || -> Box<dyn DeviceModel> { device(&specification, seed).unwrap() };
        let draws = || -> Box<dyn FnMut(u64) -> u64> {
            let mut numbers = stream(seed, "commands");
            Box::new(move |bound| numbers.below(bound))
        };
        if let Err(broken) = watch_twice(make, 120, draws) {
            prop_assert!(false, "{} breaks {}: {}", specification, broken.property, broken.why);
        }
    }

    #[test]
    fn a_device_by_measured_latencies_keeps_every_property(flush_ns in 0..2_u64, depth in 1..20_u32, seed in any::<u64>()) {
        let (flush_ns, depth) = (flush_ns.to_string(), depth.to_string());
        let changes = [("flush_ns", flush_ns.as_str()), ("queue_depth", depth.as_str())];
        let text = include_str!("../../data/measured.toml");
        let make = || -> Box<dyn DeviceModel> { device_from_toml(text, &changes, seed).unwrap() };
        let draws = || -> Box<dyn FnMut(u64) -> u64> {
            let mut numbers = stream(seed, "commands");
            Box::new(move |bound| numbers.below(bound))
        };
        if let Err(broken) = watch_twice(make, 120, draws) {
            prop_assert!(false, "a measured device breaks {}: {}", broken.property, broken.why);
        }
    }

    #[test]
    fn no_text_panics_the_reader(text in "\\PC{0,200}") {
        let _ = device_from_toml(&text, &[], 1);
        let _ = device(&text, 1);
    }

    /// Presets with modified values, most of them invalid.
    #[test]
    fn no_values_panic_the_reader(
        row in 0..DEVICES.len(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..4),
    ) {
        const VALUES: &[&str] = &[
            "0", "1", "2", "7", "72", "1000", "65535", "1000000", "4294967296", "9223372036854775807", "-1",
            "99999999999999999999999", "1.5", "true", "\"nearest\"", "\"x\"", "[]", "[[1, 2, 3, 4]]", "[[1962, 72, 8]]",
            "[1, 2]", "{ a = 1 }", "1979-05-27", "0x10", "[[1962, 0, 0, 0]]", "[[\"a\"], 1]", "nan", "",
        ];
        // Small shapes only: valid ones may also be large.
        let mut lines: Vec<String> = DEVICES[row].toml.lines().map(str::to_owned).collect();
        if DEVICES[row].toml.contains("\"flash\"") {
            lines.iter_mut().filter(|line| line.starts_with("capacity_mib")).for_each(|line| *line = "capacity_mib = 16".into());
        }
        for (line, value) in cuts {
            let line = line.get_mut(&mut lines);
            if let Some((key, _)) = line.split_once(" =").filter(|(key, _)| *key != "capacity_mib") {
                *line = format!("{key} = {}", value.get(VALUES));
            }
        }
        let text = lines.join("\n");
        if let Ok(mut made) = device_from_toml(&text, &[], 1) {
            let mut done = Vec::new();
            made.submit(Time::ZERO, Command::Transfer { tag: 0, op: Op::Write, sector: made.sectors() - 1, nr_sectors: 1 });
            while let Some(at) = made.next_event() {
                made.advance(at, &mut done);
            }
            prop_assert_eq!(done, vec![0]);
        }
    }
}
