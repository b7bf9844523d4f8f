//! The table of properties. The first line of each states what a scheduler must do.

use elevator::{Build, Elevator, ElevatorKind, Guarantee, Origin, Time};

use crate::adverse::{
    drained_when_the_device_goes, served_by_a_device_that_stalls, served_when_the_clock_jumps,
    served_while_tunables_are_written, served_with_a_process_for_each_request,
    served_with_weights_at_the_extremes,
};
use crate::bounds::{passed_at_most, waits_at_most};
use crate::deadlines::{meets_feasible_deadlines, meets_what_edf_meets};
use crate::drive::{
    Bare, Failure, Head, Log, bios, catch_panic, run_in_queue, run_without_queue, sums,
};
use crate::input::{Input, Setting, Step, interpolate};
use crate::order::{order_of_arrival, order_of_sectors};

pub struct Property<I: 'static = Input> {
    pub name: &'static str,
    pub check: fn(&ElevatorKind, &I) -> Result<(), String>,
}

macro_rules! table {
    ($($name:ident),* $(,)?) => {
        pub const PROPERTIES: &[Property] = &[$(Property { name: stringify!($name), check: $name }),*];

        /// Declares one test per property; each calls `$hold` with it.
        #[macro_export]
        macro_rules! test_every_property {
            ($hold:path) => {
                $(#[test] fn $name() { $hold($crate::property(stringify!($name))) })*
            };
        }
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
    meets_feasible_deadlines,
    meets_what_edf_meets,
    served_by_a_device_that_stalls,
    served_when_the_clock_jumps,
    served_with_a_process_for_each_request,
    served_while_tunables_are_written,
    served_with_weights_at_the_extremes,
    drained_when_the_device_goes,
];

/// # Panics
/// If there is no such property.
pub fn property(name: &str) -> &'static Property {
    PROPERTIES
        .iter()
        .find(|property| property.name == name)
        .unwrap_or_else(|| panic!("there is no property {name}"))
}

/// Checks a property of a row with one input. A panic breaks it.
///
/// # Errors
/// How the property is broken.
pub fn assess<I>(property: &Property<I>, kind: &ElevatorKind, input: &I) -> Result<(), String> {
    catch_panic(|| (property.check)(kind, input))
        .unwrap_or_else(|panic| Err(format!("panicked: {panic}")))
}

/// Broken by any row with any input.
pub fn broken_properties(rows: &[&ElevatorKind], inputs: &[Input]) -> Vec<&'static str> {
    broken_of(PROPERTIES, rows, inputs)
}

/// As [`broken_properties`], for any table.
pub fn broken_of<I>(
    properties: &[Property<I>],
    rows: &[&ElevatorKind],
    inputs: &[I],
) -> Vec<&'static str> {
    let breaks = |property: &&Property<I>| {
        rows.iter().any(|row| inputs.iter().any(|input| assess(property, row, input).is_err()))
    };
    properties.iter().filter(breaks).map(|property| property.name).collect()
}

fn check_success(log: &Log) -> Result<(), String> {
    require!(log.failure.is_none(), "{:?}", log.failure);
    Ok(())
}

/// Every inserted request is dispatched and completed exactly once, and every bio is done once.
fn served_once_through_the_queue(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let log = run_in_queue(kind, input, None);
    check_success(&log)?;
    all_done(&log, input)?;
    require!(
        log.dispatched.len() == log.completed.len(),
        "dispatched and completed are not the same number"
    );
    Ok(())
}

fn all_done(log: &Log, input: &Input) -> Result<(), String> {
    let mut done = log.done.clone();
    done.sort_unstable();
    let expected: Vec<u64> = bios(input).map(|(cookie, _)| cookie).collect();
    require!(done == expected, "of the bios 0..{} these completed: {done:?}", expected.len());
    Ok(())
}

/// Without a queue, every request is dispatched exactly once and unchanged.
fn served_once_directly(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let log = run_without_queue(kind, input);
    check_success(&log)?;
    let mut dispatched: Vec<u64> = log.dispatched.iter().map(|(_, request)| request.seq).collect();
    dispatched.sort_unstable();
    let expected: Vec<u64> = (0..log.inserted.len() as u64).collect();
    require!(
        dispatched == expected,
        "of the requests 0..{} these were dispatched: {dispatched:?}",
        expected.len()
    );
    Ok(())
}

/// A requeued request is dispatched again and completed once.
fn requeued_requests_are_served_once(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let log = run_in_queue(kind, input, Some(3));
    check_success(&log)?;
    all_done(&log, input)?;
    let mut completed: Vec<u64> = log.completed.iter().map(|(_, request)| request.seq).collect();
    completed.sort_unstable();
    require!(completed.windows(2).all(|pair| pair[0] < pair[1]), "completed twice: {completed:?}");
    Ok(())
}

