//! The laws. Each says in its first line what it holds a scheduler to.

use elevator::{Build, Elevator, ElevatorKind, Origin, Promise, Time};

use super::drive::{Arm, Bare, Log, Trouble, directly, pieces, sums, through_queue};
use super::input::{Input, Setting, Step, between};

macro_rules! ensure {
    ($holds:expr, $($words:tt)*) => {
        if !$holds {
            return Err(format!($($words)*));
        }
    };
}

mod bounds;
mod order;

use bounds::{passed_at_most, waits_at_most};
use order::{order_of_arrival, order_of_sectors};

/// A law.
pub struct Law {
    pub name: &'static str,
    pub check: fn(&ElevatorKind, &Input) -> Result<(), String>,
}

macro_rules! table {
    ($($name:ident),* $(,)?) => {
        /// Every law.
        pub const LAWS: &[Law] = &[$(Law { name: stringify!($name), check: $name }),*];
    };
}

table![
    served_once_through_the_queue,
    served_once_directly,
    requeued_requests_are_served_once,
    drained_at_the_end,
    counters_agree,
    merges_keep_every_sector,
    never_idle_while_holding_work,
    idling_ends_by_a_timer,
    asking_again_changes_nothing,
    order_of_arrival,
    order_of_sectors,
    passed_at_most,
    waits_at_most,
    tunables_read_back,
    same_input_same_output,
    anticipation_adds_up,
];

/// The law of this name.
pub fn law(name: &str) -> &'static Law {
    LAWS.iter().find(|law| law.name == name).unwrap_or_else(|| panic!("there is no law {name}"))
}

fn untroubled(log: &Log) -> Result<(), String> {
    ensure!(log.trouble.is_none(), "{:?}", log.trouble);
    Ok(())
}

/// Every request that was inserted is dispatched and completed exactly once, and every piece is done once.
fn served_once_through_the_queue(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let log = through_queue(kind, input, None);
    untroubled(&log)?;
    all_done(&log, input)?;
    ensure!(log.dispatched.len() == log.completed.len(), "dispatched and completed are not the same number");
    Ok(())
}

fn all_done(log: &Log, input: &Input) -> Result<(), String> {
    let mut done = log.done.clone();
    done.sort_unstable();
    let expected: Vec<u64> = pieces(input).map(|(cookie, _)| cookie).collect();
    ensure!(done == expected, "of the pieces 0..{} these are done: {done:?}", expected.len());
    Ok(())
}

/// The same without a queue: what comes out is what went in, unchanged.
fn served_once_directly(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let log = directly(kind, input);
    untroubled(&log)?;
    let mut seen: Vec<u64> = log.dispatched.iter().map(|(_, request)| request.seq).collect();
    seen.sort_unstable();
    let expected: Vec<u64> = (0..log.inserted.len() as u64).collect();
    ensure!(seen == expected, "of the requests 0..{} these were dispatched: {seen:?}", expected.len());
    Ok(())
}

/// A request that the device gave back is dispatched again and completed once.
fn requeued_requests_are_served_once(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let log = through_queue(kind, input, Some(3));
    untroubled(&log)?;
    all_done(&log, input)?;
    let mut completed: Vec<u64> = log.completed.iter().map(|(_, request)| request.seq).collect();
    completed.sort_unstable();
    ensure!(completed.windows(2).all(|pair| pair[0] < pair[1]), "completed twice: {completed:?}");
    Ok(())
}

