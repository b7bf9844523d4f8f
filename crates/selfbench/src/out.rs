//! Standard output; a closed pipe (`| head -1`) is not an error.

use std::fmt::Display;
use std::io::{ErrorKind, Write};

use anyhow::{Context, Result};

pub(crate) fn print(text: impl Display) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

pub(crate) fn line(text: impl Display) -> Result<()> {
    print(format_args!("{text}\n"))
}
