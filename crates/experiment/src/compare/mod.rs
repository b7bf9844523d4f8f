//! Verdicts: every variant against the baseline, on one metric of one workload.
//!
//! The order: evidence, interval by the criteria's method, claims (beyond the margin or inside it),
//! Holm's levels over the variants, verdict. The interval shown is the one that decided. With
//! [`Method::Spending`] "equivalent" is two one-sided tests at the claim's level, since the truth
//! cannot lie beyond both ends of the margin; its interval has confidence 1 − 2 · level.

mod evidence;
mod replay;

pub use replay::truncate_to_stops;

use crate::comparison::{Comparison, Verdict};
use crate::metric::{self, Counts, Direction};
use crate::plan::{Criteria, Method, Plan, THIN_LOOKS};
use crate::reason::Reason;
use crate::results::{Event, Results};
use crate::samples::Sample;
use crate::stats::holm::{StepDown, step_down};
use crate::stats::spending::{self, Design, Look, Sides};
use crate::stats::{
    Interval, Moments, describe, fixed, futility, projection, sequence, three_sigma,
};
use evidence::{Cells, Evidence};

/// Maximum further rounds reported.
pub const MAX_ROUNDS: usize = 10_000;

/// Share of alpha at which a single test has about the bound of the last of several dozen looks.
const LAST_LOOK: f64 = 0.6;

/// One metric of one workload.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// The workload's label.
    pub workload: &'a str,
    /// The metric.
    pub metric: &'a str,
    /// Whether it is the primary metric.
    pub primary: bool,
    /// The variant to compare with.
    pub baseline: &'a str,
    /// The variants, including those without samples: each counts in the family.
    pub variants: &'a [String],
    /// Which way is better.
    pub direction: Direction,
    /// The rules.
    pub criteria: &'a Criteria,
    /// The state of the experiment.
    pub looks: Looks,
    /// Whether to estimate the rounds until a verdict, which takes every bound of the plan.
    pub projects: bool,
}

/// The state of an experiment for rules with a planned end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Looks {
    /// Planned rounds, fixed before the first look; `None`: the confidence sequence is used.
    pub planned: Option<u32>,
    /// Whether the budget has ended, so that this is the last look.
    pub ended: bool,
    /// Whether variants are measured to the end of the budget.
    pub no_early_stop: bool,
    /// Whether a long experiment, too, looks after each round, as plans of schema 2 do.
    pub each_round: bool,
}

/// Returns one comparison per variant, in order.
pub fn compare(question: &Question<'_>, samples: &[&Sample]) -> Vec<Comparison> {
    let cells = Cells::of(samples);
    let cases: Vec<Case> =
        question.variants.iter().map(|variant| Case::of(&cells, variant, question)).collect();
    let margin = question.margin();
    let (m, alpha) = (cases.len(), question.criteria.alpha);
    let differ = step_down(m, alpha, |i, level| {
        !cases[i].invalid && differs(&cases[i].interval(level), margin)
    });
    let equal = step_down(m, alpha, |i, level| {
        !cases[i].invalid && equivalent(&cases[i].equivalence_interval(level), margin)
    });
    cases
        .iter()
        .enumerate()
        .map(|(i, case)| case.comparison(question, &cells, [&differ, &equal], i))
        .collect()
}

/// Whether the interval is beyond the margin (a log ratio) on one side.
pub fn differs(interval: &Interval, margin: f64) -> bool {
    interval.low > margin || interval.high < -margin
}

/// Whether the interval is inside the margin (a log ratio).
pub fn equivalent(interval: &Interval, margin: f64) -> bool {
    interval.low > -margin && interval.high < margin
}

/// The lower and upper end are open if the variant or the baseline starved.
pub(crate) fn open_ends([variant, baseline]: [bool; 2], direction: Direction) -> [bool; 2] {
    match direction {
        Direction::LowerIsBetter => [baseline, variant],
        Direction::HigherIsBetter | Direction::Descriptive => [variant, baseline],
    }
}

impl Looks {
    /// The looks of a results file by these criteria.
    pub fn of(results: &Results, criteria: &Criteria) -> Looks {
        let plan = &results.header.plan;
        let noted = results.notes.iter().find_map(|note| match note.event {
            Event::Planned { rounds } => Some(rounds),
            _ => None,
        });
        let looks = Looks::planned(plan, criteria, noted);
        Looks {
            planned: looks.planned.filter(|_| !Looks::is_changed(results)),
            ended: results.end.as_ref().is_some_and(|end| !end.reason.ending().is_early()),
            ..looks
        }
    }

    /// Whether the budget was changed during the experiment.
    pub fn is_changed(results: &Results) -> bool {
        results.notes.iter().any(|note| matches!(note.event, Event::BudgetChanged { .. }))
    }

