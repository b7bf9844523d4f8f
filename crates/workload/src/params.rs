//! The values of the parameters of workloads.
//!
//! All workloads share one struct, so that the executor of a workload reads iodepth or direct without knowing the
//! workload; which parameters a workload *accepts* stands in its row of the workload table.

use std::fmt;

use elevator::Op;

use crate::contract::Contract;
use crate::flows::FlowWork;
use crate::postmark::setup::PostmarkParams;
use crate::replay::setup::ReplayParams;
use crate::think::{Think, ThinkDist};
use crate::timed::params::TimedParams;

/// The values of all parameters; those that a workload does not accept are ignored by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Params {
    /// How many clients run at once; at least 1.
    pub clients: u32,
    /// Writers of `mixed`, beside its one reader; at least 1.
    pub writers: u32,
    /// Bytes of a request.
    pub block_size: u32,
    /// Bytes of the largest request, where sizes are drawn: block_size times a power of two.
    pub block_size_max: u32,
    /// Bytes of a write of `mixed`.
    pub write_size: u32,
    /// Bytes of the region that is used, or of each client's own file; None: the whole device or file.
    pub file_size: Option<u64>,
    /// Nanoseconds of thinking after each request.
    pub think_time_ns: u64,
    /// Requests that each client keeps open; at least 1.
    pub iodepth: u32,
    /// Past the page cache (O_DIRECT) or through it.
    pub direct: bool,
    /// Percent of requests that are reads; 0 to 100.
    pub read_share: u32,
    /// A client ends after this many bytes; None: it goes on until the trial's time is up.
    pub amount: Option<u64>,
    /// Flush to the medium after this many writes of a client; 0: never.
    pub sync_every: u32,
    /// Which phase of `iozone`.
    pub phase: Phase,
    /// How think times of `think-mix` are spread around think_time_ns.
    pub think_dist: ThinkDist,
    /// Percent of the clients of `think-mix` that are random; 0 to 100.
    pub random_share: u32,
    /// Percent of the requests of `virtual-machines` that go to a random place; 0 to 100.
    pub jump_share: u32,
    /// Bytes that `interleaved` skips beyond the others' blocks.
    pub skip_extra: u32,
    /// What only clients that go by the time have.
    pub timed: TimedParams,
    /// What is `postmark`'s alone.
    pub postmark: PostmarkParams,
    /// What is `replay`'s alone.
    pub replay: ReplayParams,
    /// The flows of `flows`.
    pub flows: Vec<FlowWork>,
    /// Whether each flow of `flows` is measured alone as well.
    pub alone: bool,
    /// What the clients are promised as a part of a flow; their requests are due by it.
    pub contract: Option<Contract>,
}

impl Default for Params {
    /// One synchronous client, 4 KiB, direct, the whole target, no thinking, until the time is up.
    fn default() -> Params {
        Params {
            clients: 1,
            writers: 1,
            block_size: 4 << 10,
            block_size_max: 4 << 10,
            write_size: 1 << 20,
            file_size: None,
            think_time_ns: 0,
            iodepth: 1,
            direct: true,
            read_share: 100,
            amount: None,
            sync_every: 0,
            phase: Phase::Read,
            think_dist: ThinkDist::Fixed,
            random_share: 0,
            jump_share: 50,
            skip_extra: 0,
            timed: TimedParams::default(),
            postmark: PostmarkParams::default(),
            replay: ReplayParams::default(),
            flows: Vec::new(),
            alone: false,
            contract: None,
        }
    }
}

impl Params {
    /// The think times of client `index` in a trial with this seed.
    pub(crate) fn think(&self, seed: u64, index: u32) -> Think {
        Think::of_client(self.think_dist, self.think_time_ns, seed, index)
    }
}

/// A phase of IOzone's throughput mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Writes every record in order, into empty files where there is a file system.
    Write,
    /// Writes every record in order over what a first pass has written.
    Rewrite,
    /// Reads every record in order.
    Read,
    /// Reads every record in order, after a first pass that read the same.
    Reread,
    /// Reads every record once in random order.
    RandRead,
    /// Writes every record once in random order.
    RandWrite,
}

impl Phase {
    /// All phases, in IOzone's order.
    pub const ALL: [Phase; 6] =
        [Phase::Write, Phase::Rewrite, Phase::Read, Phase::Reread, Phase::RandRead, Phase::RandWrite];

    /// The word in plans and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Write => "write",
            Phase::Rewrite => "rewrite",
            Phase::Read => "read",
            Phase::Reread => "reread",
            Phase::RandRead => "randread",
            Phase::RandWrite => "randwrite",
        }
    }

    /// The direction of its requests.
    pub fn op(self) -> Op {
        match self {
            Phase::Write | Phase::Rewrite | Phase::RandWrite => Op::Write,
            Phase::Read | Phase::Reread | Phase::RandRead => Op::Read,
        }
    }

    /// Whether records are visited in random order.
    pub fn is_random(self) -> bool {
        matches!(self, Phase::RandRead | Phase::RandWrite)
    }

    /// Whether one uncounted pass of the same comes first.
    pub fn repeats_a_pass(self) -> bool {
        matches!(self, Phase::Rewrite | Phase::Reread)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
