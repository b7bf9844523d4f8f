//! What a check found, and where.

use std::fmt;
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Relative to the root of the workspace.
    pub path: PathBuf,
    /// From 1.
    pub line: usize,
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.path.display(), self.line, self.text)
    }
}
