//! Files that are there whole or not at all.
//!
//! Text is written beside its place, flushed to the disk and renamed over it: a reader never sees half of a file, and a full
//! disk leaves the former one as it was.

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Replaces the file at `path`, or makes it. Everybody may read it.
///
/// # Errors
/// When the file cannot be written; the message names it and what to do.
pub fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut temporary = tempfile::Builder::new().prefix(".schedlab-").tempfile_in(dir)?;
        temporary.write_all(text.as_bytes())?;
        readable_by_all(temporary.as_file())?;
        temporary.as_file().sync_all()?;
        temporary.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => "free some space and repeat",
            _ => "name another directory with --out",
        };
        anyhow::anyhow!("{}: cannot write: {error}; {hint}", path.display())
    })
}

/// A temporary file is private to its owner; what is kept is made to be read.
fn readable_by_all(file: &File) -> std::io::Result<()> {
    file.set_permissions(Permissions::from_mode(0o644))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_reading_the_former_file_keeps_it_whole() {
        use std::io::Read;
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("report.md");
        replace(&path, "former").expect("the first file is written");
        let mut reader = File::open(&path).expect("the first file is there");
        replace(&path, "new").expect("the second file is written");
        let mut seen = String::new();
        reader.read_to_string(&mut seen).expect("the open file is readable");
        assert_eq!((seen.as_str(), std::fs::read_to_string(&path).ok().as_deref()), ("former", Some("new")));
        let mode = std::fs::metadata(&path).expect("the file is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
    }

    #[test]
    fn a_full_disk_leaves_the_former_file_and_names_it() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(dir.path())
            .output()
            .is_ok_and(|out| out.status.success());
        if !mounted {
            assert!(std::env::var_os("SCHEDLAB_MUST_RUN_ALL").is_none(), "mounting a tmpfs needs root");
            eprintln!("SKIPPED: mounting a small tmpfs needs root");
            return;
        }
        let path = dir.path().join("report.html");
        let former = replace(&path, "former");
        let answer = replace(&path, &"x".repeat(200_000));
        let found = std::fs::read_to_string(&path);
        let left = std::fs::read_dir(dir.path()).map(Iterator::count);
        let unmounted = std::process::Command::new("umount").arg(dir.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "the tmpfs is unmounted again");
        former.expect("64 KiB are enough for six bytes");
        let error = format!("{:#}", answer.expect_err("200 kB do not fit into 64 KiB"));
        assert!(error.contains("report.html") && error.contains("No space left"), "{error}");
        assert_eq!(found.expect("the former file is there"), "former");
        assert_eq!(left.expect("the directory is readable"), 1, "no temporary file is left behind");
    }
}
