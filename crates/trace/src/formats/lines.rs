//! Shared by the text formats: the line reader trait and number parsing.

use super::builder::Builder;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Line,
    /// Nothing of interest follows.
    End,
}

pub(super) trait Reader {
    /// Parses a line; on error nothing of it is kept.
    fn line(&mut self, line: &str, to: &mut Builder) -> Result<Next, String>;
}

pub(super) fn excerpt(text: &str) -> String {
    let mut short: String = text.trim().chars().take(60).collect();
    if short.len() < text.trim().len() {
        short.push('…');
    }
    short
}

pub(super) fn number(text: &str, what: &str) -> Result<u64, String> {
    let wrong =
        || format!("expected {what}, a whole number of at most 64 bits, found {:?}", excerpt(text));
    if text.starts_with('+') { Err(wrong()) } else { text.parse().map_err(|_| wrong()) }
}

pub(super) fn times(text: &str, unit_ns: u64, what: &str) -> Result<u64, String> {
    number(text, what)?
        .checked_mul(unit_ns)
        .ok_or_else(|| format!("expected {what} of less than 584 years, found {text}"))
}

/// The cells, if there are `N`.
pub(super) fn cells<'a, const N: usize>(
    line: &'a str,
    names: &str,
) -> Result<[&'a str; N], String> {
    let mut cells = [""; N];
    let mut all = line.split(',');
    for cell in &mut cells {
        let found = || format!("expected the {N} fields {names}, found {:?}", excerpt(line));
        *cell = all.next().ok_or_else(found)?.trim();
    }
    if all.next().is_some() {
        return Err(format!("expected the {N} fields {names}, found {:?}", excerpt(line)));
    }
    Ok(cells)
}
