//! Checks whether the guarantees of flows fit the modelled device.
//!
//! The capacity, the throughput of one sequential reader, bounds any mix of flows. No scheduler can
//! guarantee more; with seeks, even less may be too much.

use elevator::curves::{CurveFit, fit};
use sim::workload::{FlowWork, WorkloadKind};
use sim::{Trial, Unobserved};
use text::{format_bytes_decimal, format_span};

use super::TURNAROUND_NS;
use crate::arena::model::Model;
use crate::workloads::Workloads;

const WINDOW_NS: u64 = 2_000_000_000;

pub(super) fn beyond_capacity(model: &Model, workloads: &Workloads) -> Vec<String> {
    let guaranteed = workloads
        .engine()
        .filter(|(_, work)| work.params.flows.iter().any(|flow| flow.spec.rate.is_some()));
    let mut guaranteed = guaranteed.peekable();
    let Some(capacity) = guaranteed.peek().and_then(|_| capacity(model)) else { return Vec::new() };
    guaranteed.filter_map(|(label, work)| remark(label, &work.params.flows, capacity)).collect()
}

fn remark(label: &str, flows: &[FlowWork], capacity: u64) -> Option<String> {
    let specs: Vec<_> = flows.iter().map(|flow| flow.spec).collect();
    let largest = flows.iter().map(|flow| flow.kind.max_request(&flow.params)).max().unwrap_or(0);
    let CurveFit { rates, shortfall, .. } = fit(&specs, capacity, u64::from(largest));
    let per_second = |bytes: u64| format!("{}/s", format_bytes_decimal(bytes));
    if rates > capacity {
        return Some(format!(
            "workload {label}: the rates of its flows add up to {}, which exceeds the sequential read throughput by {}: no scheduler \
             can meet these guarantees",
            per_second(rates),
            per_second(rates - capacity)
        ));
    }
    let lack = shortfall?;
    Some(format!(
        "workload {label}: flow {} is guaranteed {}, and by then the flows may request {}, which exceeds the sequential read throughput by {}: \
         no scheduler can meet these guarantees; reduce the burst or allow more latency",
        flows[lack.flow].name,
        format_span(std::time::Duration::from_nanos(lack.within_ns)),
        format_bytes_decimal(lack.asked),
        format_bytes_decimal(lack.asked - lack.done)
    ))
}

/// Bytes per second of a sequential reader (1 MiB).
fn capacity(model: &Model) -> Option<u64> {
    let reader: &'static WorkloadKind = sim::workload::find("seqread").ok()?;
    let trial = Trial {
        elevator: elevator::find("none")?,
        tunables: Vec::new(),
        hz: 1000,
        host: sim::Host::default(),
        nr_requests: None,
        queue_depth: None,
        device: model.make(1).ok()?,
        workload: reader,
        params: sim::workload::Params { iodepth: 8, ..(reader.defaults)() },
        seed: 1,
        warmup_ns: 0,
        duration_ns: WINDOW_NS,
        turnaround_ns: TURNAROUND_NS,
        turnaround_spread_ns: 0,
    };
    let measured = sim::run(trial, &mut Unobserved, &|| false).ok()?.measured;
    (measured.window_ns > 0).then(|| measured.reads.bytes * 1_000_000_000 / measured.window_ns)
}
