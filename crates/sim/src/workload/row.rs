//! A row of the workload table, its parameter values, flows, and a client's seat. They share a file
//! because they contain each other: a row makes clients from parameters, parameters hold flows, and
//! a flow is a row with parameters.

use std::fmt;

use elevator::{FlowSpec, Priority};
use serde::Serialize;

use crate::workload::client::Client;
use crate::workload::contract::Contract;
use crate::workload::measure::{FlowMeasured, Measured};
use crate::workload::phase::Phase;
use crate::workload::postmark::setup::PostmarkParams;
use crate::workload::replay::setup::ReplayParams;
use crate::workload::rng::Rng;
use crate::workload::think::{Think, ThinkDist};
use crate::workload::timed::setup::TimedParams;

/// Placement of clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// All clients work on one region.
    Shared,
    /// Clients follow each other on a device, with gaps of 1 MiB.
    FilePerClient,
}

/// A row of the workload table.
pub struct WorkloadKind {
    /// The name in plans and on the command line.
    pub name: &'static str,
    /// One line for `schedlab list workloads`.
    pub help: &'static str,
    /// See [`WorkloadKind::writes_with`].
    pub writes: bool,
    /// False if served from memory by design, so that no scheduler sees it.
    pub reaches_device: bool,
    /// The primary metric, unless the plan names another.
    pub primary: &'static str,
    /// Placement of clients.
    pub layout: Layout,
    /// A one-time pass has no steady state.
    pub warms_up: bool,
    /// The first client to end stops the others, and passes repeat until the time is up.
    pub pass_based: bool,
    /// Accepted parameters.
    pub accepts: &'static [&'static str],
    /// Default values.
    pub defaults: fn() -> Params,
    pub(crate) nr_clients: fn(&Params) -> u32,
    pub(crate) depth: fn(&Params, u32) -> u32,
    pub(crate) writing: fn(&Params) -> bool,
    pub(crate) timed: fn(&Params) -> bool,
    /// Checks independent of the target; errors include the remedy.
    pub(crate) possible: fn(&Params) -> Result<(), String>,
    /// Checks for a region of this many bytes.
    pub(crate) fits: fn(&Params, u64) -> Result<(), String>,
    /// Checks for direct I/O on logical blocks of this many bytes.
    pub(crate) check_alignment: fn(&Params, u32) -> Result<(), String>,
    pub(crate) build: fn(&Params, Seat) -> Box<dyn Client + Send>,
}

impl std::fmt::Debug for WorkloadKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("WorkloadKind").field(&self.name).finish()
    }
}

/// A client's number, region and seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// Client number, from 0.
    pub index: u32,
    /// Number of clients; more than `index`.
    pub count: u32,
    /// Bytes of the client's region or file.
    pub len: u64,
    /// The trial's seed.
    pub seed: u64,
}

impl Seat {
    pub(crate) fn rng(&self) -> Rng {
        Rng::new(self.seed, self.index.into())
    }
}

/// A client's part of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// First byte on the device.
    pub base: u64,
    /// Length in bytes.
    pub len: u64,
}

/// A flow of a workload.
#[derive(Clone)]
pub struct FlowWork {
    /// Prefix of its metrics; name of its control group.
    pub name: String,
    /// What its clients do.
    pub kind: &'static WorkloadKind,
    /// The parameters of `kind`.
    pub params: Params,
    /// Its guarantees.
    pub spec: FlowSpec,
    /// The I/O priority of its clients.
    pub priority: Priority,
}

impl FlowWork {
    /// Makes a flow. The contract becomes part of its clients' parameters.
    pub fn new(
        name: &str,
        kind: &'static WorkloadKind,
        params: Params,
        spec: FlowSpec,
        priority: Priority,
    ) -> FlowWork {
        let contract = Contract::from_spec(&spec, kind.clients(&params));
        FlowWork {
            name: name.to_owned(),
            kind,
            params: Params { contract, ..params },
            spec,
            priority,
        }
    }

    /// Flows of the same kind draw different numbers.
    pub fn seed(trial: u64, number: usize) -> u64 {
        trial.wrapping_add((number as u64) << 32)
    }

    /// An empty measurement of it.
    pub fn unmeasured(&self) -> FlowMeasured {
        let (name, weight) = (self.name.clone(), self.spec.weight);
        FlowMeasured {
            name,
            weight,
            is_bounded: self.spec.latency_ns.is_some(),
            measured: Measured { keeps_intervals: true, ..Measured::default() },
        }
    }

    pub(crate) fn clients(&self) -> u32 {
        self.kind.clients(&self.params)
    }
}

impl PartialEq for FlowWork {
    fn eq(&self, other: &FlowWork) -> bool {
        self.name == other.name
            && self.kind.name == other.kind.name
            && (&self.params, self.spec, self.priority)
                == (&other.params, other.spec, other.priority)
    }
}

impl Eq for FlowWork {}

impl fmt::Debug for FlowWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {:?})", self.name, self.kind.name, self.spec)
    }
}

/// A workload ignores those that it does not accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Params {
    /// Concurrent clients; at least 1.
    pub clients: u32,
    /// Writers besides `mixed`'s reader; at least 1.
    pub writers: u32,
    /// Bytes of a request.
    pub block_size: u32,
    /// Maximum, if sizes are drawn: block_size times a power of two.
    pub block_size_max: u32,
    /// Bytes of a write of `mixed`.
    pub write_size: u32,
    /// Bytes of the region, or of each client's file; `None`: the whole device or file.
    pub file_size: Option<u64>,
    /// Nanoseconds of think time after each request.
    pub think_time_ns: u64,
    /// Open requests per client; at least 1.
    pub iodepth: u32,
    /// O_DIRECT, or through the page cache.
    pub direct: bool,
    /// Percent of requests that are reads; 0 to 100.
    pub read_share: u32,
    /// Bytes per client; `None`: until the time is up.
    pub amount: Option<u64>,
    /// Writes of a client between flushes; 0: never.
    pub sync_every: u32,
    /// The phase of `iozone`.
    pub phase: Phase,
    /// Distribution of `think-mix`'s think times around think_time_ns.
    pub think_dist: ThinkDist,
    /// Percent of `think-mix`'s clients; 0 to 100.
    pub random_share: u32,
    /// Percent of `virtual-machines`' requests; 0 to 100.
    pub jump_share: u32,
    /// Bytes that `interleaved` skips additionally.
    pub skip_extra: u32,
    /// Parameters of time-driven clients.
    pub timed: TimedParams,
    /// Parameters of `postmark`.
    pub postmark: PostmarkParams,
    /// Parameters of `replay`.
    pub replay: ReplayParams,
    /// The flows of `flows`.
    pub flows: Vec<FlowWork>,
    /// Whether each flow of `flows` is also measured alone.
    pub alone: bool,
    /// The deadlines of a flow's clients follow from it.
    pub contract: Option<Contract>,
}

impl Default for Params {
    /// One synchronous client, 4 KiB direct I/O on the whole target, no think time, until the time
    /// is up.
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
    pub(crate) fn think(&self, seed: u64, index: u32) -> Think {
        Think::of_client(self.think_dist, self.think_time_ns, seed, index)
    }
}
