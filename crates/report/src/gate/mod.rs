//! Output of a gate: one line, JUnit XML for Jenkins and GitLab, annotations for GitHub.
//!
//! In CI a pull request controls the plan and therefore all names, hence the escaping.

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

/// Maximum number of comparisons and differences named in the line.
const NAMED: usize = 2;

#[derive(Debug, Clone, Copy)]
pub struct Gate<'a> {
    pub plan: &'a str,
    /// The reference, as the user named it.
    pub against: &'a str,
    pub comparisons: &'a [GateComparison],
    pub differences: &'a [Difference],
    /// Verdicts that fail the gate.
    pub conditions: &'a [Condition],
}

impl Gate<'_> {
    fn fails(&self, verdict: Verdict) -> bool {
        self.conditions.iter().any(|condition| condition.holds_of(verdict))
    }

    fn gravest(&self) -> Verdict {
        let has = |verdict: Verdict| self.comparisons.iter().any(|one| one.verdict == verdict);
        if outcome(self.comparisons) == Outcome::Invalid {
            return Verdict::Invalid;
        }
        let order = [Verdict::Worse, Verdict::Invalid, Verdict::Inconclusive];
        order.into_iter().find(|verdict| has(*verdict)).unwrap_or(Verdict::Equivalent)
    }
}

/// `gate: worse: bfq on oltp: iops -9.8 % [-10.4, -9.1] against REF (…)`.
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
