//! Somebody who wants one request to wait for ever: keeps the elevator full of requests that lie better than the victim.

use elevator::{Build, ElevatorKind, Priority, Time};

use super::drive::{Arm, Bare};
use super::input::{DISK, Input, Step, geometry};

/// Requests that are held at most, the victim included.
const HELD: usize = 64;
/// Nanoseconds of the device for each request.
const SERVICE_NS: u64 = 20_000_000;

/// Dispatches and timers after which the law gives up.
const PATIENCE: u32 = 100_000;

/// How the victim fared until it was dispatched or a bound was passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    /// Later arrivals that went first.
    pub passed_by: u64,
    pub waited_ns: u64,
}

/// Lets the first step of the input be the victim, and stops when `enough` says so.
pub fn torment(kind: &ElevatorKind, input: &Input, sync: bool, enough: impl Fn(&Fate) -> bool) -> Result<Fate, String> {
    let build = Build { nr_tags: 2 * HELD as u32, queue_depth: 1, geometry: geometry(512), ..input.build() };
    let mut bed = Bare::new(kind, &build, &input.with_defaults());
    let arm = Arm::default();
    let (mut now, mut at, mut nr) = (Time::ZERO, input.steps[input.steps.len() - 1].sector, 0usize);
    let crowd = 1 + input.nr_requests as usize % (HELD - 1);
    // Some are there before the victim, so that a batch or a stream goes on already.
    for _ in 0..crowd / 2 {
        let step = tempting(&bed, input, &mut nr, at);
        bed.insert(now, &step);
    }
    let first = Step { sync: sync || input.steps[0].sync, process: 4, ..plain(&input.steps[0]) };
    let victim = bed.insert(now, &first);
    let mut fate = Fate { passed_by: 0, waited_ns: 0 };
    for _ in 0..PATIENCE {
        while bed.held().len() <= crowd {
            let step = tempting(&bed, input, &mut nr, at);
            bed.insert(now, &step);
        }
        fate.waited_ns = now.as_ns();
        let given = bed.take(now, &arm).map_err(|trouble| format!("{trouble:?}"))?;
        if enough(&fate) {
            return Ok(fate);
        }
        match given {
            Some(request) if request.seq == victim.seq => return Ok(fate),
            Some(request) => {
                fate.passed_by += u64::from(request.seq > victim.seq);
                at = request.end();
                arm.moved(&request);
                let issued = now;
                now = now + SERVICE_NS;
                while let Some(timer) = bed.elevator.next_timer().filter(|timer| *timer < now) {
                    bed.elevator.on_timer(timer.max(issued));
                    if bed.elevator.next_timer() == Some(timer) {
                        return Err(format!("the timer at {timer:?} comes again and again"));
                    }
                }
                bed.finish(now, request, issued);
            }
            None => {
                let timer = bed.elevator.next_timer().ok_or("it refuses without a timer and with nothing in flight")?;
                now = now.max(timer);
                bed.elevator.on_timer(now);
            }
        }
    }
    Err(format!("it neither dispatches the victim nor breaks the bound: {fate:?}"))
}

/// The next one of the crowd, close to the arm: where the last one ended, a little further, or where the input has it; not where
/// a held one starts, as the promises say.
fn tempting(bed: &Bare, input: &Input, nr: &mut usize, at: u64) -> Step {
    let step = &input.steps[*nr % input.steps.len()];
    let mut sector = match *nr % if input.merge { 2 } else { 3 } {
        0 => at,
        1 => at + step.sector % 64,
        _ => step.sector,
    };
    *nr += 1;
    while bed.held().values().any(|held| held.sector == sector % DISK) {
        sector += 1;
    }
    Step { sector: sector % DISK, process: step.process % 4, ..plain(step) }
}

/// The promises speak of requests of one priority.
fn plain(step: &Step) -> Step {
    Step { gap_ns: 0, nr_sectors: 8, meta: false, priority: Priority::default(), exit: false, ..step.clone() }
}
