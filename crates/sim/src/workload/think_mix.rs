//! `think-mix`: synchronous clients that think after each request, sequential or random, to
//! exercise anticipation.
//!
//! A scheduler gains by waiting if the process reads on nearby and comes back soon, so randomness
//! and think time are the variables. The workload is ours [P]; the defaults are the two sequential
//! readers of the anticipatory scheduling paper. random_share percent of the clients, spread
//! evenly, are random. `bimodal` think times are a process that computes briefly and sometimes
//! waits for its user.

use elevator::{Op, Request};

use crate::workload::client::Client;
use crate::workload::paced::{Paced, Pattern};
use crate::workload::rng::Rng;
use crate::workload::row::{Params, Seat};
use crate::workload::think::mean_is_possible;

struct Blocks {
    rng: Rng,
    len: u32,
    blocks: u64,
    /// The next block in order; `None`: random.
    at: Option<u64>,
    read_percent: u32,
}

impl Pattern for Blocks {
    #[inline]
    fn pick(&mut self) -> Option<Request> {
        let block = match &mut self.at {
            None => self.rng.below(self.blocks),
            Some(at) => {
                let block = *at;
                *at = (block + 1) % self.blocks;
                block
            }
        };
        let read = match self.read_percent {
            100 => true,
            percent => self.rng.below(100) < u64::from(percent),
        };
        let op = if read { Op::Read } else { Op::Write };
        Some(Request::new(op, block * u64::from(self.len), self.len))
    }
}

fn is_random(index: u32, share: u32) -> bool {
    let before = |n: u64| n * u64::from(share) / 100;
    before(u64::from(index) + 1) > before(index.into())
}

pub(crate) fn possible(params: &Params) -> Result<(), String> {
    if params.random_share > 100 {
        return Err(format!("random_share = {}: 0 to 100 percent", params.random_share));
    }
    mean_is_possible(params.think_time_ns)
}

pub(crate) fn build(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    let blocks = Blocks {
        rng: seat.rng(),
        len: params.block_size,
        blocks: seat.len / u64::from(params.block_size),
        at: (!is_random(seat.index, params.random_share)).then_some(0),
        read_percent: params.read_share,
    };
    Box::new(Paced::thinking(blocks, params, params.think(seat.seed, seat.index)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_clients_are_as_many_as_their_share_and_spread_evenly() {
        for share in 0..=100 {
            let random = (0..100).filter(|&index| is_random(index, share)).count();
            assert_eq!(random, share as usize);
        }
        let half: Vec<bool> = (0..4).map(|index| is_random(index, 50)).collect();
        assert_eq!(half, [false, true, false, true]);
    }
}
