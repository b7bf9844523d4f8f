//! The files of the workspace.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Directories that hold no source of ours.
const SKIPPED: [&str; 6] = ["target", ".git", "out", "node_modules", "book", "corpus"];

#[derive(Debug, Clone)]
pub struct Workspace {
    pub root: PathBuf,
}

/// A member of the workspace (`crate` is a keyword).
#[derive(Debug, Clone)]
pub struct Krate {
    pub name: String,
    pub dir: PathBuf,
}

impl Workspace {
    /// The workspace that this crate was compiled in.
    pub fn of_this_crate() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/lint is two levels down");
        Workspace { root: root.to_path_buf() }
    }

    /// The workspace around the current directory, else that of this crate.
    pub fn of_current_directory() -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        match here.ancestors().find(|dir| dir.join("crates/lint").is_dir()) {
            Some(root) => Workspace { root: root.to_path_buf() },
            None => Workspace::of_this_crate(),
        }
    }

    /// The directories of `crates/` that have a manifest, and `python/`, by name.
    pub fn crates(&self) -> Result<Vec<Krate>> {
        let dir = self.root.join("crates");
        let mut found = Vec::new();
        let python = self.root.join("python");
        if python.join("Cargo.toml").is_file() {
            found.push(Krate { name: "python".to_owned(), dir: python });
        }
        for entry in fs::read_dir(&dir).with_context(|| format!("{}: cannot be listed", dir.display()))? {
            let dir = entry?.path();
            if dir.join("Cargo.toml").is_file() {
                let name = dir.file_name().expect("an entry has a name").to_string_lossy().into_owned();
                found.push(Krate { name, dir });
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// A path as findings show it.
    pub fn relative(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).to_path_buf()
    }
}

/// Every file below `dir` for which `wanted` holds, sorted; directories of [`SKIPPED`] are left out.
pub(crate) fn files(dir: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut directories = vec![dir.to_path_buf()];
    while let Some(dir) = directories.pop() {
        for entry in fs::read_dir(&dir).with_context(|| format!("{}: cannot be listed", dir.display()))? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                if !SKIPPED.iter().any(|name| entry.file_name() == *name) {
                    directories.push(path);
                }
            } else if wanted(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

pub(crate) fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))
}

/// Files that are modules under `#[cfg(test)]` by their name.
pub(crate) fn is_test_file(path: &Path) -> bool {
    let name = path.file_stem().expect("a file has a name").to_string_lossy();
    name == "tests" || name.ends_with("_tests") || name.starts_with("fake_")
}
