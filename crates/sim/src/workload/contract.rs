//! The contract of a client with a latency bound: which of its requests are inside the arrival
//! curve, and when they are due.
//!
//! An arrival curve (σ, ρ) allows a burst of σ bytes and ρ bytes a second beyond it: a token bucket
//! that starts full. A request that finds tokens for all of its bytes takes them and is inside; its
//! deadline is its submission plus the bound. A request that does not is outside of the curve: it
//! takes no tokens, is guaranteed nothing, and has no deadline of the contract.
//!
//! A flow of several clients divides its curve among them equally, since clients share no state.

use elevator::FlowSpec;

/// A client's arrival curve and latency bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contract {
    /// Bytes a second.
    pub rate: u64,
    /// Bytes at once.
    pub burst: u64,
    /// Nanoseconds from submission to completion.
    pub latency_ns: u64,
}

impl Contract {
    /// The part of a flow's contract that each of its clients has; None without a latency bound.
    pub fn of(spec: &FlowSpec, clients: u32) -> Option<Contract> {
        let clients = u64::from(clients.max(1));
        let (rate, latency_ns) = (spec.rate?, spec.latency_ns?);
        Some(Contract { rate: rate / clients, burst: spec.burst / clients, latency_ns })
    }
}
