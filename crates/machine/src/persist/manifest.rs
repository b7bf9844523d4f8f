//! Persisted settings: one file per device, in the same transaction as the files that it lists.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use text::limits::MANIFEST_BYTES;

use super::Refusal;
use super::transaction::{Content, read_plain};
use super::udev::Address;
use crate::error::Error;
use crate::root::Root;

pub(super) const SCHEMA: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Persisted {
    pub(super) schema: u32,
    /// `unpersist`'s argument.
    pub key: String,
    pub address: Address,
    pub identity: String,
    /// The node at that time.
    pub device: String,
    pub model: String,
    pub scheduler: Option<String>,
    pub tunables: BTreeMap<String, String>,
    pub because: Option<String>,
    pub command: String,
    pub date: String,
    /// The release at that time.
    pub kernel: String,
    pub files: Vec<PersistedFile>,
    /// Created for the files, outermost first.
    pub directories: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersistedFile {
    pub path: PathBuf,
    pub content: Content,
    /// Restored by `unpersist`; not schedlab's.
    pub replaced: Option<Content>,
}

impl PersistedFile {
    /// Whether the file is unchanged.
    ///
    /// # Errors
    /// [`Refusal::CannotWrite`] if it cannot be read, [`Refusal::NoPlainFile`].
    pub fn is_intact(&self) -> Result<bool, Error> {
        Ok(read_plain(&self.path)?.is_some_and(|found| found.bytes() == self.content.bytes()))
    }
}

impl Persisted {
    pub fn from_json(bytes: &[u8]) -> Result<Persisted, String> {
        MANIFEST_BYTES.check(bytes.len()).map_err(|exceeded| exceeded.to_string())?;
        let persisted: Persisted =
            serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        match persisted.schema {
            SCHEMA => Ok(persisted),
            found => Err(text::build::other_format(found, SCHEMA, None)),
        }
    }

    /// `scheduler=bfq slice_idle=0`.
    pub fn words(&self) -> String {
        let scheduler = self.scheduler.iter().map(|name| format!("scheduler={name}"));
        scheduler
            .chain(self.tunables.iter().map(|(name, value)| format!("{name}={value}")))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

pub(super) fn path(root: &Root, key: &str) -> PathBuf {
    root.state("kept").join(format!("{key}.json"))
}

pub(super) fn content(persisted: &Persisted) -> Content {
    let text = serde_json::to_string_pretty(persisted)
        .expect("a manifest has only texts and numbers, which always make JSON");
    let mut text = text::escaped(&text).into_owned();
    text.push('\n');
    Content { mode: 0o600, ..Content::text(text) }
}

pub(super) fn read(root: &Root, key: &str) -> Result<Option<Persisted>, Error> {
    let path = path(root, key);
    let Some(content) = read_plain(&path)? else { return Ok(None) };
    Persisted::from_json(content.bytes())
        .map(Some)
        .map_err(|why| Refusal::Manifest { path, why }.into())
}

/// Persisted settings, sorted by key.
///
/// # Errors
/// [`Refusal::Manifest`], [`Refusal::CannotWrite`] if the list cannot be read.
pub fn list(root: &Root) -> Result<Vec<Persisted>, Error> {
    let keys = keys(root)?;
    keys.iter().filter_map(|key| read(root, key).transpose()).collect()
}

pub(super) fn keys(root: &Root) -> Result<Vec<String>, Error> {
    let state = root.state_dir_if_exists()?;
    let Some(dir) = state.map(|state| state.subdir_if_exists("kept")).transpose()?.flatten() else {
        return Ok(Vec::new());
    };
    Ok(dir
        .names()?
        .iter()
        .filter_map(|name| name.strip_suffix(".json"))
        .map(str::to_string)
        .collect())
}

/// Shows up to six missing (`-`) and new (`+`) lines.
pub(super) fn difference(written: &str, found: Option<&str>) -> String {
    const MAX_LINES: usize = 6;
    let Some(found) = found else { return "  it is gone".to_string() };
    let only = |of: &str, other: &str, mark: char| -> Vec<String> {
        let lines = of.lines().filter(|line| !other.lines().any(|o| o == *line));
        let lines: Vec<String> = lines.map(|line| format!("  {mark} {line}")).collect();
        let more = lines.len().saturating_sub(MAX_LINES);
        let rest = (more > 0).then(|| format!("  {mark} … and {more} lines more"));
        lines.into_iter().take(MAX_LINES).chain(rest).collect()
    };
    let mut all = only(written, found, '-');
    all.extend(only(found, written, '+'));
    if all.is_empty() {
        all.push("  the same lines in another order, number or with other ends".to_string());
    }
    all.join("\n")
}

pub(super) fn difference_of(path: &Path, written: &Content) -> Result<String, Error> {
    let found = read_plain(path)?.map(|content| content.shown());
    Ok(difference(&written.shown(), found.as_deref()))
}
