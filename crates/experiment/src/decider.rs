//! Which variants still need measuring, evaluated after each round. It uses the analysis's
//! comparison and evidence, so a variant that stops as decided is decided in the report: its
//! evidence is final, and Holm's levels only rise.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::compare::{Looks, Question, compare};
use crate::comparison::{Comparison, Verdict};
use crate::plan::{Method, Plan};
use crate::results::Trial;
use crate::samples::{Sample, sample};

/// A variant without a valid round among its first this many is given up (a rejected setting); also
/// one that starves in each while the baseline does not.
pub const HOPELESS_AFTER: usize = 3;

/// Tracks the undecided variants of each workload on its primary metric.
#[derive(Debug, Clone)]
pub struct Decider {
    plan: Plan,
    by_workload: BTreeMap<String, Findings>,
    looks: Looks,
}

#[derive(Debug, Clone, Default)]
struct Findings {
    samples: Vec<Sample>,
    /// By variant: number of trials, and the best of them.
    tried: BTreeMap<String, (usize, Best)>,
    /// Of the samples at the last look, once asked for.
    comparisons: OnceCell<Vec<Comparison>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Best {
    #[default]
    Invalid,
    Starved,
    Valid,
}

impl Decider {
    /// A workload without a primary metric is never decided.
    pub fn new(plan: &Plan) -> Decider {
        let looks = Looks::planned(plan, &plan.criteria, None);
        let by_workload =
            plan.workloads.iter().map(|spec| (spec.name.clone(), Findings::default())).collect();
        Decider { plan: plan.clone(), by_workload, looks }
    }

    /// Sets the number of rounds that fit, or a changed budget.
    pub fn set_looks(&mut self, looks: Looks) {
        self.looks = looks;
        self.by_workload.values_mut().for_each(|of| of.comparisons = OnceCell::new());
    }

    /// Returns the planned rounds of the bounds, if known.
    pub fn planned(&self) -> Option<u32> {
        self.looks.planned
    }

    /// Adds a trial, valid or not. On resume, push all trials in order.
    pub fn push(&mut self, trial: &Trial) {
        if let Some(primary) = self.primary(&trial.workload) {
            let sample = sample(trial, primary);
            let of = self.by_workload.get_mut(&trial.workload).expect("a workload of the plan");
            let tried = of.tried.entry(trial.variant.clone()).or_default();
            let this = match (sample.invalid.is_empty(), sample.is_starved()) {
                (false, _) => Best::Invalid,
                (true, true) => Best::Starved,
                (true, false) => Best::Valid,
            };
            *tried = (tried.0 + 1, tried.1.max(this));
            let design = self.looks.design(self.plan.criteria.method);
            let looks = design.is_none_or(|design| design.latest(tried.0) == tried.0);
            of.samples.push(sample);
            if looks {
                of.comparisons = OnceCell::new();
            }
        }
    }

    /// The variants of the next round, in plan order, with the baseline while any other remains. A
    /// variant leaves when decided, given up as futile, or hopeless ([`HOPELESS_AFTER`]); with
    /// fixed rounds or without early stopping only if hopeless.
    pub fn active_variants(&self, workload: &str) -> Vec<String> {
        let looks_each_round =
            matches!(self.plan.criteria.method, Method::Anytime | Method::Spending);
        let stops = looks_each_round && !self.plan.budget.no_early_stop;
        let decided = |comparison: &Comparison| match comparison.verdict {
            Verdict::Better | Verdict::Worse | Verdict::Equivalent => true,
            Verdict::Inconclusive => comparison.given_up().is_some(),
            Verdict::Invalid => false,
        };
        let hopeless = self.hopeless(workload);
        let undecided: BTreeSet<String> = if stops {
            let compared = self.comparisons(workload).iter();
            let undecided = compared.filter(|one| !decided(one)).map(|one| &one.variant);
            undecided.filter(|variant| !hopeless.contains(variant.as_str())).cloned().collect()
        } else {
            // No verdict stops a variant, so none is computed.
            let names = self.plan.variants.iter().map(|variant| &variant.name);
            names
                .filter(|name| *name != self.plan.baseline() && !hopeless.contains(name.as_str()))
                .cloned()
                .collect()
        };
        if undecided.is_empty() || hopeless.contains(self.plan.baseline()) {
            return Vec::new();
        }
        let active = |name: &String| name == self.plan.baseline() || undecided.contains(name);
        self.plan.variants.iter().map(|variant| variant.name.clone()).filter(active).collect()
    }

    /// The comparisons at the last look on the primary metric, one per variant other than the
    /// baseline, without estimates of the rounds to go.
    pub fn comparisons(&self, workload: &str) -> &[Comparison] {
        let Some(of) = self.by_workload.get(workload) else { return &[] };
        of.comparisons.get_or_init(|| self.compare(workload, &of.samples))
    }

