//! Standard output, for results. Whoever stops reading (`| head -1`) ends the printing and nothing else: settings are restored and
//! reports written all the same. Any other failure to print is an error.

use std::fmt::Display;
use std::io::{ErrorKind, Write};

use anyhow::{Context, Result};

/// Prints `text` as it is.
pub(crate) fn print(text: impl Display) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Prints `text` and a line end.
pub(crate) fn line(text: impl Display) -> Result<()> {
    print(format_args!("{text}\n"))
}

/// Says something beside the results, on standard error; where that is closed, nobody wants to hear it.
pub(crate) fn note(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
