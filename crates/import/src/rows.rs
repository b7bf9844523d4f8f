//! The trials of a format before selection: labels and values.

use std::collections::{BTreeMap, BTreeSet};

use experiment::metric::Direction;

use crate::error::Error;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// As named by the user or found below a directory.
    pub path: String,
    pub text: String,
}

/// One trial: one start of the measured program.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Entry {
    /// What distinguishes trials (job, command, parameter), in the format's order.
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) values: Vec<(String, f64)>,
    /// Why the trial is invalid.
    pub(crate) invalid: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(crate) entries: Vec<Entry>,
    /// The better direction of metrics, if the format states it.
    pub(crate) directions: BTreeMap<String, Direction>,
    /// Metrics that are used only if named.
    pub(crate) aside: BTreeSet<String>,
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

    /// Adds a value; negative and non-numeric ones are errors.
    pub(crate) fn put(
        &mut self,
        file: &File,
        place: &str,
        metric: &str,
        value: f64,
    ) -> Result<(), Error> {
        if !value.is_finite() || value < 0.0 {
            let problem = format!("{metric} is {value} (expected a number that is not negative)");
            return Err(
                Error::new(&file.path, problem, "measure it again, or omit the file").at(place)
            );
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

/// Reads files one by one; each must have a trial.
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
                "measure it again, or omit the file",
            ));
        }
    }
    Ok(rows)
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
