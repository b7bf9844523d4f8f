//! Bad input: stalling or vanishing devices, clock jumps, a process per request, extreme weights,
//! and tunables written while requests are held. Every request is served once, and an idling
//! scheduler continues by its timer.

use elevator::{BlockRequest, Build, ElevatorKind, FlowSpec, Guarantee, Time};

use crate::drive::{Bare, Head};
use crate::input::{Input, Step};

const SECOND: u64 = 1_000_000_000;
/// The start: clocks may jump back by an hour.
const START: u64 = 1_000_000 * SECOND;
/// With an empty device and held requests, an idle time that counts as stuck.
const ENDLESS_NS: u64 = 2 * SECOND;
const ENDLESS_TIMERS: u32 = 20_000;
/// Events between clock jumps, and the jumps.
const BETWEEN_JUMPS: usize = 16;
const FORWARD: &[i64] = &[1_000_000, 3_600_000_000_000, 999, 86_400_000_000_000, 5_000_000_000];
const BACK: &[i64] =
    &[-1_000_000, -3_600_000_000_000, 7_200_000_000_000, -5_000_000_000, -1, -3_000_000_000_000];

#[derive(Debug, Clone, Copy, Default)]
struct Adversity {
    /// Every 17th request takes 7 s.
    stalls: bool,
    jumps: &'static [i64],
    /// Each request has its own process, which exits at completion.
    forks: bool,
    weights: bool,
    /// A tunable is written after every third event.
    writes: bool,
    /// After this many events the device completes everything at once, and nothing more arrives.
    goes_after: Option<usize>,
}

struct Drive<'a> {
    kind: &'a ElevatorKind,
    input: &'a Input,
    adversity: Adversity,
    bare: Bare,
    head: Head,
    in_flight: Vec<(u64, Time, BlockRequest)>,
    dispatched: usize,
    events: usize,
    now: u64,
    shift: i64,
    /// Without dispatches and with an empty device: since when, and number of timers.
    quiet: (u64, u32),
}

/// Each exactly once, with none held at the end.
fn serve(kind: &ElevatorKind, input: &Input, adversity: Adversity) -> Result<(), String> {
    let build = Build { nr_tags: input.nr_requests.max(2), ..input.build() };
    let bare = Bare::new(kind, &build, input);
    let (in_flight, head) = (Vec::new(), Head::default());
    let quiet = (START, 0);
    let mut drive = Drive {
        kind,
        input,
        adversity,
        bare,
        head,
        in_flight,
        dispatched: 0,
        events: 0,
        now: START,
        shift: 0,
        quiet,
    };
    drive.run()
}

