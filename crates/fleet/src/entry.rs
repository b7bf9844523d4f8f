//! What a store has: names of results, and what became of one that was pushed.

use bytes::Bytes;

use crate::result::MachineResult;

/// The directory of results below the place.
pub(crate) const RESULTS: &str = "results";

/// What a name of a result ends with.
const EXTENSION: &str = ".parquet";

/// A result in a store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The hash that it is named after.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

impl Entry {
    /// The entry of a file of this name; none for other files.
    pub(crate) fn of(file: &str, bytes: u64) -> Option<Entry> {
        let name = file.strip_suffix(EXTENSION)?;
        let is_hash = name.len() == 64
            && name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        is_hash.then(|| Entry { name: name.to_owned(), bytes })
    }
}

/// The file of a result.
pub(crate) fn file_of(name: &str) -> String {
    format!("{name}{EXTENSION}")
}

/// What became of a result that was pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pushed {
    /// It is new.
    New,
    /// It was there.
    There,
    /// A damaged file had its name; it was replaced.
    Repaired,
}

/// The names in a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Results, in the order of their names.
    pub entries: Vec<Entry>,
    /// Files of other names.
    pub others: usize,
}

/// Whether these bytes are the whole result of this name.
pub(crate) fn is_whole(name: &str, bytes: Bytes) -> bool {
    MachineResult::from_file(name, bytes).is_ok()
}
