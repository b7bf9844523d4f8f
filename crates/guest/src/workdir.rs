//! Guests' working directories in the cache.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Removed on drop, or by the guest's supervisor if schedlab is killed.
pub fn workdir(cache: &Path) -> io::Result<TempDir> {
    let runs = machine::files::Dir::private(cache)?.subdir("run")?;
    sweep(runs.path());
    let closed = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new()
        .prefix(&prefix(std::process::id()))
        .permissions(closed)
        .tempdir_in(runs.path())
}

fn prefix(pid: u32) -> String {
    format!("{pid}-")
}

/// Removes remains of exited processes, whose supervisors may have been killed too.
fn sweep(runs: &Path) {
    let Ok(entries) = fs::read_dir(runs) else { return };
    for entry in entries.flatten() {
        let owner =
            entry.file_name().to_str().and_then(|name| name.split('-').next()?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !PathBuf::from(format!("/proc/{pid}")).exists()) {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_dead_left_is_swept_and_what_the_living_use_is_not() {
        let cache = tempfile::tempdir().unwrap();
        let mine = workdir(cache.path()).unwrap();
        let dead = cache.path().join("run").join(format!("{}x", prefix(u32::MAX)));
        fs::create_dir_all(dead.join("uml")).unwrap();
        let other = workdir(cache.path()).unwrap();
        assert!(mine.path().exists() && other.path().exists() && !dead.exists());
        let path = mine.path().to_owned();
        drop(mine);
        assert!(!path.exists());
    }
}
