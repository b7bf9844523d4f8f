//! A small table next to the verdicts, as text for every renderer.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) title: String,
    /// Without the first column.
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<(String, Vec<String>)>,
    /// Shown in a terminal only with --verbose.
    pub(crate) detail: bool,
}
