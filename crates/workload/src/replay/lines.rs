//! What the readers of all trace formats share: a line, the request that it holds, and reading a number.

use elevator::Op;

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// A read or write.
    Request(Raw<'a>),
    /// Something that is not replayed but is work for a disk, or another disk's.
    LeftOut,
    /// Nothing of interest.
    Nothing,
    /// Nothing of interest from here on.
    End,
}

/// A request as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Raw<'a> {
    /// In nanoseconds from wherever the trace counts.
    pub(super) at_ns: u64,
    pub(super) took_ns: u64,
    pub(super) op: Op,
    pub(super) offset: u64,
    pub(super) len: u64,
    /// Who asked.
    pub(super) process: &'a str,
    /// What `offset` counts in: a file or a disk.
    pub(super) space: &'a str,
}

/// Reads lines of one format.
pub(super) trait Reader {
    /// Err says what was expected and what was found.
    fn line<'a>(&mut self, line: &'a str) -> Result<Line<'a>, String>;
}

/// Enough of a text to recognise it by.
pub(super) fn excerpt(text: &str) -> String {
    let mut short: String = text.trim().chars().take(60).collect();
    if short.len() < text.trim().len() {
        short.push('…');
    }
    short
}

/// A number of a trace.
pub(super) fn number(text: &str, what: &str) -> Result<u64, String> {
    let wrong = || format!("expected {what}, a whole number of at most 64 bits, found {:?}", excerpt(text));
    if text.starts_with('+') { Err(wrong()) } else { text.parse().map_err(|_| wrong()) }
}