/// After all requests have been dispatched, none is held or dispatched later.
fn drained_at_the_end(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let mut bare = Bare::new(kind, &Build { nr_tags: 128, ..input.build() }, input);
    let (mut now, mut waits) = (Time::ZERO, 0);
    for step in input.steps.iter().filter(|step| !step.exit).take(128) {
        bare.insert(now, step);
    }
    while !bare.held().is_empty() {
        let given = bare.take(now, &Head::default()).map_err(|failure| format!("{failure:?}"))?;
        now = match (given, bare.elevator.next_timer()) {
            (Some(request), _) => {
                bare.finish(now + 1_000_000, request, now);
                now + 1_000_000
            }
            (None, Some(timer)) => timer.max(now),
            (None, None) => return Err(format!("{} are left, without a timer", bare.held().len())),
        };
        if given.is_none() {
            bare.elevator.on_timer(now);
            waits += 1;
            require!(waits < 20_000, "it idles endlessly and holds {}", bare.held().len());
        }
    }
    for _ in 0..20 {
        let len = bare.elevator.len();
        require!(bare.elevator.is_empty() && len == 0, "it reports {len} held requests");
        let more = bare.take(now, &Head::default()).map_err(|failure| format!("{failure:?}"))?;
        require!(more.is_none(), "it dispatches {more:?}, which is not held");
        now = bare.elevator.next_timer().unwrap_or(now).max(now + 50_000_000);
        bare.elevator.on_timer(now);
    }
    Ok(())
}

/// The elevator's count of held requests is the number inserted and neither dispatched nor merged,
/// and the queue's counters agree with the driver's.
fn counters_agree(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    for log in [run_in_queue(kind, input, None), run_without_queue(kind, input)] {
        check_success(&log)?;
        let wrong = log.lengths.iter().find(|(_, len, expected)| len != expected);
        require!(wrong.is_none(), "(time, reported as held, held): {wrong:?}");
        let of = log.counters;
        let counted =
            [of.inserted, of.dispatched, of.completed, of.done, of.back_merges + of.front_merges];
        let logged = [
            log.inserted.len(),
            log.dispatched.len(),
            log.completed.len(),
            log.done.len(),
            log.merged as usize,
        ];
        require!(
            counted.map(|count| count as usize) == logged,
            "counted {counted:?}, logged {logged:?}"
        );
        require!(of.inserted == of.dispatched + of.coalesced, "at the end: {of:?}");
        require!(log.left == 0, "{} are left", log.left);
    }
    Ok(())
}

/// Merging neither loses nor adds sectors, does not mix reads and writes, and keeps the size limit.
fn merges_keep_every_sector(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    // All requests at once and in one file, for as many merges as possible.
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
        let log = run_in_queue(kind, input, None);
        check_success(&log)?;
        let asked = sums(bios(input).map(|(_, step)| (step.op, step.nr_sectors)));
        let served =
            sums(log.completed.iter().map(|(_, request)| (request.op, request.nr_sectors)));
        require!(
            asked == served,
            "{asked:?} sectors of reads and writes submitted, {served:?} completed"
        );
        for step in bios(input).map(|(_, step)| step) {
            check_cover(step, &log)?;
        }
        let large =
            log.completed.iter().find(|(_, request)| request.nr_sectors > input.max_sectors);
        require!(large.is_none(), "above {} sectors: {large:?}", input.max_sectors);
    }
    Ok(())
}

fn check_cover(step: &Step, log: &Log) -> Result<(), String> {
    let (mut from, to) = (step.sector, step.sector + u64::from(step.nr_sectors));
    while from < to {
        let by = log.completed.iter().map(|(_, request)| request);
        let by = by.filter(|request| {
            request.op == step.op && request.sector <= from && from < request.end()
        });
        let Some(end) = by.map(|request| request.end()).max() else {
            return Err(format!("sector {from} of {step:?} was not served in that direction"));
        };
        from = end;
    }
    Ok(())
}

/// A work-conserving scheduler dispatches a request whenever it holds one.
fn never_idle_while_holding_work(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    if !kind.guarantees(Guarantee::WorkConserving) {
        return Ok(());
    }
    for log in [run_in_queue(kind, input, None), run_without_queue(kind, input)] {
        require!(log.refusals.is_empty(), "it dispatched none: {:?}", log.refusals[0]);
    }
    Ok(())
}