    fn compare(&self, workload: &str, samples: &[Sample]) -> Vec<Comparison> {
        let variants: Vec<String> = self
            .plan
            .variants
            .iter()
            .map(|variant| variant.name.clone())
            .filter(|name| name != self.plan.baseline())
            .collect();
        let metric = self.primary(workload).unwrap_or_default();
        let question = Question {
            workload,
            metric,
            primary: true,
            baseline: self.plan.baseline(),
            variants: &variants,
            direction: self.plan.direction_of(metric),
            criteria: &self.plan.criteria,
            looks: self.looks,
            projects: false,
        };
        compare(&question, &samples.iter().collect::<Vec<_>>())
    }

    /// The probability of a verdict for which the variant is given up.
    pub fn given_up(&self, workload: &str, variant: &str) -> Option<f64> {
        self.comparisons(workload)
            .iter()
            .find(|comparison| comparison.variant == variant)?
            .given_up()
    }

    /// A starved variant is comparable only with a baseline that is not.
    fn hopeless(&self, workload: &str) -> BTreeSet<&str> {
        let Some(Findings { tried, .. }) = self.by_workload.get(workload) else {
            return BTreeSet::new();
        };
        let baseline = self.plan.baseline();
        let best_of = |is_one: &dyn Fn(&str) -> bool| {
            let best =
                tried.iter().filter(|(variant, _)| is_one(variant)).map(|(_, (_, best))| *best);
            best.max().unwrap_or(Best::Valid)
        };
        let [of_baseline, of_others] =
            [best_of(&|variant| variant == baseline), best_of(&|variant| variant != baseline)];
        let is_hopeless = |variant: &str, best: Best| {
            let other = if variant == baseline { of_others } else { of_baseline };
            best == Best::Invalid || (best == Best::Starved && other <= Best::Starved)
        };
        let often = tried.iter().filter(|(_, (number, _))| *number >= HOPELESS_AFTER);
        often
            .filter(|(variant, (_, best))| is_hopeless(variant, *best))
            .map(|(variant, _)| variant.as_str())
            .collect()
    }

