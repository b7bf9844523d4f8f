//! `schedlab show` and `schedlab set`.

use anyhow::{Result, bail};
use host::Root;

use crate::cli::{SetArgs, ShowArgs};

/// Not built yet.
pub(crate) fn show(_root: &Root, args: &ShowArgs) -> Result<u8> {
    bail!("{}: not built yet", args.device)
}

/// Not built yet.
pub(crate) fn set(_root: &Root, args: &SetArgs) -> Result<u8> {
    bail!("{}: not built yet", args.device)
}
