//! Results of clients and the metrics derived from them, with the same definitions in every arena.
//! The executor of the steps (the load engine, the simulator) fills a [`Measured`].

mod deadlines;
mod flows;
mod measured;
mod metrics;

pub use deadlines::{DeadlineTotals, INTERVAL_NS, Intervals};
pub use flows::{against_alone, metrics};
pub use measured::{ClientTotals, FlowMeasured, Issued, Lived, Measured, OpTotals};
pub use metrics::{Curve, METRIC_NAMES, PERCENTILES, latency_curves, needed_for};
