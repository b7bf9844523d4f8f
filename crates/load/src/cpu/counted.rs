//! The kernel's counters of a workload's threads, each over its own window.
//!
//! Every thread reads its own: outside, a process shows only those of its first thread, and threads
//! that prepare or wait must not count. Forked processes use this too, so nothing is allocated.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags, open};

pub(crate) const OWN: &str = "/proc/thread-self";

pub(crate) const FIGURES: usize = 5;

/// Names in the results, and factors to their units.
const NAMES: [(&str, f64); FIGURES] = [
    ("task_run_ms", 1e-6),
    ("task_wait_ms", 1e-6),
    ("task_migrations", 1.0),
    ("task_voluntary_switches", 1.0),
    ("task_involuntary_switches", 1.0),
];

/// In the order of [`NAMES`]; `None` if not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counted([Option<u64>; FIGURES]);

impl Counted {
    /// `dir` is [`OWN`] except in tests.
    pub(crate) fn read(dir: &str) -> Counted {
        let mut buffer = [0; 8192];
        let mut stat = text(dir, "/schedstat", &mut buffer)
            .split_ascii_whitespace()
            .map(|word| word.parse().ok());
        let (run, wait) = (stat.next().flatten(), stat.next().flatten());
        let migrations = line(text(dir, "/sched", &mut buffer), "se.nr_migrations");
        let status = text(dir, "/status", &mut buffer);
        let voluntary = line(status, "voluntary_ctxt_switches");
        Counted([run, wait, migrations, voluntary, line(status, "nonvoluntary_ctxt_switches")])
    }

    pub(crate) fn since(&self, before: &Counted) -> Counted {
        let mut rest = *self;
        for (now, before) in rest.0.iter_mut().zip(before.0) {
            *now = now.zip(before).map(|(now, before)| now.saturating_sub(before));
        }
        rest
    }

    /// The sum; `None` if either is.
    pub(crate) fn and(&self, other: &Counted) -> Counted {
        let mut sum = *self;
        for (one, other) in sum.0.iter_mut().zip(other.0) {
            *one = one.zip(other).map(|(one, other)| one + other);
        }
        sum
    }

    /// The sum by name, and the number of counters.
    pub(crate) fn together(all: impl IntoIterator<Item = Counted>) -> BTreeMap<String, f64> {
        let (mut threads, mut sum) = (0u32, None);
        for one in all {
            threads += 1;
            sum = Some(sum.map_or(one, |sum: Counted| sum.and(&one)));
        }
        let mut counters = sum.unwrap_or_default().counters();
        counters.insert("task_threads".to_string(), f64::from(threads));
        counters
    }

    /// Into memory shared with another process.
    pub(crate) fn store(&self, to: &[AtomicU64]) {
        for (to, figure) in to.iter().zip(self.0) {
            to.store(figure.unwrap_or(u64::MAX), Ordering::Release);
        }
    }

    /// Written by [`Counted::store`].
    pub(crate) fn load(from: &[AtomicU64]) -> Counted {
        let mut figures = Counted::default();
        for (figure, from) in figures.0.iter_mut().zip(from) {
            *figure = Some(from.load(Ordering::Acquire)).filter(|figure| *figure != u64::MAX);
        }
        figures
    }

    fn counters(&self) -> BTreeMap<String, f64> {
        let named = NAMES.iter().zip(self.0);
        named
            .filter_map(|((name, unit), figure)| Some(((*name).to_string(), figure? as f64 * unit)))
            .collect()
    }
}

/// Empty if the file does not exist.
fn text<'a>(dir: &str, name: &str, buffer: &'a mut [u8]) -> &'a str {
    let mut path = [0; 256];
    let Some(place) = path.get_mut(..dir.len() + name.len()) else { return "" };
    place[..dir.len()].copy_from_slice(dir.as_bytes());
    place[dir.len()..].copy_from_slice(name.as_bytes());
    let Ok(file) = open(&*place, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else {
        return "";
    };
    let mut filled = 0;
    while let Ok(more @ 1..) = rustix::io::read(&file, &mut buffer[filled..]) {
        filled += more;
    }
    std::str::from_utf8(&buffer[..filled]).unwrap_or_default()
}

/// The number after `name`.
fn line(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.trim_start_matches([' ', ':', '\t']).trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn written(dir: &std::path::Path, files: [(&str, &str); 3]) -> Counted {
        for (name, text) in files {
            fs::write(dir.join(name), text).unwrap();
        }
        Counted::read(dir.to_str().unwrap())
    }

    #[test]
    fn figures_are_read_subtracted_summed_and_named() {
        let dir = tempfile::tempdir().unwrap();
        let sched =
            |n: u32| format!("head (1, #threads: 1)\nse.nr_migrations            :        {n}\n");
        let status = |own: u32, forced: u32| {
            format!(
                "Name:\thead\nvoluntary_ctxt_switches:\t{own}\nnonvoluntary_ctxt_switches:\t{forced}\n"
            )
        };
        let before = written(
            dir.path(),
            [("schedstat", "1000000 2000000 3\n"), ("sched", &sched(1)), ("status", &status(4, 5))],
        );
        let after = written(
            dir.path(),
            [
                ("schedstat", "4000000 9000000 8\n"),
                ("sched", &sched(3)),
                ("status", &status(8, 10)),
            ],
        );
        let one = after.since(&before);
        let both = Counted::together([one, one]);
        let wanted = [
            ("task_run_ms", 6.0),
            ("task_wait_ms", 14.0),
            ("task_migrations", 4.0),
            ("task_voluntary_switches", 8.0),
            ("task_involuntary_switches", 10.0),
            ("task_threads", 2.0),
        ];
        assert_eq!(both, wanted.map(|(name, value)| (name.to_string(), value)).into());
    }

    #[test]
    fn what_the_kernel_does_not_tell_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("schedstat"), "1000000 2000000 3\n").unwrap();
        let seen = Counted::read(dir.path().to_str().unwrap());
        assert_eq!(
            seen.counters().into_keys().collect::<Vec<_>>(),
            ["task_run_ms", "task_wait_ms"]
        );
        let shared = [const { AtomicU64::new(0) }; FIGURES];
        seen.store(&shared);
        assert_eq!(Counted::load(&shared), seen);
        assert_eq!(Counted::read("/nowhere").counters(), BTreeMap::new());
    }

    #[test]
    fn the_kernel_counts_for_this_thread() {
        let before = Counted::read(OWN);
        std::thread::sleep(std::time::Duration::from_millis(2));
        let slept = Counted::read(OWN).since(&before).counters();
        assert!(slept.get("task_voluntary_switches").is_none_or(|n| *n >= 1.0), "{slept:?}");
    }
}
