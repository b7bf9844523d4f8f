//! Resolves the flows of a plan.

use anyhow::Result;
use elevator::{FlowSpec, Priority};
use experiment::plan::{Flow, WorkloadSpec};
use sim::workload::{FlowWork, Params, WorkloadKind};

use crate::failure::usage;

pub(super) fn with_flows(
    spec: &WorkloadSpec,
    kind: &'static WorkloadKind,
    params: Params,
    work_of: impl Fn(&Flow) -> Result<(&'static WorkloadKind, Params)>,
) -> Result<Params> {
    let flow = |flow: &Flow| {
        let (kind, params) = work_of(flow)?;
        let priority = flow.ioprio.as_deref().and_then(Priority::parse);
        Ok(FlowWork::new(&flow.name, kind, params, guarantee(flow), priority.unwrap_or_default()))
    };
    let flows: Vec<FlowWork> = spec.flows.iter().map(flow).collect::<Result<_>>()?;
    let direct = flows.iter().all(|flow| flow.params.direct);
    let params = Params { flows, direct, ..params };
    kind.check(&params).map_err(|e| usage(format!("workload {}: {e}", spec.name)))?;
    Ok(params)
}

/// A flow's guarantees. The plan was validated when read.
fn guarantee(flow: &Flow) -> FlowSpec {
    let size = |text: &Option<String>| text.as_ref().and_then(|text| text::parse_size(text));
    FlowSpec {
        weight: flow.weight,
        rate: size(&flow.rate),
        burst: size(&flow.burst).unwrap_or(0),
        latency_ns: flow.latency.as_ref().and_then(|text| text::parse_duration_ns(text)),
    }
}
