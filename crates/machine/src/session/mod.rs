//! An experiment's processes and file system.
//!
//! A [`Session`] ends what it creates in order: programs with descendants, mount, directory, file
//! system. After a crash, the journal entry allows the same: it exists first, and names mount
//! point, device and UUID before the file system is created.

mod cold;
mod files;
mod give;
mod group;
mod process;
mod scan;
mod share;
mod start;
mod user;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

pub use crate::error::Fault;
pub use crate::sys::Usage;
pub use files::FileSystem;
pub use group::Io;
pub use process::{Ended, Launch, Running};
pub use share::{BOUNDS, Share};

use crate::capability::{self, Capability};
use crate::consent::Claim;
use crate::device::Device;
use crate::error::Error;
use crate::journal::payload::{Payload, expect, is_name};
use crate::journal::{self, Abandoned, Entry, Kind, Lock, Stage, Undone};
use crate::root::Root;
use group::Enabled;
use scan::Whose;
use share::Limits;

/// As journaled. Programs and groups are found by the session's key.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Made {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    controllers: Vec<Enabled>,
    /// In addition to the one who started the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    users: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    files: Option<files::MadeFiles>,
}

impl Made {
    fn mount_point(&self) -> Option<PathBuf> {
        self.files.as_ref().map(|files| files.mount_point().to_path_buf())
    }

    fn device(&self) -> Option<String> {
        self.files.as_ref().map(files::MadeFiles::device)
    }
}

impl Payload for Made {
    fn check(&self, root: &Root, key: &str) -> Result<(), String> {
        expect(is_name(key) && key.starts_with(KEYS), "key", key, "schedlab-session-...")?;
        self.controllers.iter().try_for_each(|enabled| enabled.check(root))?;
        self.files.as_ref().map_or(Ok(()), |files| files.check(root, key))
    }
}

/// Each is used once, by one process.
const KEYS: &str = "schedlab-session-";

pub const KIND: Kind = Kind {
    name: "session",
    stage: Stage::Programs,
    single_use: Some(KEYS),
    subject: |entry| {
        let made: Made = entry.payload("session")?;
        Some(made.device().unwrap_or_else(|| "a session of programs".to_string()))
    },
    undo: |root, Abandoned { key, entry, lock }| {
        let made: Made = entry.expect(root, "session", key)?;
        Ok(Box::new(undo(root, key, &made, &entry.boot_id, lock)?))
    },
};

#[derive(Debug, Default)]
pub struct Cleanup {
    /// Names of the programs that were ended.
    pub programs: Vec<String>,
    /// The mount point of its file system.
    pub at: Option<PathBuf>,
    /// The device, if the file system was still there.
    pub wiped: Option<String>,
}

impl Undone for Cleanup {}

impl fmt::Display for Cleanup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the session of an experiment that did not end is cleaned up: ")?;
        if self.programs.is_empty() {
            f.write_str("no program of it was running")?;
        } else {
            write!(f, "ended {}", self.programs.join(", "))?;
        }
        if let Some(at) = &self.at {
            write!(f, "; nothing is mounted at {}", at.display())?;
        }
        self.wiped
            .as_ref()
            .map_or(Ok(()), |device| write!(f, "; {device} holds no file system of it any more"))
    }
}

/// Everything is ended on drop.
#[derive(Debug)]
pub struct Session {
    root: Root,
    key: String,
    lock: Lock,
    state: Mutex<State>,
    files: Option<files::Mounted>,
    ended: bool,
}

#[derive(Debug, Default)]
struct State {
    made: Made,
    programs: u32,
    /// The device whose shares are given.
    device: Option<String>,
    users: BTreeMap<String, user::User>,
    /// From `--as`.
    user: Option<String>,
}

impl Session {
    /// Creates only a journal entry.
    pub fn begin(root: &Root) -> Result<Session, Error> {
        let ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let key = format!("{KEYS}{}-{ns:x}", std::process::id());
        let lock = Lock::take(root, &key, &key)?;
        write(root, &key, &Made::default()).inspect_err(|_| lock.retire())?;
        Ok(Session {
            root: root.clone(),
            key,
            lock,
            state: Mutex::default(),
            files: None,
            ended: false,
        })
    }

