//! Verdicts: every arm against the baseline, on one metric of one workload.
//!
//! The order of things: evidence (what counts), interval (by the method of the criteria), claims (beyond the margin, or
//! inside it), Holm's levels over the arms, verdict. The interval that is shown is the one that the verdict was read from.

mod evidence;

use crate::judgement::{Judgement, OlderClaim, Verdict};
use crate::metric::Direction;
use crate::plan::{Criteria, Method};
use crate::reason::Reason;
use crate::samples::Sample;
use crate::stats::holm::{StepDown, step_down};
use crate::stats::{Interval, Moments, describe, fixed, projection, sequence, three_sigma};
use evidence::{Cells, Evidence};

/// Blocks beyond which "how many more" is not worth saying.
pub const MOST_BLOCKS: usize = 10_000;

/// What is asked about one metric of one workload.
#[derive(Debug, Clone)]
pub struct Question<'a> {
    /// The workload's label.
    pub workload: &'a str,
    /// The metric.
    pub metric: &'a str,
    /// Whether it decides for the workload.
    pub primary: bool,
    /// The arm that the others are compared with.
    pub baseline: &'a str,
    /// All other arms of the experiment, also those without samples: each counts in the family.
    pub arms: &'a [String],
    /// Which way is better.
    pub direction: Direction,
    /// The rules.
    pub criteria: &'a Criteria,
}

/// Judges every arm of the question by `samples`, which hold this metric of this workload only. One judgement per arm, in the
/// order of the arms.
pub fn judge(question: &Question<'_>, samples: &[&Sample]) -> Vec<Judgement> {
    let cells = Cells::of(samples);
    let cases: Vec<Case> = question.arms.iter().map(|arm| Case::of(&cells, arm, question)).collect();
    let margin = question.margin();
    let (m, alpha) = (cases.len(), question.criteria.alpha);
    let differ = step_down(m, alpha, |i, level| !cases[i].void && differs(&cases[i].interval(level), margin));
    let equal = step_down(m, alpha, |i, level| !cases[i].void && equivalent(&cases[i].interval(level), margin));
    cases.iter().enumerate().map(|(i, case)| case.judgement(question, &cells, [&differ, &equal], i)).collect()
}

/// What an arm and the baseline measured in the blocks that count for their comparison: for each arm the geometric means
/// (baseline, arm), whose quotient is the judgement's ratio; none without such blocks.
pub(crate) fn levels(samples: &[&Sample], baseline: &str, arms: &[&str]) -> Vec<Option<(f64, f64)>> {
    let cells = Cells::of(samples);
    let mean = |logs: &[f64]| Moments::of(logs).mean.exp();
    let of = |arm: &&str| {
        let evidence = cells.evidence(arm, baseline);
        let both = !evidence.arm.is_empty() && !evidence.baseline.is_empty();
        both.then(|| (mean(&evidence.baseline), mean(&evidence.arm)))
    };
    arms.iter().map(of).collect()
}

/// Whether the whole interval of a log ratio lies beyond the margin (also a log ratio) on one side.
pub fn differs(interval: &Interval, margin: f64) -> bool {
    interval.low > margin || interval.high < -margin
}

/// Whether the whole interval of a log ratio lies inside the margin.
pub fn equivalent(interval: &Interval, margin: f64) -> bool {
    interval.low > -margin && interval.high < margin
}

impl Question<'_> {
    /// The margin as a log ratio. The three-sigma rule knows none.
    fn margin(&self) -> f64 {
        match self.criteria.method {
            Method::ThreeSigma => 0.0,
            Method::Anytime | Method::Fixed => self.criteria.margin.ln_1p(),
        }
    }
}

/// One arm with its evidence.
struct Case<'a> {
    arm: &'a str,
    evidence: Evidence,
    log_ratios: Vec<f64>,
    arms: Moments,
    baselines: Moments,
    ratios: Moments,
    method: Method,
    void: bool,
}

