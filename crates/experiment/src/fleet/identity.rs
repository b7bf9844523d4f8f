//! Which results of a fleet count, and for which machine.
//!
//! A result is identified by its experiment and its machine's name. Clocks may be wrong, so none is
//! dropped or ordered by time. In this order, with all findings reported:
//! 1. An experiment stored repeatedly for one machine counts once, with the most trials.
//! 2. An experiment under several names counts once, for the first.
//! 3. A name with several kinds of hardware is several machines.
//! 4. Simultaneous boots of one name and hardware are two machines; they count as one.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// A result that starts this far ahead of the reader's clock has a wrong clock.
const AHEAD_MS: u64 = 24 * 3_600_000;

/// The origin of a result.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Provenance {
    /// Its object name in the store.
    pub object: String,
    /// Identifies its experiment.
    pub experiment: String,
    /// The name of its machine.
    pub machine: String,
    /// CPU and model of the machine.
    pub hardware: String,
    /// Its boot ID.
    pub boot: String,
    /// Identifies its drive.
    pub drive: String,
    /// Start in ms since 1970 by the machine's clock; 0 if unknown.
    pub started_unix_ms: u64,
    /// End, by the same clock.
    pub ended_unix_ms: u64,
    /// Trials.
    pub trials: u64,
}

/// An anomaly.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finding {
    /// One experiment of one machine, several times.
    Repeated {
        /// The machine.
        machine: String,
        /// The result that counts.
        counts: String,
        /// The others.
        others: Vec<String>,
    },
    /// One experiment under several machines.
    Copied {
        /// The machine for which it counts.
        counts_for: String,
        /// The other machines.
        others: Vec<String>,
    },
    /// Several kinds of hardware share a name.
    SeveralMachines {
        /// The name.
        machine: String,
        /// The kinds of hardware.
        hardware: Vec<String>,
    },
    /// One machine reports two boots at once.
    TwoAtOnce {
        /// The name.
        machine: String,
        /// Two of its results.
        results: [String; 2],
    },
    /// Two machines report one drive at once.
    DriveTwice {
        /// The machines.
        machines: [String; 2],
        /// Two of their results.
        results: [String; 2],
    },
    /// A machine's clock is ahead of the reader's.
    ClockAhead {
        /// The name.
        machine: String,
        /// Maximum days ahead.
        days: u64,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Repeated { machine, counts, others } => {
                write!(
                    f,
                    "{machine}: one experiment is stored {} times; {counts} has the most trials and counts",
                    others.len() + 1
                )
            }
            Finding::Copied { counts_for, others } => {
                write!(
                    f,
                    "{counts_for}: its result is also stored as that of {}; it counts once",
                    others.join(", ")
                )
            }
            Finding::SeveralMachines { machine, hardware } => write!(
                f,
                "{machine}: reported by {} kinds of hardware ({}), which count as separate machines; push with other names (--machine)",
                hardware.len(),
                hardware.join("; ")
            ),
            Finding::TwoAtOnce { machine, results: [one, other] } => write!(
                f,
                "{machine}: was measured in two boots at the same time ({one}, {other}): two machines have this name and count as one; push \
                 with other names (--machine)"
            ),
            Finding::DriveTwice { machines: [one, other], results: [first, second] } => write!(
                f,
                "{one} and {other}: measured one drive at the same time ({first}, {second}): one of them reports another's drive, or a clock is \
                 wrong"
            ),
            Finding::ClockAhead { machine, days } => {
                write!(
                    f,
                    "{machine}: its clock is {days} days ahead of this one; nothing is ordered by it"
                )
            }
        }
    }
}

/// Machines and findings of a set of results.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Checked {
    /// Machines in the given order; `None` if a result does not count.
    pub machines: Vec<Option<String>>,
    /// Anomalies.
    pub findings: Vec<Finding>,
}

/// Checks results, independent of their order.
pub fn check(results: &[Provenance], now_unix_ms: u64) -> Checked {
    let mut found = Checked { machines: vec![None; results.len()], findings: Vec::new() };
    let counting = deduplicate(results, &mut found.findings);
    several_machines(results, &counting, &mut found);
    two_at_once(results, &counting, &mut found.findings);
    drives(results, &counting, &mut found.findings);
    let mut ahead: BTreeMap<&str, u64> = BTreeMap::new();
    for at in counting {
        let by = results[at].started_unix_ms.saturating_sub(now_unix_ms);
        if by > AHEAD_MS {
            let most = ahead.entry(&results[at].machine).or_default();
            *most = by.max(*most);
        }
    }
    let clocks = ahead.into_iter().map(|(machine, by)| Finding::ClockAhead {
        machine: machine.to_owned(),
        days: by / AHEAD_MS,
    });
    found.findings.extend(clocks);
    found
}

