//! What a format is: the row from which `--from`, its help and the reference page follow.

use crate::error::Error;
use crate::rows::{File, Rows};

/// A format of another program.
#[derive(Debug)]
pub struct Importer {
    /// The word of `--from`.
    pub name: &'static str,
    /// What is read, and how to make it.
    pub reads: &'static str,
    /// What one trial is.
    pub trial: &'static str,
    /// The labels that tell trials apart, beside `file`, `dir` and `run`, which come from the path.
    pub labels: &'static [(&'static str, &'static str)],
    /// The metrics: name, unit, meaning. The first one that is there decides. Where it is empty
    /// they are the file's own.
    pub metrics: &'static [(&'static str, &'static str, &'static str)],
    /// Where the metrics of a file of this format come from if they are its own; empty otherwise.
    pub own_metrics: &'static str,
    /// What the format does not say: cautions of every analysis.
    pub lacks: &'static [&'static str],
    /// The labels that can name the variant, the first one that differs between trials.
    pub variants: &'static [&'static str],
    /// How to repeat a measurement that was made once.
    pub repeat: &'static str,
    /// Which files of a directory are read, by path; none if directories are not read.
    pub within: Option<fn(&str) -> bool>,
    /// What the beginning of a text lacks of this format; none if it looks like it.
    pub(crate) missing: fn(&str) -> Option<&'static str>,
    pub(crate) read: fn(&[File]) -> Result<Rows, Error>,
}

impl Importer {
    /// Whether the beginning of a text looks like this format.
    pub fn is_like(&self, text: &str) -> bool {
        (self.missing)(text).is_none()
    }
}

/// The first of the marks of a format that a text lacks.
pub(crate) fn first_missing(text: &str, marks: &[&'static str]) -> Option<&'static str> {
    marks.iter().copied().find(|mark| !text.contains(mark))
}
