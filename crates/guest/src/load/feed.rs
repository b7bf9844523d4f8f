//! Generates clients' steps, and the turnarounds between them, in advance.
//!
//! Programs therefore cannot receive times or completions. Only workloads with
//! `WorkloadKind::is_timed` use these; a test checks the others.

use std::collections::VecDeque;

use elevator::{Op, Time};
use sim::Turnarounds;
use sim::workload::{Member, Step};

use super::wire;

/// Carry over from one pass to the next.
#[derive(Debug, Default)]
struct Drawn {
    turns: VecDeque<u64>,
    /// Turnarounds that the kernel has in this pass.
    sent: usize,
}

/// Of a trial's clients, over its passes.
#[derive(Debug)]
pub(super) struct Turns {
    source: Turnarounds,
    clients: Vec<Drawn>,
}

impl Turns {
    pub(super) fn new(source: Turnarounds, clients: usize) -> Turns {
        Turns { source, clients: (0..clients).map(|_| Drawn::default()).collect() }
    }

    /// The constant value, if all are equal.
    pub(super) fn constant(&self) -> Option<u64> {
        self.source.constant()
    }

    /// Does nothing if all are equal.
    fn feed(&mut self, client: u16, room: u64, steps: &mut Vec<wire::Step>) {
        if self.source.constant().is_some() {
            return;
        }
        let drawn = &mut self.clients[client as usize];
        for _ in 0..room {
            if drawn.sent == drawn.turns.len() {
                drawn.turns.push_back(self.source.draw(client.into()));
            }
            steps.push(wire::Step {
                arg: drawn.turns[drawn.sent],
                bytes: 0,
                client,
                kind: wire::TURN,
                op: 0,
            });
            drawn.sent += 1;
        }
    }

    /// Ends a client's pass.
    pub(super) fn used(&mut self, client: u16, used: usize) {
        let drawn = &mut self.clients[client as usize];
        assert!(
            used <= drawn.sent || self.source.constant().is_some(),
            "no client uses what it was not given"
        );
        drawn.turns.drain(..used.min(drawn.sent));
        drawn.sent = 0;
    }
}

#[derive(Debug)]
pub(super) struct Feed {
    members: Vec<Member>,
    ended: Vec<bool>,
}

impl Feed {
    pub(super) fn new(members: Vec<Member>) -> Feed {
        Feed { ended: vec![false; members.len()], members }
    }

    /// Appends steps and turnarounds as space permits.
    pub(super) fn feed(
        &mut self,
        room: &wire::Record,
        turns: &mut Turns,
        steps: &mut Vec<wire::Step>,
    ) {
        let client = room.client;
        turns.feed(client, room.offset, steps);
        let member = &mut self.members[client as usize];
        for _ in 0..room.bytes {
            if self.ended[client as usize] {
                return;
            }
            let step = member.program.next(Time::ZERO, None);
            self.ended[client as usize] = step == Step::End;
            steps.push(coded(client, member.base, step));
        }
    }
}

fn coded(client: u16, base: u64, step: Step) -> wire::Step {
    let plain = |kind, arg| wire::Step { arg, bytes: 0, client, kind, op: 0 };
    match step {
        Step::Io(request) => {
            let op = u8::from(request.op == Op::Write);
            wire::Step {
                arg: base + request.offset,
                bytes: request.len,
                client,
                kind: wire::IO,
                op,
            }
        }
        Step::Think(ns) => plain(wire::THINK, ns),
        Step::Await(_) => unreachable!("only clients that go by what has completed wait for it"),
        Step::Sync => plain(wire::SYNC, 0),
        Step::End => plain(wire::END, 0),
    }
}

#[cfg(test)]
mod tests {
    use elevator::{Completion, Request};
    use sim::workload::{Client, WORKLOADS};

    use super::*;

    #[test]
    fn no_workload_but_those_that_say_so_asks_for_the_time_or_for_what_has_completed() {
        for kind in WORKLOADS {
            let params = kind.params([]).unwrap();
            if kind.is_timed(&params) {
                continue;
            }
            let extents = kind.extents(&params, 64 << 30, 512).unwrap();
            let [mut ahead, mut along] = [1, 1].map(|seed| kind.members(&params, &extents, seed));
            for (ahead, along) in ahead.iter_mut().zip(&mut along) {
                let mut last = None;
                for now in (0..2000).map(|step| Time::from_ns(step * 77_777)) {
                    let step = along.program.next(now, last.take().as_ref());
                    assert_eq!(ahead.program.next(Time::ZERO, None), step, "{}", kind.name);
                    match step {
                        Step::Io(request) => {
                            last = Some(Completion { request, submitted: now, completed: now + 9 })
                        }
                        Step::End => break,
                        _ => {}
                    }
                }
            }
        }
    }

    struct Counts(u64);
    impl Client for Counts {
        fn next(&mut self, _: Time, _: Option<&Completion>) -> Step {
            self.0 += 1;
            if self.0 > 3 {
                Step::End
            } else {
                Step::Io(Request::new(Op::Write, self.0 * 512, 512))
            }
        }
    }

    #[test]
    fn a_client_gets_as_much_as_it_has_room_for_and_nothing_after_its_end() {
        let member = || Member::new(Box::new(Counts(0)), 4096, 1);
        let mut feed = Feed::new(vec![member(), member()]);
        let mut turns = Turns::new(Turnarounds::new(1, 10, 0), 2);
        let room = wire::Record {
            kind: wire::ROOM,
            client: 1,
            bytes: 3,
            offset: 9,
            ..wire::Record::default()
        };
        let mut steps = Vec::new();
        feed.feed(&room, &mut turns, &mut steps);
        let io = |arg| wire::Step { arg, bytes: 512, client: 1, kind: wire::IO, op: 1 };
        assert_eq!(steps, [4608, 5120, 5632].map(io));
        feed.feed(&room, &mut turns, &mut steps);
        feed.feed(&room, &mut turns, &mut steps);
        assert_eq!(
            steps[3..],
            [wire::Step { arg: 0, bytes: 0, client: 1, kind: wire::END, op: 0 }]
        );
    }

    #[test]
    fn turnarounds_that_a_pass_has_not_used_are_the_first_of_the_next() {
        let mut turns = Turns::new(Turnarounds::new(1, 1000, 500), 1);
        let mut alone = Turnarounds::new(1, 1000, 500);
        let want: Vec<u64> = (0..12).map(|_| alone.draw(0)).collect();
        let fed = |turns: &mut Turns, room| {
            let mut steps = Vec::new();
            turns.feed(0, room, &mut steps);
            steps.iter().map(|step| step.arg).collect::<Vec<_>>()
        };
        assert_eq!(fed(&mut turns, 5), want[..5]);
        assert_eq!(fed(&mut turns, 2), want[5..7]);
        turns.used(0, 3);
        assert_eq!(fed(&mut turns, 9), want[3..12]);
    }
}
