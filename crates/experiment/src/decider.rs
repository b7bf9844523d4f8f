//! Which arms still need measuring: what a runner asks after each block.
//!
//! The same judgement as the study's, on the same evidence, so that an arm that stops as decided is decided in the report:
//! its evidence no longer changes, and the levels of Holm's step-down only rise.

use std::collections::BTreeMap;

use crate::judge::{Question, judge};
use crate::metric::direction_of;
use crate::plan::{Method, Plan};
use crate::record::Trial;
use crate::samples::{Sample, sample};
use crate::study::{Judgement, Verdict};

/// An arm without one valid block among its first this many is given up: its setting is refused, or the like.
pub const HOPELESS_AFTER: usize = 3;

/// Follows an experiment and knows which arms of each workload are undecided on its primary metric.
#[derive(Debug, Clone)]
pub struct Decider {
    plan: Plan,
    samples: BTreeMap<String, Vec<Sample>>,
}

impl Decider {
    /// For a checked plan whose workloads all name their primary metric; a workload without one is never decided.
    pub fn new(plan: &Plan) -> Decider {
        Decider { plan: plan.clone(), samples: BTreeMap::new() }
    }

    /// Takes notice of a trial, void or not. For a resumed experiment, of every trial of its record, in order.
    pub fn push(&mut self, trial: &Trial) {
        if let Some(primary) = self.primary(&trial.workload) {
            let sample = sample(trial, primary);
            self.samples.entry(trial.workload.clone()).or_default().push(sample);
        }
    }

    /// The arms to measure in the next block of `workload`, in the order of the plan. The baseline is among them while any
    /// other is; empty when everything is decided. An arm is not active once it is better, worse or equivalent, or hopeless
    /// ([`HOPELESS_AFTER`]). With a fixed number of blocks, or early stopping off, all arms but the hopeless ones stay.
    pub fn active_arms(&self, workload: &str) -> Vec<String> {
        let stops = self.plan.criteria.method == Method::Anytime && !self.plan.budget.no_early_stop;
        let decided = |judgement: &Judgement| match judgement.verdict {
            Verdict::Better | Verdict::Worse | Verdict::Equivalent => stops,
            Verdict::Inconclusive | Verdict::Void => false,
        };
        let undecided: Vec<String> = self
            .judgements(workload)
            .into_iter()
            .filter(|judgement| !decided(judgement) && !self.is_hopeless(workload, &judgement.arm))
            .map(|judgement| judgement.arm)
            .collect();
        if undecided.is_empty() || self.is_hopeless(workload, self.plan.baseline()) {
            return Vec::new();
        }
        let active = |name: &String| name == self.plan.baseline() || undecided.contains(name);
        self.plan.arms.iter().map(|arm| arm.name.clone()).filter(active).collect()
    }

    /// The judgements of `workload` on its primary metric so far, one per arm other than the baseline.
    pub fn judgements(&self, workload: &str) -> Vec<Judgement> {
        let arms: Vec<String> =
            self.plan.arms.iter().map(|arm| arm.name.clone()).filter(|name| name != self.plan.baseline()).collect();
        let metric = self.primary(workload).unwrap_or_default();
        let question = Question {
            workload,
            metric,
            primary: true,
            baseline: self.plan.baseline(),
            arms: &arms,
            direction: direction_of(metric).0,
            criteria: &self.plan.criteria,
        };
        let samples: Vec<&Sample> = self.samples.get(workload).into_iter().flatten().collect();
        judge(&question, &samples)
    }

    /// Whether an arm has been tried [`HOPELESS_AFTER`] times or more without one valid trial.
    pub fn is_hopeless(&self, workload: &str, arm: &str) -> bool {
        let samples = self.samples.get(workload).into_iter().flatten();
        let (void, valid): (Vec<_>, Vec<_>) =
            samples.filter(|sample| sample.arm == arm).partition(|sample| !sample.voids.is_empty());
        valid.is_empty() && void.len() >= HOPELESS_AFTER
    }

    fn primary(&self, workload: &str) -> Option<&str> {
        self.plan.workloads.iter().find(|spec| spec.name == workload)?.primary.as_deref()
    }
}
