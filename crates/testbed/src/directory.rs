//! A directory of one test.

use std::path::{Path, PathBuf};

/// A directory on a real disk: loop devices with direct I/O lie in it, which a tmpfs refuses. Removed when dropped.
#[derive(Debug)]
pub struct Directory(tempfile::TempDir);

impl Directory {
    /// `schedlab-test-XXXXXX` in /var/tmp; with the name of the run if `scripts/test` gave one, so that it finds what is left behind.
    ///
    /// # Panics
    /// If it cannot be made.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "it makes a directory")]
    pub fn new() -> Directory {
        let run = std::env::var("SCHEDLAB_TEST_RUN").map_or_else(|_| String::new(), |run| format!("{run}-"));
        let prefix = format!("schedlab-test-{run}");
        Directory(tempfile::Builder::new().prefix(&prefix).tempdir_in("/var/tmp").expect("/var/tmp is writable"))
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
