//! The interface of a source of requests.

use std::path::PathBuf;

use anyhow::Result;
use machine::Root;
use trace::Io;

use super::tables::Tables;

pub(super) trait Events {
    /// Passes on completed requests.
    fn drain(&mut self, tables: &mut Tables, each: &mut dyn FnMut(&Io)) -> Result<()>;

    /// Lost events, and requests that are missing or incomplete because of these.
    fn lost(&self) -> u64;

    /// Stops tracing new requests; [`Events::drain`] still passes on completed ones. Returns the
    /// number of incomplete ones.
    fn stop(&mut self) -> Result<u64>;

    /// Whether the source works after the process has dropped its privileges.
    fn goes_on_without_rights(&self, root: &Root) -> bool;

    /// The directories in which the end of the trace removes a name.
    fn removes_in(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}
