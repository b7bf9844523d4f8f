//! `think-mix`: synchronous clients that think after each request, each of them sequential or random: what anticipation is about.
//!
//! A scheduler that waits for a process's next request gains if the process reads on nearby and comes back soon. Which clients
//! are sequential and how long they think are therefore the two things to vary. All of it is ours [P]: no source gives such a
//! generator; two sequential synchronous readers, the case of the anticipatory scheduling paper, are the defaults.
//!
//! Random clients are spread evenly over the clients: of each hundred, random_share. A sequential client walks through its own
//! file and wraps around; a random one draws blocks of it. Read or write is drawn for each request.
//!
//! Think times, all with the mean think_time: `fixed`; `uniform` between 0 and twice the mean; `exponential`; `bimodal`, nine of
//! ten times half the mean, else five and a half times the mean (a process that mostly computes a little and sometimes waits
//! for its user). Integers only, so that think times are the same on every platform.
//!
//! Parameters: clients, random_share (percent of the clients), block_size, file_size (of each client), think_time (mean),
//! think_dist, read_share, direct, amount. iodepth is 1.

use elevator::{Op, Request};

use crate::client::{Client, Paced, Pattern};
use crate::kind::Seat;
use crate::params::{PERCENT_FORM, Param, Params, percent, put};
use crate::rng::{Rng, exponential};

/// The longest mean: an hour. A think time then fits into 64 bits with room to spare.
const MAX_MEAN_NS: u64 = 3_600_000_000_000;
/// Think times have random numbers of their own, so that another distribution leaves offsets as they are.
const THINK_STREAM: u64 = 1 << 32;

/// How think times are spread around their mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkDist {
    /// Always the mean.
    Fixed,
    /// Between nothing and twice the mean, all equally likely.
    Uniform,
    /// Exponential: without memory.
    Exponential,
    /// Nine of ten times half the mean, else 5.5 times the mean.
    Bimodal,
}

impl ThinkDist {
    /// All of them.
    pub const ALL: [ThinkDist; 4] = [ThinkDist::Fixed, ThinkDist::Uniform, ThinkDist::Exponential, ThinkDist::Bimodal];

    /// The word in plans and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ThinkDist::Fixed => "fixed",
            ThinkDist::Uniform => "uniform",
            ThinkDist::Exponential => "exponential",
            ThinkDist::Bimodal => "bimodal",
        }
    }
}

pub(crate) const THINK_DIST: Param = Param {
    name: "think_dist",
    form: "fixed, uniform, exponential or bimodal",
    help: "how think times are spread around their mean, think_time",
    get: |p| p.think_dist.name().into(),
    set: |p, text| put(&mut p.think_dist, ThinkDist::ALL.into_iter().find(|dist| dist.name() == text.trim())),
};

pub(crate) const RANDOM_SHARE: Param = Param {
    name: "random_share",
    form: PERCENT_FORM,
    help: "percent of the clients that are random; the others are sequential",
    get: |p| p.random_share.to_string(),
    set: |p, text| put(&mut p.random_share, percent(text)),
};

/// Think times of one client.
#[derive(Debug)]
pub(crate) struct Think {
    dist: ThinkDist,
    mean_ns: u64,
    /// None where nothing is drawn.
    rng: Option<Box<Rng>>,
}

impl Think {
    /// Always the same time.
    pub(crate) fn fixed(mean_ns: u64) -> Think {
        Think { dist: ThinkDist::Fixed, mean_ns, rng: None }
    }

    fn drawn(dist: ThinkDist, mean_ns: u64, rng: Rng) -> Think {
        Think { dist, mean_ns, rng: Some(Box::new(rng)) }
    }

    /// Whether there is any thinking.
    #[inline]
    pub(crate) fn happens(&self) -> bool {
        self.mean_ns > 0
    }

