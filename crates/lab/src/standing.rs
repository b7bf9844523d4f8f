//! The progress of an experiment, from its results file alone.
//!
//! A measuring process is found by its lock in /proc/locks. The lock itself is not taken, so that
//! an experiment which starts at this moment is not refused.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use experiment::analysis::{Comparison, Verdict};
use experiment::results::{Event, Results, Trial};
use serde::Serialize;

use crate::atlas::{CELLS, DESIGN};
use crate::conduct::spent;
use crate::failure::usage;
use crate::length::{self, expected_s};
use crate::output::PARENT;
use crate::store::{self, RESULTS};
use crate::tune::log::SEARCH;

#[derive(Debug, Clone, Serialize)]
pub struct Standing {
    pub name: String,
    pub arena: String,
    pub device: String,
    pub state: State,
    /// Milliseconds since 1970; 0 in virtual time.
    pub started_unix_ms: u64,
    pub trials: usize,
    pub invalid_trials: usize,
    /// By the arena's clock.
    pub spent_s: f64,
    /// Whether `spent_s` is virtual.
    pub is_virtual: bool,
    /// Completed share of the plan, 0 to 1; verdicts may end it earlier.
    pub share: f64,
    /// Upper bound in wall-clock seconds; null unless it is being measured.
    pub left_s: Option<f64>,
    pub workloads: Vec<WorkloadStanding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "word", rename_all = "kebab-case")]
pub enum State {
    Measuring {
        /// Null if the process belongs to another container.
        pid: Option<u32>,
    },
    Ended {
        why: String,
        text: String,
    },
    /// Neither running nor ended.
    CutOff,
}

#[derive(Debug, Clone, Serialize)]
pub struct WorkloadStanding {
    pub name: String,
    /// Rounds begun, and the announced number of rounds that fit into the budget.
    pub rounds: usize,
    pub planned: u32,
    pub variants: Vec<VariantStanding>,
}

#[derive(Debug, Clone, Serialize)]
pub struct VariantStanding {
    pub name: String,
    pub is_baseline: bool,
    pub trials: usize,
    /// No longer measured: its verdict is reached or improbable, or the kernel refused its setting.
    pub decided: bool,
    /// On the primary metric, with the evidence so far; null for the baseline.
    pub comparison: Option<Comparison>,
}

/// The most recently changed experiment below `schedlab-out`.
pub fn newest() -> Result<PathBuf> {
    let dirs = fs::read_dir(PARENT).into_iter().flatten().flatten().map(|entry| entry.path());
    let changed =
        |dir: &PathBuf| fs::metadata(dir.join(RESULTS)).and_then(|found| found.modified()).ok();
    let newest = dirs.filter_map(|dir| Some((changed(&dir)?, dir))).max();
    let none = || {
        usage(format!(
            "{PARENT}: no experiment found; name the directory of one, as given by --out"
        ))
    };
    Ok(newest.ok_or_else(none)?.1)
}

pub fn standing(dir: &Path) -> Result<Standing> {
    let path = if dir.is_dir() { dir.join(RESULTS) } else { dir.to_path_buf() };
    if !path.exists() && dir.join(SEARCH).exists() {
        return Err(usage(format!(
            "{}: contains a search, whose progress cannot be shown; name {} if it exists",
            dir.display(),
            dir.join("confirm").display()
        )));
    }
    if !path.exists() && dir.join(DESIGN).exists() {
        return Err(usage(format!(
            "{}: contains an atlas, whose cells are experiments; name one below {}, or render the finished cells: schedlab atlas \
             --out {0} --render",
            dir.display(),
            dir.join(CELLS).display()
        )));
    }
    // Before the results are read: a process that ends in between has then written its end.
    let holder = holder(&path);
    let results = store::read(&path)?;
    Ok(of(&results, holder, wall(&path)))
}

/// Time from a file's creation to its last change.
fn wall(path: &Path) -> Option<Duration> {
    let found = fs::metadata(path).ok()?;
    found.modified().ok()?.duration_since(found.created().ok()?).ok()
}

/// Whether a process holds a file's lock, and its id if known.
fn holder(path: &Path) -> Option<Option<u32>> {
    let found = fs::metadata(path).ok()?;
    locked(&fs::read_to_string("/proc/locks").ok()?, found.dev(), found.ino())
}

