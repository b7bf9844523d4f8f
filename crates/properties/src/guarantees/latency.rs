//! Latency bounds of flows within their arrival curves.

use std::collections::BTreeMap;

use elevator::{ElevatorKind, Guarantee};

use crate::guarantees::drive::{Demand, What, World, run};
use crate::guarantees::scenario::Scenario;

/// Tolerance: schedulers count microseconds and whole bytes per second.
const ROUNDING_NS: u64 = 20_000;

/// Every request of a flow inside its arrival curve completes within the flow's latency bound.
pub(crate) fn latency_inside_the_curve(
    kind: &ElevatorKind,
    scenario: &Scenario,
) -> Result<(), String> {
    if !kind.guarantees(Guarantee::LatencyInsideCurve) {
        return Ok(());
    }
    let world = World {
        demand: Demand::Curve,
        depth: 1,
        specs: scenario.reservations(),
        ..World::backlogged(scenario)
    };
    let log = run(kind, scenario, &world)?;
    let mut arrived = BTreeMap::new();
    for event in log.iter().filter(|event| !scenario.flows[event.flow].greedy) {
        match event.what {
            What::Inserted => _ = arrived.insert(event.request.seq, event.at),
            What::Dispatched => {}
            What::Completed => {
                let took = event.at - arrived[&event.request.seq];
                let bound =
                    world.specs[event.flow].latency_ns.expect("every reservation has a bound");
                require!(
                    took <= bound + ROUNDING_NS,
                    "a request of flow {} that came at {} µs took {} µs; the bound is {} µs",
                    event.flow,
                    arrived[&event.request.seq].as_ns() / 1000,
                    took / 1000,
                    bound / 1000
                );
            }
        }
    }
    Ok(())
}
