//! Flags of `schedlab watch` and `schedlab history`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// The device: /dev/NAME, NAME, or /dev/disk/by-id/….
    pub(crate) device: String,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The device: /dev/NAME, NAME, or /dev/disk/by-id/….
    pub(crate) device: String,
}
