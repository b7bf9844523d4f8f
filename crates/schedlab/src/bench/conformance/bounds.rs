//! How far the two arenas may be apart, and why: one table.

use super::cases::Case;

/// The most that a figure may differ where nothing else is said, in percent; of counts, per 100 requests.
const USUAL: f64 = 2.0;
/// Under `none` the end of a trial: reading the guest's clock costs 256 virtual nanoseconds here and there.
const END_OF_NONE: f64 = 0.01;

/// A wider bound than the usual one.
struct Wider {
    /// Of what: a part of `disk/workload/scheduler`.
    of: &'static [&'static str],
    percent: f64,
    why: &'static str,
}

const WIDER: &[Wider] = &[];

/// The bounds of a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    usual: f64,
    end: f64,
    /// Whether the order of completions must be the same.
    pub(super) exact: bool,
    pub(super) note: Option<&'static str>,
}

impl Bound {
    /// That of a metric.
    pub(super) fn of(&self, metric: &str) -> f64 {
        if metric == "elapsed_s" { self.end } else { self.usual }
    }
}

pub(super) fn of(case: &Case) -> Bound {
    let parts = [case.disk, case.workload.name, case.scheduler];
    let wider = WIDER.iter().find(|wider| wider.of.iter().all(|part| parts.contains(part)));
    let exact = case.scheduler == "none";
    let usual = wider.map_or(USUAL, |wider| wider.percent);
    Bound { usual, end: if exact { END_OF_NONE } else { usual }, exact, note: wider.map(|wider| wider.why) }
}