/// A scheduler that dispatches nothing with no request in flight has a timer and does not idle
/// endlessly.
fn idling_ends_by_a_timer(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    for log in [
        run_in_queue(kind, input, None),
        run_without_queue(kind, input),
        run_in_queue(kind, &input.with_defaults(), None),
    ] {
        let without =
            log.refusals.iter().find(|refusal| refusal.in_flight == 0 && refusal.timer.is_none());
        require!(without.is_none(), "no timer and no request in flight: {without:?}");
        require!(
            !matches!(log.failure, Some(Failure::Stuck(_) | Failure::Endless(_))),
            "{:?}",
            log.failure
        );
    }
    Ok(())
}

/// Repeating a fruitless dispatch at the same time returns nothing.
fn asking_again_changes_nothing(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    for log in [run_in_queue(kind, input, None), run_without_queue(kind, input)] {
        require!(
            log.asked_again.is_empty(),
            "the second call dispatched a request at {:?}",
            log.asked_again[0]
        );
    }
    Ok(())
}

/// Every tunable starts within its range and reads back unchanged, alone and with all others.
fn tunables_read_back(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let mut elevator = (kind.build)(&input.build());
    let mut together = (kind.build)(&input.build());
    for (tunable, setting) in kind.tunables.iter().zip(input.settings.iter().cycle()) {
        let (name, min, max) = (tunable.name, tunable.min, tunable.max);
        require!(
            !tunable.help.is_empty() && !tunable.unit.is_empty() && min <= max,
            "{name} is not described"
        );
        let default = elevator.get(name);
        require!(
            (min..=max).contains(&default),
            "{name} starts with {default}, outside of {min} to {max}"
        );
        let part = match setting {
            Setting::Between(part) => *part,
            _ => 1 << 15,
        };
        for value in [min, max, interpolate(min, max, part), default] {
            elevator.set(name, value);
            near(kind, input, name, elevator.as_ref(), value)?;
        }
        together.set(name, interpolate(min, max, part));
    }
    for (tunable, setting) in kind.tunables.iter().zip(input.settings.iter().cycle()) {
        let part = match setting {
            Setting::Between(part) => *part,
            _ => 1 << 15,
        };
        // The kernel's slice_idle_us is slice_idle in another unit; the last write wins.
        if kind.tunables.iter().any(|other| other.name.strip_suffix("_us") == Some(tunable.name)) {
            continue;
        }
        near(
            kind,
            input,
            tunable.name,
            together.as_ref(),
            interpolate(tunable.min, tunable.max, part),
        )?;
    }
    Ok(())
}

/// A legacy scheduler stores milliseconds in ticks: exactly at HZ 1000, otherwise to one tick.
fn near(
    kind: &ElevatorKind,
    input: &Input,
    name: &str,
    elevator: &dyn Elevator,
    value: u64,
) -> Result<(), String> {
    let ticks = kind.origin != Origin::BlkMq
        && kind.tunable(name).is_some_and(|tunable| tunable.unit == "ms");
    let slack = if ticks && input.hz != 1000 { 1000u64.div_ceil(u64::from(input.hz)) } else { 0 };
    let got = elevator.get(name);
    require!(got.abs_diff(value) <= slack, "{name} was set to {value} and reads {got}");
    Ok(())
}

/// The same input gives the same output.
fn same_input_same_output(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    require!(
        run_without_queue(kind, input) == run_without_queue(kind, input),
        "the same input gave two outputs without a queue"
    );
    let twice = [0, 1].map(|_| run_in_queue(kind, input, None));
    require!(twice[0] == twice[1], "the same input gave two outputs through the queue");
    Ok(())
}

/// The anticipation counters are consistent: no more waits end than began, no counter decreases,
/// and only idling schedulers have them.
fn anticipation_adds_up(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    let log = run_in_queue(kind, input, None);
    require!(
        log.anticipations.is_empty() || !kind.guarantees(Guarantee::WorkConserving),
        "a work-conserving scheduler does not anticipate"
    );
    let ended = |of: &elevator::Anticipation| of.successes + of.failures;
    let wrong = log.anticipations.iter().find(|of| ended(of) > of.started);
    require!(wrong.is_none(), "more waits ended than began: {wrong:?}");
    let back = log.anticipations.windows(2).find(|pair| {
        let of = |of: &elevator::Anticipation| {
            [of.started, of.successes, of.failures, of.success_wait_ns, of.failure_wait_ns]
        };
        of(&pair[0]).iter().zip(of(&pair[1])).any(|(before, after)| *before > after)
    });
    require!(back.is_none(), "a counter decreased: {back:?}");
    Ok(())
}
