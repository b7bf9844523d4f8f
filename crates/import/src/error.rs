//! Errors in external measurements: file, place, problem and remedy.

use std::fmt;

use text::limits::Exceeded;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// The file or option.
    subject: String,
    /// Place in the file; empty if the problem concerns the whole file.
    place: String,
    problem: String,
    remedy: String,
}

impl Error {
    pub(crate) fn new(
        subject: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Error {
        Error {
            subject: subject.into(),
            place: String::new(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    pub(crate) fn at(mut self, place: impl Into<String>) -> Error {
        self.place = place.into();
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.subject)?;
        for part in [&self.place, &self.problem].into_iter().filter(|part| !part.is_empty()) {
            write!(f, ": {part}")?;
        }
        if self.remedy.is_empty() { Ok(()) } else { write!(f, "; {}", self.remedy) }
    }
}

impl From<Exceeded> for Error {
    fn from(exceeded: Exceeded) -> Error {
        Error::new(exceeded.to_string(), "", "")
    }
}
