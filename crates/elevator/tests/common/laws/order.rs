//! The laws of order: of arrival, and of sectors.

use elevator::{Build, ElevatorKind, Priority, Promise, Time};

use super::super::drive::{Arm, Bare, directly, through_queue};
use super::super::input::{Input, Step, geometry};

/// First come, first served, where that is promised.
pub(super) fn order_of_arrival(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    if !kind.promises(Promise::ArrivalOrder) {
        return Ok(());
    }
    let unmerged = Input { merge: false, ..input.clone() };
    for log in [directly(kind, input), through_queue(kind, &unmerged, None)] {
        let wrong = log.dispatched.windows(2).find(|pair| pair[0].1.seq > pair[1].1.seq);
        ensure!(wrong.is_none(), "out of order: {wrong:?}");
    }
    Ok(())
}

/// Requests that are all there from the start go in order of sectors, with no more descents or turns than promised.
pub(super) fn order_of_sectors(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let bounds = kind.promises.iter().filter_map(|promise| match promise {
        Promise::Ascending { descents } => Some((true, *descents)),
        Promise::Sweeping { turns } => Some((false, *turns)),
        _ => None,
    });
    for (ascending, bound) in bounds {
        let sectors = sweep(kind, input)?;
        let steps = sectors.windows(2).filter(|pair| pair[0] != pair[1]).map(|pair| pair[0] < pair[1]);
        let breaks = if ascending {
            steps.filter(|up| !up).count()
        } else {
            let ups: Vec<bool> = steps.collect();
            ups.windows(2).filter(|pair| pair[0] != pair[1]).count()
        };
        ensure!(breaks <= bound as usize, "{breaks} instead of at most {bound} descents or turns: {sectors:?}");
    }
    Ok(())
}

/// The order of a pass: one request puts the arm somewhere, then all the others come at once, of one kind and one process. A
/// cylinder has one sector, so that the order of cylinders is that of sectors.
fn sweep(kind: &ElevatorKind, input: &Input) -> Result<Vec<u64>, String> {
    let build = Build { nr_tags: 128, queue_depth: 1, geometry: geometry(1), ..input.build() };
    let mut bed = Bare::new(kind, &build, &input.with_defaults());
    let of = &input.steps[0];
    let like = |step: &Step| Step {
        sector: step.sector,
        nr_sectors: 1,
        priority: Priority::default(),
        meta: false,
        process: 0,
        exit: false,
        ..of.clone()
    };
    let arm = Arm::default();
    let mut now = Time::ZERO;
    let mut sectors = Vec::new();
    bed.insert(now, &like(of));
    let mut rest = Some(input.steps.iter().skip(1).take(100));
    for _ in 0..10_000 {
        match bed.take(now, &arm).map_err(|trouble| format!("{trouble:?}"))? {
            Some(request) => {
                arm.moved(&request);
                sectors.push(request.sector);
                bed.finish(now + 1000, request, now);
                now = now + 1000;
            }
            None if bed.held().is_empty() => match rest.take() {
                // What counts is the order of those that are there together.
                Some(rest) => {
                    sectors.clear();
                    for step in rest {
                        // Equal sectors are in no order; a step beside keeps them apart.
                        let mut step = like(step);
                        while bed.held().values().any(|held| held.sector == step.sector) {
                            step.sector += 1;
                        }
                        bed.insert(now, &step);
                    }
                }
                None => return Ok(sectors),
            },
            None => {
                let timer = bed.elevator.next_timer().ok_or("it refuses without a timer")?;
                now = now.max(timer);
                bed.elevator.on_timer(now);
            }
        }
    }
    Err("the pass does not end".to_string())
}
