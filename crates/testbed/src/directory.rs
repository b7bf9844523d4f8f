//! A directory of one test, and programs in it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A directory on a real disk: loop devices with direct I/O lie in it, which a tmpfs refuses.
/// Removed when dropped.
#[derive(Debug)]
pub struct Directory(tempfile::TempDir);

impl Directory {
    /// `schedlab-test-XXXXXX` in /var/tmp; with the name of the run if `scripts/test` gave one, so
    /// that it finds what is left behind.
    ///
    /// # Panics
    /// If it cannot be made.
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

/// Copies a program that is to be run. Written by this process, it could be refused ("Text file
/// busy"): a child that another thread forked at that moment has the descriptor open for writing
/// until it becomes its own program. So another process writes it.
///
/// # Panics
/// If it cannot be copied.
#[track_caller]
pub fn copy_program(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let status = Command::new("cp").arg("--").arg(from.as_ref()).arg(to.as_ref()).status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "{}: cannot be copied",
        from.as_ref().display()
    );
}