/// Parses `1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF`; `->` marks a waiting process. On btrfs
/// the device number may differ from the one in stat, so files with equal inode numbers on two such
/// file systems are not distinguished.
fn locked(locks: &str, device: u64, inode: u64) -> Option<Option<u32>> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, place, ..] = words[..] else { return None };
        let mut parts = place.split(':');
        let mut number = || parts.next().and_then(|part| u32::from_str_radix(part, 16).ok());
        let (its_major, its_minor) = (number()?, number()?);
        let its_inode: u64 = place.rsplit(':').next()?.parse().ok()?;
        let is_anonymous = major == 0 && its_major == 0;
        let is_it =
            its_inode == inode && ((its_major, its_minor) == (major, minor) || is_anonymous);
        is_it.then(|| pid.parse().ok().filter(|pid| *pid > 0))
    })
}

fn of(results: &Results, holder: Option<Option<u32>>, wall: Option<Duration>) -> Standing {
    let plan = &results.header.plan;
    let state = match (&holder, &results.end) {
        (Some(pid), _) => State::Measuring { pid: *pid },
        (None, Some(end)) => {
            State::Ended { why: end.reason.word().to_owned(), text: end.reason.to_string() }
        }
        (None, None) => State::CutOff,
    };
    let is_virtual = plan.arena.is_virtual();
    let spent = spent(plan, results).as_secs_f64();
    let total = expected_s(plan).min(plan.budget.time_s).max(1e-9);
    let is_whole = matches!(&state, State::Ended { .. })
        && results.end.as_ref().is_some_and(|end| !end.reason.ending().is_early());
    let left = (total - spent).max(0.0);
    // Assumes that virtual time continues at its present rate.
    let left = if is_virtual {
        wall.filter(|_| spent > 0.0).map(|wall| left * wall.as_secs_f64() / spent)
    } else {
        Some(left)
    };
    let comparisons = experiment::analyze(results, None).comparisons;
    Standing {
        name: plan.name.clone(),
        arena: plan.arena.name.to_owned(),
        device: plan.device.clone(),
        started_unix_ms: results.header.started_unix_ms,
        trials: results.trials.len(),
        invalid_trials: results
            .trials
            .iter()
            .filter(|trial| is_invalid(trial, &comparisons))
            .count(),
        spent_s: spent,
        is_virtual,
        share: if is_whole { 1.0 } else { (spent / total).min(1.0) },
        left_s: left.filter(|_| matches!(state, State::Measuring { .. })),
        workloads: plan
            .workloads
            .iter()
            .map(|workload| of_workload(results, &workload.name, &comparisons))
            .collect(),
        state,
    }
}

/// Whether a trial is invalid for the primary metric. Too few requests for another percentile do
/// not matter.
fn is_invalid(trial: &Trial, comparisons: &[Comparison]) -> bool {
    let deciding = comparisons.iter().find(|one| one.primary && one.workload == trial.workload);
    let metric = deciding.map_or("", |one| one.metric.as_str());
    trial.observation.invalid.iter().any(|reason| reason.applies_to(metric))
}

fn of_workload(results: &Results, workload: &str, comparisons: &[Comparison]) -> WorkloadStanding {
    let plan = &results.header.plan;
    let trials = || results.trials.iter().filter(|trial| trial.workload == workload);
    let is_decided = |name: &str| {
        results.notes.iter().any(|note| match &note.event {
            Event::StoppedVariant { workload: of, variant, .. }
            | Event::FutileVariant { workload: of, variant, .. } => {
                of == workload && variant == name
            }
            Event::RefusedVariant { variant, .. } => variant == name,
            _ => false,
        })
    };
    let variant = |name: &String| VariantStanding {
        name: name.clone(),
        is_baseline: name == plan.baseline(),
        trials: trials().filter(|trial| trial.variant == *name).count(),
        decided: is_decided(name),
        comparison: comparisons
            .iter()
            .find(|one| one.primary && one.workload == workload && one.variant == *name)
            .cloned(),
    };
    WorkloadStanding {
        name: workload.to_owned(),
        rounds: trials().map(|trial| trial.round).collect::<BTreeSet<u32>>().len(),
        planned: length::rounds(plan),
        variants: plan.variants.iter().map(|one| variant(&one.name)).collect(),
    }
}

