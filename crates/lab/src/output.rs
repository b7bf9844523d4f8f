//! The output directory of an experiment: named by the user, or new and named after the time.
//!
//! A new directory's name is predictable, so it is created exclusively, never reusing one made by
//! another user. A number distinguishes experiments that start in the same second.

use std::path::PathBuf;

use anyhow::Result;
use jiff::Timestamp;
use machine::files::Dir;

/// Parent of the new directories used without `--out`.
pub const PARENT: &str = "schedlab-out";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Named by the user; may exist.
    Named(PathBuf),
    /// A new one below `schedlab-out`, named by this prefix and the time.
    New { prefix: &'static str },
}

impl Output {
    pub fn of(named: Option<PathBuf>, prefix: &'static str) -> Output {
        named.map_or(Output::New { prefix }, Output::Named)
    }

    /// Opens the directory, creating it if missing.
    ///
    /// # Errors
    /// It cannot be created, or another user controls it.
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

/// Creates a directory with this name, or with a number appended if the name is taken.
pub fn numbered(parent: &Dir, name: &str) -> Result<Dir, machine::files::Error> {
    let names =
        std::iter::once(name.to_owned()).chain((2..).map(|number| format!("{name}-{number}")));
    let mut made = names.map(|name| parent.create_subdir(&name, 0o755));
    made.find(|made| !matches!(made, Err(error) if error.already_exists()))
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
