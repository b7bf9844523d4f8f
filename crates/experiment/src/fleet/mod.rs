//! One verdict from many machines' results, and a prediction for a new machine.
//!
//! The unit is the machine: its effect is the mean log ratio of its results, and the verdict that
//! of [`repeats`](crate::stats::repeats), unweighted. At most a tenth are omitted as [`outliers`],
//! with a second interval that includes them; if more are far, all count, with a caution. The
//! prediction is between ordered effects from 39 machines on at 95 % (Wilks 1941), otherwise
//! Student's t, at least as wide as the range. Liars within the spread, or an agreeing majority,
//! are not detected.

use serde::Serialize;

use crate::claims::{Claim, claims};
use crate::compare;
use crate::comparison::Verdict;
use crate::metric::Direction;
use crate::plan::Criteria;
use crate::stats::repeats::{Pooled, Repeat, between};
use crate::stats::{Interval, Moments};

pub mod identity;
pub mod levels;
mod outliers;

pub use outliers::{FAR_AT_MOST, MIN_FOR_OUTLIERS};

/// Minimum number of machines.
pub const MIN_MACHINES: usize = 3;

/// One result of a machine for a variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The machine.
    pub machine: String,
    /// Mean log ratio, its variance and degrees of freedom.
    pub repeat: Repeat,
}

/// All machines' results for one variant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VariantEffects {
    /// The variant.
    pub variant: String,
    /// Effects, one per result.
    pub effects: Vec<Effect>,
}

/// A machine whose effect is too far from the others'.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlier {
    /// The machine.
    pub machine: String,
    /// Variant / baseline.
    pub ratio: f64,
    /// Distance from the median, in standard deviations between machines.
    pub distance: f64,
}

/// An interval of ratios; `None` is unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratios {
    /// The estimate.
    pub ratio: f64,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// How the prediction was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prediction {
    /// Between two ordered effects: any distribution.
    Ordered,
    /// Student's t for a further value: normal effects.
    Normal,
}

/// One variant over a fleet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetComparison {
    /// The variant.
    pub variant: String,
    /// The verdict; invalid with fewer than [`MIN_MACHINES`].
    pub verdict: Verdict,
    /// Mean over the machines that count.
    pub mean: Option<Ratios>,
    /// Mean including outliers, if any.
    pub with_outliers: Option<Ratios>,
    /// Prediction for a new machine.
    pub further_machine: Option<Ratios>,
    /// How the prediction was made.
    pub prediction: Prediction,
    /// Whether the verdict holds for a new machine: its interval is on the same side of the margin.
    pub holds_for_one: bool,
    /// Confidence, corrected for the number of variants.
    pub confidence: f64,
    /// Confidence of the prediction.
    pub further_confidence: f64,
    /// Machines that count.
    pub machines: usize,
    /// Results, including outliers'.
    pub results: usize,
    /// SD between machines beyond chance within them, in percent.
    pub between_percent: Option<f64>,
    /// Its share of the variance of the machines' effects (I²).
    pub between_share: Option<f64>,
    /// Omitted machines, the farthest first.
    pub outliers: Vec<Outlier>,
    /// Far machines, if too many to omit: several kinds of machines.
    pub far_but_counted: usize,
}

struct Case<'a> {
    variant: &'a str,
    results: usize,
    names: Vec<String>,
    all: Vec<Repeat>,
    counted: Vec<Repeat>,
    pooled: Pooled,
    far: outliers::Far,
}

