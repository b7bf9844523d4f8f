//! Time-driven clients: requests are made at predetermined moments, not after a completion.
//!
//! A [`Schedule`] gives moments, places and deadlines, relative to the client's first step. A
//! request carries its scheduled moment as its release, so time spent waiting for room (iodepth) is
//! measured: a late arrival is not a lost one.

pub(crate) mod bursts;
pub(crate) mod params;
pub(crate) mod rate;
pub(crate) mod setup;
pub(crate) mod streams;
pub(crate) mod task_set;
pub(crate) mod tasks;

use elevator::{Completion, Request, Time};

use crate::workload::client::{Client, Step};

/// A request; times are ns from the client's first step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) at_ns: u64,
    /// Later than `at_ns` only if the whole plan is submitted at once.
    pub(crate) release_ns: u64,
    pub(crate) deadline_ns: Option<u64>,
    pub(crate) request: Request,
}

/// Arrivals in order of time; `None` at the end.
pub(crate) trait Schedule {
    fn draw(&mut self) -> Option<Arrival>;
}

/// A client whose arrivals do not depend on completions; those beyond the iodepth wait for room.
#[derive(Debug)]
pub(crate) struct OpenLoop<S> {
    schedule: S,
    origin: Option<Time>,
    pending: Option<Arrival>,
}

impl<S: Schedule> OpenLoop<S> {
    pub(crate) fn new(schedule: S) -> OpenLoop<S> {
        OpenLoop { schedule, origin: None, pending: None }
    }
}

impl<S: Schedule> Client for OpenLoop<S> {
    fn next(&mut self, now: Time, _last: Option<&Completion>) -> Step {
        let origin = *self.origin.get_or_insert(now);
        let Some(arrival) = self.pending.take().or_else(|| self.schedule.draw()) else {
            return Step::End;
        };
        let at = origin + arrival.at_ns;
        if now < at {
            self.pending = Some(arrival);
            return Step::Think(at - now);
        }
        let request = arrival.request.released(origin + arrival.release_ns);
        Step::Io(match arrival.deadline_ns {
            Some(deadline_ns) => request.due(origin + deadline_ns),
            None => request,
        })
    }
}

#[cfg(test)]
mod tests {
    use elevator::Op;

    use super::*;

    /// One request every 10 ns, due 5 ns later.
    struct EveryTen(u64);
    impl Schedule for EveryTen {
        fn draw(&mut self) -> Option<Arrival> {
            let at_ns = self.0 * 10;
            self.0 += 1;
            let request = Request::new(Op::Read, 0, 512);
            (self.0 < 5).then_some(Arrival {
                at_ns,
                release_ns: at_ns,
                deadline_ns: Some(at_ns + 5),
                request,
            })
        }
    }

    fn times(step: Step) -> (u64, u64) {
        match step {
            Step::Io(request) => {
                (request.release.unwrap().as_ns(), request.deadline.unwrap().as_ns())
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_schedule_counts_from_the_clients_first_step() {
        let mut client = OpenLoop::new(EveryTen(0));
        assert_eq!(times(client.next(Time::from_ns(100), None)), (100, 105));
        assert_eq!(client.next(Time::from_ns(103), None), Step::Think(7));
        assert_eq!(times(client.next(Time::from_ns(110), None)), (110, 115));
    }

    #[test]
    fn a_late_hand_over_shifts_no_later_one_and_does_not_change_its_own_times() {
        let mut client = OpenLoop::new(EveryTen(0));
        let _ = client.next(Time::ZERO, None);
        assert_eq!(times(client.next(Time::from_ns(27), None)), (10, 15));
        assert_eq!(times(client.next(Time::from_ns(27), None)), (20, 25));
        assert_eq!(client.next(Time::from_ns(27), None), Step::Think(3));
        assert_eq!(times(client.next(Time::from_ns(30), None)), (30, 35));
        assert_eq!(client.next(Time::from_ns(30), None), Step::End);
    }
}
