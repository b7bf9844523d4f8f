//! Waits for a quiet moment, since a test and other work would disturb each other.
//!
//! The load average and the device's utilization, sampled for a few seconds, must be low. A test
//! gives up, reporting the obstacle, when too little of its window is left.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use machine::Root;
use machine::probe::DeviceCounters;

use super::Watch;
use crate::signals::Stop;

/// Duration of a sample.
const LOOK: Duration = Duration::from_secs(3);
/// Pause between samples.
const PAUSE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// One-minute average per CPU.
    pub load: f64,
    /// Share of time that the device was busy.
    pub busy: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NotNow {
    /// The window is closed or too short.
    Late {
        left: Duration,
        /// Duration of a test.
        needed: Duration,
    },
    /// The machine was never quiet.
    Noisy(Noise),
    /// Interrupted by a signal.
    Stopped,
}

impl fmt::Display for NotNow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotNow::Late { left, .. } if left.is_zero() => f.write_str("outside the time window"),
            NotNow::Late { left, needed } => write!(
                f,
                "{} min of the window left, a test needs {} min",
                left.as_secs().div_ceil(60),
                needed.as_secs().div_ceil(60)
            ),
            NotNow::Noisy(noise) => write!(
                f,
                "machine never quiet: load average {:.2} per CPU, device {:.0} % busy with other I/O",
                noise.load,
                noise.busy * 100.0
            ),
            NotNow::Stopped => f.write_str("stopped while waiting for a quiet moment"),
        }
    }
}

/// Samples the machine.
pub fn listen(root: &Root, device: &str) -> Result<Noise> {
    let path = root.proc("loadavg");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("{}: cannot read", path.display()))?;
    let load: f64 = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .with_context(|| format!("{}: not a load average (found {text:?})", path.display()))?;
    let nr_cpus = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let busy = busy(&root.sys("block").join(device))?;
    Ok(Noise { load: load / nr_cpus as f64, busy })
}

fn busy(device: &Path) -> Result<f64> {
    let before = DeviceCounters::read(device)?;
    let began = Instant::now();
    thread::sleep(LOOK);
    let delta = DeviceCounters::read(device)?.since(&before);
    Ok(delta.busy_ms as f64 / began.elapsed().as_millis().max(1) as f64)
}

/// Waits while a test that takes `needed` still fits into `left`. `clock` includes the time taken
/// by `listen`.
pub fn wait(
    watch: &Watch,
    left: Duration,
    needed: Duration,
    listen: &mut dyn FnMut() -> Result<Noise>,
    clock: &dyn Fn() -> Duration,
    stop: &Stop,
) -> Result<Option<NotNow>> {
    let began = clock();
    if left < needed {
        return Ok(Some(NotNow::Late { left, needed }));
    }
    loop {
        let noise = listen()?;
        if stop.signal().is_some() {
            return Ok(Some(NotNow::Stopped));
        }
        if noise.load <= watch.max_load && noise.busy <= watch.max_busy {
            return Ok(None);
        }
        if clock() - began + PAUSE + needed > left {
            return Ok(Some(NotNow::Noisy(noise)));
        }
        pause(stop, clock);
    }
}

fn pause(stop: &Stop, clock: &dyn Fn() -> Duration) {
    let until = clock() + PAUSE;
    while clock() < until && stop.signal().is_none() {
        thread::sleep(Duration::from_millis(200).min(PAUSE));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const QUIET: Noise = Noise { load: 0.1, busy: 0.0 };
    const LOUD: Noise = Noise { load: 0.1, busy: 0.9 };

    fn watch() -> Watch {
        let plan = "device = 'sdb'\n[[variant]]\nname = 'none'\nscheduler = 'none'\n[[variant]]\nname = 'bfq'\nscheduler = 'bfq'\n\
                    [[workload]]\nname = 'r'\nkind = 'randread'\n";
        let hours = ("02:00-05:00".parse().unwrap(), "weekly".parse().unwrap());
        Watch::new(
            "sdb",
            "wwid naa.5",
            hours,
            "/usr/bin/schedlab".into(),
            experiment::plan::Plan::from_toml(plan).unwrap(),
        )
        .unwrap()
    }

    /// The result if the machine is noisy this many times, with this many minutes left; a test
    /// needs five.
    fn outcome(noisy: u32, minutes: u64) -> (Option<NotNow>, u32) {
        let (time, looks) = (Cell::new(Duration::ZERO), Cell::new(0));
        let mut listen = || {
            looks.set(looks.get() + 1);
            Ok(if looks.get() <= noisy { LOUD } else { QUIET })
        };
        // Each reading advances the clock, so the test does not wait.
        let clock = || {
            time.set(time.get() + Duration::from_secs(30));
            time.get()
        };
        let stop = Stop::install().unwrap();
        let (left, needed) = (Duration::from_secs(minutes * 60), Duration::from_secs(300));
        (wait(&watch(), left, needed, &mut listen, &clock, &stop).unwrap(), looks.get())
    }

    #[test]
    fn a_quiet_machine_is_tested_at_once_and_a_noisy_one_when_it_becomes_quiet() {
        assert_eq!(outcome(0, 180), (None, 1));
        assert_eq!(outcome(3, 180), (None, 4));
    }

    #[test]
    fn a_test_that_would_not_end_within_its_hours_is_not_begun() {
        assert_eq!(
            outcome(0, 4).0,
            Some(NotNow::Late { left: Duration::from_secs(240), needed: Duration::from_secs(300) })
        );
        assert_eq!(outcome(0, 5).0, None);
    }

    #[test]
    fn a_machine_that_is_never_quiet_is_given_up_in_time_with_what_was_in_the_way() {
        let (outcome, looks) = outcome(u32::MAX, 30);
        assert_eq!(outcome, Some(NotNow::Noisy(LOUD)));
        assert!((2..30).contains(&looks), "{looks} looks");
        assert!(outcome.unwrap().to_string().contains("90 %"));
    }
}
