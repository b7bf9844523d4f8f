//! `schedlab keep` and `schedlab forget`.

use anyhow::{Result, bail};
use host::Root;

use crate::cli::{ForgetArgs, KeepArgs};

/// Not built yet.
pub(crate) fn keep(_root: &Root, args: &KeepArgs) -> Result<u8> {
    bail!("{}: not built yet", args.device)
}

/// Not built yet.
pub(crate) fn forget(_root: &Root, args: &ForgetArgs) -> Result<u8> {
    bail!("{}: not built yet", args.device)
}
