//! Order by arrival and by sector.

use elevator::{Build, ElevatorKind, Guarantee, Priority, Time};

use crate::drive::{Bare, Head, run_in_queue, run_without_queue};
use crate::input::{Input, Step, geometry};

/// Requests are dispatched in order of arrival if guaranteed.
pub(crate) fn order_of_arrival(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    if !kind.guarantees(Guarantee::ArrivalOrder) {
        return Ok(());
    }
    let unmerged = Input { merge: false, ..input.clone() };
    for log in [run_without_queue(kind, input), run_in_queue(kind, &unmerged, None)] {
        let wrong = log.dispatched.windows(2).find(|pair| pair[0].1.seq > pair[1].1.seq);
        require!(wrong.is_none(), "out of order: {wrong:?}");
    }
    Ok(())
}

/// Requests that are all held from the start are dispatched in order of sectors, with no more
/// descents or turns than guaranteed.
pub(crate) fn order_of_sectors(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let bounds = kind.guarantees.iter().filter_map(|guarantee| match guarantee {
        Guarantee::Ascending { descents } => Some((true, *descents)),
        Guarantee::Sweeping { turns } => Some((false, *turns)),
        _ => None,
    });
    for (ascending, bound) in bounds {
        let sectors = sweep(kind, input)?;
        let steps =
            sectors.windows(2).filter(|pair| pair[0] != pair[1]).map(|pair| pair[0] < pair[1]);
        let breaks = if ascending {
            steps.filter(|up| !up).count()
        } else {
            let ups: Vec<bool> = steps.collect();
            ups.windows(2).filter(|pair| pair[0] != pair[1]).count()
        };
        require!(
            breaks <= bound as usize,
            "{breaks} instead of at most {bound} descents or turns: {sectors:?}"
        );
    }
    Ok(())
}

/// The order of a pass: one request positions the head, then all others arrive at once, of one kind
/// and process. A cylinder has one sector, so both orders are equal.
fn sweep(kind: &ElevatorKind, input: &Input) -> Result<Vec<u64>, String> {
    let build = Build { nr_tags: 128, queue_depth: 1, geometry: geometry(1), ..input.build() };
    let mut bare = Bare::new(kind, &build, &input.with_defaults());
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
    let head = Head::default();
    let mut now = Time::ZERO;
    let mut sectors = Vec::new();
    bare.insert(now, &like(of));
    let mut rest = Some(input.steps.iter().skip(1).take(100));
    for _ in 0..10_000 {
        match bare.take(now, &head).map_err(|failure| format!("{failure:?}"))? {
            Some(request) => {
                head.record_move(&request);
                sectors.push(request.sector);
                bare.finish(now + 1000, request, now);
                now = now + 1000;
            }
            None if bare.held().is_empty() => match rest.take() {
                // Order matters only among requests held together.
                Some(rest) => {
                    sectors.clear();
                    for step in rest {
                        // Equal sectors have no order; move one to the next sector.
                        let mut step = like(step);
                        while bare.held().values().any(|held| held.sector == step.sector) {
                            step.sector += 1;
                        }
                        bare.insert(now, &step);
                    }
                }
                None => return Ok(sectors),
            },
            None => {
                let timer = bare.elevator.next_timer().ok_or("it refuses without a timer")?;
                now = now.max(timer);
                bare.elevator.on_timer(now);
            }
        }
    }
    Err("the pass does not end".to_string())
}
