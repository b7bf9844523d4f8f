//! What clients have done, and the metrics that follow from it: the same definitions in every arena.
//!
//! The executor of the steps (the load engine on a real machine, the simulator) fills a [`Measured`]; from then on the origin of
//! the numbers does not matter.

mod measured;
mod metrics;

pub use measured::{ClientTotals, Issued, Lived, Measured, OpTotals};
pub use metrics::{Curve, METRIC_NAMES, PERCENTILES, latency_curves, metrics, needed_for};
