//! What is exported: a record with its analysis, and the values that are followed over time: each
//! variant's geometric mean on the metric that decides for a workload.

use experiment::analysis::Analysis;
use experiment::metric::{self, Direction};
use experiment::results::Results;
use experiment::samples::{DecidingValues, deciding_values};
use experiment::stats::{Moments, fixed};

/// The error of an interval of a single value.
const ALPHA: f64 = 0.05;

/// What is exported.
#[derive(Debug, Clone, Copy)]
pub struct Exported<'a> {
    /// The title under which the numbers are followed.
    pub name: &'a str,
    /// The results file.
    pub results: &'a Results,
    /// Its analysis.
    pub analysis: &'a Analysis,
}

/// The values of one variant on one workload.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    pub(super) workload: String,
    pub(super) variant: String,
    pub(super) metric: String,
    pub(super) unit: String,
    pub(super) direction: Direction,
    /// Trials that count.
    pub(super) n: usize,
    pub(super) mean: f64,
    /// The ends of the interval; none with fewer than two trials.
    pub(super) range: Option<(f64, f64)>,
}

/// Every variant on every workload that has a value, in the order of the plan.
pub(super) fn series(results: &Results) -> Vec<Series> {
    let of = |found: DecidingValues| {
        let moments = Moments::of(&found.logs);
        let interval = fixed::paired_t(&moments, ALPHA);
        let ends = (interval.low.exp(), interval.high.exp());
        Series {
            unit: metric::unit_of(&found.metric),
            direction: results.header.plan.direction_of(&found.metric),
            workload: found.workload,
            variant: found.variant,
            metric: found.metric,
            n: moments.n,
            mean: moments.mean.exp(),
            range: Some(ends).filter(|(low, high)| *low > 0.0 && high.is_finite()),
        }
    };
    deciding_values(results).into_iter().filter(|found| !found.logs.is_empty()).map(of).collect()
}
