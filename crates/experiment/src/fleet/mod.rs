//! What many machines measured of one question as one verdict, and what to expect of one further
//! machine.
//!
//! **Problem.** A thousand machines compared two schedulers on drives of one model. Their rounds in
//! one list would be a thousand times too sure: what a machine differs from the others in
//! (firmware, fill, temperature, bus) moves all of its rounds alike. And a few of the machines are
//! wrong: another drive behind the same name, a broken one, a made-up result.
//!
//! **Approach.** The unit is the machine. A machine's effect is the mean of the log ratios of its
//! results, and the verdict is that of [`repeats`](crate::stats::repeats): Student's interval
//! over the machines' effects, with margin, Holm's levels and words of any other verdict. That
//! interval weighs machines equally and holds for unequal noise; weights by estimated variances do
//! not, and with hundreds of machines they gain little, since what differs between machines
//! dominates.
//!
//! **Machines that are left out** are those that [`outliers`] names: too far from the others for
//! chance, at most a tenth of them. They are named, and the interval with them stands beside the
//! one without them. They keep their part in the width of the interval, since nothing tells a wrong
//! machine from an honest one that is far. Where more than a tenth are far, there are two kinds of
//! machines and not some that are wrong: then all count, and a caution says so.
//!
//! **A new machine.** From 39 machines on (at 95 %) its interval is between two of the
//! ordered effects: of K exchangeable machines and one more, the last lies below the r-th smallest
//! with probability r / (K + 1), whatever the distribution (Wilks 1941). Machines that are left out
//! are counted among those outside. With fewer machines, or where those left out are more than may
//! be outside, it is the t interval for a further value, which holds for normal effects, and no
//! narrower than from the least to the greatest that counts. All are for what that machine will
//! measure, its own scatter included, if it measures about as long as the others. In 20,000 fleets
//! a cell with effects of Student's t with 3 degrees of freedom (95 % guaranteed) a new machine
//! was covered in 92 to 93 % with 10 and 20 machines, in 93.5 % with 39, in 95 % with 80 and more.
//!
//! **Not covered.** Liars inside the spread of the others, and any share of liars that agree and
//! are more than half.

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

pub use outliers::{FAR_AT_MOST, LEAST_FOR_OUTLIERS};

/// A comparison is made of no fewer machines.
pub const LEAST_MACHINES: usize = 3;

/// What one result of a machine says of a variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The machine.
    pub machine: String,
    /// Mean log ratio of variant and baseline, its variance, and the degrees of freedom of that.
    pub repeat: Repeat,
}

/// The results of all machines for one variant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VariantEffects {
    /// The variant.
    pub variant: String,
    /// One a result.
    pub effects: Vec<Effect>,
}

/// A machine whose effect is too far from those of the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlier {
    /// The machine.
    pub machine: String,
    /// Its ratio of variant and baseline.
    pub ratio: f64,
    /// Its distance from the median of all machines, in standard deviations between machines.
    pub distance: f64,
}

/// An interval of ratios; an end is none where nothing bounds it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratios {
    /// The estimate.
    pub ratio: f64,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// How the interval for a new machine was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prediction {
    /// Between two of the ordered effects: holds for any distribution.
    Ordered,
    /// Student's t for a further value: holds for normal effects.
    Normal,
}

/// One variant over a fleet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetComparison {
    /// The variant.
    pub variant: String,
    /// The conclusion about the mean over machines; invalid with fewer than [`LEAST_MACHINES`].
    pub verdict: Verdict,
    /// The mean over the machines that count.
    pub mean: Option<Ratios>,
    /// The same with those that are left out; none where none is.
    pub with_outliers: Option<Ratios>,
    /// The prediction for a new machine.
    pub further_machine: Option<Ratios>,
    /// How that interval was made.
    pub prediction: Prediction,
    /// Whether the conclusion holds for a new machine too: its interval lies on the same side
    /// of the margin.
    pub holds_for_one: bool,
    /// Confidence of the interval of the mean after the correction for many variants.
    pub confidence: f64,
    /// Confidence of the interval for a new machine.
    pub further_confidence: f64,
    /// Machines that count.
    pub machines: usize,
    /// Results, those of outliers included.
    pub results: usize,
    /// The standard deviation between machines that chance within them does not explain, in
    /// percent.
    pub between_percent: Option<f64>,
    /// Its share of the variance of the machines' effects (I²).
    pub between_share: Option<f64>,
    /// Machines that are left out, the farthest first.
    pub outliers: Vec<Outlier>,
    /// How many machines are far where they are too many to be left out: the fleet is of several
    /// kinds.
    pub far_but_counted: usize,
}

/// One variant while its family is compared.
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
        self.counted.len() < LEAST_MACHINES
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

    /// The interval for a new machine.
    fn further(&self, alpha: f64) -> (Interval, Prediction) {
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

/// One repeat for each machine, sorted by name: the mean of its results. Its variance is what
/// scatters within its results or between them, whichever is more.
pub fn by_machine(effects: &[Effect]) -> (Vec<String>, Vec<Repeat>) {
    let mut sorted: Vec<&Effect> =
        effects.iter().filter(|effect| effect.repeat.mean.is_finite()).collect();
    sorted.sort_by(|a, b| a.machine.cmp(&b.machine).then(a.repeat.mean.total_cmp(&b.repeat.mean)));
    let machines = sorted.chunk_by(|a, b| a.machine == b.machine);
    machines.map(|of| (of[0].machine.clone(), joined(of))).unzip()
}

fn joined(of: &[&Effect]) -> Repeat {
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

/// Compares the variants of one question together.
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
        let (further, prediction) = case.further(alpha);
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

/// An interval of logarithms as ratios.
pub(crate) fn ratios(mean: f64, interval: Interval) -> Ratios {
    let end = |log: f64| Some(log.exp()).filter(|ratio| log.is_finite() && ratio.is_finite());
    Ratios { ratio: mean.exp(), low: end(interval.low), high: end(interval.high) }
}
