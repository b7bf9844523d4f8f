//! What a comparison knows so far, for who watches it: verdicts, the leading effect, and what the
//! remaining rounds can still find.
//!
//! For the eye only: nothing here enters the results file. The estimates are those of the rule that
//! decides, which may be looked at after every round; for a rule with one look at the end there are
//! none, since who stops when pleased by them spoils it.

use std::collections::BTreeSet;
use std::time::Duration;

use experiment::Decider;
use experiment::comparison::{Comparison, Verdict};
use experiment::plan::{Method, Plan};
use experiment::stats::Moments;

use crate::feasibility;

/// The rounds after which the round-to-round SD is spoken of.
const FIRST_LOOK: u32 = 4;

/// Wall time between two estimates: comparing takes time of its own.
const EVERY: Duration = Duration::from_secs(1);

/// What is known so far.
#[derive(Debug, Default)]
pub(crate) struct Estimate {
    standing: String,
    made_at: Option<Duration>,
    /// Workloads whose noise was spoken of.
    told: BTreeSet<usize>,
}

impl Estimate {
    /// `3 of 5 decided; iops: bfq −12 % so far`; empty before the first round.
    pub(crate) fn standing(&self) -> &str {
        &self.standing
    }

    /// A round of `workload`, whose number of whole rounds is `rounds`, was measured, at this wall
    /// time of the session. Returns what is to be said.
    pub(crate) fn round(
        &mut self,
        plan: &Plan,
        decider: &Decider,
        workload: usize,
        rounds: u32,
        wall: Duration,
    ) -> Option<String> {
        if !is_looked_at(plan.criteria.method) {
            return None;
        }
        let noise = rounds >= FIRST_LOOK && self.told.insert(workload);
        let stale = self.made_at.is_none_or(|made| wall >= made + EVERY);
        if !noise && !stale {
            return None;
        }
        self.made_at = Some(wall);
        let all: Vec<Vec<Comparison>> =
            plan.workloads.iter().map(|spec| decider.comparisons(&spec.name)).collect();
        self.standing = standing(&all, &all[workload]);
        if noise { detects(plan, &all[workload]) } else { None }
    }
}

/// Whether looking at an interval before the end leaves it valid.
fn is_looked_at(method: Method) -> bool {
    !matches!(method, Method::Fixed | Method::ThreeSigma)
}

fn standing(all: &[Vec<Comparison>], here: &[Comparison]) -> String {
    let decided = |comparison: &&Comparison| {
        matches!(comparison.verdict, Verdict::Better | Verdict::Worse | Verdict::Equivalent)
    };
    let (nr, of) = (all.iter().flatten().filter(decided).count(), all.iter().flatten().count());
    let size = |comparison: &Comparison| comparison.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let leading = here
        .iter()
        .filter(|comparison| comparison.ratio.is_some())
        .max_by(|a, b| size(a).total_cmp(&size(b)));
    let leading = leading.map_or_else(String::new, |comparison| {
        let percent = (comparison.ratio.unwrap_or(1.0) - 1.0) * 100.0;
        let sign = if percent < 0.0 { "−" } else { "+" };
        let digits = usize::from(percent.abs() < 10.0);
        format!(
            "; {}: {} {sign}{:.digits$} % so far",
            comparison.metric,
            comparison.variant,
            percent.abs()
        )
    });
    format!("{nr} of {of} decided{leading}")
}

/// What the rounds that fit can find on a workload, by the noise of its rounds so far: the root of
/// the variants' mean variance.
fn detects(plan: &Plan, comparisons: &[Comparison]) -> Option<String> {
    let spreads: Vec<f64> = comparisons
        .iter()
        .map(|comparison| Moments::of(&comparison.log_ratios))
        .filter(|moments| moments.n >= 2)
        .map(|moments| moments.sd.powi(2))
        .collect();
    if spreads.is_empty() {
        return None;
    }
    let sd = (spreads.iter().sum::<f64>() / spreads.len() as f64).sqrt();
    let found = feasibility::of(plan);
    let effect = found.detectable_effect(sd)?;
    let workload = &comparisons.first()?.workload;
    Some(format!(
        "{workload}: the round-to-round SD is {:.1} %: {} rounds detect a difference of {:.1} % or more with 80 % power",
        sd.exp_m1() * 100.0,
        found.rounds,
        effect * 100.0
    ))
}
