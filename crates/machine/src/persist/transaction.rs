//! Changes several files atomically.
//!
//! First, a durable journal entry records all old and new contents. Each file is then written to a
//! temporary file, flushed, renamed, and its directory flushed. The entry is removed last and
//! durably: restored by a power loss, it would undo a setting reported as persisted. Files survive
//! a reboot, so entries of other boots are undone too.
//!
//! A file with neither its old nor its new contents was edited since, and is left alone.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::files::Dir;
use serde::{Deserialize, Serialize};

use super::Refusal;
use crate::error::Error;
use crate::journal::payload::{Payload, expect, name_in};
use crate::journal::{self, Abandoned, Entry, Kind, Stage, Undone};
use crate::root::Root;

/// Udev, modules-load.d and tuned ignore files with this suffix.
const UNFINISHED: &str = ".schedlab-new";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// The low twelve bits.
    pub mode: u32,
    pub bytes: Bytes,
}

/// Legible in JSON if it is text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Bytes {
    Text(String),
    Raw(Vec<u8>),
}

impl Content {
    /// World-readable.
    pub(crate) fn text(text: impl Into<String>) -> Content {
        Content { mode: 0o644, bytes: Bytes::Text(text.into()) }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Text(text) => text.as_bytes(),
            Bytes::Raw(bytes) => bytes,
        }
    }

    /// The text, with invalid bytes replaced.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }
}

/// `None`: the file does not exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileChange {
    pub(crate) path: PathBuf,
    pub(crate) before: Option<Content>,
    pub(crate) after: Option<Content>,
}

/// The payload of an entry.
#[derive(Debug, Serialize, Deserialize)]
struct Changes {
    about: String,
    files: Vec<FileChange>,
    /// Directories created for the files, outermost first.
    directories: Vec<PathBuf>,
}

impl Payload for Changes {
    /// Accepts only files that schedlab writes, readable at most by all and writable at most by
    /// root.
    fn check(&self, root: &Root, key: &str) -> Result<(), String> {
        expect(key.starts_with(KEYS), "key", key, "schedlab-kept-...")?;
        for FileChange { path, before, after } in &self.files {
            expect(
                is_written_by_schedlab(root, path),
                "file",
                path,
                "a rule, module list, profile or unit with schedlab's name",
            )?;
            for content in before.iter().chain(after) {
                let found = format!("{:o}", content.mode);
                expect(
                    content.mode & !0o777 == 0 && content.mode & 0o002 == 0,
                    "mode",
                    found,
                    "644, or another that others cannot write",
                )?;
            }
        }
        let leads = |dir: &Path| {
            self.files
                .iter()
                .any(|change| change.path.ancestors().skip(1).any(|above| above == dir))
        };
        self.directories.iter().try_for_each(|dir| {
            expect(leads(dir), "directory", dir, "one of its files' directories")
        })
    }
}

/// Whether a file belongs to a persisted setting or a watch.
fn is_written_by_schedlab(root: &Root, path: &Path) -> bool {
    let has = |name: &str, begin: &str, end: &str| {
        name.strip_suffix(end).is_some_and(|name| name.contains(begin))
    };
    let within = |dir: &str, begin: &str, ends: &[&str]| {
        let name = name_in(path, &root.path(dir));
        name.is_some_and(|name| ends.iter().any(|end| has(name, begin, end)))
    };
    let in_state = |dir: &str, end: &str| {
        name_in(path, &root.state(dir)).is_some_and(|name| name.ends_with(end))
    };
    let is_profile = |dir: &str| {
        let directory = path.parent().filter(|_| path.ends_with("tuned.conf"));
        directory
            .and_then(|own| name_in(own, &root.path(dir)))
            .is_some_and(|name| name.starts_with("schedlab-"))
    };
    within("/etc/udev/rules.d", "-schedlab-", &[".rules"])
        || within("/etc/modules-load.d", "schedlab-", &[".conf"])
        || within("/etc/systemd/system", "schedlab-watch-", &[".service", ".timer"])
        || is_profile("/etc/tuned")
        || is_profile("/etc/tuned/profiles")
        || in_state("kept", ".json")
        || in_state("watch", ".toml")
}