    /// The next think time in nanoseconds.
    #[inline]
    pub(crate) fn draw(&mut self) -> u64 {
        let mean = self.mean_ns;
        let Some(rng) = &mut self.rng else { return mean };
        match self.dist {
            ThinkDist::Fixed => mean,
            ThinkDist::Uniform => rng.below(2 * mean + 1),
            ThinkDist::Exponential => exponential(rng.below(u64::MAX), mean),
            ThinkDist::Bimodal if rng.below(10) == 0 => mean * 11 / 2,
            ThinkDist::Bimodal => mean / 2,
        }
    }
}

/// Blocks of one client's file, in order or drawn.
struct Blocks {
    rng: Rng,
    len: u32,
    blocks: u64,
    /// The next block in order; None: at random.
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
        Some(Request { op, offset: block * u64::from(self.len), len: self.len })
    }
}

/// Whether client `index` is a random one: random ones are spread evenly.
fn is_random(index: u32, share: u32) -> bool {
    let before = |n: u64| n * u64::from(share) / 100;
    before(u64::from(index) + 1) > before(index.into())
}

pub(crate) fn possible(params: &Params) -> Result<(), String> {
    if params.random_share > 100 {
        return Err(format!("random_share = {}: 0 to 100 percent", params.random_share));
    }
    mean_is_possible(params)
}

/// The think times of a client.
pub(crate) fn of_client(params: &Params, seat: Seat) -> Think {
    let rng = Rng::new(seat.seed, THINK_STREAM + u64::from(seat.index));
    Think::drawn(params.think_dist, params.think_time_ns, rng)
}

/// Whether think times can be drawn.
pub(crate) fn mean_is_possible(params: &Params) -> Result<(), String> {
    if params.think_time_ns > MAX_MEAN_NS {
        return Err("think_time: at most 3600s is possible".into());
    }
    Ok(())
}

pub(crate) fn build(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    let blocks = Blocks {
        rng: seat.rng(),
        len: params.block_size,
        blocks: seat.len / u64::from(params.block_size),
        at: (!is_random(seat.index, params.random_share)).then_some(0),
        read_percent: params.read_share,
    };
    Box::new(Paced::thinking(blocks, params, of_client(params, seat)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_think_time_is_the_one_asked_for_within_one_percent() {
        for dist in ThinkDist::ALL {
            for mean in [1_000, 1_000_001, MAX_MEAN_NS] {
                let mut think = Think::drawn(dist, mean, Rng::new(7, THINK_STREAM));
                let n = 200_000u128;
                let sum: u128 = (0..n).map(|_| u128::from(think.draw())).sum();
                let error = (sum as f64 / (n * u128::from(mean)) as f64 - 1.0).abs();
                assert!(error < 0.01, "{dist:?} with mean {mean}: off by {error}");
            }
        }
    }

    #[test]
    fn each_distribution_has_its_own_spread() {
        let mean = 1_000_000u64;
        // Variance over the square of the mean: 0, 1/3, 1, and 0.9·0.25 + 0.1·20.25 = 2.25.
        for (dist, wanted) in ThinkDist::ALL.into_iter().zip([0.0, 1.0 / 3.0, 1.0, 2.25]) {
            let mut think = Think::drawn(dist, mean, Rng::new(3, THINK_STREAM));
            let n = 200_000;
            let spread: f64 =
                (0..n).map(|_| (think.draw() as f64 / mean as f64 - 1.0).powi(2)).sum::<f64>() / f64::from(n);
            assert!((spread - wanted).abs() < 0.05, "{dist:?}: {spread} instead of {wanted}");
        }
    }

    #[test]
    fn exponential_think_times_are_pinned_so_that_old_plans_stay_repeatable() {
        let mut think = Think::drawn(ThinkDist::Exponential, 1_000_000, Rng::new(1, THINK_STREAM));
        let seen: Vec<u64> = (0..4).map(|_| think.draw()).collect();
        insta::assert_debug_snapshot!(seen);
    }

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
