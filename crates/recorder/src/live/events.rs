//! What a source of requests is.

use std::path::PathBuf;

use anyhow::Result;
use machine::Root;
use trace::Io;

use super::tables::Tables;

/// Where requests come from.
pub(super) trait Events {
    /// Hands over what has completed.
    fn drain(&mut self, tables: &mut Tables, each: &mut dyn FnMut(&Io)) -> Result<()>;

    /// Events that the kernel dropped, and requests that are missing or incomplete for it.
    fn lost(&self) -> u64;

    /// Ends the trace of new requests; [`Events::drain`] still gives what has completed.
    /// Returns how many have not.
    fn stop(&mut self) -> Result<u64>;

    /// Whether all of this works for a process without rights, once the trace has begun.
    fn goes_on_without_rights(&self, root: &Root) -> bool;

    /// The directories in which the end of the trace removes a name.
    fn removes_in(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}
