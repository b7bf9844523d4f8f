//! The only module that writes to standard output (results) and standard error (everything else); a
//! test of `crates/docs` enforces it.
//!
//! Names, table headings and program output are untrusted. Their control characters are escaped
//! here ([`text::escaped`]), into pipes as well, since a pager may print them later. Only
//! [`report()`] passes our colours. Under GitHub Actions, lines that look like workflow commands
//! get a leading space, except from [`workflow_command`]. A closed pipe (`| head -1`) stops output
//! only: settings are still restored and reports written.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use machine::Root;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use text::{escaped, escaped_but_colours};

pub(crate) fn print(text: impl Display) -> Result<()> {
    write(&escaped(&text.to_string()))
}

pub(crate) fn line(text: impl Display) -> Result<()> {
    print(format_args!("{text}\n"))
}

/// May have colours; `text` was rendered with [`report_options`].
pub(crate) fn report(text: &str) -> Result<()> {
    write(&escaped_but_colours(text))
}

pub(crate) fn is_github() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// On standard error, which GitHub reads too, to keep results alone on standard output.
pub(crate) fn workflow_command(command: &str) {
    let _ = writeln!(std::io::stderr(), "{}", escaped(command));
}

/// Short enough for one pipe write.
const REPORT_CUT: &str = "schedlab: interrupted before the report was complete; what was measured is kept: `--resume` continues an experiment\n";

/// Skipped if standard error would block, since the process is about to exit.
pub(crate) fn report_cut() {
    let stderr = rustix::stdio::stderr();
    let mut ready = [PollFd::new(&stderr, PollFlags::OUT)];
    if poll(&mut ready, Some(&Timespec::default())).is_ok_and(|ready| ready > 0) {
        let _ = rustix::io::write(stderr, REPORT_CUT.as_bytes());
    }
}

/// Escapes what GitHub would take for a workflow command.
fn guarded(text: &str) -> Cow<'_, str> {
    if is_github() { Cow::Owned(report::gate::defanged(text)) } else { Cow::Borrowed(text) }
}

fn write(text: &str) -> Result<()> {
    let text = guarded(text);
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.context("standard output: cannot write"),
    }
}

/// 80 columns by default; colour only on a terminal without `NO_COLOR`.
pub(crate) fn report_options(verbose: bool) -> report::terminal::Options {
    let width = width().clamp(60, 120) as u16;
    report::terminal::Options {
        width,
        colour: has_colours(std::io::stdout().is_terminal()),
        verbose,
        offered: Vec::new(),
    }
}

/// The headline notes whether this kernel offers the recommended scheduler.
pub(crate) fn analysis_options(root: &Root, verbose: bool) -> report::terminal::Options {
    let (loaded, unloaded) = machine::device::offered(root);
    report::terminal::Options {
        offered: loaded.into_values().flatten().chain(unloaded).collect(),
        ..report_options(verbose)
    }
}

pub(crate) fn table(table: &report::Columns) -> Result<()> {
    print(table.text("", width()))
}

pub(crate) fn paragraph(text: &str) -> Result<()> {
    hanging("", text)
}

/// `lead` is followed by text with a hanging indent.
pub(crate) fn hanging(lead: &str, text: &str) -> Result<()> {
    let indent = lead.chars().count();
    let lines = report::wrapped(text, width().saturating_sub(indent).max(20));
    lines.iter().enumerate().try_for_each(|(i, part)| {
        line(format_args!("{:indent$}{part}", if i == 0 { lead } else { "" }))
    })
}

/// Prints a command as [`hanging`] does a text, in lines that a shell joins. Its words stay whole.
pub(crate) fn command(lead: &str, command: &str) -> Result<()> {
    line(report::folded(lead, command, width()))
}

pub(crate) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// From the terminal, else `COLUMNS`, else 80.
pub(crate) fn width() -> usize {
    let named = || std::env::var("COLUMNS").ok()?.parse().ok();
    comfy_table::Table::new().width().map(usize::from).or_else(named).unwrap_or(80)
}

fn has_colours(terminal: bool) -> bool {
    let silent = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    terminal && !silent && !dumb
}

/// Write errors are ignored.
pub(crate) fn note(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{}", guarded(&escaped(&text.to_string())));
}

/// Continuation lines are indented so that foreign text cannot pass for our own message.
pub(crate) fn error(error: &anyhow::Error) {
    note(format!("schedlab: {error:#}").trim_end().replace('\n', "\n  "));
}

/// Escaped: shells expand file names into arguments.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let text = |terminal: bool| match has_colours(terminal) {
        true => escaped_but_colours(&error.render().ansi().to_string()).into_owned(),
        false => escaped(&error.render().to_string()).into_owned(),
    };
    if error.use_stderr() {
        let _ = std::io::stderr().write_all(text(std::io::stderr().is_terminal()).as_bytes());
    } else if write(&text(std::io::stdout().is_terminal())).is_err() {
        return ExitCode::FAILURE;
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(crate::failure::USAGE))
}

/// Pipes and files get a program's bytes unchanged, since they are its result; a terminal gets them
/// escaped.
pub(crate) fn of_program() -> [Box<dyn Write>; 2] {
    let (out, err) = (std::io::stdout(), std::io::stderr());
    [
        if out.is_terminal() { Box::new(Escaping::to(out)) } else { Box::new(out) },
        if err.is_terminal() { Box::new(Escaping::to(err)) } else { Box::new(err) },
    ]
}

/// Writes text escaped, with U+FFFD for invalid UTF-8.
struct Escaping<W: Write> {
    to: W,
    /// The incomplete character at the end of the last write.
    begun: Vec<u8>,
}

impl<W: Write> Escaping<W> {
    fn to(to: W) -> Self {
        Escaping { to, begun: Vec::new() }
    }
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, new: &[u8]) -> std::io::Result<usize> {
        let bytes = [std::mem::take(&mut self.begun).as_slice(), new].concat();
        let mut shown = String::new();
        for chunk in bytes.utf8_chunks() {
            shown.push_str(&escaped(chunk.valid()));
            let rest = chunk.invalid();
            // Only at the end can a character be incomplete rather than invalid.
            match std::str::from_utf8(rest) {
                Err(cut) if cut.error_len().is_none() && bytes.ends_with(rest) => {
                    self.begun = rest.to_vec()
                }
                Err(_) => shown.push('\u{fffd}'),
                Ok(_) => {}
            }
        }
        self.to.write_all(shown.as_bytes())?;
        Ok(new.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_cannot_steer_the_terminal_however_its_bytes_are_cut() {
        let said = "ä\x1b[2J\u{9b}A\r\n→".as_bytes();
        for cut in 0..=said.len() {
            let mut out = Escaping::to(Vec::new());
            out.write_all(&said[..cut]).unwrap();
            out.write_all(&said[cut..]).unwrap();
            assert_eq!(
                String::from_utf8(out.to).unwrap(),
                "ä\\u001b[2J\\u009bA\\u000d\n→",
                "cut at {cut}"
            );
        }
        let mut out = Escaping::to(Vec::new());
        out.write_all(b"a\x9b2Jb\xc3").unwrap();
        out.write_all(b"c").unwrap();
        assert_eq!(String::from_utf8(out.to).unwrap(), "a\u{fffd}2Jb\u{fffd}c");
    }
}