    fn primary(&self, workload: &str) -> Option<&str> {
        self.plan.workloads.iter().find(|spec| spec.name == workload)?.primary.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{parse_variants, parse_workloads};
    use crate::results::{InvalidReason, Observation};
    use crate::stats::spending;

    fn plan() -> Plan {
        let mut plan: Plan = toml::from_str("device = 'sda'\nvariant = []\nworkload = []").unwrap();
        plan.variants = parse_variants(&["kyber", "none", "bfq"]).unwrap();
        plan.workloads =
            parse_workloads(&["oltp:primary=iops", "dss:primary=read_mb_per_s"]).unwrap();
        plan.baseline = Some("none".to_string());
        plan
    }

    /// A trial at `factor` times the round's value; `None`: the setting was rejected.
    fn trial(variant: &str, round: u32, factor: Option<f64>) -> Trial {
        let base = [100.0, 101.0, 99.0, 100.4, 99.7][round as usize % 5] + 0.01 * f64::from(round);
        let wobble = 1.0 + 0.002 * f64::from((round * 7 + variant.len() as u32 * 3) % 5);
        let mut observation = Observation::default();
        match factor {
            Some(factor) => {
                observation.metrics.insert("iops".to_string(), base * factor * wobble);
            }
            None => observation.invalid.push(InvalidReason::WriteFailed {
                attribute: "scheduler".to_string(),
                wanted: variant.to_string(),
                error: "Invalid argument".to_string(),
            }),
        }
        let (workload, variant) = ("oltp".to_string(), variant.to_string());
        Trial { sequence: 0, workload, round, position: 0, variant, started_ms: 0, observation }
    }

    fn factor(variant: &str) -> Option<f64> {
        match variant {
            "none" => Some(1.0),
            "kyber" => Some(1.3),
            _ => Some(1.02),
        }
    }

    #[test]
    fn at_first_every_variant_is_active_and_other_workloads_do_not_matter() {
        let mut decider = Decider::new(&plan());
        assert_eq!(decider.active_variants("oltp"), ["kyber", "none", "bfq"]);
        for round in 0..12 {
            for variant in ["kyber", "none", "bfq"] {
                decider.push(&trial(variant, round, factor(variant)));
            }
        }
        assert_eq!(decider.active_variants("dss"), ["kyber", "none", "bfq"]);
    }

    #[test]
    fn decided_variants_stop_and_stay_decided_and_the_baseline_goes_with_the_last_one() {
        let mut decider = Decider::new(&plan());
        let mut sizes = Vec::new();
        for round in 0..200 {
            let active = decider.active_variants("oltp");
            assert!(
                active.is_empty() || active.contains(&"none".to_string()),
                "the baseline stays: {active:?}"
            );
            sizes.push(active.len());
            for variant in &active {
                decider.push(&trial(variant, round, factor(variant)));
            }
        }
        assert!(
            sizes.windows(2).all(|pair| pair[1] <= pair[0]),
            "no variant comes back: {sizes:?}"
        );
        assert!(sizes.contains(&3) && sizes.contains(&2) && sizes.ends_with(&[0]), "{sizes:?}");
        let verdicts: Vec<Verdict> =
            decider.comparisons("oltp").iter().map(|comparison| comparison.verdict).collect();
        assert_eq!(verdicts, [Verdict::Better, Verdict::Better]);
    }

    #[test]
    fn with_a_fixed_number_of_rounds_or_early_stopping_off_nothing_stops() {
        type Change = fn(&mut Plan);
        let fixed: Change = |plan| plan.criteria.method = Method::Fixed;
        let no_early_stop: Change = |plan| plan.budget.no_early_stop = true;
        for change in [fixed, no_early_stop] {
            let mut plan = plan();
            change(&mut plan);
            let mut decider = Decider::new(&plan);
            for round in 0..12 {
                for variant in ["kyber", "none", "bfq"] {
                    decider.push(&trial(variant, round, factor(variant)));
                }
            }
            assert_eq!(decider.comparisons("oltp")[0].verdict, Verdict::Better);
            assert_eq!(decider.active_variants("oltp"), ["kyber", "none", "bfq"]);
        }
    }

    #[test]
    fn a_variant_that_starves_is_not_given_up_but_decided() {
        let starved = |variant: &str, round: u32| {
            let observation = Observation { duration_ns: 1_000_000_000, ..Observation::default() };
            Trial { observation, ..trial(variant, round, None) }
        };
        let measured = |variant: &str, round: u32| {
            let mut trial = trial(variant, round, factor(variant));
            trial.observation.duration_ns = 1_000_000_000;
            trial
        };
        let mut unstopped = plan();
        unstopped.budget.no_early_stop = true;
        let mut decider = Decider::new(&unstopped);
        for round in 0..2 * HOPELESS_AFTER as u32 {
            assert_eq!(decider.active_variants("oltp"), ["kyber", "none", "bfq"], "round {round}");
            decider.push(&starved("kyber", round));
            ["none", "bfq"].iter().for_each(|variant| decider.push(&measured(variant, round)));
        }
        assert_eq!(decider.comparisons("oltp")[0].verdict, Verdict::Worse);
        let mut decider = Decider::new(&plan());
        for round in 0..HOPELESS_AFTER as u32 {
            assert_eq!(decider.active_variants("oltp").len(), 3, "round {round}");
            ["kyber", "none", "bfq"]
                .iter()
                .for_each(|variant| decider.push(&starved(variant, round)));
        }
        assert!(
            decider.active_variants("oltp").is_empty(),
            "where all starve nothing can be compared"
        );
    }

    #[test]
    fn a_variant_that_the_kernel_refuses_again_and_again_is_given_up_and_one_that_failed_once_is_not()
     {
        let mut decider = Decider::new(&plan());
        for round in 0..HOPELESS_AFTER as u32 {
            assert_eq!(decider.active_variants("oltp"), ["kyber", "none", "bfq"], "round {round}");
            decider.push(&trial("none", round, Some(1.0)));
            decider.push(&trial("bfq", round, None));
            decider.push(&trial("kyber", round, if round == 0 { None } else { Some(1.02) }));
        }
        assert_eq!(decider.active_variants("oltp"), ["kyber", "none"]);
    }

    #[test]
    fn without_a_baseline_that_works_there_is_nothing_to_compare_with() {
        let mut decider = Decider::new(&plan());
        for round in 0..HOPELESS_AFTER as u32 {
            decider.push(&trial("none", round, None));
            decider.push(&trial("kyber", round, Some(1.0)));
        }
        assert!(decider.active_variants("oltp").is_empty());
    }

    #[test]
    fn a_decider_that_is_fed_results_again_goes_on_where_it_was() {
        let trials: Vec<Trial> = (0..4)
            .flat_map(|round| {
                ["kyber", "none", "bfq"].map(|variant| trial(variant, round, factor(variant)))
            })
            .collect();
        let (mut live, mut resumed) = (Decider::new(&plan()), Decider::new(&plan()));
        trials.iter().for_each(|trial| live.push(trial));
        trials.iter().for_each(|trial| resumed.push(trial));
        assert_eq!(live.active_variants("oltp"), resumed.active_variants("oltp"));
    }

    #[test]
    fn a_long_experiment_is_judged_as_its_analysis_would_be() {
        let mut plan = plan();
        plan.budget.rounds = Some(240);
        let mut decider = Decider::new(&plan);
        let (mut fresh, mut looked) = (Decider::new(&plan), 0);
        for round in 0..240 {
            for variant in ["kyber", "none", "bfq"] {
                // About the margin: undecided, with a few trials that are invalid.
                let odd = round % 2 == 0;
                let factor = if variant == "none" || odd { 1.0 } else { 1.03 };
                let trial = trial(variant, round, Some(factor).filter(|_| round % 50 != 7));
                decider.push(&trial);
                fresh.push(&trial);
            }
            let verdicts = |decider: &Decider| -> Vec<_> {
                let of = |one: &Comparison| (one.variant.clone(), one.verdict, one.given_up());
                decider.comparisons("oltp").iter().map(of).collect()
            };
            let before = verdicts(&decider);
            fresh.set_looks(fresh.looks);
            if spending::Design::of(240).latest(round as usize + 1) == round as usize + 1 {
                looked += 1;
                assert_eq!(before, verdicts(&fresh), "after round {round}");
            }
        }
        assert_eq!(looked, 200 + 9);
    }
}
