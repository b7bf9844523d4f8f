//! `schedlab sweep`: one tunable at a time.

use anyhow::{Result, bail};
use host::Root;

use crate::cli::SweepArgs;

/// Not built yet.
pub(crate) fn sweep(_root: &Root, args: &SweepArgs) -> Result<u8> {
    bail!("{}: not built yet", args.device)
}
