//! A source of requests.

use std::path::PathBuf;

use anyhow::Result;
use machine::Root;
use trace::Io;

use super::tables::Tables;

pub(super) trait Events {
    fn drain(&mut self, tables: &mut Tables, each: &mut dyn FnMut(&Io)) -> Result<()>;

    /// Lost events, and requests missing or incomplete because of these.
    fn lost(&self) -> u64;

    /// [`Events::drain`] still passes on completed requests. Returns the number of incomplete ones.
    fn stop(&mut self) -> Result<u64>;

    /// Whether it works after the process has dropped its privileges.
    fn works_unprivileged(&self, root: &Root) -> bool;

    /// The end of the trace removes a name in these.
    fn removes_in(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}
