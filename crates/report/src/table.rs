//! A small table beside the verdicts, as text: every renderer shows the same figures.

/// A small table: variants or figures down, columns of numbers across.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    /// Its title.
    pub(crate) title: String,
    /// Heads of the columns after the first.
    pub(crate) head: Vec<String>,
    /// A name, and a text for each column.
    pub(crate) rows: Vec<(String, Vec<String>)>,
    /// Whether a terminal shows it only with --verbose.
    pub(crate) detail: bool,
}
