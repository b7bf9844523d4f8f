//! Output of a process in a role to its parent: lines on standard output, and a status.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};

pub(crate) const DONE: u8 = 0;

/// Prints a line for the parent process; a closed pipe is not an error.
pub(crate) fn line(text: impl Display) -> Result<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("standard output: cannot write"),
    }
}
