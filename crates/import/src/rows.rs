//! The trials that a format holds, before anything is chosen: labels and values.

use std::collections::{BTreeMap, BTreeSet};

use experiment::metric::Direction;

use crate::error::Error;

/// A file of another program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// As the user named it, or as it was found below a directory.
    pub path: String,
    pub text: String,
}

/// One trial: a start of the program that was measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Entry {
    /// What tells trials apart: the job, the command, a parameter. In the format's order.
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) values: Vec<(String, f64)>,
    /// Why the trial does not count.
    pub(crate) invalid: Option<String>,
}

/// Everything that was read.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) entries: Vec<Entry>,
    /// Which way metrics are better, where the format says it.
    pub(crate) directions: BTreeMap<String, Direction>,
    /// Metrics that are taken only if they are named.
    pub(crate) aside: BTreeSet<String>,
    /// What a reader of the analysis must know.
    pub(crate) remarks: Vec<String>,
}

impl Entry {
    pub(crate) fn new(file: &File) -> Entry {
        Entry { labels: vec![("path".to_owned(), file.path.clone())], ..Entry::default() }
    }

    pub(crate) fn label(mut self, name: &str, value: impl Into<String>) -> Entry {
        self.labels.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn of(&self, name: &str) -> Option<&str> {
        self.labels.iter().find(|(label, _)| label == name).map(|(_, value)| value.as_str())
    }

    /// Adds a value.
    ///
    /// # Errors
    /// It is negative or no number.
    pub(crate) fn put(
        &mut self,
        file: &File,
        place: &str,
        metric: &str,
        value: f64,
    ) -> Result<(), Error> {
        if !value.is_finite() || value < 0.0 {
            let problem = format!("{metric} is {value} (expected a number that is not negative)");
            return Err(Error::new(&file.path, problem, "measure it again, or leave the file out")
                .at(place));
        }
        self.values.push((metric.to_owned(), value));
        Ok(())
    }
}

impl Rows {
    pub(crate) fn remark(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.remarks.contains(&text) {
            self.remarks.push(text);
        }
    }
}

/// Reads files one by one.
///
/// # Errors
/// Those of `read`; a file without a trial.
pub(crate) fn each(
    files: &[File],
    what: &str,
    mut read: impl FnMut(&File, &mut Rows) -> Result<(), Error>,
) -> Result<Rows, Error> {
    let mut rows = Rows::default();
    for file in files {
        let before = rows.entries.len();
        read(file, &mut rows)?;
        if rows.entries.len() == before {
            return Err(Error::new(
                &file.path,
                format!("no {what}"),
                "measure it again, or leave the file out",
            ));
        }
    }
    Ok(rows)
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
