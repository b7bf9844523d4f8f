//! What clients showed, and the metrics that follow from it: the same definitions in every arena.
//!
//! Whoever executes the steps (the load engine on a real machine, the simulator) fills a [`Measured`]; from then on nobody asks
//! where the numbers came from.

mod measured;
mod metrics;

pub use measured::{ClientTotals, Issued, Lived, Measured, OpTotals};
pub use metrics::{Curve, METRIC_NAMES, PERCENTILES, latency_curves, metrics, needed_for};
