//! Pacing shared by most workloads: amount, think time and sync around a pattern of requests.

use elevator::{Completion, Op, Request, Time};

use crate::workload::client::{Client, Step};
use crate::workload::row::Params;
use crate::workload::think::Think;

/// A sequence of requests; `None` at its end.
pub(crate) trait Pattern {
    fn pick(&mut self) -> Option<Request>;
}

/// Adds think time, periodic syncs, and an end after a number of bytes.
#[derive(Debug)]
pub(crate) struct Paced<P> {
    pattern: P,
    think: Think,
    sync_every: u32,
    /// Bytes left; `None`: no bound.
    left: Option<u64>,
    /// Writes since the last sync.
    unsynced: u32,
    due: Due,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Request,
    Sync,
    Think,
}

impl<P: Pattern> Paced<P> {
    pub(crate) fn new(pattern: P, params: &Params) -> Paced<P> {
        Paced::thinking(pattern, params, Think::fixed(params.think_time_ns))
    }

    pub(crate) fn thinking(pattern: P, params: &Params, think: Think) -> Paced<P> {
        Paced {
            pattern,
            think,
            sync_every: params.sync_every,
            left: params.amount,
            unsynced: 0,
            due: Due::Request,
        }
    }

    fn account(&mut self, request: Request) {
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(u64::from(request.len));
        }
        self.due = if self.think.happens() { Due::Think } else { Due::Request };
        if request.op == Op::Write && self.sync_every > 0 {
            self.unsynced += 1;
            if self.unsynced == self.sync_every {
                self.unsynced = 0;
                self.due = Due::Sync;
            }
        }
    }
}

impl<P: Pattern> Client for Paced<P> {
    #[inline]
    fn next(&mut self, _now: Time, _last: Option<&Completion>) -> Step {
        match self.due {
            Due::Sync => {
                self.due = if self.think.happens() { Due::Think } else { Due::Request };
                Step::Sync
            }
            Due::Think if self.left != Some(0) => {
                self.due = Due::Request;
                Step::Think(self.think.draw())
            }
            _ if self.left == Some(0) => Step::End,
            _ => match self.pattern.pick() {
                None => Step::End,
                Some(request) => {
                    self.account(request);
                    Step::Io(request)
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Endless(Op);
    impl Pattern for Endless {
        fn pick(&mut self) -> Option<Request> {
            Some(Request::new(self.0, 0, 4096))
        }
    }

    fn steps(params: &Params, op: Op, n: usize) -> Vec<Step> {
        let mut client = Paced::new(Endless(op), params);
        (0..n).map(|_| client.next(Time::ZERO, None)).collect()
    }

    fn word(step: &Step) -> &'static str {
        match step {
            Step::Io(_) => "io",
            Step::Think(_) => "think",
            Step::Await(_) => "await",
            Step::Sync => "sync",
            Step::End => "end",
        }
    }

    #[test]
    fn a_request_is_followed_by_its_sync_and_then_by_thinking() {
        let params = Params { think_time_ns: 5, sync_every: 2, ..Params::default() };
        let words: Vec<_> = steps(&params, Op::Write, 8).iter().map(word).collect();
        assert_eq!(words, ["io", "think", "io", "sync", "think", "io", "think", "io"]);
    }

    #[test]
    fn reads_need_no_sync() {
        let params = Params { sync_every: 1, ..Params::default() };
        assert!(steps(&params, Op::Read, 5).iter().all(|step| word(step) == "io"));
    }

    #[test]
    fn a_client_ends_after_its_amount_without_a_last_think_but_with_its_last_sync() {
        let params =
            Params { amount: Some(8192), think_time_ns: 5, sync_every: 2, ..Params::default() };
        let words: Vec<_> = steps(&params, Op::Write, 6).iter().map(word).collect();
        assert_eq!(words, ["io", "think", "io", "sync", "end", "end"]);
    }
}
