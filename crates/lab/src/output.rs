//! Where the files of an experiment go: a directory that the user names, or a new one named after
//! the time.
//!
//! The name of a new one can be foreseen, so it is made exclusively: what another user has put
//! there before is never used. The second of two experiments that begin in one second gets a
//! number.

use std::path::PathBuf;

use anyhow::Result;
use jiff::Timestamp;
use machine::files::Dir;

/// Where results go without `--out`, each in a directory of its own.
pub const PARENT: &str = "schedlab-out";

/// A directory that is not open yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// As the user has named it; it may exist.
    Named(PathBuf),
    /// A new one below `schedlab-out`: this prefix and the time.
    New { prefix: &'static str },
}

impl Output {
    pub fn of(named: Option<PathBuf>, prefix: &'static str) -> Output {
        named.map_or(Output::New { prefix }, Output::Named)
    }

    /// Opens it, and makes it where it is missing.
    ///
    /// # Errors
    /// It cannot be made, or another user decides over it; the message says what to do.
    pub fn open(&self) -> Result<Dir> {
        match self {
            Output::Named(path) => Ok(Dir::make(path)?),
            Output::New { prefix } => {
                let now = Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
                Ok(numbered(&Dir::make(PARENT)?, &format!("{prefix}{now}"))?)
            }
        }
    }
}

/// A new directory with this name, or with a number behind it where the name is taken.
///
/// # Errors
/// It cannot be made.
pub fn numbered(parent: &Dir, name: &str) -> Result<Dir, machine::files::Error> {
    let names =
        std::iter::once(name.to_owned()).chain((2..).map(|number| format!("{name}-{number}")));
    let mut made = names.map(|name| parent.create_subdir(&name, 0o755));
    made.find(|made| !matches!(made, Err(error) if error.is_already_there()))
        .expect("numbers do not end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_is_not_used_again_be_it_by_a_link() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let parent = Dir::open(dir.path()).expect("ours");
        std::os::unix::fs::symlink("/nowhere", dir.path().join("now")).expect("a link");
        let paths =
            [(); 2].map(|()| numbered(&parent, "now").expect("a new directory").path().to_owned());
        assert_eq!(paths, ["now-2", "now-3"].map(|name| dir.path().join(name)));
    }
}
