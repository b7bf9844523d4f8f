//! The contract of a client with a latency bound: which requests are inside the arrival curve, and
//! when they are due.
//!
//! A curve (σ, ρ) is a token bucket that starts full. A request with enough tokens takes them and
//! is due at its submission plus the bound; others take none and have no deadline. The clients of a
//! flow share its curve equally, since they have no common state.

use elevator::FlowSpec;

/// A client's arrival curve and latency bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contract {
    /// Rate in bytes/s.
    pub rate: u64,
    /// Burst in bytes.
    pub burst: u64,
    /// Nanoseconds from submission to completion.
    pub latency_ns: u64,
}

impl Contract {
    /// Each client's share of a flow's contract; `None` without a latency bound.
    pub fn from_spec(spec: &FlowSpec, clients: u32) -> Option<Contract> {
        let clients = u64::from(clients.max(1));
        let (rate, latency_ns) = (spec.rate?, spec.latency_ns?);
        Some(Contract { rate: rate / clients, burst: spec.burst / clients, latency_ns })
    }
}
