//! Laws over every row of the table: what any model promises, whatever it is told.

use elevator::{Op, SECTOR_BYTES, Time};
use proptest::prelude::*;

use super::random::Rng;
use super::{Command, DEVICES, DeviceError, device, device_from_toml};

/// A smaller flash, or a precondition would take most of the time.
fn specification(row: usize, variant: usize) -> String {
    let row = &DEVICES[row];
    let flash = row.toml.contains("model = \"flash\"");
    let hdd = row.toml.contains("model = \"hdd\"");
    let changes = match variant {
        _ if flash => [
            "capacity_mib=64",
            "capacity_mib=64:early_completion=0",
            "capacity_mib=64:precondition=steady:buffer_kib=256",
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

/// What happened: completions in order of time, and the statistics at the end.
type History = (Vec<(u64, u32)>, super::DeviceStats);

/// Random commands as long as there is room, at random times, events let happen at their time or, with other things between,
/// before.
fn exercise(specification: &str, seed: u64, commands: u32) -> History {
    let mut device = device(specification, seed).unwrap();
    let mut rng = Rng::new(seed ^ 0xD15C);
    let depth = device.queue_depth();
    let mut state = vec![false; commands as usize];
    let (mut now, mut inside, mut sent, mut bytes, mut transfers) = (0, 0, 0, 0, 0);
    let (mut seen, mut done, mut flushing) = (Vec::new(), Vec::new(), Vec::new());
    let mut last = 0;
    loop {
        let due = device.next_event();
        assert!(due.is_none_or(|at| at.as_ns() >= now), "{specification}: the next event is in the past");
        assert!(inside == 0 || due.is_some(), "{specification}: commands inside and nothing will happen");
        let due = due.map_or(u64::MAX, Time::as_ns);
        let room = sent < commands && inside < depth;
        let think = now + rng.below(4) / 3 * rng.below(20_000_000);
        if room && think <= due {
            now = think;
            device.advance(Time::from_ns(now), &mut done);
            assert!(due <= now || done.is_empty(), "{specification}: something happened before its time");
            // A pause ends in front of a due event, or at it: then that comes first.
            let command = if rng.below(12) == 0 {
                flushing.push(sent);
                Command::Flush { tag: sent }
            } else {
                let longest = if rng.below(10) == 0 { 600 } else { 16 };
                let nr_sectors = 1 + rng.below(longest) as u32;
                let far = rng.below(device.sectors() - u64::from(nr_sectors));
                let sector = if rng.below(2) == 0 { far } else { last };
                let sector = sector.min(device.sectors() - u64::from(nr_sectors));
                last = sector + u64::from(nr_sectors);
                let op = if rng.below(2) == 0 { Op::Read } else { Op::Write };
                (bytes, transfers) = (bytes + u64::from(nr_sectors) * SECTOR_BYTES, transfers + 1);
                Command::Transfer { tag: sent, op, sector, nr_sectors }
            };
            inside += 1;
            device.submit(Time::from_ns(now), command);
            sent += 1;
        } else if due < u64::MAX {
            now = due;
            device.advance(Time::from_ns(now), &mut done);
        } else {
            break;
        }
        for tag in done.drain(..) {
            assert!(tag < sent, "{specification}: tag {tag} was never sent");
            assert!(!std::mem::replace(&mut state[tag as usize], true), "{specification}: tag {tag} completes twice");
            inside -= 1;
            seen.push((now, tag));
        }
    }
    let stats = device.stats();
    assert_eq!(
        (inside, sent, seen.len()),
        (0, commands, commands as usize),
        "{specification}: everything is done at the end"
    );
    assert!(stats.busy_ns <= now, "{specification}: busy for {} of {now} ns", stats.busy_ns);
    assert_eq!((stats.transfers, stats.bytes), (transfers, bytes), "{specification}");
    (seen, stats)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn every_command_completes_once_and_time_runs_forward(row in 0..DEVICES.len(), variant in 0..3_usize, seed in any::<u64>()) {
        let specification = specification(row, variant);
        let first = exercise(&specification, seed, 120);
        prop_assert_eq!(&first, &exercise(&specification, seed, 120), "same seed, same history");
    }

    #[test]
    fn no_text_panics_the_reader(text in "\\PC{0,200}") {
        let _ = device_from_toml(&text, &[], 1);
        let _ = device(&text, 1);
    }

    /// Lines of presets with other values: most are wrong somewhere.
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
        // Small shapes only: what is allowed may also be large.
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

#[test]
fn every_row_can_be_made_and_says_where_it_is_from() {
    for row in DEVICES {
        device(row.name, 1).unwrap_or_else(|error| panic!("{}: {error}", row.name));
        assert!(!row.help.is_empty() && !row.source.is_empty());
        assert!(row.toml.contains("\ntrial_ms = "), "{}", row.name);
    }
}

fn error(specification: &str) -> String {
    device(specification, 1).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn errors_name_what_is_wrong_and_what_would_be_right() {
    let expected = [
        ("hp97650", "no device model is called hp97650; did you mean hp97560?"),
        ("hp97560:queue=8:x", "“x” is not KEY=VALUE; a device is named as NAME or NAME:KEY=VALUE:KEY=VALUE"),
        (
            "hp97560:queue_dept=8",
            "in the device's specification: this model has no key queue_dept; did you mean queue_depth?",
        ),
        ("hp97560:queue_depth=0", "in the device's specification: queue_depth = 0 is out of range: 1 to 4096"),
        (
            "hp97560:queue_depth=many",
            "in the device's specification: queue_depth must be a whole number from 1 to 4096, not “many”",
        ),
        ("hp97560:order=far", "in the device's specification: order must be one of nearest, arrival, not “far”"),
        (
            "hp97560:immediate_reporting=1",
            "in the device's specification: immediate_reporting: needs a write_cache (in sectors) to report from",
        ),
        (
            "hp97560:read_ahead=300",
            "in the device's specification: read_ahead: reads on further than a segment of 256 sectors holds",
        ),
        (
            "hp97560:sectors=3000000",
            "in the device's specification: sectors: 3000000 sectors, but the zones hold 2684016",
        ),
        ("null:service_ns=-1", "in the device's specification: service_ns = -1 is out of range: 0 to 60000000000"),
    ];
    for (specification, message) in expected {
        assert_eq!(error(specification), message);
    }
}

#[test]
fn inconsistent_drives_are_refused_with_their_line() {
    let drive = |from: &str, to: &str| {
        let toml = DEVICES[0].toml;
        assert!(toml.contains(from), "{from}");
        device_from_toml(&toml.replacen(from, to, 1), &[], 1).map(|_| ()).unwrap_err()
    };
    let line = |text: &str| 1 + DEVICES[0].toml.lines().position(|line| line.starts_with(text)).unwrap();
    let at = |text: &str| format!("line {} of the device's description: ", line(text));
    let zones = at("zones");
    assert_eq!(
        drive("[[1962, ", "[[1961, ").to_string(),
        format!("{zones}zones: the zones have 1961 cylinders together, the disk has 1962")
    );
    assert_eq!(drive("1962, 72,", "1962, 0,").to_string(), format!("{zones}zones.0.1 = 0 is out of range: 1 to 65535"));
    assert_eq!(
        drive("72, 8, 18]", "72, 8]").to_string(),
        format!("{zones}zones.0: a zone is [cylinders, sectors per track, track skew, cylinder skew]")
    );
    assert_eq!(
        drive("c_ns = 8_000_000", "c_ns = 5_000_000").to_string(),
        format!(
            "{}seek.knee: the time falls from 11068154 ns at the knee to 8072000 ns beyond; the curve must not decrease",
            at("knee")
        )
    );
    let heads = at("heads");
    assert_eq!(
        drive("heads =", "haeds =").to_string(),
        format!("{heads}this model has no key haeds; did you mean heads?")
    );
    assert_eq!(drive("heads =", "_ =").to_string(), "the key heads is missing: data surfaces (1 to 256)");
    assert!(
        matches!(drive("rpm = ", "rpm = ="), DeviceError::Syntax { place: super::Place::Line(at), .. } if at == line("rpm"))
    );
    assert_eq!(
        device_from_toml("", &[], 1).map(|_| ()).unwrap_err().to_string(),
        "the key model is missing: one of hdd, flash, null"
    );
}