impl VariantStanding {
    pub fn verdict(&self) -> Option<Verdict> {
        self.comparison
            .as_ref()
            .map(|comparison| comparison.verdict)
            .filter(|verdict| *verdict != Verdict::Inconclusive)
    }
}

#[cfg(test)]
mod tests {
    use experiment::plan::{Plan, SCHEMA};
    use experiment::results::{Header, InvalidReason, Observation, Trial};

    use super::*;

    fn results() -> Results {
        let plan = Plan::from_toml(
            "arena = 'sim'\ndevice = 'hp97560'\n[[variant]]\nname = 'none'\nscheduler = 'none'\n[[variant]]\nname = 'bfq'\nscheduler = 'bfq'\n\
             [[workload]]\nname = 'w'\nkind = 'randread'\nprimary = 'iops'\n",
        )
        .unwrap();
        let mut results = Results::new(Header {
            schema: SCHEMA,
            schedlab: String::new(),
            plan,
            environment: Default::default(),
            started_unix_ms: 0,
            command: String::new(),
        });
        results.trials = (0..6_u32)
            .map(|i| {
                let metrics = [
                    ("iops".to_owned(), 100.0 + f64::from(i)),
                    ("latency_p999_us".to_owned(), 5.0),
                ]
                .into();
                let observation =
                    Observation { duration_ns: 1_000_000_000, metrics, ..Observation::default() };
                let (round, position) = (i / 2, i % 2);
                let variant = ["none", "bfq"][position as usize].to_owned();
                Trial {
                    sequence: u64::from(i),
                    workload: "w".to_owned(),
                    round,
                    position,
                    variant,
                    started_ms: u64::from(i) * 1000,
                    observation,
                }
            })
            .collect();
        results
    }

    #[test]
    fn a_lock_is_found_by_the_file_s_number_and_says_which_process_has_it() {
        let locks = "1: POSIX  ADVISORY  WRITE 11 08:01:77 0 EOF\n2: FLOCK  ADVISORY  WRITE 12 08:11:77 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 13 08:01:77 0 EOF\n3: FLOCK  ADVISORY  READ 14 08:01:77 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 15 08:01:77 0 EOF\n5: FLOCK  ADVISORY  WRITE 0 08:01:78 0 EOF\nrubbish\n";
        let device = rustix::fs::makedev(8, 1);
        assert_eq!(locked(locks, device, 77), Some(Some(15)));
        assert_eq!(locked(locks, device, 78), Some(None), "of another container");
        assert_eq!(locked(locks, device, 7), None);
    }

    #[test]
    fn a_thin_secondary_percentile_invalidates_no_trial() {
        let mut results = results();
        let comparisons = experiment::analyze(&results, None).comparisons;
        let deciding = comparisons.iter().find(|one| one.primary).unwrap().metric.clone();
        results.trials.iter_mut().for_each(|trial| trial.observation.invalid.clear());
        let few = |metric: &str| InvalidReason::TooFewIos {
            metric: metric.to_owned(),
            count: 5,
            needed: 1000,
        };
        results.trials[0].observation.invalid.push(few("latency_p999_us"));
        assert_eq!(of(&results, None, None).invalid_trials, 0);
        results.trials[0].observation.invalid.push(few(&deciding));
        results.trials[1]
            .observation
            .invalid
            .push(InvalidReason::DeviceVanished { detail: "gone".into() });
        assert_eq!(of(&results, None, None).invalid_trials, 2);
    }

    #[test]
    fn planned_rounds_are_those_announced_before_the_first_trial() {
        let results = results();
        let announced = crate::feasibility::of(&results.header.plan).rounds;
        assert!(
            of(&results, None, None).workloads.iter().all(|workload| workload.planned == announced)
        );
    }

    #[test]
    fn a_file_that_this_process_has_locked_is_held_by_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let file = fs::File::create(&path).unwrap();
        assert_eq!(holder(&path), None);
        file.lock().unwrap();
        assert_eq!(holder(&path), Some(Some(std::process::id())));
    }
}
