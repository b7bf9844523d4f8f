//! All layers that need no privilege or preparation.

use std::io;
use std::process::Command;
use std::sync::Arc;

use crate::confine::syscalls::Forbidden;
use crate::confine::{Error, Landlock, Limits, Result, privileges, sys};

/// No capabilities, no new privileges, limits, [`Landlock`] and forbidden system calls.
#[derive(Debug, Clone)]
pub struct Seal {
    landlock: Arc<Landlock>,
    forbidden: Forbidden,
    limits: Limits,
}

impl Seal {
    /// Fails if the architecture has no list of system calls.
    pub fn new(landlock: Landlock, limits: Limits) -> Result<Seal> {
        let forbidden =
            Forbidden::new().map_err(|cause| Error::new("system calls", "list", cause))?;
        Ok(Seal { landlock: Arc::new(landlock), forbidden, limits })
    }

    /// Applies to this thread and its future children.
    pub fn apply(&self) -> io::Result<()> {
        privileges::capabilities()?;
        self.apply_to_reader()
    }

    /// Applies the layers without dropping the remaining capabilities.
    pub(crate) fn apply_to_reader(&self) -> io::Result<()> {
        self.limits.apply()?;
        rustix::thread::set_no_new_privs(true)?;
        self.landlock.apply()?;
        self.forbidden.apply()
    }

    /// Applies to the process that `command` will start.
    pub fn apply_to(&self, command: &mut Command) {
        let seal = self.clone();
        sys::before_exec(command, move || seal.apply());
    }
}
