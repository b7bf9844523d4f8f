//! Resolves a key and value to writes, or to why these are impossible. Writes nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::value::{Resolved, denied};
use super::{debugfs, frequency, sysctl};
use crate::Error;
use crate::Root;
use crate::cpu::Attribute;

/// [`Error::Cpu`] names attribute, reason and remedy.
pub(super) fn resolve(root: &Root, attribute: &Attribute) -> Result<Resolved, Error> {
    let (key, value) = (attribute.key.as_str(), attribute.value.trim());
    let found = match key.split_once(':') {
        Some(("sysctl", name)) => sysctl::resolve(root, name, value),
        Some(("feature", name)) => debugfs::feature(root, name, value),
        Some(("debug", file)) => debugfs::file(root, file, value),
        _ if key == "autogroup" => sysctl::autogroup(root, value),
        _ if key == "governor" => frequency::governor(root, value),
        _ if key == "boost" => frequency::boost(root, value),
        _ => Err("not a CPU setting; see: schedlab list settings".to_string()),
    };
    let resolved = found.map_err(|why| refused(key, why))?;
    for write in &resolved.writes {
        writable(&write.item.path).map_err(|why| refused(key, why))?;
    }
    Ok(resolved)
}

pub(super) fn refused(what: &str, why: impl Into<String>) -> Error {
    Error::Cpu { what: what.to_string(), why: why.into() }
}

/// Whether a file is writable, as far as can be known without writing.
fn writable(path: &Path) -> Result<(), String> {
    let place = path.display();
    let mode = fs::metadata(path)
        .map_or_else(|error| Err(denied(path, &error)), |meta| Ok(meta.permissions().mode()))?;
    if mode & 0o222 == 0 {
        return Err(format!("{place} is read-only: it only reports a value"));
    }
    match access(path, Access::WRITE_OK) {
        Ok(()) => Ok(()),
        Err(Errno::ROFS) => Err(format!(
            "{place} is mounted read-only, as in containers: run schedlab on the host, or pass the file to the container"
        )),
        Err(Errno::ACCESS | Errno::PERM) => {
            Err(format!("only root may write {place}: run as root (sudo schedlab ...)"))
        }
        Err(errno) => Err(format!("{place} cannot be written: {errno}")),
    }
}