    /// The rounds are the plan's or `found`.
    pub fn planned(plan: &Plan, criteria: &Criteria, found: Option<u32>) -> Looks {
        let planned = criteria.planned.or(plan.budget.rounds).or(found);
        Looks {
            planned,
            ended: false,
            no_early_stop: plan.budget.no_early_stop,
            each_round: plan.schema < THIN_LOOKS,
        }
    }

    /// The planned looks, if the method has some.
    pub fn design(&self, method: Method) -> Option<Design> {
        let planned = self.planned.filter(|_| method == Method::Spending)? as usize;
        Some(Design { each_round: self.each_round, ..Design::of(planned) })
    }
}

impl Question<'_> {
    /// The margin as a log ratio; 0 for three-sigma.
    fn margin(&self) -> f64 {
        match self.criteria.method {
            Method::ThreeSigma => 0.0,
            Method::Spending | Method::Anytime | Method::Fixed => self.criteria.margin.ln_1p(),
        }
    }

    fn rule(&self, paired: bool, ratios: &Moments) -> Rule {
        match (self.criteria.method, self.looks.design(self.criteria.method)) {
            (Method::ThreeSigma, _) => Rule::ThreeSigma,
            (Method::Spending | Method::Anytime | Method::Fixed, _) if !paired => Rule::Welch,
            (Method::Fixed, _) => Rule::Fixed,
            (Method::Anytime, _) | (Method::Spending, None) => Rule::Anytime,
            (Method::Spending, Some(design)) => {
                let futile = self.futile(ratios).is_some();
                // A variant given up early has not reached the end of the budget.
                let look = if self.looks.ended && !futile { Look::Last } else { Look::Planned };
                Rule::Spending(Design { look, ..design })
            }
        }
    }

    /// Between two planned looks the evidence is that at the last one.
    fn looked_at(&self, cells: &Cells<'_>, variant: &str) -> (Rule, Evidence) {
        let all = cells.evidence(variant, self.baseline, usize::MAX);
        let n = all.rounds.len();
        let design = self.looks.design(self.criteria.method);
        let at_look = match design.map_or(n, |design| design.latest(n)) {
            look if look < n => Some(cells.evidence(variant, self.baseline, look)),
            _ => None,
        };
        let seen = at_look.as_ref().unwrap_or(&all);
        let rule = self.rule(seen.paired, &Moments::of(&seen.log_ratios()));
        let is_last = matches!(rule, Rule::Spending(Design { look: Look::Last, .. }));
        (rule, at_look.filter(|_| !is_last).unwrap_or(all))
    }

    /// The probability of a verdict, if low enough to give up.
    fn futile(&self, ratios: &Moments) -> Option<f64> {
        let design = self.looks.design(self.criteria.method)?;
        let may_stop = !self.looks.no_early_stop;
        may_stop
            .then(|| futility::hopeless(ratios, design, self.margin(), self.criteria.alpha))
            .flatten()
    }
}

struct Case<'a> {
    variant: &'a str,
    evidence: Evidence,
    log_ratios: Vec<f64>,
    variants: Moments,
    baselines: Moments,
    ratios: Moments,
    rule: Rule,
    invalid: bool,
    /// Lower and upper end.
    open: [bool; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Spending(Design),
    Anytime,
    Fixed,
    Welch,
    ThreeSigma,
}

