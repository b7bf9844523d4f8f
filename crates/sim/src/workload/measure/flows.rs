//! Flows compared with their guarantees: shares, and each flow with itself running alone.
//!
//! A flow's metrics have the prefix `FLOW.`. Over all flows:
//! * `share_error_percent`: largest difference, in percentage points, between a flow's share of
//!   bytes and of weight, valid while all weighted flows have work; `share_error_1s_percent`: its
//!   maximum over seconds in which each moved something.
//! * `latency_violations`: late requests within the arrival curve of latency-bound flows.
//! * With solo runs: `FLOW.slowdown` (solo ÷ shared throughput), `slowdown_max`, `slowdown_jain`,
//!   `insulation_min` (minimum of throughput ÷ (share × solo throughput)).

use std::collections::BTreeMap;

use super::measured::{FlowMeasured, Measured};
use super::metrics::of_clients;

const SECOND: usize = 10;

/// Percentiles are present whenever there is a request; [`super::needed_for`] decides whether there
/// are enough.
pub fn metrics(measured: &Measured) -> BTreeMap<String, f64> {
    let mut found = of_clients(measured);
    put(measured, &mut found);
    found
}

fn put(measured: &Measured, found: &mut BTreeMap<String, f64>) {
    if measured.flows.is_empty() {
        return;
    }
    let bytes = |flow: &FlowMeasured| flow.measured.reads.bytes + flow.measured.writes.bytes;
    let all: u64 = measured.flows.iter().map(bytes).sum();
    for flow in &measured.flows {
        let own = of_clients(&flow.measured);
        found.extend(own.into_iter().map(|(name, value)| (format!("{}.{name}", flow.name), value)));
        if all > 0 {
            found.insert(
                format!("{}.share_percent", flow.name),
                100.0 * bytes(flow) as f64 / all as f64,
            );
        }
    }
    let bounded = || measured.flows.iter().filter(|flow| flow.is_bounded);
    if bounded().next().is_some() {
        let missed: u64 = bounded().map(|flow| flow.measured.deadlines.missed).sum();
        found.insert("latency_violations".to_owned(), missed as f64);
    }
    let weighted: Vec<&FlowMeasured> =
        measured.flows.iter().filter(|flow| flow.weight.is_some()).collect();
    if weighted.len() < 2 {
        return;
    }
    let totals: Vec<u64> = weighted.iter().map(|flow| bytes(flow)).collect();
    found.extend(
        share_error(&weighted, &totals).map(|error| ("share_error_percent".to_owned(), error)),
    );
    found.extend(worst_second(&weighted).map(|error| ("share_error_1s_percent".to_owned(), error)));
}

/// The largest difference between shares of bytes and of weights, in percentage points.
fn share_error(flows: &[&FlowMeasured], bytes: &[u64]) -> Option<f64> {
    let weights: f64 = flows.iter().map(|flow| weight(flow)).sum();
    let all: u64 = bytes.iter().sum();
    let error = |(flow, bytes): (&&FlowMeasured, &u64)| {
        (100.0 * *bytes as f64 / all as f64 - 100.0 * weight(flow) / weights).abs()
    };
    (all > 0).then(|| flows.iter().zip(bytes).map(error).fold(0.0, f64::max))
}

/// The largest [`share_error`] over all seconds in which each flow moved something.
fn worst_second(flows: &[&FlowMeasured]) -> Option<f64> {
    let intervals = flows.iter().map(|flow| flow.measured.intervals.0.len()).min()?;
    let seconds = (0..(intervals + 1).saturating_sub(SECOND)).filter_map(|from| {
        let bytes: Vec<u64> =
            flows.iter().map(|flow| flow.measured.intervals.sum(from, SECOND)).collect();
        if bytes.contains(&0) { None } else { share_error(flows, &bytes) }
    });
    seconds.fold(None, |worst, error| Some(worst.map_or(error, |worst: f64| worst.max(error))))
}

fn weight(flow: &FlowMeasured) -> f64 {
    f64::from(flow.weight.unwrap_or(elevator::DEFAULT_WEIGHT))
}

/// Compares each flow with its solo run, in the same order.
pub fn against_alone(together: &Measured, alone: &[Measured]) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    let weights: f64 = together.flows.iter().map(weight).sum();
    let (mut slowdowns, mut insulation) = (Vec::new(), f64::INFINITY);
    for (flow, alone) in together.flows.iter().zip(alone) {
        let (rate, rate_alone) = (rate(&flow.measured), rate(alone));
        if rate_alone <= 0.0 {
            continue;
        }
        insulation = insulation.min(rate / (weight(flow) / weights * rate_alone));
        if rate > 0.0 {
            found.insert(format!("{}.slowdown", flow.name), rate_alone / rate);
            slowdowns.push(rate_alone / rate);
        }
    }
    let n = slowdowns.len() as f64;
    if slowdowns.len() == together.flows.len() {
        let (sum, squares) = slowdowns
            .iter()
            .fold((0.0, 0.0), |(sum, squares), one| (sum + one, squares + one * one));
        found.insert("slowdown_max".to_owned(), slowdowns.iter().copied().fold(0.0, f64::max));
        found.insert("slowdown_jain".to_owned(), sum * sum / (n * squares));
    }
    if insulation.is_finite() {
        found.insert("insulation_min".to_owned(), insulation);
    }
    found
}

fn rate(measured: &Measured) -> f64 {
    let bytes = measured.reads.bytes + measured.writes.bytes;
    if measured.window_ns == 0 { 0.0 } else { bytes as f64 * 1e9 / measured.window_ns as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(name: &str, weight: u32, per_interval: &[u64]) -> FlowMeasured {
        let mut measured = Measured { window_ns: 2_000_000_000, ..Measured::default() };
        for (at, bytes) in per_interval.iter().enumerate() {
            measured.reads.record(*bytes, 1000);
            measured.intervals.record(at as u64 * super::super::INTERVAL_NS, *bytes);
        }
        FlowMeasured { name: name.to_owned(), weight: Some(weight), is_bounded: false, measured }
    }

    fn together(flows: Vec<FlowMeasured>) -> Measured {
        let mut all = Measured::default();
        all.take_flows(flows);
        all
    }

    #[test]
    fn a_share_error_is_the_distance_to_the_weights_and_its_worst_second_is_seen() {
        let exact = [vec![100; 10], vec![100; 10]].concat();
        let (early, late) =
            ([vec![300; 10], vec![100; 10]].concat(), [vec![100; 10], vec![300; 10]].concat());
        let mut found = BTreeMap::new();
        put(&together(vec![flow("a", 100, &exact), flow("b", 300, &exact)]), &mut found);
        assert_eq!((found["share_error_percent"], found["a.share_percent"]), (25.0, 50.0));
        put(&together(vec![flow("a", 100, &early), flow("b", 100, &late)]), &mut found);
        assert_eq!((found["share_error_percent"], found["share_error_1s_percent"]), (0.0, 25.0));
    }

    #[test]
    fn slowdown_and_insulation_hold_a_flow_against_itself_alone() {
        let all = together(vec![flow("a", 100, &[100; 20]), flow("b", 100, &[300; 20])]);
        let alone = [flow("a", 100, &[400; 20]).measured, flow("b", 100, &[600; 20]).measured];
        let found = against_alone(&all, &alone);
        assert_eq!(
            (found["a.slowdown"], found["b.slowdown"], found["slowdown_max"]),
            (4.0, 2.0, 4.0)
        );
        assert_eq!((found["insulation_min"], found["slowdown_jain"]), (0.5, 0.9));
    }
}
