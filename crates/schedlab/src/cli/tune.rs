//! Flags of `schedlab tune`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// The device: /dev/NAME, NAME, or /dev/disk/by-id/….
    pub(crate) device: String,
}
