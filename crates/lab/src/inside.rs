//! The roles for which this crate starts the program again: background load, flow, CPU workload,
//! supervisor of a guest, first process of a guest.
//!
//! A program that opens an arena calls [`dispatch`] first in its `main`. Roles are not commands for
//! users.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};

use crate::arena;

/// Runs the role that this process was started for; None for an ordinary process.
pub fn dispatch() -> Option<ExitCode> {
    let mut words = env::args_os().skip(1);
    let role = words.next()?;
    let done = match role.to_str()? {
        "background-load" => arena::disk::background::inside(),
        arena::flows::ROLE => arena::flows::inside(),
        load::programs::cpu::SUBCOMMAND => arena::cpu::inside::run(),
        "guest-supervisor" => supervisor(words),
        "guest-init" => in_guest(arena::kernel::inside::run),
        "guest-exec" => in_guest(arena::kernel::exec::inside),
        "guest-cpu" => in_guest(arena::kernel_cpu::inside::run),
        arena::kernel_cpu::inside::PROGRAM => arena::kernel_cpu::inside::program(),
        _ => return None,
    };
    Some(status(done))
}

/// Runs a role of a guest's first process. Fails outside a guest.
pub fn in_guest(role: impl FnOnce(&Path) -> Result<u8>) -> Result<u8> {
    let workdir = env::var_os(guest::WORKDIR_VARIABLE).with_context(|| {
        format!("{}: not set; this role is the first process of a guest", guest::WORKDIR_VARIABLE)
    })?;
    role(Path::new(&workdir))
}

/// The exit status of a role. Errors go to standard error, which the parent process reads.
pub fn status(done: Result<u8>) -> ExitCode {
    match done {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            let _ = writeln!(io::stderr(), "schedlab: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn supervisor(mut words: impl Iterator<Item = OsString>) -> Result<u8> {
    let spec = words.next().ok_or_else(|| anyhow!("guest-supervisor: expected SPEC"))?;
    Ok(guest::supervisor::watch_over(&spec))
}
