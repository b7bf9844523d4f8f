//! The plots of a report, as self-contained inline SVG. A single round, no valid trial, and open
//! intervals are accepted; a plot is `None` if there is nothing to draw.

pub(crate) mod actuator;
pub(crate) mod axis;
pub(crate) mod canvas;
pub(crate) mod distribution;
pub(crate) mod forest;
pub(crate) mod heat;
pub(crate) mod history;
pub(crate) mod latency;
pub(crate) mod lines;
pub(crate) mod response;
pub(crate) mod search;
pub(crate) mod stripes;
pub(crate) mod timeline;
