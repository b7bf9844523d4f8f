//! A row of the parameter table, and helpers for rows.

use crate::workload::row::Params;
use text::parse_size;

/// One parameter: its name, parser and formatter.
pub struct Param {
    /// The key in plans and on the command line.
    pub name: &'static str,
    /// The form of a value, e.g. "a size like 512, 4k".
    pub form: &'static str,
    /// One line of meaning.
    pub help: &'static str,
    /// The value as text that `set` accepts.
    pub get: fn(&Params) -> String,
    /// Parses a value; false if the text does not have the form.
    pub set: fn(&mut Params, &str) -> bool,
}

pub(crate) const COUNT_FORM: &str = "a whole number";
pub(crate) const PERCENT_FORM: &str = "a percentage from 0 to 100, like 50 or 50%";
pub(crate) const BOOL_FORM: &str = "true or false";

pub(crate) fn put<T>(field: &mut T, value: Option<T>) -> bool {
    value.map(|value| *field = value).is_some()
}

pub(crate) fn size32(text: &str) -> Option<u32> {
    parse_size(text)?.try_into().ok()
}

pub(crate) fn percent(text: &str) -> Option<u32> {
    text.trim().trim_end_matches('%').trim_end().parse().ok()
}
