//! `flows`: several flows, each a workload with a contract: weight, arrival curve, latency bound,
//! priority.
//!
//! A flow is the unit a scheduler shares or reserves for: a process, group, virtual machine or
//! tenant. Each is measured separately and has an equal part of the device, or its own files.
//! Requests within a latency-bound flow's curve have a deadline (`Contract`), so violations are
//! missed deadlines in every arena. The default is the ICPE 2024 study's case: one random reader,
//! sixteen random writers of 64 KiB.

use crate::workload::client::Client;
use crate::workload::param_table::ParamError;
use crate::workload::row::{Extent, FlowWork, Params, Seat};

const MAX_FLOWS: usize = 256;
const ALIGNMENT: u64 = 1 << 20;

/// The flow, its number, and the client's number within it.
fn flow_of_client(flows: &[FlowWork], index: u32) -> (usize, u32) {
    let mut left = index;
    for (number, flow) in flows.iter().enumerate() {
        match left.checked_sub(flow.clients()) {
            None => return (number, left),
            Some(rest) => left = rest,
        }
    }
    unreachable!("client {index} is one of a flow's")
}

pub(crate) fn clients(params: &Params) -> u32 {
    params.flows.iter().map(FlowWork::clients).fold(0, u32::saturating_add)
}

pub(crate) fn iodepth(params: &Params, index: u32) -> u32 {
    let (number, index) = flow_of_client(&params.flows, index);
    let flow = &params.flows[number];
    flow.kind.iodepth(&flow.params, index)
}

pub(crate) fn writing(params: &Params) -> bool {
    params.flows.iter().any(|flow| flow.kind.writes_with(&flow.params))
}

pub(crate) fn max_request(params: &Params) -> u32 {
    params
        .flows
        .iter()
        .map(|flow| flow.kind.max_request(&flow.params))
        .max()
        .unwrap_or(params.block_size)
}

pub(crate) fn possible(params: &Params) -> Result<(), String> {
    let flows = &params.flows;
    if flows.is_empty() || flows.len() > MAX_FLOWS {
        return Err(format!("{} flows: out of range (expected 1 to {MAX_FLOWS})", flows.len()));
    }
    for (number, flow) in flows.iter().enumerate() {
        let FlowWork { name, kind, .. } = flow;
        if flows[..number].iter().any(|other| other.name == *name) {
            return Err(format!("two flows are called {name}: give each a unique name"));
        }
        if kind.pass_based || kind.name == "flows" || !kind.reaches_device {
            return Err(format!(
                "flow {name}: {} cannot be a flow; use e.g. seqwrite or randread",
                kind.name
            ));
        }
        if flow.params.timed.find_streams {
            return Err(format!(
                "flow {name}: find_streams varies the number of all clients; use it without other flows"
            ));
        }
        kind.check(&flow.params).map_err(|e| format!("flow {name}: {e}"))?;
        if flow.spec.weight == Some(0) {
            return Err(format!(
                "flow {name}: its weight is 0, which is not a share; give 1 to 10000"
            ));
        }
        if flow.spec.latency_ns.is_some() && (flow.spec.rate.is_none() || flow.spec.burst == 0) {
            return Err(format!(
                "flow {name}: a latency bound holds inside an arrival curve; give its rate and burst as well"
            ));
        }
        let largest = u64::from(kind.max_request(&flow.params)) * u64::from(flow.clients());
        if flow.spec.latency_ns.is_some() && flow.spec.burst < largest {
            return Err(format!(
                "flow {name}: no request fits its burst of {} bytes; give at least {largest} bytes, a request of each client",
                flow.spec.burst
            ));
        }
    }
    Ok(())
}

pub(crate) fn check_alignment(params: &Params, logical_block: u32) -> Result<(), String> {
    let mut flows = params.flows.iter();
    flows.try_for_each(|flow| {
        flow.kind
            .check_alignment(&flow.params, logical_block)
            .map_err(|e| format!("flow {}: {e}", flow.name))
    })
}

pub(crate) fn extents(
    params: &Params,
    target_len: u64,
    logical_block: u32,
) -> Result<Vec<Extent>, ParamError> {
    let part = target_len / params.flows.len() as u64 / ALIGNMENT * ALIGNMENT;
    let mut all = Vec::new();
    for (number, flow) in (0..).zip(&params.flows) {
        let own = flow.kind.extents(&flow.params, part, logical_block)?;
        all.extend(
            own.into_iter().map(|extent| Extent { base: extent.base + number * part, ..extent }),
        );
    }
    Ok(all)
}

pub(crate) fn build(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    let (number, index) = flow_of_client(&params.flows, seat.index);
    let flow = &params.flows[number];
    let seed = FlowWork::seed(seat.seed, number);
    flow.kind.client(&flow.params, Seat { index, count: flow.clients(), len: seat.len, seed })
}

impl Params {
    /// The flow of client `index`; `None` for a workload without flows.
    pub fn flow_of(&self, index: u32) -> Option<usize> {
        (!self.flows.is_empty()).then(|| flow_of_client(&self.flows, index).0)
    }
}
