//! From a key and a value to what is written where, or to why that cannot be: nothing is written here.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::item::{Item, Write};
use super::{debugfs, frequency, sysctl};
use crate::Attribute;
use host::Error;
use host::Root;

/// What an attribute comes to.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    /// What is written.
    pub(super) writes: Vec<Write>,
    /// What the kernel changes by itself when that is written, and what is put back with it.
    pub(super) moved: Vec<Item>,
}

/// Finds where an attribute is on this machine, and whether it can be what it is to be.
///
/// # Errors
/// [`Error::Processors`] naming the attribute, the reason and the next step.
pub(super) fn resolve(root: &Root, attribute: &Attribute) -> Result<Resolved, Error> {
    let (key, value) = (attribute.key.as_str(), attribute.value.trim());
    let found = match key.split_once(':') {
        Some(("sysctl", name)) => sysctl::resolve(root, name, value),
        Some(("feature", name)) => debugfs::feature(root, name, value),
        Some(("debug", file)) => debugfs::file(root, file, value),
        _ if key == "autogroup" => sysctl::autogroup(root, value),
        _ if key == "governor" => frequency::governor(root, value),
        _ if key == "boost" => frequency::boost(root, value),
        _ => Err("it is no setting of processors; see: schedlab list settings".to_string()),
    };
    let resolved = found.map_err(|why| refused(key, why))?;
    for write in &resolved.writes {
        writable(&write.item.path).map_err(|why| refused(key, why))?;
    }
    Ok(resolved)
}

pub(super) fn refused(what: &str, why: impl Into<String>) -> Error {
    Error::Processors { what: what.to_string(), why: why.into() }
}

/// `on` or `off`.
pub(super) fn switch(value: &str) -> Result<bool, String> {
    match value {
        "on" | "1" | "yes" | "true" => Ok(true),
        "off" | "0" | "no" | "false" => Ok(false),
        _ => Err(format!("{value:?} is neither on nor off")),
    }
}

/// Whether a value is of the kind that a file holds: where it shows numbers, as many numbers; where it shows Y or N, that.
pub(super) fn fits(present: &str, value: &str) -> Result<String, String> {
    let words: Vec<&str> = present.split_whitespace().collect();
    let is_number = |word: &&str| word.parse::<i64>().is_ok();
    if words.iter().all(|word| ["Y", "N"].contains(word)) && words.len() == 1 {
        let on = match value {
            "Y" | "y" => true,
            "N" | "n" => false,
            _ => switch(value)?,
        };
        return Ok(if on { "Y" } else { "N" }.to_string());
    }
    let wanted: Vec<&str> = value.split_whitespace().collect();
    if words.iter().all(is_number) && !(wanted.len() == words.len() && wanted.iter().all(is_number)) {
        let of = if words.len() == 1 { "a whole number".to_string() } else { format!("{} whole numbers", words.len()) };
        return Err(format!("{value:?} is not {of}, and the file holds {of} (now {present})"));
    }
    Ok(value.to_string())
}

/// Whether this process may write a file, as far as that shows without writing.
fn writable(path: &Path) -> Result<(), String> {
    let place = path.display();
    let mode =
        fs::metadata(path).map_or_else(|error| Err(denied(path, &error)), |meta| Ok(meta.permissions().mode()))?;
    if mode & 0o222 == 0 {
        return Err(format!("{place} can only be read: it tells something, and sets nothing"));
    }
    match access(path, Access::WRITE_OK) {
        Ok(()) => Ok(()),
        Err(Errno::ROFS) => Err(format!(
            "{place} is mounted read-only, as containers have it: run schedlab on the machine itself, or give the container the file"
        )),
        Err(Errno::ACCESS | Errno::PERM) => {
            Err(format!("only root may write {place}: run as root (sudo schedlab ...)"))
        }
        Err(errno) => Err(format!("{place} cannot be written: {errno}")),
    }
}

/// Why a file cannot even be looked at.
pub(super) fn denied(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("only root may look at {}: run as root (sudo schedlab ...)", path.display())
        }
        _ => format!("{} cannot be looked at: {error}", path.display()),
    }
}

/// The most alike name in brackets, or nothing.
pub(super) fn nearest(word: &str, known: &[String]) -> String {
    host::error::nearest_of(word, known).map_or(String::new(), |name| format!(" (nearest: {name})"))
}
