//! Insulation: a flow among others gets its share of its throughput alone.

use elevator::{ElevatorKind, Guarantee, Time};

use crate::guarantees::drive::{Demand, What, World, run};
use crate::guarantees::scenario::Scenario;

const NR_FLOWS: usize = 4;
const POSITIONING_NS: u64 = 5_000_000;
const LENGTH_NS: u64 = 10_000_000_000;

/// Each flow gets the guaranteed part of its share of its throughput alone.
pub(crate) fn insulated_from_others(
    kind: &ElevatorKind,
    scenario: &Scenario,
) -> Result<(), String> {
    let bounds = kind.guarantees.iter().filter_map(|guarantee| match guarantee {
        Guarantee::Insulates { percent } => Some(*percent),
        _ => None,
    });
    for percent in bounds {
        let mut all = scenario.clone();
        all.flows.truncate(NR_FLOWS);
        for flow in &mut all.flows {
            // Small sequential requests would only prolong the run.
            flow.kib = flow.kib.max(32);
            (flow.requests, flow.starts_us) = (u32::MAX, 0);
            // The run has several rounds of quanta.
            flow.weight = 1 + flow.weight % 3;
        }
        let together = throughput(kind, &all, None)?;
        let weights: u64 = all.flows.iter().map(|flow| u64::from(flow.weight)).sum();
        for (flow, together) in together.into_iter().enumerate() {
            let alone = throughput(kind, &all, Some(flow))?[flow];
            let due = alone * u64::from(all.flows[flow].weight) / weights;
            require!(
                together * 100 >= due * u64::from(percent),
                "flow {flow} has {} KiB in 10 s, {} % of its share of the {} KiB that it has alone",
                together >> 10,
                together * 100 / due.max(1),
                alone >> 10
            );
        }
    }
    Ok(())
}

fn throughput(
    kind: &ElevatorKind,
    scenario: &Scenario,
    only: Option<usize>,
) -> Result<Vec<u64>, String> {
    let world = World {
        demand: Demand::Closed,
        depth: 1,
        positioning_ns: POSITIONING_NS,
        until: Some(Time::from_ns(LENGTH_NS)),
        only,
        ..World::backlogged(scenario)
    };
    let mut bytes = vec![0; scenario.flows.len()];
    for event in run(kind, scenario, &world)?.iter().filter(|event| event.what == What::Completed) {
        bytes[event.flow] += event.request.bytes();
    }
    Ok(bytes)
}
