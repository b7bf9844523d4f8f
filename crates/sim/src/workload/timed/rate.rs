//! Limits a client's rate: request n starts once the bytes of those before it are paid for, at
//! `rate` bytes/s.
//!
//! Like fio's `rate` it counts from the start [R]: a client that has fallen behind catches up as
//! fast as its iodepth allows, so the long-term rate is met if the device can. Think times and
//! flushes are unchanged.

use elevator::{Completion, Request, Time};

use crate::workload::client::{Client, Step};
use crate::workload::row::Params;

struct Limited {
    client: Box<dyn Client + Send>,
    rate: u64,
    origin: Option<Time>,
    bytes: u64,
    waiting: Option<Request>,
}

impl Limited {
    fn paid_ns(&self) -> u64 {
        (u128::from(self.bytes) * 1_000_000_000 / u128::from(self.rate)) as u64
    }

    fn start(&mut self, now: Time, request: Request) -> Step {
        let at = self.origin.unwrap_or(now) + self.paid_ns();
        if now < at {
            self.waiting = Some(request);
            return Step::Think(at - now);
        }
        self.bytes += u64::from(request.len);
        Step::Io(request)
    }
}

impl Client for Limited {
    fn next(&mut self, now: Time, last: Option<&Completion>) -> Step {
        self.origin.get_or_insert(now);
        if let Some(request) = self.waiting.take() {
            return self.start(now, request);
        }
        match self.client.next(now, last) {
            Step::Io(request) => self.start(now, request),
            other => other,
        }
    }
}

/// Limits a client to the rate in the parameters, if any.
pub(crate) fn limit_rate(
    params: &Params,
    client: Box<dyn Client + Send>,
) -> Box<dyn Client + Send> {
    match params.timed.rate {
        None => client,
        Some(rate) => Box::new(Limited { client, rate, origin: None, bytes: 0, waiting: None }),
    }
}

#[cfg(test)]
mod tests {
    use elevator::Op;

    use super::*;

    struct Endless;
    impl Client for Endless {
        fn next(&mut self, _: Time, _: Option<&Completion>) -> Step {
            Step::Io(Request::new(Op::Read, 0, 1000))
        }
    }

    fn client(rate: u64) -> Box<dyn Client + Send> {
        let mut params = Params::default();
        params.timed.rate = Some(rate);
        limit_rate(&params, Box::new(Endless))
    }

    #[test]
    fn requests_start_at_the_rate_and_not_faster() {
        let mut client = client(1_000_000);
        let mut now = Time::from_ns(7);
        let mut starts = Vec::new();
        while starts.len() < 4 {
            match client.next(now, None) {
                Step::Io(_) => starts.push(now.as_ns()),
                Step::Think(ns) => now = now + ns,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(starts, [7, 1_000_007, 2_000_007, 3_000_007]);
    }

    #[test]
    fn a_client_that_fell_behind_catches_up() {
        let mut client = client(1_000_000);
        assert!(matches!(client.next(Time::ZERO, None), Step::Io(_)));
        let late = Time::from_ns(2_500_000);
        assert!(matches!(client.next(late, None), Step::Io(_)));
        assert!(matches!(client.next(late, None), Step::Io(_)));
        assert_eq!(client.next(late, None), Step::Think(500_000));
    }

    #[test]
    fn the_rate_of_the_largest_counts_does_not_overflow() {
        let mut client = client(1);
        assert!(matches!(client.next(Time::ZERO, None), Step::Io(_)));
        assert_eq!(client.next(Time::ZERO, None), Step::Think(1_000_000_000_000));
    }
}
