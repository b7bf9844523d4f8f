//! Each variant's geometric mean on the deciding metric of a workload.

use experiment::analysis::Analysis;
use experiment::metric::{self, Direction};
use experiment::results::Results;
use experiment::samples::{DecidingValues, deciding_values};
use experiment::stats::{Moments, fixed};

const ALPHA: f64 = 0.05;

#[derive(Debug, Clone, Copy)]
pub struct Exported<'a> {
    pub name: &'a str,
    pub results: &'a Results,
    pub analysis: &'a Analysis,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    pub(super) workload: String,
    pub(super) variant: String,
    pub(super) metric: String,
    pub(super) unit: String,
    pub(super) direction: Direction,
    /// Valid trials.
    pub(super) n: usize,
    pub(super) mean: f64,
    /// `None` with fewer than two trials.
    pub(super) range: Option<(f64, f64)>,
}

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