impl<'a> Case<'a> {
    fn of(of: &'a VariantEffects) -> Case<'a> {
        let (names, all) = by_machine(&of.effects);
        let far = outliers::Far::of(&all);
        let counted: Vec<Repeat> = all
            .iter()
            .zip(&far.is_left_out)
            .filter(|(_, out)| !**out)
            .map(|(repeat, _)| *repeat)
            .collect();
        let mut pooled = Pooled::of(&counted);
        pooled.means = far.counted(&all.iter().map(|repeat| repeat.mean).collect::<Vec<_>>());
        Case { variant: &of.variant, results: of.effects.len(), names, all, counted, pooled, far }
    }

    fn is_invalid(&self) -> bool {
        self.counted.len() < MIN_MACHINES
    }

    fn outliers(&self) -> Vec<Outlier> {
        let far = self.far.is_left_out.iter().enumerate().filter(|(_, out)| **out);
        let mut found: Vec<Outlier> = far
            .map(|(at, _)| Outlier {
                machine: self.names[at].clone(),
                ratio: self.all[at].mean.exp(),
                distance: self.far.distance[at],
            })
            .collect();
        found.sort_by(|a, b| {
            b.distance.total_cmp(&a.distance).then_with(|| a.machine.cmp(&b.machine))
        });
        found
    }

    fn prediction(&self, alpha: f64) -> (Interval, Prediction) {
        let mut sorted: Vec<f64> = self.counted.iter().map(|repeat| repeat.mean).collect();
        sorted.sort_by(f64::total_cmp);
        let normal = self.pooled.next(alpha);
        let outside = 2 * ((self.all.len() + 1) as f64 * alpha / 2.0) as usize;
        if outside == 0 {
            return (normal, Prediction::Normal);
        }
        let n = sorted.len();
        let rank = outside.saturating_sub(self.all.len() - n) / 2;
        if rank == 0 {
            let ends =
                Interval { low: normal.low.min(sorted[0]), high: normal.high.max(sorted[n - 1]) };
            return (ends, Prediction::Normal);
        }
        let ends = Interval { low: sorted[rank - 1], high: sorted[n - rank] };
        (ends, Prediction::Ordered)
    }
}

/// One repeat per machine, by name. Its variance is the larger of those within and between its
/// results.
pub fn by_machine(effects: &[Effect]) -> (Vec<String>, Vec<Repeat>) {
    let mut sorted: Vec<&Effect> =
        effects.iter().filter(|effect| effect.repeat.mean.is_finite()).collect();
    sorted.sort_by(|a, b| a.machine.cmp(&b.machine).then(a.repeat.mean.total_cmp(&b.repeat.mean)));
    let machines = sorted.chunk_by(|a, b| a.machine == b.machine);
    machines.map(|of| (of[0].machine.clone(), join(of))).unzip()
}

fn join(of: &[&Effect]) -> Repeat {
    let means: Vec<f64> = of.iter().map(|effect| effect.repeat.mean).collect();
    let Moments { n, mean, sd } = Moments::of(&means);
    let count = n as f64;
    let variances: Option<Vec<f64>> = of.iter().map(|effect| effect.repeat.variance).collect();
    let within = variances.map(|all| all.iter().sum::<f64>() / (count * count));
    let among = (n > 1).then_some(sd * sd / count);
    let variance = match (within, among) {
        (Some(within), Some(among)) => Some(within.max(among)),
        (within, among) => within.or(among),
    };
    Repeat {
        mean,
        variance,
        degrees: of.iter().map(|effect| effect.repeat.degrees).sum::<f64>().max(count - 1.0),
    }
}

/// Compares the variants of one question.
pub fn compare_fleet(
    family: &[VariantEffects],
    direction: Direction,
    criteria: &Criteria,
) -> Vec<FleetComparison> {
    let cases: Vec<Case<'_>> = family.iter().map(Case::of).collect();
    let margin = criteria.margin.ln_1p();
    let alpha = criteria.alpha;
    let variants: Vec<(&Pooled, bool)> =
        cases.iter().map(|case| (&case.pooled, case.is_invalid())).collect();
    let (claims, _) = claims(&variants, direction, criteria);
    let one = |(case, claim): (&Case<'_>, &Claim)| {
        let Claim { verdict, level, interval } = *claim;
        let (further, prediction) = case.prediction(alpha);
        let mean = case.pooled.means.mean;
        let all = Pooled::of(&case.all);
        let outliers = case.outliers();
        let spread = between(&case.counted);
        FleetComparison {
            variant: case.variant.to_owned(),
            verdict,
            mean: (!case.is_invalid()).then(|| ratios(mean, interval)),
            with_outliers: (!outliers.is_empty())
                .then(|| ratios(all.means.mean, all.interval(level))),
            further_machine: (!case.is_invalid()).then(|| ratios(mean, further)),
            prediction,
            holds_for_one: holds(verdict, mean, &further, margin),
            confidence: 1.0 - level,
            further_confidence: 1.0 - alpha,
            machines: case.counted.len(),
            results: case.results,
            between_percent: spread.map(|(tau, _)| 100.0 * tau.exp_m1()),
            between_share: spread.map(|(_, share)| share),
            outliers,
            far_but_counted: case.far.far_but_counted,
        }
    };
    cases.iter().zip(&claims).map(one).collect()
}

fn holds(verdict: Verdict, mean: f64, further: &Interval, margin: f64) -> bool {
    match verdict {
        Verdict::Better | Verdict::Worse => {
            compare::differs(further, margin) && (further.low > 0.0) == (mean > 0.0)
        }
        Verdict::Equivalent => compare::equivalent(further, margin),
        Verdict::Inconclusive | Verdict::Invalid => false,
    }
}

pub(crate) fn ratios(mean: f64, interval: Interval) -> Ratios {
    let end = |log: f64| Some(log.exp()).filter(|ratio| log.is_finite() && ratio.is_finite());
    Ratios { ratio: mean.exp(), low: end(interval.low), high: end(interval.high) }
}
