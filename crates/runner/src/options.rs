//! The options of a runner: their table, and reading them from text as plans and command lines hold it.

use std::collections::BTreeMap;
use std::time::Duration;

/// A row of a runner's options.
#[derive(Debug, Clone, Copy)]
pub struct Opt {
    /// The key.
    pub name: &'static str,
    /// The value where nothing is said; empty for none.
    pub default: &'static str,
    /// What a value looks like.
    pub form: Form,
    /// One line of meaning.
    pub help: &'static str,
}

/// A row in one line.
pub(crate) const fn opt(name: &'static str, default: &'static str, form: Form, help: &'static str) -> Opt {
    Opt { name, default, form, help }
}

/// What a value looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Any text.
    Text,
    /// A file's path; one that is not found from here is looked for beside the plan.
    File,
    /// A whole number from 0.
    Number,
    /// Bytes, e.g. `64k`.
    Size,
    /// A time, e.g. `10s`.
    Time,
    /// `true` or `false`.
    Flag,
}

impl Form {
    /// In words, with an example.
    pub fn words(self) -> &'static str {
        match self {
            Form::Text => "text",
            Form::File => "a file's path",
            Form::Number => "a whole number, e.g. 8",
            Form::Size => "a size, e.g. 64k or 1G",
            Form::Time => "a time, e.g. 500ms, 10s or 5min",
            Form::Flag => "true or false",
        }
    }

    fn reads(self, text: &str) -> bool {
        match self {
            Form::Text | Form::File => true,
            Form::Number => text.parse::<u64>().is_ok(),
            Form::Size => text::parse_size(text).is_some(),
            Form::Time => text::parse_duration_ns(text).is_some(),
            Form::Flag => matches!(text, "true" | "false"),
        }
    }
}

/// The option that every runner has.
pub(crate) static DEADLINE: Opt = Opt {
    name: "deadline",
    default: "30min",
    form: Form::Time,
    help: "a trial of the program that takes longer is ended and void",
};

/// Options that were read and checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options(BTreeMap<&'static str, String>);

/// Why options are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// No such key.
    #[error("{runner} has no option {key}{}; it takes {}", .nearest.map_or(String::new(), |word| format!(" (did you mean {word}?)")), .known.join(", "))]
    NoSuchKey {
        /// The runner.
        runner: &'static str,
        /// The key as written.
        key: String,
        /// The one that was probably meant.
        nearest: Option<&'static str>,
        /// All keys.
        known: Vec<&'static str>,
    },
    /// A value that cannot be read.
    #[error("{runner}: {key}={text} cannot be read: {form} is needed")]
    Unreadable {
        /// The runner.
        runner: &'static str,
        /// The key.
        key: &'static str,
        /// The value as written.
        text: String,
        /// What it should be.
        form: &'static str,
    },
    /// Values that cannot be.
    #[error("{runner}: {problem}")]
    Impossible {
        /// The runner.
        runner: &'static str,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

impl Options {
    /// Reads `pairs` as values of the options that `rows` gives; `runner` is who is named in errors.
    pub(crate) fn read<'a, I: Iterator<Item = &'static Opt>>(
        runner: &'static str,
        rows: impl Fn() -> I,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Options, OptionsError> {
        let mut all: BTreeMap<&'static str, String> =
            rows().filter(|row| !row.default.is_empty()).map(|row| (row.name, row.default.to_string())).collect();
        for (key, text) in pairs {
            let row = rows().find(|row| row.name == key).ok_or_else(|| OptionsError::NoSuchKey {
                runner,
                key: key.to_string(),
                nearest: nearest(key, rows().map(|row| row.name)),
                known: rows().map(|row| row.name).collect(),
            })?;
            if !row.form.reads(text) {
                let (key, form) = (row.name, row.form.words());
                return Err(OptionsError::Unreadable { runner, key, text: text.to_string(), form });
            }
            all.insert(row.name, text.to_string());
        }
        Ok(Options(all))
    }

    /// Every option that has a value.
    pub fn pairs(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.0.iter().map(|(key, value)| (*key, value.as_str()))
    }

    /// A value as text; None where it has none.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// A number; None where it has no value.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.text(key)?.parse().ok()
    }

    /// Bytes; None where it has no value.
    pub fn size(&self, key: &str) -> Option<u64> {
        text::parse_size(self.text(key)?)
    }

    /// A time; None where it has no value.
    pub fn time(&self, key: &str) -> Option<Duration> {
        text::parse_duration_ns(self.text(key)?).map(Duration::from_nanos)
    }

    /// Whether a flag is set.
    pub fn flag(&self, key: &str) -> bool {
        self.text(key) == Some("true")
    }

    /// How long a trial of the program may take.
    pub fn deadline(&self) -> Duration {
        self.time(DEADLINE.name).unwrap_or(Duration::from_secs(1800))
    }
}

pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let alike = known.map(|candidate| (strsim::jaro_winkler(word, candidate), candidate));
    alike.filter(|(likeness, _)| *likeness > 0.7).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;

    #[test]
    fn a_slip_is_named_with_the_nearest_key_or_the_form() {
        let command = find("command").expect("a row");
        let error = command.read([("run", "true"), ("deadlin", "1s")]).unwrap_err().to_string();
        assert!(error.contains("did you mean deadline"), "{error}");
        let error = command.read([("run", "true"), ("deadline", "soon")]).unwrap_err().to_string();
        assert!(error.contains("deadline=soon") && error.contains("10s"), "{error}");
        let options = command.read([("run", "true"), ("deadline", "90s")]).expect("right");
        assert_eq!(options.deadline(), Duration::from_secs(90));
    }
}
