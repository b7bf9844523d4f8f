//! `schedlab watch` and `schedlab history`.

use anyhow::{Result, bail};
use host::Root;

use crate::cli::{HistoryArgs, WatchArgs};

/// Not built yet.
pub(crate) fn watch(_root: &Root, args: &WatchArgs) -> Result<u8> {
    bail!("{}: not built yet", args.device)
}

/// Not built yet.
pub(crate) fn history(_root: &Root, args: &HistoryArgs) -> Result<u8> {
    bail!("{}: not built yet", args.device)
}
