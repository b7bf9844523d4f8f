//! A format: the row from which `--from`, its help and the reference page are generated.

use crate::error::Error;
use crate::rows::{File, Rows};

#[derive(Debug)]
pub struct Importer {
    /// The value of `--from`.
    pub name: &'static str,
    /// The input, and how to produce it.
    pub reads: &'static str,
    /// Definition of a trial.
    pub trial: &'static str,
    /// Labels of trials, in addition to `file`, `dir` and `run` from the path.
    pub labels: &'static [(&'static str, &'static str)],
    /// Name, unit and meaning of each metric; the first one present is primary. Empty: the file
    /// names its own metrics.
    pub metrics: &'static [(&'static str, &'static str, &'static str)],
    /// Origin of the file's own metrics, if it has them.
    pub own_metrics: &'static str,
    /// Information missing in the format: cautions of every analysis.
    pub lacks: &'static [&'static str],
    /// Labels that can name the variant, most preferred first.
    pub variants: &'static [&'static str],
    /// How to repeat a single measurement.
    pub repeat: &'static str,
    /// Whether to read a file of a directory, by path; None if directories are not supported.
    pub within: Option<fn(&str) -> bool>,
    /// The first mark of the format missing at the beginning of a text; None if it matches.
    pub(crate) missing: fn(&str) -> Option<&'static str>,
    pub(crate) read: fn(&[File]) -> Result<Rows, Error>,
}

impl Importer {
    pub fn is_like(&self, text: &str) -> bool {
        (self.missing)(text).is_none()
    }
}

/// The first of a format's marks that a text does not contain.
pub(crate) fn first_missing(text: &str, marks: &[&'static str]) -> Option<&'static str> {
    marks.iter().copied().find(|mark| !text.contains(mark))
}
