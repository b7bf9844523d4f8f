//! Flags of `schedlab keep` and `schedlab forget`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    /// The device: /dev/NAME, NAME, or /dev/disk/by-id/….
    pub(crate) device: String,
}

#[derive(Debug, Args)]
pub(crate) struct ForgetArgs {
    /// The device: /dev/NAME, NAME, or /dev/disk/by-id/….
    pub(crate) device: String,
}