fn deduplicate(results: &[Provenance], findings: &mut Vec<Finding>) -> Vec<usize> {
    let mut by_experiment: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, result) in results.iter().enumerate() {
        by_experiment.entry(&result.experiment).or_default().push(at);
    }
    let mut counting = Vec::new();
    for mut all in by_experiment.into_values() {
        let key = |at: &usize| {
            (&results[*at].machine, std::cmp::Reverse(results[*at].trials), &results[*at].object)
        };
        all.sort_by(|a, b| key(a).cmp(&key(b)));
        for of_machine in all
            .chunk_by(|a, b| results[*a].machine == results[*b].machine)
            .filter(|of| of.len() > 1)
        {
            let name = |at: &usize| results[*at].object.clone();
            findings.push(Finding::Repeated {
                machine: results[of_machine[0]].machine.clone(),
                counts: name(&of_machine[0]),
                others: of_machine[1..].iter().map(name).collect(),
            });
        }
        let mut machines: Vec<&String> = all.iter().map(|at| &results[*at].machine).collect();
        machines.dedup();
        if machines.len() > 1 {
            let others = machines[1..].iter().map(|name| (*name).clone()).collect();
            findings.push(Finding::Copied { counts_for: machines[0].clone(), others });
        }
        counting.push(all[0]);
    }
    counting
}

fn several_machines(results: &[Provenance], counting: &[usize], found: &mut Checked) {
    let mut hardware: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for at in counting {
        let known = hardware.entry(&results[*at].machine).or_default();
        known.push(&results[*at].hardware);
    }
    for (machine, kinds) in &mut hardware {
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.len() > 1 {
            found.findings.push(Finding::SeveralMachines {
                machine: (*machine).to_owned(),
                hardware: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            });
        }
    }
    for at in counting {
        let Provenance { machine, hardware: own, .. } = &results[*at];
        let is_one = hardware.get(machine.as_str()).is_none_or(|kinds| kinds.len() < 2);
        found.machines[*at] =
            Some(if is_one { machine.clone() } else { format!("{machine} ({own})") });
    }
}

fn overlap(a: &Provenance, b: &Provenance) -> bool {
    a.started_unix_ms > 0
        && b.started_unix_ms > 0
        && a.started_unix_ms < b.ended_unix_ms
        && b.started_unix_ms < a.ended_unix_ms
}

fn two_at_once(results: &[Provenance], counting: &[usize], findings: &mut Vec<Finding>) {
    let key = |of: &Provenance| (of.machine.clone(), of.hardware.clone());
    let clash = |a: &Provenance, b: &Provenance| a.boot != b.boot && overlap(a, b);
    for [one, other] in clashes(results, counting, key, clash) {
        let results = [one.object.clone(), other.object.clone()];
        findings.push(Finding::TwoAtOnce { machine: one.machine.clone(), results });
    }
}

fn drives(results: &[Provenance], counting: &[usize], findings: &mut Vec<Finding>) {
    let named: Vec<usize> =
        counting.iter().copied().filter(|at| !results[*at].drive.is_empty()).collect();
    let clash = |a: &Provenance, b: &Provenance| a.machine != b.machine && overlap(a, b);
    for [one, other] in clashes(results, &named, |of| of.drive.clone(), clash) {
        findings.push(Finding::DriveTwice {
            machines: [one.machine.clone(), other.machine.clone()],
            results: [one.object.clone(), other.object.clone()],
        });
    }
}

/// The first overlap in time among the results of each key.
fn clashes<'a, K: Ord>(
    results: &'a [Provenance],
    of: &[usize],
    key: impl Fn(&Provenance) -> K,
    clash: impl Fn(&Provenance, &Provenance) -> bool,
) -> Vec<[&'a Provenance; 2]> {
    let mut groups: BTreeMap<K, Vec<&Provenance>> = BTreeMap::new();
    for at in of {
        groups.entry(key(&results[*at])).or_default().push(&results[*at]);
    }
    let mut found = Vec::new();
    for mut group in groups.into_values() {
        group.sort_by(|a, b| (a.started_unix_ms, &a.object).cmp(&(b.started_unix_ms, &b.object)));
        // The latest end so far: a long result may overlap several short ones.
        let mut reaches: Option<&Provenance> = None;
        for next in group {
            if let Some(before) = reaches.filter(|before| clash(before, next)) {
                found.push([before, next]);
                break;
            }
            if reaches.is_none_or(|before| next.ended_unix_ms > before.ended_unix_ms) {
                reaches = Some(next);
            }
        }
    }
    found
}
