//! The differences within the anticipatory family: how long to wait for a process, and whether it
//! pays.

use std::fmt;

use crate::clock::Clock;
use crate::starts::Starts;

use super::history::{Arrival, History, Newcomers};
use super::timing::Period;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The device could take a request: begin to wait?
    Begin,
    /// An arrival during the wait is not the awaited one: continue?
    Continue,
}

#[derive(Debug)]
pub(crate) struct Outlook<'a> {
    pub(crate) decision: Decision,
    pub(crate) process: u32,
    pub(crate) history: &'a History,
    pub(crate) newcomers: &'a Newcomers,
    /// Since its last completion; 0 if it is still in the device.
    pub(crate) elapsed_ns: u64,
    /// End of the last synchronous request dispatched.
    pub(crate) head: u64,
    /// First sector of the next synchronous request.
    pub(crate) candidate: Option<u64>,
    /// That of an asynchronous one, if no synchronous one is queued.
    pub(crate) background: Option<u64>,
    pub(crate) sync: &'a Starts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// A request worth waiting for arrived.
    Success,
    Failure,
    CalledOff,
}

/// The member-specific part; `machine.rs` has rules 1 to 7 and the rest.
pub(crate) trait Rule: fmt::Debug + Send {
    fn is_on(&self) -> bool;

    /// How long to wait for `process`; fixed when a wait begins.
    fn period(&mut self, clock: Clock, process: u32) -> Period;

    fn refuses(&mut self, see: &Outlook<'_>) -> bool;

    /// Whether a request nearer than the awaited process's mean seek also counts as close.
    fn mean_seek_is_close(&self) -> bool {
        true
    }

    /// Whether a wait has a fixed length.
    fn fixes_period(&self) -> bool {
        true
    }

    /// The record of an exited process will be reused.
    fn forget(&mut self, _process: u32) {}

    fn learn(&mut self, _arrival: &Arrival) {}

    /// A wait ended `wait_ns` after the preceding completion.
    fn ended(&mut self, _process: u32, _ending: Ending, _wait_ns: u64) {}

    /// A tunable of the rule; None: the machine's.
    fn get(&self, clock: Clock, tunable: &str) -> Option<u64>;

    /// Sets a tunable of the rule; false: the machine's.
    fn set(&mut self, clock: Clock, tunable: &str, value: u64) -> bool;
}

/// Rule 8 of Linux 2.6.20, shared until a process is known: it thinks too long, or is new and new
/// processes think too long or exit.
pub(crate) fn thinks_too_long(see: &Outlook<'_>, antic_expire: u64) -> bool {
    let newcomers = see.newcomers;
    if see.history.think.samples == 0 {
        newcomers.think_mean > antic_expire
            || newcomers.exit_prob * newcomers.exit_no_coop > 128 * 256
    } else {
        see.history.think.mean > antic_expire
    }
}
