//! Flags of `schedlab show` and `schedlab set`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The device: /dev/NAME, NAME, or /dev/disk/by-id/….
    pub(crate) device: String,
}

#[derive(Debug, Args)]
pub(crate) struct SetArgs {
    /// The device: /dev/NAME, NAME, or /dev/disk/by-id/….
    pub(crate) device: String,
}
