//! Drops root's privileges in commands that only compute, before they read untrusted input.
//!
//! Root drops all capabilities (all but file permissions if the named files require them), and
//! Landlock confines writes to the directory of the results. The user id stays, so results belong
//! to the caller and `--out` may be private to root. Threads and children inherit the restrictions,
//! so they are set first. Alternatives: docs/decisions/0017-as-little-root.md.

use std::env;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use machine::confine::Landlock;

/// Does nothing for other users. `result` need not exist; inputs are `reads` and the paths on the
/// command line.
pub(crate) fn give_up(reads: &[PathBuf], result: Option<&Path>) -> Result<()> {
    give_up_but(reads, result.as_slice())
}

/// TCP connections stay allowed, listening does not.
pub(crate) fn give_up_but_connections(result: Option<&Path>) -> Result<()> {
    give_up_with(&[], result.as_slice(), &[], Landlock::read_all_write_only_and_connect)
}

pub(crate) fn give_up_but(reads: &[PathBuf], results: &[&Path]) -> Result<()> {
    give_up_with(reads, results, &[], Landlock::read_all_write_only)
}

/// Entries may be removed from, but not written to, `removals`.
pub(crate) fn give_up_but_removals(results: &[&Path], removals: &[PathBuf]) -> Result<()> {
    give_up_with(&[], results, removals, |below| {
        Landlock::read_all_write_only_and_remove(below, removals)
    })
}

fn give_up_with(
    reads: &[PathBuf],
    results: &[&Path],
    removals: &[PathBuf],
    landlock: impl Fn(&[PathBuf]) -> machine::confine::Result<Landlock>,
) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let below: Vec<PathBuf> = results.iter().map(|result| nearest_directory(result)).collect();
    let mut named: Vec<PathBuf> = named_on_the_command_line();
    named.extend(reads.iter().filter(|path| path.exists()).cloned());
    let inside = named
        .iter()
        .filter_map(|path| fs::read_dir(path).ok())
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let is_ours = named.iter().cloned().chain(inside).all(|path| owner_may(&path, 0o4))
        && below.iter().chain(removals).all(|path| owner_may(path, 0o3));
    let landlock = landlock(&below)?;
    if is_ours {
        machine::confine::drop_capabilities()?;
    } else {
        machine::confine::drop_capabilities_but_file_permissions()?;
    }
    landlock.restrict()?;
    Ok(())
}

pub(crate) fn write_only_below(dirs: &[&Path]) -> Result<()> {
    if rustix::process::geteuid().is_root() {
        // An empty relative path is the working directory.
        let dirs: Vec<&Path> = dirs
            .iter()
            .map(|dir| if dir.as_os_str().is_empty() { Path::new(".") } else { *dir })
            .collect();
        Landlock::read_all_write_only(&dirs)?.restrict()?;
    }
    Ok(())
}

fn nearest_directory(path: &Path) -> PathBuf {
    let whole = env::current_dir().unwrap_or_default().join(path);
    whole.ancestors().find(|at| at.is_dir()).unwrap_or(Path::new("/")).to_path_buf()
}

/// Includes parts of words, such as FILE in `replay:file=FILE`.
fn named_on_the_command_line() -> Vec<PathBuf> {
    let words: Vec<String> =
        env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let parts = words.iter().flat_map(|word| word.split([':', '=', ',']).chain([word.as_str()]));
    let mut found: Vec<PathBuf> =
        parts.filter(|part| !part.is_empty()).map(PathBuf::from).collect();
    found.retain(|path| path.exists());
    found
}

/// Whether root without capabilities has these bits of `rwx` on a path and may search every
/// directory above it. ACLs are ignored.
fn owner_may(path: &Path, needed: u32) -> bool {
    let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let enters = whole
        .ancestors()
        .skip(1)
        .all(|dir| fs::metadata(dir).is_ok_and(|found| allows(&found, 0o1)));
    enters && fs::metadata(&whole).is_ok_and(|found| allows(&found, needed))
}

fn allows(found: &Metadata, needed: u32) -> bool {
    let mode = match (found.uid(), found.gid()) {
        (0, _) => found.mode() >> 6,
        (_, 0) => found.mode() >> 3,
        _ => found.mode(),
    };
    mode & needed == needed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_written_in_the_nearest_directory_that_is_there() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        for name in ["", "new", "new/deeper", "file", "file/below"] {
            assert_eq!(nearest_directory(&dir.path().join(name)), dir.path(), "{name}");
        }
        assert_eq!(nearest_directory(Path::new("no-such-directory")), env::current_dir().unwrap());
    }

    #[test]
    fn a_root_without_capabilities_has_the_rights_of_an_owner_and_of_others() {
        let mine = tempfile::tempdir().unwrap();
        assert_eq!(owner_may(mine.path(), 0o3), rustix::process::geteuid().is_root(), "0700");
        assert!(owner_may(Path::new("/"), 0o5));
        assert!(!owner_may(Path::new("/no-such-directory"), 0o4));
    }
}
