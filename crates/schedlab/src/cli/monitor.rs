//! Flags for monitoring commands that measure for long.

use std::cell::OnceCell;
use std::net::TcpListener;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Default, Args)]
pub(crate) struct MonitorArgs {
    /// Write progress as OpenMetrics to this file, at most once a second and atomically, for
    /// node_exporter's textfile collector.
    #[arg(long, value_name = "FILE.prom", help_heading = "Monitoring")]
    pub(crate) metrics_file: Option<PathBuf>,
    /// Serve the same at http://ADDRESS/metrics, by default on 127.0.0.1; port 0 for any free one.
    #[arg(long, value_name = "[IP:]PORT", help_heading = "Monitoring")]
    pub(crate) metrics_listen: Option<String>,
    /// The port, once it is open: the rights to open one are given up early.
    #[arg(skip)]
    pub(crate) listener: OnceCell<TcpListener>,
}
