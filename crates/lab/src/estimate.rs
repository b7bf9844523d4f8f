//! Interim findings for display: verdicts, the leading effect, and the effect that the remaining
//! rounds can detect.
//!
//! Nothing here enters the results file. Methods with a single look give no estimates, because
//! stopping on them would be biased.

use std::collections::BTreeSet;
use std::time::Duration;

use experiment::Decider;
use experiment::comparison::{Comparison, Verdict};
use experiment::plan::{Method, Plan};
use experiment::stats::Moments;

use crate::feasibility;

/// Rounds after which the round-to-round SD is reported.
const FIRST_LOOK: u32 = 4;

/// Wall-clock time between estimates, which take time to compute.
const EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct Estimate {
    standing: String,
    made_at: Option<Duration>,
    /// Workloads whose round-to-round SD was reported.
    told: BTreeSet<usize>,
}

impl Estimate {
    /// `3 of 5 decided; iops: bfq −12 % so far`; empty before the first round.
    pub(crate) fn standing(&self) -> &str {
        &self.standing
    }

    /// Updates the estimate after complete round number `rounds` of `workload`, at this wall-clock
    /// time of the session. Returns a message for the user.
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
        let all: Vec<&[Comparison]> =
            plan.workloads.iter().map(|spec| decider.comparisons(&spec.name)).collect();
        self.standing = standing(&all, all[workload]);
        if noise { detects(plan, all[workload]) } else { None }
    }
}

/// Whether the interval stays valid when looked at before the end.
fn is_looked_at(method: Method) -> bool {
    !matches!(method, Method::Fixed | Method::ThreeSigma)
}

fn standing(all: &[&[Comparison]], here: &[Comparison]) -> String {
    let decided = |comparison: &&Comparison| {
        matches!(comparison.verdict, Verdict::Better | Verdict::Worse | Verdict::Equivalent)
    };
    let all = || all.iter().copied().flatten();
    let (nr, of) = (all().filter(decided).count(), all().count());
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

/// The effect that the remaining rounds can detect on a workload, given its round-to-round SD so
/// far (root of the variants' mean variance).
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
