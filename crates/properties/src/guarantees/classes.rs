//! The real-time class: a request waits only for those already in the device.

use elevator::{ElevatorKind, Guarantee, PrioClass};

use crate::guarantees::drive::{Demand, What, World, run};
use crate::guarantees::scenario::Scenario;

/// More than the tunable allows.
const DEPTH: u32 = 64;

/// While a real-time request is held, none of a lower class is dispatched, and no more are in the
/// device than the tunable allows.
pub(crate) fn real_time_first(kind: &ElevatorKind, scenario: &Scenario) -> Result<(), String> {
    let bounds = kind.guarantees.iter().filter_map(|guarantee| match guarantee {
        Guarantee::RealTimeBehind { tunable } => Some(*tunable),
        _ => None,
    });
    for tunable in bounds {
        let row = kind.tunable(tunable).ok_or_else(|| format!("there is no tunable {tunable}"))?;
        let value = u64::from(scenario.depth).clamp(row.min, row.max);
        let base = World {
            demand: Demand::Sparse,
            depth: DEPTH,
            classes: true,
            ..World::backlogged(scenario)
        };
        let world = World { tunable: Some((tunable, value)), ..base };
        let (mut waiting, mut in_device) = (0u32, 0u64);
        for event in run(kind, scenario, &world)? {
            let real_time = event.request.priority.class == PrioClass::RealTime;
            let at = event.at.as_ns() / 1000;
            match event.what {
                What::Inserted if real_time => {
                    waiting += 1;
                    require!(
                        in_device <= value,
                        "at {at} µs {in_device} of lower classes are ahead, not {value}"
                    );
                }
                What::Dispatched if real_time => waiting -= 1,
                What::Dispatched => {
                    require!(
                        waiting == 0,
                        "at {at} µs one of a lower class overtakes {waiting} of the real-time class"
                    );
                    in_device += 1;
                }
                What::Completed if !real_time => in_device -= 1,
                What::Inserted | What::Completed => {}
            }
        }
    }
    Ok(())
}