    /// Ends the claim's exclusive use of the device.
    ///
    /// # Errors
    /// Before anything is written: [`Error::ToolMissing`], [`Error::InUse`], and [`Error::Session`]
    /// for an unsupported file system, a small device, or options that name other files.
    /// [`Error::ToolFailed`] from mkfs or mount; the end of the session then removes a partial
    /// result.
    pub fn make_files(
        &mut self,
        device: &Device,
        wanted: &FileSystem,
        claim: &mut Claim,
    ) -> Result<(), Error> {
        let mut needed = vec![capability::SYS_ADMIN];
        needed.extend(self.user().map(|_| capability::CHOWN));
        self.require(&format!("mounting {} on {}", wanted.kind, device.path.display()), &needed)?;
        files::check(&self.root, device, wanted)?;
        claim.check(&self.root, device)?;
        let at = self.root.path("/run").join(&self.key);
        let plan = files::MadeFiles::plan(&self.root, device, at)?;
        let mut state = self.state();
        state.device = Some(device.number.clone());
        state.made.files = Some(plan.clone());
        write(&self.root, &self.key, &state.made)?;
        drop(state);
        let made = files::make(&self.root, &self.key, device, wanted, &plan, claim)?;
        let mut state = self.state();
        if let Some(name) = state.user.clone() {
            let user = self.look_up(&mut state, &name)?;
            let (uid, gid) = (user.uid.as_raw(), user.gid.as_raw());
            std::os::unix::fs::chown(made.mount_point(), Some(uid), Some(gid))
                .map_err(Error::io("give to the user", made.mount_point()))?;
        }
        drop(state);
        self.files = Some(made);
        Ok(())
    }

    /// Sets the user of programs, who also becomes the owner of the file system's root.
    ///
    /// # Errors
    /// [`Error::Session`] if the user does not exist or is root.
    pub fn run_as(&mut self, name: &str) -> Result<(), Error> {
        let needed = [capability::SETUID, capability::SETGID, capability::KILL];
        self.require(&format!("running programs as {name}"), &needed)?;
        let mut state = self.state();
        if self.look_up(&mut state, name)?.uid.is_root() {
            return Err(Fault::RootAgain { user: name.to_string() }.into());
        }
        state.user = Some(name.to_string());
        Ok(())
    }

    /// [`Error::Session`] names `what` and the missing capabilities.
    pub fn require(&self, what: &str, needed: &[Capability]) -> Result<(), Error> {
        capability::require(&self.root, what, needed)
    }

    /// `None` if programs run as schedlab does.
    pub fn user(&self) -> Option<String> {
        self.state().user.clone()
    }

    /// chroot's options for that user; [`Error::Session`] if it no longer exists.
    pub fn chroot_options(&self) -> Result<Vec<String>, Error> {
        let mut state = self.state();
        let Some(name) = state.user.clone() else { return Ok(Vec::new()) };
        let user = self.look_up(&mut state, &name)?;
        let groups: Vec<String> = user.groups.iter().map(|gid| gid.as_raw().to_string()).collect();
        let ids = format!("--userspec=+{}:+{}", user.uid.as_raw(), user.gid.as_raw());
        Ok(vec![ids, format!("--groups={}", groups.join(","))])
    }

    pub fn directory(&self) -> Option<&Path> {
        self.files.as_ref().map(files::Mounted::mount_point)
    }

    /// Remounts, so that everything is on the device and nothing cached, without affecting other
    /// caches. If another mount namespace has a copy of the mount, only files are not cached.
    ///
    /// # Errors
    /// [`Error::Session`] naming who still uses the mount after 5 s; [`Error::ToolFailed`] if mount
    /// fails.
    pub fn cool(&mut self) -> Result<(), Error> {
        match &self.files {
            Some(files) => files.remount(&self.root, &self.key),
            None => Ok(()),
        }
    }

    /// Checks a share with a dummy program. Later shares refer to this device. A weight needs bfq
    /// or an active cost model (`io.cost.qos`); limits work with every scheduler, but in v1 not for
    /// writes through the page cache.
    ///
    /// # Errors
    /// [`Error::Session`] naming setting, controller and reason.
    pub fn check_share(&self, device: &Device, share: &Share) -> Result<(), Error> {
        self.state().device = Some(device.number.clone());
        let program = self.program("true", "coreutils", "to try a share of the device")?;
        let ended = self.start(&Launch { program, share: share.clone(), ..Launch::default() })?;
        ended.wait(Duration::from_secs(30), &AtomicBool::new(false)).map(drop)
    }