pub(super) const KEYS: &str = "schedlab-kept-";

/// Files survive a reboot, so earlier boots' entries are undone too.
pub const KIND: Kind = Kind {
    name: "files",
    stage: Stage::Settings,
    single_use: Some(KEYS),
    subject: |entry| entry.payload("files").map(|changes: Changes| changes.about),
    undo: |root, abandoned| {
        let about = undo_entry(root, abandoned);
        abandoned.lock.retire();
        Ok(Box::new(Restored { about: about? }))
    },
};

/// After an interrupted `persist` or `unpersist`.
#[derive(Debug)]
pub struct Restored {
    pub about: String,
}

impl Undone for Restored {}

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: persisted settings are restored to their state before the interrupted command",
            self.about
        )
    }
}

/// Returns the entry's subject. The caller holds the lock.
pub(super) fn undo_entry(
    root: &Root,
    Abandoned { key, entry, .. }: &Abandoned<'_>,
) -> Result<String, Error> {
    let changes: Changes = entry.expect(root, KIND.name, key)?;
    undo(root, key, &changes).map(|()| changes.about)
}

/// `None` if it does not exist.
pub(super) fn read_plain(path: &Path) -> Result<Option<Content>, Error> {
    let failed = |cause| Refusal::CannotWrite { action: "look at", path: path.into(), cause };
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error).into()),
    };
    if !meta.is_file() {
        let what = match fs::read_link(path) {
            Ok(target) => format!("a symbolic link to {}", target.display()),
            Err(_) => "no file".to_string(),
        };
        return Err(Refusal::NoPlainFile { path: path.into(), what }.into());
    }
    let (dir, name) = place(path)?;
    let Some(bytes) = dir.read(&name)? else { return Ok(None) };
    let bytes =
        String::from_utf8(bytes).map_or_else(|error| Bytes::Raw(error.into_bytes()), Bytes::Text);
    Ok(Some(Content { mode: meta.permissions().mode() & 0o7777, bytes }))
}

/// Returns the outermost first.
pub(super) fn missing_directories<'a>(
    paths: impl IntoIterator<Item = &'a PathBuf>,
) -> Vec<PathBuf> {
    let mut missing: Vec<PathBuf> = Vec::new();
    for path in paths {
        let absent =
            path.ancestors().skip(1).take_while(|dir| !dir.as_os_str().is_empty() && !dir.exists());
        missing.extend(absent.map(Path::to_path_buf));
    }
    missing.sort();
    missing.dedup();
    missing
}

/// Makes the changes, and removes empty directories among `emptied` (innermost first). `check` runs
/// before the point of no return. The caller holds the lock of `key`, which must have no entry.
/// After an error everything is as before, or the error is [`Refusal::HalfDone`].
pub(super) fn commit(
    root: &Root,
    key: &str,
    about: &str,
    files: Vec<FileChange>,
    emptied: &[PathBuf],
    check: impl FnOnce() -> Result<(), Error>,
) -> Result<(), Error> {
    let written = files.iter().filter(|change| change.after.is_some());
    let directories = missing_directories(written.map(|change| &change.path));
    let changes = Changes { about: about.to_string(), files, directories };
    // Recovery must accept the changes.
    changes
        .check(root, key)
        .map_err(|why| Error::Journal { path: journal::path(root, key), why })?;
    journal::write(root, key, &Entry::new(root, KIND.name, &changes)?)?;
    let Changes { files, directories, .. } = &changes;
    let done = directories.iter().try_for_each(|dir| make_directory(root, dir)).and_then(|()| {
        files
            .iter()
            .try_for_each(|change| write_or_remove(root, &change.path, change.after.as_ref()))?;
        emptied.iter().try_for_each(|dir| remove_if_empty(root, dir))?;
        check()
    });
    match done {
        Ok(()) => journal::remove_for_good(root, key),
        Err(first) => match undo(root, key, &changes) {
            Ok(()) => Err(first),
            Err(second) => {
                Err(Refusal::HalfDone { first: first.to_string(), second: second.to_string() }
                    .into())
            }
        },
    }
}

