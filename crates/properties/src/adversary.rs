//! An adversary that delays one request by keeping the elevator full of requests closer to the
//! head.

use elevator::{Build, ElevatorKind, Priority, Time};

use crate::drive::{Bare, Head};
use crate::input::{DISK, Input, Step, geometry};

/// Including the victim.
const HELD: usize = 64;
const SERVICE_NS: u64 = 20_000_000;

/// The attack fails after this many dispatches and timers.
const MAX_EVENTS: u32 = 100_000;

/// Until the victim's dispatch, or until a bound was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delay {
    /// Later arrivals dispatched before it.
    pub(crate) passed_by: u64,
    pub(crate) waited_ns: u64,
}

/// The first step is the victim; stops when `enough` returns true.
pub(crate) fn delay_first(
    kind: &ElevatorKind,
    input: &Input,
    sync: bool,
    enough: impl Fn(&Delay) -> bool,
) -> Result<Delay, String> {
    let build = Build {
        nr_tags: 2 * HELD as u32,
        queue_depth: 1,
        geometry: geometry(512),
        ..input.build()
    };
    let mut bare = Bare::new(kind, &build, &input.with_defaults());
    let head = Head::default();
    let (mut now, mut at, mut nr) = (Time::ZERO, input.steps[input.steps.len() - 1].sector, 0usize);
    let nr_competing = 1 + input.nr_requests as usize % (HELD - 1);
    // Some arrive earlier, so that a batch or stream is in progress.
    for _ in 0..nr_competing / 2 {
        let step = competing_step(&bare, input, &mut nr, at);
        bare.insert(now, &step);
    }
    let first = Step { sync: sync || input.steps[0].sync, process: 4, ..plain(&input.steps[0]) };
    let victim = bare.insert(now, &first);
    let mut delay = Delay { passed_by: 0, waited_ns: 0 };
    for _ in 0..MAX_EVENTS {
        while bare.held().len() <= nr_competing {
            let step = competing_step(&bare, input, &mut nr, at);
            bare.insert(now, &step);
        }
        delay.waited_ns = now.as_ns();
        let given = bare.take(now, &head).map_err(|failure| format!("{failure:?}"))?;
        if enough(&delay) {
            return Ok(delay);
        }
        match given {
            Some(request) if request.seq == victim.seq => return Ok(delay),
            Some(request) => {
                delay.passed_by += u64::from(request.seq > victim.seq);
                at = request.end();
                head.record_move(&request);
                let issued = now;
                now = now + SERVICE_NS;
                while let Some(timer) = bare.elevator.next_timer().filter(|timer| *timer < now) {
                    bare.elevator.on_timer(timer.max(issued));
                    if bare.elevator.next_timer() == Some(timer) {
                        return Err(format!("the timer at {timer:?} does not advance"));
                    }
                }
                bare.finish(now, request, issued);
            }
            None => {
                let timer = bare
                    .elevator
                    .next_timer()
                    .ok_or("it refuses without a timer and with nothing in flight")?;
                now = now.max(timer);
                bare.elevator.on_timer(now);
            }
        }
    }
    Err(format!("it neither dispatches the victim nor exceeds the bound: {delay:?}"))
}

/// At the end of the last, slightly ahead, or from the input. Never at a held request's start,
/// because the guarantees exclude aliases.
fn competing_step(bare: &Bare, input: &Input, nr: &mut usize, at: u64) -> Step {
    let step = &input.steps[*nr % input.steps.len()];
    let mut sector = match *nr % if input.merge { 2 } else { 3 } {
        0 => at,
        1 => at + step.sector % 64,
        _ => step.sector,
    };
    *nr += 1;
    while bare.held().values().any(|held| held.sector == sector % DISK) {
        sector += 1;
    }
    Step { sector: sector % DISK, process: step.process % 4, ..plain(step) }
}

/// The guarantees hold among requests of one priority.
fn plain(step: &Step) -> Step {
    Step {
        gap_ns: 0,
        nr_sectors: 8,
        meta: false,
        priority: Priority::default(),
        exit: false,
        ..step.clone()
    }
}
