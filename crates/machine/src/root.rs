//! Access to the machine's files: /sys, /proc, /dev, /lib/modules and the state directory.
//!
//! A test passes a temporary tree, and can replace modifying operations ([`Files`]) by a fake
//! kernel that dies at a chosen moment.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;

use crate::files::{Dir, Files, RealFiles, programs};

use crate::error::Error;

const DEFAULT_STATE_DIR: &str = "var/lib/schedlab";

/// The real machine, or a tree that resembles it.
#[derive(Debug, Clone)]
pub struct Root {
    base: PathBuf,
    state: PathBuf,
    tools: Vec<PathBuf>,
    files: Arc<dyn Files>,
}

impl Root {
    /// This machine, with the state directory `/var/lib/schedlab`.
    pub fn real() -> Root {
        Root::at("/")
    }

    /// Contains `sys`, `proc`, `dev` … and the state directory.
    pub fn at(base: impl Into<PathBuf>) -> Root {
        let base = base.into();
        Root {
            state: base.join(DEFAULT_STATE_DIR),
            base,
            tools: programs::directories(),
            files: Arc::new(RealFiles),
        }
    }

    /// `SCHEDLAB_STATE_DIR`.
    pub fn with_state_dir(mut self, dir: impl Into<PathBuf>) -> Root {
        self.state = dir.into();
        self
    }

    /// The same machine with this user's state directory (`$XDG_STATE_HOME/schedlab`, otherwise
    /// `~/.local/state/schedlab`) if the usual one belongs to another user. For work that changes no
    /// setting: after a crash, its journal undoes only this user's programs.
    #[must_use]
    pub fn with_own_state(mut self) -> Root {
        let own = rustix::process::geteuid();
        let is_usual = self.state == self.base.join(DEFAULT_STATE_DIR);
        let is_own = fs::metadata(&self.state).is_ok_and(|state| state.uid() == own.as_raw());
        if is_usual && !is_own && !own.is_root() {
            let named = |name| env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
            let dir = named("XDG_STATE_HOME").or_else(|| Some(named("HOME")?.join(".local/state")));
            self.state = dir.map_or(self.state, |dir| dir.join("schedlab"));
        }
        self
    }

    /// Instead of [`programs::directories`].
    pub fn with_tool_dirs(mut self, dirs: Vec<PathBuf>) -> Root {
        self.tools = dirs;
        self
    }

    pub fn with_files(mut self, files: Arc<dyn Files>) -> Root {
        self.files = files;
        self
    }

    pub fn sys(&self, path: impl AsRef<Path>) -> PathBuf {
        self.base.join("sys").join(path)
    }

    pub fn proc(&self, path: impl AsRef<Path>) -> PathBuf {
        self.base.join("proc").join(path)
    }

    pub fn dev(&self, path: impl AsRef<Path>) -> PathBuf {
        self.base.join("dev").join(path)
    }

    pub fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let path = absolute.as_ref();
        self.base.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Modules of the running kernel; may not exist.
    pub fn modules(&self) -> PathBuf {
        self.base.join("lib/modules").join(self.kernel_release())
    }

    pub fn state(&self, path: impl AsRef<Path>) -> PathBuf {
        self.state.join(path)
    }

    /// Created if missing, for this user only, because its contents are acted on.
    ///
    /// # Errors
    /// [`Error::Files`] if another user owns it, or can write it or a parent.
    pub fn state_dir(&self) -> Result<Dir, Error> {
        Ok(Dir::private(&self.state)?)
    }

    /// `None` if missing.
    pub fn state_dir_if_exists(&self) -> Result<Option<Dir>, Error> {
        Ok(Dir::private_if_exists(&self.state)?)
    }

    /// E.g. `6.12.9`; empty if unknown.
    pub fn kernel_release(&self) -> String {
        self.read_optional(self.proc("sys/kernel/osrelease")).unwrap_or_default()
    }

    /// Settings in sysfs are lost after a boot.
    pub fn boot_id(&self) -> Result<String, Error> {
        self.read(self.proc("sys/kernel/random/boot_id"))
    }

    /// A file's text without surrounding white space.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<String, Error> {
        let path = path.as_ref();
        Ok(read_text(path).map_err(Error::io("read", path))?.trim().to_string())
    }

    /// `None` if absent, unreadable or empty.
    pub fn read_optional(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = read_text(path.as_ref()).ok()?.trim().to_string();
        (!text.is_empty()).then_some(text)
    }

    pub fn files(&self) -> &dyn Files {
        self.files.as_ref()
    }

    /// Sorted names in a directory; empty if absent.
    pub fn names(&self, dir: impl AsRef<Path>) -> Vec<String> {
        let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Text of every readable regular file, and whether it is writable.
    pub(crate) fn attributes(&self, dir: impl AsRef<Path>) -> BTreeMap<String, (String, bool)> {
        let dir = dir.as_ref();
        let mut all = BTreeMap::new();
        for name in self.names(dir) {
            let path = dir.join(&name);
            let Ok(meta) = fs::metadata(&path) else { continue };
            if meta.is_dir() {
                continue;
            }
            if let Ok(text) = read_text(&path) {
                all.insert(name, (text.trim().to_string(), meta.permissions().mode() & 0o222 != 0));
            }
        }
        all
    }

    /// Finds a helper by the rules of [`programs`].
    pub fn tool(&self, name: &str) -> Option<PathBuf> {
        self.tools.iter().map(|dir| dir.join(name)).find(|path| path.is_file())
    }

    /// Runs a helper without standard input.
    pub fn run(
        &self,
        tool: &str,
        args: &[&str],
        package: &str,
        purpose: &str,
    ) -> Result<Output, Error> {
        let missing = || Error::ToolMissing {
            tool: tool.into(),
            package: package.into(),
            purpose: purpose.into(),
        };
        let program = self.tool(tool).ok_or_else(missing)?;
        programs::helper_at(&program)
            .args(args)
            .stdin(Stdio::null())
            .output()
            .map_err(Error::io("run", &program))
    }
}

/// Replaces invalid UTF-8 (serial numbers of odd drives).
fn read_text(path: &Path) -> io::Result<String> {
    fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_of_a_fake_machine_is_inside_its_tree() {
        let root = Root::at("/tmp/x");
        for path in [
            root.sys("block"),
            root.proc("swaps"),
            root.dev("vda"),
            root.path("/dev/vda"),
            root.state("journal"),
        ] {
            assert!(path.starts_with("/tmp/x"), "{}", path.display());
        }
    }

    #[test]
    fn a_missing_program_names_its_package() {
        let root = Root::real().with_tool_dirs(vec![]);
        let error = root
            .run("blkid", &[], "util-linux", "to look for file systems")
            .unwrap_err()
            .to_string();
        assert!(error.contains("blkid") && error.contains("util-linux"), "{error}");
    }
}