/// The caller holds the entry's lock.
fn undo(root: &Root, key: &str, Changes { files, directories, .. }: &Changes) -> Result<(), Error> {
    for change in files {
        let found = read_plain(&change.path)?;
        let found = found.as_ref().map(Content::bytes);
        let is = |wanted: &Option<Content>| found == wanted.as_ref().map(Content::bytes);
        if found.is_some() && !is(&change.before) && !is(&change.after) {
            let (path, journal) = (change.path.clone(), journal::path(root, key));
            return Err(Refusal::EditedMeanwhile { path, journal }.into());
        }
    }
    for change in files {
        let unfinished = unfinished(&change.path);
        if unfinished.exists() {
            remove(root, &unfinished)?;
        }
        if read_plain(&change.path)? != change.before {
            missing_directories(change.before.iter().map(|_| &change.path))
                .iter()
                .try_for_each(|dir| make_directory(root, dir))?;
            write_or_remove(root, &change.path, change.before.as_ref())?;
        }
    }
    directories.iter().rev().try_for_each(|dir| remove_if_empty(root, dir))?;
    journal::remove_for_good(root, key)
}

fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}

/// Writes a file durably; `None` removes it.
fn write_or_remove(root: &Root, path: &Path, content: Option<&Content>) -> Result<(), Error> {
    let Some(content) = content else {
        return if path.exists() { remove(root, path) } else { Ok(()) };
    };
    let (dir, name) = place(path)?;
    // The state directory is closed to other users.
    let mode = if path.starts_with(root.state("")) { 0o600 } else { content.mode };
    crate::files::replace(
        root.files(),
        &dir,
        &name,
        &format!("{name}{UNFINISHED}"),
        content.bytes(),
        Some(mode),
    )
    .map_err(|cause| Refusal::CannotWrite { action: "write", path: path.into(), cause }.into())
}

fn remove(root: &Root, path: &Path) -> Result<(), Error> {
    let (files, (dir, name)) = (root.files(), place(path)?);
    let removed = files.remove(&dir, &name).and_then(|()| files.sync_dir(&dir));
    removed
        .map_err(|cause| Refusal::CannotWrite { action: "remove", path: path.into(), cause }.into())
}

fn make_directory(root: &Root, dir: &Path) -> Result<(), Error> {
    let (files, (parent, name)) = (root.files(), place(dir)?);
    let mode = if dir.starts_with(root.state("")) { 0o700 } else { 0o755 };
    let made = files.make_dir(&parent, &name);
    let made = made
        .and_then(|()| files.set_mode(&parent, &name, mode))
        .and_then(|()| files.sync_dir(&parent));
    made.map_err(|cause| {
        Refusal::CannotWrite { action: "make the directory", path: dir.into(), cause }.into()
    })
}

/// Others use a directory that is not empty.
fn remove_if_empty(root: &Root, dir: &Path) -> Result<(), Error> {
    if !fs::read_dir(dir).is_ok_and(|mut names| names.next().is_none()) {
        return Ok(());
    }
    let (files, (parent, name)) = (root.files(), place(dir)?);
    let removed = files.remove_dir(&parent, &name).and_then(|()| files.sync_dir(&parent));
    removed
        .map_err(|cause| Refusal::CannotWrite { action: "remove", path: dir.into(), cause }.into())
}

/// The directory, writable only by root, and the file's name.
fn place(path: &Path) -> Result<(Dir, String), Error> {
    let dir = path
        .parent()
        .expect("files and directories that are persisted are below the root directory");
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok((Dir::open(dir)?, name))
}
