//! What is wrong with foreign numbers: the file, the place in it, the problem, and what to do.

use std::fmt;

use text::limits::Exceeded;

/// Foreign numbers that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// The file or option.
    subject: String,
    /// Where in the file; empty if it is about all of it.
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