/// When everybody was served, nothing is held, and nothing comes any more, whatever time passes.
fn drained_at_the_end(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let mut bed = Bare::new(kind, &Build { nr_tags: 128, ..input.build() }, input);
    let (mut now, mut waits) = (Time::ZERO, 0);
    for step in input.steps.iter().filter(|step| !step.exit).take(128) {
        bed.insert(now, step);
    }
    while !bed.held().is_empty() {
        let given = bed.take(now, &Arm::default()).map_err(|trouble| format!("{trouble:?}"))?;
        now = match (given, bed.elevator.next_timer()) {
            (Some(request), _) => {
                bed.finish(now + 1_000_000, request, now);
                now + 1_000_000
            }
            (None, Some(timer)) => timer.max(now),
            (None, None) => return Err(format!("{} are left, without a timer", bed.held().len())),
        };
        if given.is_none() {
            bed.elevator.on_timer(now);
            waits += 1;
            ensure!(waits < 20_000, "it idles without end and holds {}", bed.held().len());
        }
    }
    for _ in 0..20 {
        let len = bed.elevator.len();
        ensure!(bed.elevator.is_empty() && len == 0, "it says that it holds {len}");
        let more = bed.take(now, &Arm::default()).map_err(|trouble| format!("{trouble:?}"))?;
        ensure!(more.is_none(), "it gives {more:?} out of nothing");
        now = bed.elevator.next_timer().unwrap_or(now).max(now + 50_000_000);
        bed.elevator.on_timer(now);
    }
    Ok(())
}

/// The elevator's count of held requests is what was inserted and neither dispatched nor merged away; the queue's counters are
/// what a witness counted.
fn counters_agree(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    for log in [through_queue(kind, input, None), directly(kind, input)] {
        untroubled(&log)?;
        let wrong = log.lengths.iter().find(|(_, len, expected)| len != expected);
        ensure!(wrong.is_none(), "(time, held by its own count, held): {wrong:?}");
        let of = log.counters;
        let counted = [of.inserted, of.dispatched, of.completed, of.done, of.back_merges + of.front_merges];
        let seen = [log.inserted.len(), log.dispatched.len(), log.completed.len(), log.done.len(), log.merged as usize];
        ensure!(counted.map(|count| count as usize) == seen, "counted {counted:?}, seen {seen:?}");
        ensure!(of.inserted == of.dispatched + of.coalesced, "at the end: {of:?}");
        ensure!(log.left == 0, "{} are left", log.left);
    }
    Ok(())
}

/// Merging loses no sector, adds none, and joins no read with a write; no request exceeds the limit.
fn merges_keep_every_sector(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    // Everybody at once and a single file: as many merges as there can be.
    let mut dense = input.clone();
    for (at, step) in dense.steps.iter_mut().enumerate() {
        step.gap_ns = step.gap_ns / 50_000_000 * 1000;
        step.process %= 2;
        step.sector = if at % 5 == 0 { step.sector } else { 5000 + step.sector % 24 * 8 };
        step.nr_sectors = if at % 5 == 0 { step.nr_sectors } else { 8 };
        step.exit = false;
    }
    dense.merge = true;
    for input in [input, &dense] {
        let log = through_queue(kind, input, None);
        untroubled(&log)?;
        let asked = sums(pieces(input).map(|(_, step)| (step.op, step.nr_sectors)));
        let served = sums(log.completed.iter().map(|(_, request)| (request.op, request.nr_sectors)));
        ensure!(asked == served, "asked for {asked:?} sectors of reads and writes, served {served:?}");
        for step in pieces(input).map(|(_, step)| step) {
            covered(step, &log)?;
        }
        let large = log.completed.iter().find(|(_, request)| request.nr_sectors > input.max_sectors);
        ensure!(large.is_none(), "above {} sectors: {large:?}", input.max_sectors);
    }
    Ok(())
}

fn covered(step: &Step, log: &Log) -> Result<(), String> {
    let (mut from, to) = (step.sector, step.sector + u64::from(step.nr_sectors));
    while from < to {
        let by = log.completed.iter().map(|(_, request)| request);
        let by = by.filter(|request| request.op == step.op && request.sector <= from && from < request.end());
        let Some(end) = by.map(|request| request.end()).max() else {
            return Err(format!("sector {from} of {step:?} was never served in that direction"));
        };
        from = end;
    }
    Ok(())
}

/// Work-conserving: whoever asks while requests are held gets one.
fn never_idle_while_holding_work(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    if !kind.promises(Promise::WorkConserving) {
        return Ok(());
    }
    for log in [through_queue(kind, input, None), directly(kind, input)] {
        ensure!(log.refusals.is_empty(), "it refused: {:?}", log.refusals[0]);
    }
    Ok(())
}

