//! Flags of `schedlab sweep`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// The device: /dev/NAME, NAME, or /dev/disk/by-id/….
    pub(crate) device: String,
}