impl Drive<'_> {
    fn shown(&self) -> Time {
        Time::from_ns(self.now.saturating_add_signed(self.shift))
    }

    fn is_gone(&self) -> bool {
        self.adversity.goes_after.is_some_and(|events| self.events >= events)
    }

    fn run(&mut self) -> Result<(), String> {
        let input = self.input;
        let mut steps = input.steps.iter().filter(|step| !step.exit).zip(0u32..).peekable();
        let mut inserted = 0;
        let mut arrival = self.now + steps.peek().map_or(0, |(step, _)| step.gap_ns);
        if self.adversity.weights {
            for process in 0..5 {
                let weight = Some([1, u32::MAX, 100][process as usize % 3]);
                self.bare.elevator.flow(
                    process,
                    process,
                    &FlowSpec { weight, ..FlowSpec::default() },
                );
            }
        }
        loop {
            self.disturb();
            self.dispatch()?;
            let held = self.bare.elevator.len();
            let may_arrive =
                held + self.in_flight.len() < input.nr_requests as usize && !self.is_gone();
            let arrives = steps.peek().filter(|_| may_arrive).map(|_| arrival.max(self.now));
            let done = self.in_flight.iter().map(|(due, ..)| *due).min();
            if arrives.is_none() && done.is_none() && held == 0 {
                require!(
                    self.dispatched == inserted,
                    "{inserted} were inserted and {} dispatched",
                    self.dispatched
                );
                return Ok(());
            }
            let shown = self.shown().as_ns();
            let timer = self.bare.elevator.next_timer();
            let timer =
                timer.map(|timer| self.now.saturating_add(timer.as_ns().saturating_sub(shown)));
            let Some(at) = [arrives, done, timer].into_iter().flatten().min() else {
                return Err(format!(
                    "it holds {held}, none is in the device, and there is no timer"
                ));
            };
            self.now = at;
            self.events += 1;
            if done == Some(at) {
                self.complete(at);
            } else if arrives == Some(at) {
                let (step, nr) = steps.next().expect("one arrives");
                self.insert(step, nr);
                inserted += 1;
                arrival = at + steps.peek().map_or(0, |(step, _)| step.gap_ns);
            } else {
                self.expire(held)?;
            }
        }
    }

    fn disturb(&mut self) {
        let jumps = self.adversity.jumps;
        if self.events.is_multiple_of(BETWEEN_JUMPS)
            && let Some(jump) = jumps.get((self.events / BETWEEN_JUMPS).wrapping_sub(1))
        {
            self.shift += jump;
        }
        let rows = self.kind.tunables;
        if self.adversity.writes && self.events % 3 == 2 && !rows.is_empty() {
            let row = &rows[self.events / 3 % rows.len()];
            let value = [row.min, row.max, row.min + (row.max - row.min) / 2][self.events / 7 % 3];
            self.bare.elevator.set(row.name, value);
        }
        if self.is_gone() {
            self.in_flight.iter_mut().for_each(|(due, ..)| *due = self.now);
        }
    }

    fn dispatch(&mut self) -> Result<(), String> {
        while self.in_flight.len() < self.input.queue_depth as usize {
            let shown = self.shown();
            let given =
                self.bare.take(shown, &self.head).map_err(|failure| format!("{failure:?}"))?;
            let Some(request) = given else { break };
            self.head.record_move(&request);
            let stalls = self.adversity.stalls && self.dispatched % 17 == 11;
            let service = if stalls { 7 * SECOND } else { self.input.service(self.dispatched) };
            self.in_flight.push((
                self.now + if self.is_gone() { 0 } else { service },
                shown,
                request,
            ));
            self.dispatched += 1;
            self.quiet = (self.now, 0);
        }
        Ok(())
    }

    fn insert(&mut self, step: &Step, nr: u32) {
        let process = if self.adversity.forks { nr } else { step.process % 5 };
        self.bare.insert(self.shown(), &Step { process, ..step.clone() });
        self.quiet = (self.now, 0);
    }

    fn complete(&mut self, at: u64) {
        let which = self.in_flight.iter().position(|(due, ..)| *due == at).expect("one is due");
        let (_, issued, request) = self.in_flight.swap_remove(which);
        let shown = self.shown();
        self.bare.finish(shown, request, issued);
        if self.adversity.forks {
            self.bare.elevator.exited(shown, request.process);
        }
        self.quiet = (self.now, 0);
    }

    fn expire(&mut self, held: usize) -> Result<(), String> {
        let shown = self.shown();
        self.bare.elevator.on_timer(shown);
        let (since, timers) = self.quiet;
        self.quiet.1 = timers + 1;
        // A tunable may request a wait of years.
        let bounded = !self.adversity.writes;
        let endless =
            bounded && held > 0 && self.in_flight.is_empty() && self.now - since > ENDLESS_NS;
        require!(
            !endless && timers < ENDLESS_TIMERS,
            "it holds {held} and idles for {} ns",
            self.now - since
        );
        Ok(())
    }
}

/// A device that stalls for seconds, like flash collecting garbage, rotational or not, is still
/// served.
pub(crate) fn served_by_a_device_that_stalls(
    kind: &ElevatorKind,
    input: &Input,
) -> Result<(), String> {
    for rotational in [false, true] {
        let input = Input { rotational, ..input.with_defaults() };
        serve(kind, &input, Adversity { stalls: true, ..Adversity::default() })?;
    }
    Ok(())
}

/// Clock jumps ahead by up to a day, and for rows that guarantee it back by up to an hour, neither
/// stop nor break service.
pub(crate) fn served_when_the_clock_jumps(
    kind: &ElevatorKind,
    input: &Input,
) -> Result<(), String> {
    let input = input.with_defaults();
    serve(kind, &input, Adversity { jumps: FORWARD, ..Adversity::default() })?;
    match kind.guarantees(Guarantee::AnyClock) {
        true => serve(kind, &input, Adversity { jumps: BACK, ..Adversity::default() }),
        false => Ok(()),
    }
}

/// A new process per request, which exits with it, is served normally.
pub(crate) fn served_with_a_process_for_each_request(
    kind: &ElevatorKind,
    input: &Input,
) -> Result<(), String> {
    serve(kind, &input.with_defaults(), Adversity { forks: true, ..Adversity::default() })
}

/// Tunables may be written at any time, up to the ends of their ranges, while requests are held and
/// while a scheduler idles.
pub(crate) fn served_while_tunables_are_written(
    kind: &ElevatorKind,
    input: &Input,
) -> Result<(), String> {
    serve(kind, &input.with_defaults(), Adversity { writes: true, ..Adversity::default() })
}

/// Flows of minimum and maximum weight are all served.
pub(crate) fn served_with_weights_at_the_extremes(
    kind: &ElevatorKind,
    input: &Input,
) -> Result<(), String> {
    serve(kind, &input.with_defaults(), Adversity { weights: true, ..Adversity::default() })
}

/// When the device disappears under load, all held requests are dispatched even though nothing more
/// arrives.
pub(crate) fn drained_when_the_device_goes(
    kind: &ElevatorKind,
    input: &Input,
) -> Result<(), String> {
    for events in [1, 5, 23] {
        serve(
            kind,
            &input.with_defaults(),
            Adversity { goes_after: Some(events), ..Adversity::default() },
        )?;
    }
    Ok(())
}
