//! Starvation among flows: the bound on waiting times holds for every flow.

use std::collections::BTreeMap;

use elevator::{ElevatorKind, FlowSpec, Guarantee};

use crate::guarantees::drive::{What, World, run};
use crate::guarantees::scenario::Scenario;

const SERVICE_NS: u64 = 20_000_000;

/// No request of a flow waits longer than guaranteed while the others are backlogged.
pub(crate) fn no_flow_starves(kind: &ElevatorKind, scenario: &Scenario) -> Result<(), String> {
    let bounds = kind.guarantees.iter().filter_map(|guarantee| match guarantee {
        Guarantee::WaitsAtMostMs(ms) => Some(ms * 1_000_000),
        _ => None,
    });
    for bound in bounds {
        let specs = vec![FlowSpec::default(); scenario.flows.len()];
        // Equal service times imply equal sizes.
        let mut scenario = scenario.clone();
        let kib = scenario.flows[0].kib;
        scenario.flows.iter_mut().for_each(|flow| flow.kib = kib);
        let scenario = &scenario;
        let world =
            World { depth: 1, service_ns: Some(SERVICE_NS), specs, ..World::backlogged(scenario) };
        let mut arrived = BTreeMap::new();
        for event in run(kind, scenario, &world)? {
            match event.what {
                What::Inserted => _ = arrived.insert(event.request.seq, event.at),
                What::Dispatched => {
                    let waited = event.at - arrived[&event.request.seq];
                    require!(
                        waited <= bound,
                        "a request of flow {} waits for {} ms from {} ms on",
                        event.flow,
                        waited / 1_000_000,
                        arrived[&event.request.seq].as_ns() / 1_000_000
                    );
                }
                What::Completed => {}
            }
        }
    }
    Ok(())
}
