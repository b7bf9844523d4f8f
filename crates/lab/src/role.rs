//! What a process that this crate has started again says to the one that started it: lines on
//! standard output, and a status.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};

/// The status of a role that has done its work.
pub(crate) const DONE: u8 = 0;

/// A line for the process that started the role. One that does not read any more ends nothing.
pub(crate) fn line(text: impl Display) -> Result<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("standard output: cannot write"),
    }
}
