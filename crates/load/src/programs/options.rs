//! A runner's options, parsed from plans and command lines.

use std::collections::BTreeMap;
use std::time::Duration;

use text::{Field, Form, expected_one_of, field};

pub(crate) static DEADLINE: Field = field(
    "deadline",
    "30min",
    Form::TIME,
    "a trial of the program that takes longer is ended and invalid",
);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options(BTreeMap<&'static str, String>);

/// `problem` includes the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    #[error("{runner}: unknown option {key} {expected}")]
    NoSuchKey { runner: &'static str, key: String, expected: String },
    #[error("{runner}: {key}={text} is invalid; expected {form}")]
    Unreadable { runner: &'static str, key: &'static str, text: String, form: String },
    #[error("{runner}: {problem}")]
    Impossible { runner: &'static str, problem: String },
}

impl Options {
    /// Options in `rows`; errors name the `runner`.
    pub(crate) fn read<'a, I: Iterator<Item = &'static Field>>(
        runner: &'static str,
        rows: impl Fn() -> I,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Options, OptionsError> {
        let mut all: BTreeMap<&'static str, String> = rows()
            .filter(|row| !row.default.is_empty())
            .map(|row| (row.name, row.default.to_string()))
            .collect();
        for (key, text) in pairs {
            let row =
                rows().find(|row| row.name == key).ok_or_else(|| OptionsError::NoSuchKey {
                    runner,
                    key: key.to_string(),
                    expected: expected_one_of(key, rows().map(|row| row.name)),
                })?;
            if !row.form.accepts(text) {
                let (key, form) = (row.name, row.form.words());
                return Err(OptionsError::Unreadable { runner, key, text: text.to_string(), form });
            }
            all.insert(row.name, text.to_string());
        }
        Ok(Options(all))
    }

    /// The options that have a value.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(key, value)| (*key, value.as_str()))
    }

    /// `None` without a value, also below.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    pub fn number(&self, key: &str) -> Option<u64> {
        self.text(key)?.parse().ok()
    }

    /// A size in bytes.
    pub fn size(&self, key: &str) -> Option<u64> {
        text::parse_size(self.text(key)?)
    }

    pub fn time(&self, key: &str) -> Option<Duration> {
        text::parse_duration_ns(self.text(key)?).map(Duration::from_nanos)
    }

    pub fn flag(&self, key: &str) -> bool {
        self.text(key) == Some("true")
    }

    /// Those with a value, as `name "value"`, with control characters escaped.
    pub(crate) fn words_of(&self, names: &[&str]) -> Vec<String> {
        names
            .iter()
            .filter_map(|name| self.text(name).map(|text| format!("{name} {text:?}")))
            .collect()
    }

    /// Time limit of a trial.
    pub fn deadline(&self) -> Duration {
        self.time(DEADLINE.name).unwrap_or(Duration::from_secs(1800))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::find;

    #[test]
    fn a_slip_is_named_with_the_nearest_key_or_the_form() {
        let command = find("command").expect("a row");
        let error = command.read([("run", "true"), ("deadlin", "1s")]).unwrap_err().to_string();
        assert!(error.contains("did you mean \"deadline\""), "{error}");
        let error = command.read([("run", "true"), ("deadline", "soon")]).unwrap_err().to_string();
        assert!(error.contains("deadline=soon") && error.contains("10s"), "{error}");
        let options = command.read([("run", "true"), ("deadline", "90s")]).expect("right");
        assert_eq!(options.deadline(), Duration::from_secs(90));
    }
}
