//! What a gate says: one line, JUnit XML for Jenkins and GitLab, annotations for GitHub.
//!
//! Names of variants and workloads come from a plan, which in CI is whatever a pull request holds.
//! A line is one line whatever is in them; in XML and in annotations they are escaped by the rules
//! of those formats.

mod github;
mod junit;

use experiment::analysis::Verdict;
use experiment::environment::Difference;
use experiment::gate::{Basis, GateComparison, outcome};
use experiment::notation::Change;
use experiment::outcome::{Condition, Outcome};

use crate::words::{clean, counted};

pub use github::{annotations, defanged};
pub use junit::junit;

/// At most so many comparisons and differences are named in a line.
const NAMED: usize = 2;

/// A compared gate.
#[derive(Debug, Clone, Copy)]
pub struct Gate<'a> {
    /// The plan's title.
    pub plan: &'a str,
    /// What it was compared with, as the user named it.
    pub against: &'a str,
    /// Its comparisons.
    pub comparisons: &'a [GateComparison],
    /// What else differs between the two results files.
    pub differences: &'a [Difference],
    /// What is a failure.
    pub conditions: &'a [Condition],
}

impl Gate<'_> {
    /// Whether a comparison with this verdict makes the gate fail.
    fn fails(&self, verdict: Verdict) -> bool {
        self.conditions.iter().any(|condition| condition.holds_of(verdict))
    }

    /// The verdict that the line begins with: the gravest.
    fn gravest(&self) -> Verdict {
        let has = |verdict: Verdict| self.comparisons.iter().any(|one| one.verdict == verdict);
        if outcome(self.comparisons) == Outcome::Invalid {
            return Verdict::Invalid;
        }
        let order = [Verdict::Worse, Verdict::Invalid, Verdict::Inconclusive];
        order.into_iter().find(|verdict| has(*verdict)).unwrap_or(Verdict::Equivalent)
    }
}

/// The gate in one line: `gate: worse: bfq on oltp: iops -9.8 % [-10.4, -9.1] against REF (…)`.
pub fn line(gate: &Gate<'_>) -> String {
    let gravest = gate.gravest();
    let (named, others): (Vec<&GateComparison>, Vec<&GateComparison>) = gate
        .comparisons
        .iter()
        .partition(|one| one.verdict == gravest && gravest != Verdict::Equivalent);
    let word = match gravest {
        Verdict::Better | Verdict::Equivalent => "not worse".to_owned(),
        verdict => word(verdict),
    };
    let mut said: Vec<String> = named.iter().take(NAMED).map(|one| effect(one)).collect();
    if named.len() > NAMED {
        said.push(format!("{} more {word}", named.len() - NAMED));
    }
    for verdict in [Verdict::Invalid, Verdict::Inconclusive, Verdict::Equivalent, Verdict::Better] {
        let many = others.iter().filter(|one| one.verdict == verdict).count();
        if many > 0 {
            said.push(format!("{many} {}", self::word(verdict)));
        }
    }
    let basis = gate.comparisons.first().map_or("", |one| basis(one.basis));
    let mut line = format!("gate: {word}: {}; against {} ({basis})", said.join("; "), gate.against);
    for difference in gate.differences.iter().take(NAMED) {
        line.push_str(&format!("; {}", changed(difference)));
    }
    if gate.differences.len() > NAMED {
        let more = counted((gate.differences.len() - NAMED) as u64, "other difference");
        line.push_str(&format!("; {more} of the environment"));
    }
    clean(&line)
}

/// `bfq on oltp: iops -9.8 % [-10.4, -9.1]`.
fn effect(one: &GateComparison) -> String {
    let change = match one.ratio {
        Some(ratio) => Change { ratio, low: one.low, high: one.high }.to_string(),
        None => {
            format!(
                "no evidence ({} of {} trials invalid)",
                one.now.invalid + one.then.invalid,
                all(one)
            )
        }
    };
    format!("{} on {}: {} {change}", one.variant, one.workload, one.metric)
}

fn all(one: &GateComparison) -> usize {
    one.now.n + one.now.invalid + one.then.n + one.then.invalid
}

fn changed(difference: &Difference) -> String {
    let or = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    format!("{} {} (was {})", difference.name, or(&difference.now), or(&difference.then))
}

fn basis(basis: Basis) -> &'static str {
    match basis {
        Basis::Rounds => "rounds of the same seed, paired",
        Basis::Values => {
            "values of two repeats; what differs between repeats is not in the intervals"
        }
        Basis::Ratios => "ratios to the baseline: what slows down every variant is not seen",
    }
}

fn word(verdict: Verdict) -> String {
    format!("{verdict:?}").to_lowercase()
}

#[cfg(test)]
mod tests;