/// Whoever refuses with nothing in flight has a timer, and does not wait without end.
fn idling_ends_by_a_timer(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    for log in
        [through_queue(kind, input, None), directly(kind, input), through_queue(kind, &input.with_defaults(), None)]
    {
        let without = log.refusals.iter().find(|refusal| refusal.in_flight == 0 && refusal.timer.is_none());
        ensure!(without.is_none(), "no timer and nothing in flight: {without:?}");
        ensure!(!matches!(log.trouble, Some(Trouble::Stuck(_) | Trouble::Endless(_))), "{:?}", log.trouble);
    }
    Ok(())
}

/// Whoever was refused and asks again at the same time is refused again.
fn asking_again_changes_nothing(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    for log in [through_queue(kind, input, None), directly(kind, input)] {
        ensure!(log.asked_again.is_empty(), "refused, then not, at {:?}", log.asked_again[0]);
    }
    Ok(())
}

/// Every tunable starts within its range and reads back as it was set: alone, and together with all others.
fn tunables_read_back(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let mut elevator = (kind.build)(&input.build());
    let mut together = (kind.build)(&input.build());
    for (tunable, setting) in kind.tunables.iter().zip(input.settings.iter().cycle()) {
        let (name, min, max) = (tunable.name, tunable.min, tunable.max);
        ensure!(!tunable.help.is_empty() && !tunable.unit.is_empty() && min <= max, "{name} is not described");
        let default = elevator.get(name);
        ensure!((min..=max).contains(&default), "{name} starts with {default}, outside of {min} to {max}");
        let part = match setting {
            Setting::Between(part) => *part,
            _ => 1 << 15,
        };
        for value in [min, max, between(min, max, part), default] {
            elevator.set(name, value);
            near(kind, input, name, elevator.as_ref(), value)?;
        }
        together.set(name, between(min, max, part));
    }
    for (tunable, setting) in kind.tunables.iter().zip(input.settings.iter().cycle()) {
        let part = match setting {
            Setting::Between(part) => *part,
            _ => 1 << 15,
        };
        // The kernel's slice_idle_us is slice_idle in another unit: what was set last stands.
        if kind.tunables.iter().any(|other| other.name.strip_suffix("_us") == Some(tunable.name)) {
            continue;
        }
        near(kind, input, tunable.name, together.as_ref(), between(tunable.min, tunable.max, part))?;
    }
    Ok(())
}

/// A legacy scheduler keeps milliseconds in ticks: exact at HZ 1000, to a tick otherwise.
fn near(kind: &ElevatorKind, input: &Input, name: &str, elevator: &dyn Elevator, value: u64) -> Result<(), String> {
    let ticks = kind.origin != Origin::BlkMq && kind.tunable(name).is_some_and(|tunable| tunable.unit == "ms");
    let slack = if ticks && input.hz != 1000 { 1000u64.div_ceil(u64::from(input.hz)) } else { 0 };
    let got = elevator.get(name);
    ensure!(got.abs_diff(value) <= slack, "{name} was set to {value} and reads {got}");
    Ok(())
}

/// The same input gives the same output.
fn same_input_same_output(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    ensure!(directly(kind, input) == directly(kind, input), "twice the same input bare, two outputs");
    let twice = [0, 1].map(|_| through_queue(kind, input, None));
    ensure!(twice[0] == twice[1], "twice the same input through the queue, two outputs");
    Ok(())
}

/// What idling brought is counted: no wait ends that was not begun, nothing is taken back, and only idlers count.
fn anticipation_adds_up(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let log = through_queue(kind, input, None);
    ensure!(
        log.anticipations.is_empty() || !kind.promises(Promise::WorkConserving),
        "a work-conserving scheduler does not anticipate"
    );
    let ended = |of: &elevator::Anticipation| of.successes + of.failures;
    let wrong = log.anticipations.iter().find(|of| ended(of) > of.started);
    ensure!(wrong.is_none(), "more waits ended than began: {wrong:?}");
    let back = log.anticipations.windows(2).find(|pair| {
        let of = |of: &elevator::Anticipation| {
            [of.started, of.successes, of.failures, of.success_wait_ns, of.failure_wait_ns]
        };
        of(&pair[0]).iter().zip(of(&pair[1])).any(|(before, after)| *before > after)
    });
    ensure!(back.is_none(), "taken back: {back:?}");
    Ok(())
}
