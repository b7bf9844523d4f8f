//! What a row of the parameter table is, and what rows have in common.

use crate::workload::row::Params;
use text::parse_size;

/// One parameter: its name, and how its value is read and written.
pub struct Param {
    /// The key in plans and on the command line.
    pub name: &'static str,
    /// What a value looks like, e.g. "a size like 512, 4k".
    pub form: &'static str,
    /// One line of meaning.
    pub help: &'static str,
    /// The value as text that `set` reads back.
    pub get: fn(&Params) -> String,
    /// Reads a value; false if the text does not have the form.
    pub set: fn(&mut Params, &str) -> bool,
}

pub(crate) const COUNT_FORM: &str = "a whole number";
pub(crate) const PERCENT_FORM: &str = "a percentage from 0 to 100, like 50 or 50%";
pub(crate) const BOOL_FORM: &str = "true or false";

/// Puts a value into its field if the text could be read.
pub(crate) fn put<T>(field: &mut T, value: Option<T>) -> bool {
    value.map(|value| *field = value).is_some()
}

pub(crate) fn size32(text: &str) -> Option<u32> {
    parse_size(text)?.try_into().ok()
}

pub(crate) fn percent(text: &str) -> Option<u32> {
    text.trim().trim_end_matches('%').trim_end().parse().ok()
}
