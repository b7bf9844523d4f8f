//! A test's directory, and the programs in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory on a real disk, removed on drop. Loop devices with direct I/O need one, because
/// tmpfs does not support it.
#[derive(Debug)]
pub struct Directory(tempfile::TempDir);

impl Directory {
    /// `/var/tmp/schedlab-test-XXXXXX`. `scripts/test` adds the name of its run, so that leftovers
    /// can be found.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it makes a directory")]
    pub fn new() -> Directory {
        let run = std::env::var("SCHEDLAB_TEST_RUN")
            .map_or_else(|_| String::new(), |run| format!("{run}-"));
        let prefix = format!("schedlab-test-{run}");
        Directory(
            tempfile::Builder::new()
                .prefix(&prefix)
                .tempdir_in("/var/tmp")
                .expect("/var/tmp is writable"),
        )
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    #[must_use]
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }
}

/// Copies a program that is to be executed. A copy written by this process could fail with "Text
/// file busy": a child forked by another thread inherits the open descriptor until its own exec.
/// Therefore `cp` writes it.
#[track_caller]
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let status = Command::new("cp").arg("--").arg(from.as_ref()).arg(to.as_ref()).status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "{}: cannot be copied",
        from.as_ref().display()
    );
    // For any user, with any umask.
    fs::set_permissions(to, fs::Permissions::from_mode(0o755)).expect("own");
}
