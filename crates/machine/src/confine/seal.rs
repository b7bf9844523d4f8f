//! All layers that need no privilege and no preparation of the machine, ready to be put on a
//! process.

use std::io;
use std::process::Command;
use std::sync::Arc;

use crate::confine::syscalls::Forbidden;
use crate::confine::{Error, Landlock, Limits, Result, privileges, sys};

/// A prepared restriction: no capabilities, no new privileges, limits, [`Landlock`] and forbidden
/// system calls.
#[derive(Debug, Clone)]
pub struct Seal {
    landlock: Arc<Landlock>,
    forbidden: Forbidden,
    limits: Limits,
}

impl Seal {
    /// Prepares it.
    ///
    /// # Errors
    /// If the list of system calls does not exist for this machine.
    pub fn new(landlock: Landlock, limits: Limits) -> Result<Seal> {
        let forbidden =
            Forbidden::new().map_err(|cause| Error::new("system calls", "list", cause))?;
        Ok(Seal { landlock: Arc::new(landlock), forbidden, limits })
    }

    /// Restricts this thread and what it creates from now on.
    ///
    /// # Errors
    /// If the kernel rejects a layer.
    pub fn apply(&self) -> io::Result<()> {
        privileges::capabilities()?;
        self.apply_to_reader()
    }

    /// The same, with the capabilities that are left.
    pub(crate) fn apply_to_reader(&self) -> io::Result<()> {
        self.limits.apply()?;
        rustix::thread::set_no_new_privs(true)?;
        self.landlock.apply()?;
        self.forbidden.apply()
    }

    /// Restricts the process that `command` will start, and not this one.
    pub fn on(&self, command: &mut Command) {
        let seal = self.clone();
        sys::before_exec(command, move || seal.apply());
    }
}
