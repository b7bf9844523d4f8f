//! The distance between two profiles, figure by figure.

use serde::Serialize;

use crate::profile::{DeviceProfile, Distribution};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Difference of two percentages.
    Points,
    Percent,
    /// Kolmogorov-Smirnov distance, 0 to 1, with four buckets per doubling. The figures are the
    /// medians.
    Ks,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    pub name: &'static str,
    pub unit: &'static str,
    /// `None`: unknown.
    pub trace: Option<f64>,
    pub synthetic: Option<f64>,
    pub distance: Option<f64>,
    pub measure: Measure,
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn percent(part: u64, whole: u64) -> Option<f64> {
    ratio(part, whole).map(|ratio| ratio * 100.0)
}

fn median(of: &Distribution, unit: f64) -> Option<f64> {
    (of.count > 0).then_some(of.p50 as f64 / unit)
}

fn mean(of: &Distribution, unit: f64) -> Option<f64> {
    (of.count > 0).then_some(of.mean / unit)
}

pub fn compare(trace: &DeviceProfile, synthetic: &DeviceProfile) -> Vec<Figure> {
    use Measure::{Ks, Percent, Points};
    let both = [trace, synthetic];
    let plain = |name, unit, measure, figure: &dyn Fn(&DeviceProfile) -> Option<f64>| {
        let [recorded, made] = both.map(figure);
        let distance = recorded.zip(made).map(|(recorded, made)| match measure {
            _ if recorded == made => 0.0,
            Points => made - recorded,
            _ => (made - recorded) / recorded * 100.0,
        });
        let distance = distance.filter(|distance| distance.is_finite());
        Figure { name, unit, trace: recorded, synthetic: made, distance, measure }
    };
    let spread = |name, unit, scale: f64, of: &dyn Fn(&DeviceProfile) -> Distribution| {
        let [recorded, made] = both.map(of);
        let (distance, measure) = (recorded.ks(&made), Ks);
        Figure {
            name,
            unit,
            trace: median(&recorded, scale),
            synthetic: median(&made, scale),
            distance,
            measure,
        }
    };
    let has_issues = both.iter().all(|profile| profile.seeks.count > 0);
    let seeks = |of: &DeviceProfile| {
        if has_issues { of.seeks.clone() } else { of.total.distance_sectors.clone() }
    };
    let data = |of: &DeviceProfile| of.total.reads + of.total.writes;
    vec![
        plain("requests per second", "1/s", Percent, &|of| {
            Some(data(of) as f64 * 1e9 / of.span_ns().max(1) as f64)
        }),
        plain("reads", "%", Points, &|of| percent(of.total.reads, data(of))),
        plain("request size, mean", "KiB", Percent, &|of| mean(&of.total.size_sectors, 2.0)),
        spread("request size", "KiB", 2.0, &|of| of.total.size_sectors.clone()),
        plain("in order", "%", Points, &|of| percent(of.total.sequential, steps(of))),
        plain("think time, mean", "µs", Percent, &|of| mean(&of.total.think_ns, 1e3)),
        plain("think time, median", "µs", Percent, &|of| median(&of.total.think_ns, 1e3)),
        spread("think time", "µs", 1e3, &|of| of.total.think_ns.clone()),
        plain("queued, mean", "", Percent, &|of| {
            (of.total.latency_ns.count > 0).then_some(of.depth.queued_mean)
        }),
        spread("seek distance", "sectors", 1.0, &seeks),
    ]
}

fn steps(of: &DeviceProfile) -> u64 {
    of.processes.iter().map(|process| process.steps()).sum()
}
