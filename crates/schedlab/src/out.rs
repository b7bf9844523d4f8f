//! Standard output, for results. A reader that stops (`| head -1`) ends the printing and nothing else: settings are restored and
//! reports written all the same. Any other failure to print is an error.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};

use anyhow::{Context, Result};

/// Prints `text` as it is.
pub(crate) fn print(text: impl Display) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match write!(out, "{text}").and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("standard output: cannot write"),
    }
}

/// Prints `text` and a line end.
pub(crate) fn line(text: impl Display) -> Result<()> {
    print(format_args!("{text}\n"))
}

/// How to print a report on standard output: its width (80 where it has none), and colour only on a terminal without `NO_COLOR`.
pub(crate) fn report_options(verbose: bool) -> report::terminal::Options {
    let terminal = std::io::stdout().is_terminal();
    let silent = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let width = comfy_table::Table::new().width().unwrap_or(80).clamp(64, 120);
    report::terminal::Options { width, colour: terminal && !silent && !dumb, verbose }
}

/// Says something beside the results, on standard error; where that is closed, nobody wants to hear it.
pub(crate) fn note(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