impl<'a> Case<'a> {
    fn of(cells: &Cells<'_>, variant: &'a str, question: &Question<'_>) -> Case<'a> {
        let (rule, evidence) = question.looked_at(cells, variant);
        let log_ratios = evidence.log_ratios();
        let invalid_share = f64::from(evidence.invalid) / f64::from(evidence.total.max(1));
        let nothing = (evidence.variant.is_empty() || evidence.baseline.is_empty())
            && (evidence.unfinished == 0 || evidence.invalid > 0);
        let ratios = Moments::of(&log_ratios);
        Case {
            variant,
            variants: Moments::of(&evidence.variant),
            baselines: Moments::of(&evidence.baseline),
            ratios,
            invalid: nothing || invalid_share > question.criteria.max_invalid_share,
            rule,
            open: open_ends(evidence.starved.map(|rounds| rounds > 0), question.direction),
            log_ratios,
            evidence,
        }
    }

    fn interval(&self, alpha: f64) -> Interval {
        self.interval_with(alpha, &self.ratios)
    }

    fn interval_with(&self, alpha: f64, ratios: &Moments) -> Interval {
        self.drop_open_ends(match self.rule {
            Rule::ThreeSigma => three_sigma::interval(&self.variants, &self.baselines),
            Rule::Welch => fixed::welch(&self.variants, &self.baselines, alpha),
            Rule::Spending(design) => spending::interval(ratios, design, alpha, Sides::Two),
            Rule::Anytime => sequence::interval(ratios, alpha),
            Rule::Fixed => fixed::paired_t(ratios, alpha),
        })
    }

    /// A bound is on the near side of the truth: only that end of the interval holds.
    fn drop_open_ends(&self, interval: Interval) -> Interval {
        let [low, high] = self.open;
        Interval {
            low: if low { f64::NEG_INFINITY } else { interval.low },
            high: if high { f64::INFINITY } else { interval.high },
        }
    }

    /// The interval that must lie inside the margin for "equivalent" at `alpha`.
    fn equivalence_interval(&self, alpha: f64) -> Interval {
        self.equivalence_interval_with(alpha, &self.ratios)
    }

    fn equivalence_interval_with(&self, alpha: f64, ratios: &Moments) -> Interval {
        match self.rule {
            Rule::Spending(design) => {
                self.drop_open_ends(spending::interval(ratios, design, alpha, Sides::One))
            }
            Rule::Anytime | Rule::Fixed | Rule::Welch | Rule::ThreeSigma => {
                self.interval_with(alpha, ratios)
            }
        }
    }

    fn estimate(&self) -> f64 {
        if self.evidence.paired {
            self.ratios.mean
        } else {
            self.variants.mean - self.baselines.mean
        }
    }

    fn comparison(
        &self,
        question: &Question<'_>,
        cells: &Cells<'_>,
        kinds: [&StepDown; 2],
        i: usize,
    ) -> Comparison {
        let [differ, equal] = kinds;
        let decided_at = differ.decided_at[i].or(equal.decided_at[i]);
        let shown_at = decided_at.unwrap_or(differ.current.min(equal.current));
        let inside = differ.decided_at[i].is_none() && equal.decided_at[i].is_some();
        let one_sided = inside && matches!(self.rule, Rule::Spending(_));
        let interval = match (self.invalid, one_sided) {
            (true, _) => Interval::UNBOUNDED,
            (false, true) => self.equivalence_interval(shown_at),
            (false, false) => self.interval(shown_at),
        };
        let error = if one_sided { 2.0 * shown_at } else { shown_at };
        let verdict = match (self.invalid, differ.decided_at[i], equal.decided_at[i]) {
            (true, _, _) => Verdict::Invalid,
            (_, Some(_), _)
                if (interval.low > 0.0) == (question.direction == Direction::HigherIsBetter) =>
            {
                Verdict::Better
            }
            (_, Some(_), _) => Verdict::Worse,
            (_, None, Some(_)) => Verdict::Equivalent,
            (_, None, None) => Verdict::Inconclusive,
        };
        let (more_rounds, new_plan_rounds) = match verdict {
            Verdict::Inconclusive if question.projects => {
                self.rounds_to_go(question, differ.current, equal.current)
            }
            _ => (None, None),
        };
        let finite = |log: f64| {
            Some(log.exp()).filter(|ratio| !self.invalid && log.is_finite() && ratio.is_finite())
        };
        let rounds = self.evidence.variant.len() as u32;
        // Only a ratio takes half an event for none.
        let mean = |log: f64, free: u32| {
            let mean = if free == rounds { Some(0.0) } else { finite(log) };
            mean.filter(|_| rounds > 0)
        };
        let [variant_mean, baseline_mean] = [
            mean(self.variants.mean, self.evidence.free[0]),
            mean(self.baselines.mean, self.evidence.free[1]),
        ];
        Comparison {
            workload: question.workload.to_string(),
            metric: question.metric.to_string(),
            primary: question.primary,
            variant: self.variant.to_string(),
            baseline: question.baseline.to_string(),
            variant_mean,
            baseline_mean,
            ratio: Some(self.estimate()).filter(|_| rounds > 0).and_then(finite),
            low: finite(interval.low),
            high: finite(interval.high),
            verdict,
            rounds,
            invalid_rounds: self.evidence.invalid,
            confidence: if self.rule == Rule::ThreeSigma {
                three_sigma::NOMINAL_CONFIDENCE
            } else {
                1.0 - error
            },
            more_rounds,
            new_plan_rounds,
            reasons: self.reasons(question, cells, &interval, shown_at),
            log_ratios: self.log_ratios.clone(),
        }
    }

    /// Estimates rounds at constant mean and deviation: further ones of this experiment, or those
    /// of a new one if its budget does not suffice.
    fn rounds_to_go(
        &self,
        question: &Question<'_>,
        differ_at: f64,
        equal_at: f64,
    ) -> (Option<u32>, Option<u32>) {
        let n = self.ratios.n;
        if !self.evidence.paired || n < 2 || self.rule == Rule::ThreeSigma {
            return (None, None);
        }
        let margin = question.margin();
        let moments = |n: usize| Moments { n, ..self.ratios };
        if let Rule::Spending(design) = self.rule {
            let decided = |n: usize| {
                differs(&self.interval_with(differ_at, &moments(n)), margin)
                    || equivalent(&self.equivalence_interval_with(equal_at, &moments(n)), margin)
            };
            let goes_on = !question.looks.ended && question.futile(&self.ratios).is_none();
            let mut looks = (n + 1..=design.planned).filter(|_| goes_on);
            if let Some(needed) = looks.find(|n| decided(*n)) {
                return (Some((needed - n) as u32), None);
            }
            // A new plan's last look is at its own end, with a bound close to a single look's.
            let differ = |n: usize| fixed::paired_t(&moments(n), LAST_LOOK * differ_at);
            let equal = |n: usize| fixed::paired_t(&moments(n), 2.0 * LAST_LOOK * equal_at);
            let differ =
                projection::values_needed(MAX_ROUNDS, differ, |interval| differs(interval, margin));
            let equal = projection::values_needed(MAX_ROUNDS, equal, |interval| {
                equivalent(interval, margin)
            });
            let least = match self.ratios.sd {
                0.0 => sequence::MIN_WITHOUT_SPREAD,
                _ => spending::FIRST_LOOK,
            };
            let needed = differ.into_iter().chain(equal).min().map(|n| n.max(least) as u32);
            return (None, needed);
        }
        let at = |alpha: f64| move |n: usize| self.interval_with(alpha, &moments(n));
        let differ = projection::values_needed(MAX_ROUNDS, at(differ_at), |interval| {
            differs(interval, margin)
        });
        let equal = projection::values_needed(MAX_ROUNDS, at(equal_at), |interval| {
            equivalent(interval, margin)
        });
        let needed = differ.into_iter().chain(equal).min();
        (needed.map(|needed| needed.saturating_sub(n).max(1) as u32), None)
    }

    fn reasons(
        &self,
        question: &Question<'_>,
        cells: &Cells<'_>,
        interval: &Interval,
        shown_at: f64,
    ) -> Vec<Reason> {
        let mut reasons = self.evidence.reasons.clone();
        let (n, n_baseline) = (self.evidence.variant.len(), self.evidence.baseline.len());
        if self.invalid {
            return reasons;
        }
        let is_bounded = interval.is_bounded() || self.open.contains(&true);
        let few = if n == 1 { self.variant } else { question.baseline };
        if n == 1 && n_baseline == 1 {
            reasons.push(Reason::OneObservationPerVariant);
        } else if !is_bounded && (n == 1 || n_baseline == 1) {
            reasons.push(Reason::OneObservationOf { variant: few.to_string() });
        } else if !is_bounded && n > 0 {
            reasons.push(Reason::TooFewRounds {
                rounds: n,
                confidence_percent: (1.0 - shown_at) * 100.0,
            });
        }
        let none_had_events = self.evidence.free == [n as u32; 2];
        if n > 1 && self.ratios.sd == 0.0 && cells.paired() && !none_had_events {
            reasons.push(Reason::SameRatio { rounds: n, metric: question.metric.to_string() });
        }
        let what = metric::find(question.metric)
            .and_then(|row| row.counts)
            .map_or("requests", Counts::words);
        for (variant, starved) in
            [self.variant, question.baseline].into_iter().zip(self.evidence.starved)
        {
            if starved > 0 {
                reasons.push(Reason::Starved {
                    variant: variant.to_string(),
                    what,
                    starved,
                    rounds: n,
                });
            }
        }
        for (variant, free) in [self.variant, question.baseline].into_iter().zip(self.evidence.free)
        {
            if free > 0 && !none_had_events {
                let variant = variant.to_string();
                reasons.push(Reason::FreeOfEvents { variant, free, rounds: n });
            }
        }
        let outliers = describe::outliers(&self.log_ratios).len();
        if outliers > 0 {
            reasons.push(Reason::Outliers { outliers, rounds: n });
        }
        if let Some(chance) = question.futile(&self.ratios).filter(|_| self.evidence.paired) {
            reasons.push(Reason::Futile {
                chance,
                planned: question.looks.planned.unwrap_or_default(),
            });
        }
        let follows = matches!(question.criteria.method, Method::Anytime | Method::Spending);
        if follows && !cells.paired() && interval.is_bounded() {
            reasons.push(Reason::Welch);
        }
        reasons
    }
}

#[cfg(test)]
mod tests;
