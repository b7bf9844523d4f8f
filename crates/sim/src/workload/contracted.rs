//! A client whose requests within its contract's arrival curve have a deadline.

use elevator::{Completion, Request, Time};

use crate::workload::client::{Client, Step};
use crate::workload::contract::Contract;

pub(crate) struct Contracted {
    inner: Box<dyn Client + Send>,
    contract: Contract,
    /// Tokens in bytes × 10⁹, so that a nanosecond's are whole at any rate.
    tokens: u128,
    at: Time,
}

const NS: u128 = 1_000_000_000;

impl Contracted {
    pub(crate) fn new(inner: Box<dyn Client + Send>, contract: Contract) -> Contracted {
        Contracted { inner, contract, tokens: u128::from(contract.burst) * NS, at: Time::ZERO }
    }

    fn admits(&mut self, now: Time, bytes: u32) -> bool {
        let Contract { rate, burst, .. } = self.contract;
        let elapsed = now.as_ns().saturating_sub(self.at.as_ns());
        self.tokens =
            (self.tokens + u128::from(elapsed) * u128::from(rate)).min(u128::from(burst) * NS);
        self.at = self.at.max(now);
        let cost = u128::from(bytes) * NS;
        let inside = self.tokens >= cost;
        self.tokens -= if inside { cost } else { 0 };
        inside
    }
}

impl Client for Contracted {
    fn next(&mut self, now: Time, last: Option<&Completion>) -> Step {
        match self.inner.next(now, last) {
            Step::Io(request) if request.deadline.is_none() && self.admits(now, request.len) => {
                Step::Io(Request { deadline: Some(now + self.contract.latency_ns), ..request })
            }
            step => step,
        }
    }
}

#[cfg(test)]
mod tests {
    use elevator::Op;

    use super::*;

    struct Reads;
    impl Client for Reads {
        fn next(&mut self, _now: Time, _last: Option<&Completion>) -> Step {
            Step::Io(Request::new(Op::Read, 0, 4096))
        }
    }

    fn deadlines(at_ms: &[u64]) -> Vec<Option<u64>> {
        let contract = Contract { rate: 4096 * 100, burst: 2 * 4096, latency_ns: 7_000_000 };
        let mut client = Contracted::new(Box::new(Reads), contract);
        let due = |ms: &u64| match client.next(Time::from_ns(ms * 1_000_000), None) {
            Step::Io(request) => request.deadline.map(|at| at.as_ns() / 1_000_000),
            _ => unreachable!("it only reads"),
        };
        at_ms.iter().map(due).collect()
    }

    #[test]
    fn a_burst_is_inside_the_curve_and_what_exceeds_it_has_no_deadline() {
        assert_eq!(
            deadlines(&[0, 0, 0, 5, 10, 10]),
            [Some(7), Some(7), None, None, Some(17), None]
        );
    }

    #[test]
    fn tokens_gather_up_to_the_burst_and_not_beyond() {
        assert_eq!(deadlines(&[1000, 1000, 1000]), [Some(1007), Some(1007), None]);
    }
}
