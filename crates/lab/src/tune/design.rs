//! What is fixed before the first trial of a search: plan, space, objective, budget.

use anyhow::Result;
use experiment::plan::{Budget, Plan};
use experiment::search::{Options, Search, belief};

use super::commission::{self, Commission};
use super::log::{Header, SCHEMA};
use super::objective::{Constraint, Objective};
use super::outcome::{BranchOut, SearchSummary};
use super::space::{Field, SpaceRequest};
use crate::failure::usage;
use crate::length::trial_length;
use crate::resolve::Resolved;

/// Share of trials reserved for the confirmation.
pub(super) const CONFIRM_SHARE: f64 = 0.35;
/// Rounds of the confirmation: minimum, usual, maximum.
pub const CONFIRM_ROUNDS: (u32, u32, u32) = (6, 20, 60);
/// Minimum trials of a search per workload.
pub const LEAST_SEARCH: u32 = 8;
/// Rounds per level when sweeping one tunable.
pub const SWEEP_ROUNDS: u64 = 6;
/// Seconds to switch and verify settings, per trial on a real machine.
pub const OVERHEAD_S: f64 = 0.03;
/// Separates the confirmation's seeds from the search's.
pub(super) const FRESH_SEEDS: u64 = 0x0c0f_1a3e_d5ee_d000;

pub struct Design {
    pub resolved: Resolved,
    pub field: Field,
    pub objective: Objective,
    /// As written by the user.
    pub objective_word: Option<String>,
    pub constraints: Vec<Constraint>,
    /// Including the confirmation's.
    pub trials: u32,
    /// Wall-time limit, including the confirmation.
    pub time_s: Option<f64>,
    pub alpha: f64,
    pub request: SpaceRequest,
    pub patience: u32,
}

impl Design {
    pub fn options(&self) -> Options {
        let workloads = self.resolved.plan.workloads.len() as u32;
        let trials = (self.trials - confirmation_trials(self.trials, workloads)) / workloads;
        commission::options(&self.header(), trials)
    }

    /// A description for measuring elsewhere; None on real machines.
    pub fn commission(&self) -> Option<Commission> {
        self.resolved.plan.arena.is_virtual().then(|| Commission {
            header: self.header(),
            request: self.request.clone(),
            objective: self.objective_word.clone(),
            trials: self.options().trials,
        })
    }

    pub fn baseline_point(&self) -> Option<experiment::search::Point> {
        self.field.plain(&self.resolved.plan.variants[0].scheduler)
    }

    pub fn header(&self) -> Header {
        Header {
            schema: SCHEMA,
            schedlab: text::build::identity().to_owned(),
            plan: self.resolved.plan.clone(),
            objective: self.objective.words(),
            constraints: self.constraints.iter().map(|c| c.text.clone()).collect(),
            space: branches(&self.field),
            fixed: self.request.fixed.clone(),
            trials: self.trials,
            patience: Some(self.patience),
        }
    }

    /// Compares default and winner on fresh seeds, at the share of alpha for fresh evidence.
    pub fn confirmation_plan(
        &self,
        search: &Search,
        course: &SearchSummary,
        winner: usize,
    ) -> Result<Plan> {
        let point =
            search.candidates()[winner].point.as_ref().expect("a winner is a point of the space");
        let mut plan = self.resolved.plan.clone();
        let winner = self.field.variant(point);
        plan.name = format!(
            "{} against the default, {}: the confirmation of a search",
            winner.name, plan.variants[0].name
        );
        plan.variants.truncate(1);
        plan.variants.push(winner);
        plan.seed ^= FRESH_SEEDS;
        plan.criteria.alpha = belief::FRESH * self.alpha;
        let pair = 2 * plan.workloads.len() as u32;
        let by_trials = (self.trials.saturating_sub(course.trials) / pair).max(CONFIRM_ROUNDS.0);
        let left = self
            .time_s
            .map(|s| (s - course.spent.as_secs_f64()).max(0.0) / (each_s(&plan) * f64::from(pair)));
        let rounds =
            left.map_or(by_trials, |rounds| (rounds as u32).clamp(CONFIRM_ROUNDS.0, by_trials));
        // Workloads are compared together, and constraints may take longer to show: measure every
        // round.
        let to_the_end = plan.workloads.len() > 1 || !self.constraints.is_empty();
        let time_s = 4.0 * f64::from(rounds * pair) * each_s(&plan);
        let budget = Budget {
            time_s: time_s.max(1.0),
            rounds: Some(rounds),
            no_early_stop: to_the_end,
            ..Budget::default()
        };
        plan.budget = budget;
        plan.check().map_err(|e| usage(e.to_string()))?;
        Ok(plan)
    }
}

/// Trials reserved for the confirmation.
fn confirmation_trials(trials: u32, workloads: u32) -> u32 {
    let (least, _, most) = CONFIRM_ROUNDS;
    let share = (f64::from(trials) * CONFIRM_SHARE) as u32;
    share.clamp(2 * workloads * least, 2 * workloads * most)
}

/// In seconds.
pub fn each_s(plan: &Plan) -> f64 {
    let (duration, warmup) = trial_length(plan);
    (duration + warmup).as_secs_f64() + if plan.arena.is_virtual() { 0.0 } else { OVERHEAD_S }
}

pub fn branches(field: &Field) -> Vec<BranchOut> {
    let of = |branch: &experiment::search::Branch| BranchOut {
        scheduler: branch.name.clone(),
        tunables: branch.dimensions.iter().map(|d| (d.name.clone(), d.levels.clone())).collect(),
    };
    field.space.branches().iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_confirmation_always_gets_enough_for_a_verdict_and_never_everything() {
        for workloads in 1..4 {
            for trials in (workloads * 20)..600 {
                let kept = confirmation_trials(trials, workloads);
                assert!(kept >= 2 * workloads * CONFIRM_ROUNDS.0, "{trials}");
                assert!(
                    trials - kept >= workloads * LEAST_SEARCH,
                    "{trials} trials, {workloads} workloads: {kept} kept"
                );
            }
        }
    }

    #[test]
    fn the_seeds_of_the_confirmation_are_none_of_the_searchs() {
        use experiment::schedule::trial_seed;
        let search: Vec<u64> = (0..1000).map(|round| trial_seed(1, "oltp", round, 0)).collect();
        assert!((0..1000).all(|round| !search.contains(&trial_seed(
            1 ^ FRESH_SEEDS,
            "oltp",
            round,
            0
        ))));
    }
}
