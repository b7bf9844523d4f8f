//! For tests: file operations that crash or lose power at a chosen step.

mod driver;

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::files::{Dir, Files, RealFiles};
pub(crate) use driver::{Case, Cut, Effects, Machine, recover};

#[derive(Debug)]
pub(crate) struct FakeKernel {
    state: Mutex<State>,
    /// Handles attribute writes.
    attribute: fn(&Path, &str) -> io::Result<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Steps until death; `None` if immortal.
    left: Option<usize>,
    done: usize,
    /// Undoes changes that are not durable yet, oldest first.
    volatile: Vec<Volatile>,
}

#[derive(Debug)]
enum Volatile {
    Content(PathBuf),
    Rename { from: PathBuf, to: PathBuf, replaced: Option<Vec<u8>> },
    Removal { path: PathBuf, content: Vec<u8> },
    MadeDir(PathBuf),
    RemovedDir { path: PathBuf, mode: u32 },
}

impl FakeKernel {
    /// Immortal; `attribute` handles attribute writes.
    pub(crate) fn new(attribute: fn(&Path, &str) -> io::Result<()>) -> FakeKernel {
        FakeKernel { state: Mutex::default(), attribute }
    }

    /// Refuses operations after `steps` more, as if the process were dead.
    pub(crate) fn die_after(&self, steps: usize) {
        let mut state = self.state.lock().expect("no test panics while it holds this");
        state.left = Some(steps);
    }

    /// Immortal again; returns the number of operations so far.
    pub(crate) fn live(&self) -> usize {
        let mut state = self.state.lock().expect("no test panics while it holds this");
        state.left = None;
        state.done
    }

    pub(crate) fn settle(&self) {
        self.state.lock().expect("no test panics while it holds this").volatile.clear();
    }

    /// Volatile names and contents are lost, or with `names_survive` the contents only.
    pub(crate) fn lose_power(&self, names_survive: bool) {
        let mut state = self.state.lock().expect("no test panics while it holds this");
        for volatile in std::mem::take(&mut state.volatile).into_iter().rev() {
            match volatile {
                Volatile::Content(path) => drop(fs::write(path, "").ok()),
                Volatile::Rename { from, to, replaced } if !names_survive => {
                    let _ = fs::rename(&to, from);
                    let _ = replaced.map(|content| fs::write(to, content));
                }
                Volatile::Removal { path, content } if !names_survive => {
                    drop(fs::write(path, content))
                }
                Volatile::MadeDir(path) if !names_survive => drop(fs::remove_dir_all(path)),
                Volatile::RemovedDir { path, mode } if !names_survive => drop(
                    fs::create_dir(&path)
                        .and_then(|()| fs::set_permissions(path, Permissions::from_mode(mode))),
                ),
                Volatile::Rename { .. } | Volatile::Removal { .. } => {}
                Volatile::MadeDir(_) | Volatile::RemovedDir { .. } => {}
            }
        }
    }

    fn step(&self) -> io::Result<std::sync::MutexGuard<'_, State>> {
        let mut state = self.state.lock().expect("no test panics while it holds this");
        match &mut state.left {
            Some(0) => return Err(io::Error::other("the process is dead")),
            Some(left) => *left -= 1,
            None => {}
        }
        state.done += 1;
        Ok(state)
    }
}

impl Files for FakeKernel {
    fn write_attribute(&self, path: &Path, value: &str) -> io::Result<()> {
        let _state = self.step()?;
        (self.attribute)(path, value)
    }

    fn pause(&self, _: std::time::Duration) {}

    fn create(&self, dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
        // Two steps, so that a crash can leave half a file.
        self.step()?.volatile.push(Volatile::Content(dir.file(name)));
        RealFiles.create(dir, name, &bytes[..bytes.len() / 2])?;
        let _state = self.step()?;
        RealFiles.create(dir, name, bytes)
    }

    fn sync_file(&self, dir: &Dir, name: &str) -> io::Result<()> {
        let mut state = self.step()?;
        let path = dir.file(name);
        state.volatile.retain(|volatile| !matches!(volatile, Volatile::Content(of) if *of == path));
        Ok(())
    }

    fn rename(&self, dir: &Dir, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.step()?;
        let (old, new) = (dir.file(from), dir.file(to));
        for volatile in &mut state.volatile {
            if matches!(volatile, Volatile::Content(of) if *of == old) {
                *volatile = Volatile::Content(new.clone());
            }
        }
        let replaced = fs::read(&new).ok();
        state.volatile.push(Volatile::Rename { from: old, to: new, replaced });
        RealFiles.rename(dir, from, to)
    }

    fn remove(&self, dir: &Dir, name: &str) -> io::Result<()> {
        let mut state = self.step()?;
        let path = dir.file(name);
        let content = fs::read(&path)?;
        state.volatile.push(Volatile::Removal { path, content });
        RealFiles.remove(dir, name)
    }

    fn sync_dir(&self, dir: &Dir) -> io::Result<()> {
        let mut state = self.step()?;
        state.volatile.retain(|volatile| match volatile {
            Volatile::Content(_) => true,
            Volatile::Rename { to: path, .. }
            | Volatile::Removal { path, .. }
            | Volatile::MadeDir(path)
            | Volatile::RemovedDir { path, .. } => path.parent() != Some(dir.path()),
        });
        Ok(())
    }

    fn set_mode(&self, dir: &Dir, name: &str, mode: u32) -> io::Result<()> {
        let _state = self.step()?;
        RealFiles.set_mode(dir, name, mode)
    }

    fn make_dir(&self, dir: &Dir, name: &str) -> io::Result<()> {
        self.step()?.volatile.push(Volatile::MadeDir(dir.file(name)));
        RealFiles.make_dir(dir, name)
    }

    fn remove_dir(&self, dir: &Dir, name: &str) -> io::Result<()> {
        let mut state = self.step()?;
        let path = dir.file(name);
        let mode = fs::metadata(&path)?.permissions().mode();
        state.volatile.push(Volatile::RemovedDir { path, mode });
        RealFiles.remove_dir(dir, name)
    }
}

/// Another process writes the script: a child forked by another thread could inherit our write
/// handle, and the kernel would refuse to run the file (ETXTBSY).
pub(crate) fn install_script(path: &Path, script: &str) {
    let install = "printf '%s' \"$1\" > \"$2\" && chmod 755 \"$2\"";
    let status = Command::new("/bin/sh").args(["-c", install, "sh", script]).arg(path).status();
    assert!(status.is_ok_and(|status| status.success()), "{} is written", path.display());
}