impl<'a> Case<'a> {
    fn of(cells: &Cells<'_>, arm: &'a str, question: &Question<'_>) -> Case<'a> {
        let evidence = cells.evidence(arm, question.baseline);
        let log_ratios = evidence.log_ratios();
        let void_share = f64::from(evidence.void) / f64::from(evidence.total.max(1));
        let nothing = (evidence.arm.is_empty() || evidence.baseline.is_empty())
            && (evidence.unfinished == 0 || evidence.void > 0);
        Case {
            arm,
            arms: Moments::of(&evidence.arm),
            baselines: Moments::of(&evidence.baseline),
            ratios: Moments::of(&log_ratios),
            void: nothing || void_share > question.criteria.max_void_share,
            method: question.criteria.method,
            log_ratios,
            evidence,
        }
    }

    /// The interval of the log ratio at `alpha`.
    fn interval(&self, alpha: f64) -> Interval {
        self.interval_with(alpha, &self.ratios)
    }

    fn interval_with(&self, alpha: f64, ratios: &Moments) -> Interval {
        match (self.method, self.evidence.paired) {
            (Method::ThreeSigma, _) => three_sigma::interval(&self.arms, &self.baselines),
            (_, false) => fixed::welch(&self.arms, &self.baselines, alpha),
            (Method::Anytime, true) => sequence::interval(ratios, alpha),
            (Method::Fixed, true) => fixed::paired_t(ratios, alpha),
        }
    }

    fn estimate(&self) -> f64 {
        if self.evidence.paired { self.ratios.mean } else { self.arms.mean - self.baselines.mean }
    }

    fn judgement(&self, question: &Question<'_>, cells: &Cells<'_>, kinds: [&StepDown; 2], i: usize) -> Judgement {
        let [differ, equal] = kinds;
        let decided_at = differ.decided_at[i].or(equal.decided_at[i]);
        let shown_at = decided_at.unwrap_or(differ.current.min(equal.current));
        let interval = if self.void { Interval::UNBOUNDED } else { self.interval(shown_at) };
        let verdict = match (self.void, differ.decided_at[i], equal.decided_at[i]) {
            (true, _, _) => Verdict::Void,
            (_, Some(_), _) if (interval.low > 0.0) == (question.direction == Direction::HigherIsBetter) => {
                Verdict::Better
            }
            (_, Some(_), _) => Verdict::Worse,
            (_, None, Some(_)) => Verdict::Equivalent,
            (_, None, None) => Verdict::Inconclusive,
        };
        let more_blocks = match verdict {
            Verdict::Inconclusive => self.more_blocks(question, differ.current, equal.current),
            _ => None,
        };
        let finite = |log: f64| Some(log.exp()).filter(|ratio| !self.void && log.is_finite() && ratio.is_finite());
        Judgement {
            workload: question.workload.to_string(),
            metric: question.metric.to_string(),
            primary: question.primary,
            arm: self.arm.to_string(),
            baseline: question.baseline.to_string(),
            ratio: Some(self.estimate()).filter(|_| !self.evidence.arm.is_empty()).and_then(finite),
            low: finite(interval.low),
            high: finite(interval.high),
            verdict,
            three_sigma: (self.method != Method::ThreeSigma).then(|| self.older_claim(question.direction)),
            blocks: self.evidence.arm.len() as u32,
            void_blocks: self.evidence.void,
            confidence: if self.method == Method::ThreeSigma {
                three_sigma::NOMINAL_CONFIDENCE
            } else {
                1.0 - shown_at
            },
            more_blocks,
            reasons: self.reasons(question, cells, &interval, shown_at),
            log_ratios: self.log_ratios.clone(),
        }
    }

    /// What the three-sigma rule makes of the same values, whatever the method. It knows no void evidence: of what is left it
    /// claims what it would.
    fn older_claim(&self, direction: Direction) -> OlderClaim {
        let range = three_sigma::interval(&self.arms, &self.baselines);
        match range {
            range if !range.is_bounded() => OlderClaim::NotEnough,
            range if range.contains(0.0) => OlderClaim::NoDifference,
            range if (range.low > 0.0) == (direction == Direction::HigherIsBetter) => OlderClaim::Better,
            _ => OlderClaim::Worse,
        }
    }

    /// Blocks to go until one of the two claims would be settled if mean and deviation stay as they are.
    fn more_blocks(&self, question: &Question<'_>, differ_at: f64, equal_at: f64) -> Option<u32> {
        if !self.evidence.paired || self.ratios.n < 2 || self.method == Method::ThreeSigma {
            return None;
        }
        let margin = question.margin();
        let at = |alpha: f64| move |n: usize| self.interval_with(alpha, &Moments { n, ..self.ratios });
        let differ = projection::values_needed(MOST_BLOCKS, at(differ_at), |interval| differs(interval, margin));
        let equal = projection::values_needed(MOST_BLOCKS, at(equal_at), |interval| equivalent(interval, margin));
        let needed = differ.into_iter().chain(equal).min()?;
        Some(needed.saturating_sub(self.ratios.n).max(1) as u32)
    }

    fn reasons(&self, question: &Question<'_>, cells: &Cells<'_>, interval: &Interval, shown_at: f64) -> Vec<Reason> {
        let mut reasons = self.evidence.reasons.clone();
        let (n, n_baseline) = (self.evidence.arm.len(), self.evidence.baseline.len());
        if self.void {
            return reasons;
        }
        let few = if n == 1 { self.arm } else { question.baseline };
        if n == 1 && n_baseline == 1 {
            reasons.push(Reason::OneObservationPerArm);
        } else if !interval.is_bounded() && (n == 1 || n_baseline == 1) {
            reasons.push(Reason::OneObservationOf { arm: few.to_string() });
        } else if !interval.is_bounded() && n > 0 {
            reasons.push(Reason::TooFewBlocks { blocks: n, confidence_percent: (1.0 - shown_at) * 100.0 });
        }
        if n > 1 && self.ratios.sd == 0.0 && cells.paired() {
            reasons.push(Reason::SameRatio { blocks: n, metric: question.metric.to_string() });
        }
        let outliers = describe::outliers(&self.log_ratios).len();
        if outliers > 0 {
            reasons.push(Reason::Outliers { outliers, blocks: n });
        }
        if self.method == Method::Anytime && !cells.paired() && interval.is_bounded() {
            reasons.push(Reason::Welch);
        }
        reasons
    }
}

#[cfg(test)]
mod tests;
