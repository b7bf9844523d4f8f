//! The tables of attributes and tunables against this machine's kernel: names, permissions,
//! defaults, and ranges.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::Bench;
use elevator::{
    Build, Ceiling, LINUX, LinuxScheduler, QUEUE_ATTRIBUTES, QueueFacts, Values, queue_attribute,
};
use machine::Guard;
use machine::settings::is_in_effect;
use testbed::Loop;

/// Names and permissions.
fn files(blank: &Loop, dir: &str) -> Vec<(String, u32)> {
    let Ok(entries) = fs::read_dir(blank.queue().join(dir)) else { return Vec::new() };
    let files = entries.flatten().filter(|entry| entry.metadata().is_ok_and(|meta| meta.is_file()));
    let named = |entry: fs::DirEntry| {
        let mode = entry.metadata().expect("just looked at").permissions().mode();
        (entry.file_name().into_string().expect("attributes have plain names"), mode)
    };
    files.map(named).collect()
}

/// Each newly selected on the device.
fn with_each_scheduler(blank: &Loop, check: impl Fn(&'static LinuxScheduler)) {
    let offered = blank.show("scheduler");
    for row in LINUX.iter().filter(|row| offered.contains(row.name)) {
        blank.set("scheduler", if row.name == "none" { "mq-deadline" } else { "none" });
        blank.set("scheduler", row.name);
        check(row);
    }
}

#[test]
fn every_attribute_that_this_kernel_shows_is_a_row_and_can_be_written_as_the_row_says() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let blank = bench.blank_loop(16);
    let shown = files(&blank, "");
    assert!(shown.len() > 30, "a queue has many attributes: {shown:?}");
    for (name, mode) in shown {
        let row = queue_attribute(&name).unwrap_or_else(|| panic!("{name} has no row"));
        assert_eq!(row.writable, mode & 0o222 != 0, "{name}: {mode:o}");
    }
}

#[test]
fn the_rows_of_each_scheduler_are_its_tunables_with_the_kernels_defaults() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let blank = bench.blank_loop(16);
    if !blank.offers(&["none", "mq-deadline", "kyber", "bfq"]) {
        return;
    }
    let guard = Guard::begin(&bench.root, &bench.device(&blank)).expect("no other process has it");
    with_each_scheduler(&blank, |row| {
        let window = blank.show("nr_requests").parse().expect("a number");
        let knobs = row.tunables(&Build { nr_tags: window, ..Build::default() });
        let shown = files(&blank, "iosched");
        for (name, _) in &shown {
            assert!(
                knobs.iter().any(|knob| knob.row.name == *name),
                "{}: {name} has no row",
                row.name
            );
        }
        for knob in &knobs {
            // Since Linux 7.0, async_depth is an attribute of the queue.
            let place =
                if shown.iter().any(|(name, _)| name == knob.row.name) { "iosched/" } else { "" };
            let found = blank.show(&format!("{place}{}", knob.row.name));
            // bfq's timeout_sync is an eighth of a second in ticks: 125 ms at 1000 Hz, 124 at 250.
            let as_kept = is_in_effect(knob.row.name, &knob.default.to_string(), &found);
            let older =
                knob.row.name == "async_depth" && found == (knob.default * 3 / 4).to_string();
            assert!(
                as_kept || older,
                "{} {}: {} in the table, {found} here",
                row.name,
                knob.row.name,
                knob.default
            );
        }
        let facts = QueueFacts {
            scheduler: row.name,
            tags: machine::device::tags(&bench.root, &blank.name),
            shown: &|_| None,
        };
        let default = queue_attribute("nr_requests").expect("a row").default(&facts);
        assert_eq!(default, Some(window.to_string()), "{}: nr_requests", row.name);
    });
    guard.restore().expect("everything can be put back");
}

#[test]
fn the_smallest_value_of_each_tunable_is_kept_and_what_is_beyond_its_range_is_not() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let blank = bench.blank_loop(16);
    if !blank.offers(&["none", "mq-deadline", "kyber", "bfq"]) {
        return;
    }
    let guard = Guard::begin(&bench.root, &bench.device(&blank)).expect("no other process has it");
    // After a refused write, the old value.
    let reads = |path: &str, value: &str| {
        let _ = fs::write(blank.queue().join(path), value);
        blank.show(path)
    };
    let keeps =
        |path: &str, name: &str, value: &str| is_in_effect(name, value, &reads(path, value));
    with_each_scheduler(&blank, |row| {
        for knob in row.tunables(&Build::default()) {
            let (name, path) = (knob.row.name, format!("iosched/{}", knob.row.name));
            if !blank.queue().join(&path).exists() {
                continue;
            }
            // Values below a tick read as a tick; zero reads as zero.
            let min = knob.row.min.to_string();
            assert!(keeps(&path, name, &min), "{} {name}: {min}", row.name);
            assert!(
                knob.row.min > 0 || blank.show(&path) == min,
                "{} {name}: {}",
                row.name,
                blank.show(&path)
            );
            if knob.row.max < 1000 {
                assert!(
                    keeps(&path, name, &knob.row.max.to_string()),
                    "{} {name}: {}",
                    row.name,
                    knob.row.max
                );
                let beyond = (knob.row.max + 1).to_string();
                assert_ne!(reads(&path, &beyond), beyond, "{} {name}", row.name);
            }
        }
    });
    blank.set("scheduler", "mq-deadline");
    for name in
        ["nr_requests", "nomerges", "rq_affinity", "max_sectors_kb", "rotational", "iostats"]
    {
        let row = queue_attribute(name).expect("a row");
        let shown = |of: &str| {
            fs::read_to_string(blank.queue().join(of)).ok().map(|text| text.trim().to_string())
        };
        let tags = machine::device::tags(&bench.root, &blank.name);
        let max = row
            .max(&QueueFacts { scheduler: "mq-deadline", tags, shown: &shown })
            .expect("a number");
        let Values::Number { min, .. } = row.values else { panic!("{name} is a number") };
        for edge in [min.to_string(), max.to_string()] {
            assert!(
                keeps(name, name, &edge),
                "{name} keeps {edge}, and reads {}",
                blank.show(name)
            );
        }
        for beyond in [(min - 1).to_string(), (max + 1).to_string()] {
            assert_ne!(reads(name, &beyond), beyond, "{name}");
        }
    }
    guard.restore().expect("everything can be put back");
}

#[test]
fn without_a_scheduler_the_window_is_bounded_by_the_hardwares_tags() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let blank = bench.blank_loop(16);
    blank.set("scheduler", "none");
    let tags = machine::device::tags(&bench.root, &blank.name).expect("a loop device has tags");
    let row = QUEUE_ATTRIBUTES.iter().find(|row| row.name == "nr_requests").expect("a row");
    assert!(matches!(row.values, Values::Number { ceiling: Ceiling::Tags, .. }));
    let facts = QueueFacts { scheduler: "none", tags: Some(tags), shown: &|_| None };
    assert_eq!(row.max(&facts), Some(tags));
    assert!(fs::write(blank.queue().join("nr_requests"), (tags + 1).to_string()).is_err());
    blank.set("nr_requests", &tags.to_string());
}
