//! What clients have done, and the metrics that follow from it: the same definitions in every
//! arena.
//!
//! The executor of the steps (the load engine on a real machine, the simulator) fills a
//! [`Measured`]; from then on the origin of the numbers does not matter.

mod deadlines;
mod flows;
mod measured;
mod metrics;

pub use deadlines::{DeadlineTotals, INTERVAL_NS, Intervals};
pub use flows::{against_alone, metrics};
pub use measured::{ClientTotals, FlowMeasured, Issued, Lived, Measured, OpTotals};
pub use metrics::{Curve, METRIC_NAMES, PERCENTILES, latency_curves, needed_for};
