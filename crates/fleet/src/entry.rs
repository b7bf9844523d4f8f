//! Store listings: names of results, and the outcome of a push.

use bytes::Bytes;

use crate::result::MachineResult;

pub(crate) const RESULTS: &str = "results";

const EXTENSION: &str = ".parquet";

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The hash that names it.
    pub name: String,
    pub bytes: u64,
}

impl Entry {
    /// The entry of a file name; `None` for other files.
    pub(crate) fn of(file: &str, bytes: u64) -> Option<Entry> {
        let name = file.strip_suffix(EXTENSION)?;
        let is_hash = name.len() == 64
            && name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        is_hash.then(|| Entry { name: name.to_owned(), bytes })
    }
}

pub(crate) fn file_of(name: &str) -> String {
    format!("{name}{EXTENSION}")
}

/// The outcome of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pushed {
    New,
    /// It already existed.
    There,
    /// It replaced a damaged file of its name.
    Repaired,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    pub entries: Vec<Entry>,
    /// Files with other names.
    pub foreign_files: usize,
}

/// Whether these bytes are the complete result of this name.
pub(crate) fn is_whole(name: &str, bytes: Bytes) -> bool {
    MachineResult::from_file(name, bytes).is_ok()
}
