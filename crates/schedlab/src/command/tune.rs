//! `schedlab tune`: search, then confirm.

use anyhow::{Result, bail};
use host::Root;

use crate::cli::TuneArgs;

/// Not built yet.
pub(crate) fn tune(_root: &Root, args: &TuneArgs) -> Result<u8> {
    bail!("{}: not built yet", args.device)
}
