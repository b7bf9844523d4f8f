//! Where the members of the anticipatory family differ: how long to wait for a process, and whether
//! it is worth it.

use std::fmt;

use crate::clock::Clock;
use crate::request::BlockRequest;
use crate::starts::Starts;

use super::history::{Arrival, History, Newcomers};
use super::timing::Period;

/// What a decision is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The device could have a request: begin to wait?
    ToBegin,
    /// A request has arrived during the wait and is not what was waited for: go on?
    ToGoOn,
}

/// What there is to see when a decision is made.
#[derive(Debug)]
pub(crate) struct Outlook<'a> {
    pub(crate) asked: Asked,
    /// The process that was served last.
    pub(crate) process: u32,
    pub(crate) history: &'a History,
    pub(crate) newcomers: &'a Newcomers,
    /// Nanoseconds since its last request completed; 0 if that is still in the device.
    pub(crate) elapsed_ns: u64,
    /// The end of the synchronous request that was dispatched last.
    pub(crate) head: u64,
    /// The synchronous request that would be served instead of waiting.
    pub(crate) candidate: Option<BlockRequest>,
    /// The asynchronous one that would be, where there is no synchronous one.
    pub(crate) background: Option<BlockRequest>,
    /// All synchronous requests that are queued.
    pub(crate) sync: &'a Starts,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With a request worth waiting for.
    Success,
    /// By its timer.
    Failure,
    /// It was called off.
    CalledOff,
}

/// The part of an anticipatory scheduler that its authors changed. Rules 1 to 7 and all the rest
/// are the machine's.
pub(crate) trait Rule: fmt::Debug + Send {
    /// Whether it waits at all.
    fn is_on(&self) -> bool;

    /// How long `process` is waited for; fixed when a wait begins.
    fn period(&mut self, clock: Clock, process: u32) -> Period;

    /// Rule 8: whether waiting is not worth it.
    fn refuses(&mut self, see: &Outlook<'_>) -> bool;

    /// Whether a request also counts as close that is nearer than the mean seek of the process
    /// waited for.
    fn mean_seek_is_close(&self) -> bool {
        true
    }

    /// Whether a wait that has begun lasts as long as was said then, whatever is learned or set
    /// meanwhile.
    fn fixes_period(&self) -> bool {
        true
    }

    /// The record of a process that has ended is another one's from now on.
    fn forget(&mut self, _process: u32) {}

    /// A synchronous request arrives.
    fn learn(&mut self, _arrival: &Arrival) {}

    /// A wait for `process` has ended after so many nanoseconds from the completion before.
    fn ended(&mut self, _process: u32, _ending: Ending, _wait_ns: u64) {}

    /// The value of one of its own tunables; None: it is the machine's.
    fn get(&self, clock: Clock, tunable: &str) -> Option<u64>;

    /// Sets one of its own tunables; false: it is the machine's.
    fn set(&mut self, clock: Clock, tunable: &str, value: u64) -> bool;
}

/// Rule 8 of Linux 2.6.20, which also serves others until they know a process: it thinks too long,
/// or is new and new ones do, or is new and new ones end.
pub(crate) fn thinks_too_long(see: &Outlook<'_>, antic_expire: u64) -> bool {
    let newcomers = see.newcomers;
    if see.history.think.samples == 0 {
        newcomers.think_mean > antic_expire
            || newcomers.exit_prob * newcomers.exit_no_coop > 128 * 256
    } else {
        see.history.think.mean > antic_expire
    }
}