    /// v1 attributes these writes to the kernel.
    pub fn bounds_hold_for_the_page_cache(&self) -> bool {
        group::is_io_in_v2(&self.root)
    }

    /// [`Error::Session`] names the program that cannot be started, its user or its share.
    pub fn start(&self, launch: &Launch) -> Result<Running, Error> {
        let limits = Limits::read(&launch.share)?;
        let mut state = self.state();
        state.programs += 1;
        let user = launch
            .user
            .as_ref()
            .map(|name| self.other_user(&mut state, name))
            .transpose()?
            .flatten();
        if let Some(user) = &user {
            self.journal_user(&mut state, user.uid.as_raw())?;
        }
        let (number, device, users) =
            (state.programs, state.device.clone(), state.made.users.clone());
        let mut enable = |enabled: Enabled| {
            state.made.controllers.push(enabled);
            write(&self.root, &self.key, &state.made)
        };
        let group =
            group::make(&self.root, &self.key, number, &limits, device.as_deref(), &mut enable)?;
        drop(state);
        let (root, key, ioprio) = (&self.root, &*self.key, limits.ioprio);
        let place = start::LaunchContext { root, key, number, group, user, users, ioprio };
        start::start(launch, place)
    }

    /// Announces a program that switches users itself (`setpriv`), so that its children are found
    /// by their mark.
    pub fn expect_user(&self, uid: u32) -> Result<(), Error> {
        self.journal_user(&mut self.state(), uid)
    }

    fn journal_user(&self, state: &mut State, uid: u32) -> Result<(), Error> {
        if state.made.users.contains(&uid) {
            return Ok(());
        }
        state.made.users.push(uid);
        write(&self.root, &self.key, &state.made)
    }

    /// Searches PATH and the system directories; [`Error::ToolMissing`] names the package.
    pub fn program(&self, name: &str, package: &str, purpose: &str) -> Result<PathBuf, Error> {
        self.root.tool(name).ok_or_else(|| Error::ToolMissing {
            tool: name.to_string(),
            package: package.to_string(),
            purpose: purpose.to_string(),
        })
    }

    /// Returns the names of programs that were still running.
    ///
    /// # Errors
    /// [`Error::Session`] if a program or the mount remains; the journal entry then stays for
    /// `schedlab restore`.
    pub fn end(mut self) -> Result<Vec<String>, Error> {
        self.ended = true;
        self.finish()
    }

    fn finish(&mut self) -> Result<Vec<String>, Error> {
        self.files = None;
        let made = self.state().made.clone();
        undo(&self.root, &self.key, &made, &self.root.boot_id()?, &self.lock)
            .map(|left| left.programs)
    }

    /// `None` if this process already runs as that user.
    fn other_user(&self, state: &mut State, name: &str) -> Result<Option<user::User>, Error> {
        let user = self.look_up(state, name)?;
        Ok(Some(user).filter(|user| user.uid != rustix::process::geteuid()))
    }

    fn look_up(&self, state: &mut State, name: &str) -> Result<user::User, Error> {
        if let Some(known) = state.users.get(name) {
            return Ok(known.clone());
        }
        let found = user::find(&self.root, name)?;
        state.users.insert(name.to_string(), found.clone());
        Ok(found)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics while it holds this")
    }
}

impl Drop for Session {
    /// Failures stay in the journal.
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.finish();
        }
    }
}

/// Ends everything, and removes entry and `lock`. A crash can come between any two steps, so each
/// may already have been done. After a reboot, only the file system can remain.
fn undo(root: &Root, key: &str, made: &Made, boot_id: &str, lock: &Lock) -> Result<Cleanup, Error> {
    let mut left = Cleanup { at: made.mount_point(), ..Cleanup::default() };
    if boot_id == root.boot_id()? {
        left.programs = Whose::session(root, key, &made.users).end(root, Duration::ZERO)?;
        group::of_session(root, key).iter().try_for_each(|dir| group::remove_tree(dir))?;
        made.controllers.iter().for_each(Enabled::put_back);
    }
    if let Some(files) = &made.files {
        files.unmount(root)?;
        left.wiped = files.wipe(root)?;
    }
    journal::remove(root, key)?;
    lock.retire();
    Ok(left)
}

fn write(root: &Root, key: &str, made: &Made) -> Result<(), Error> {
    journal::write(root, key, &Entry::new(root, KIND.name, made)?)
}
