//! What an experiment with real programs makes on a machine beside settings: processes, and a file
//! system with its mount.
//!
//! Everything is made through a [`Session`], which knows how to end it: programs with all that they
//! have started, then the mount, then the directory, then the file system itself. The same after a
//! crash, from the journal: an entry is there before anything else is, and names mount point,
//! device and UUID before the file system is made.

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

/// What a session has made, as its journal entry has it. Programs and control groups are found by
/// the session's key.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Made {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    controllers: Vec<Enabled>,
    /// The users that its programs run as, beside the one who began it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    users: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    files: Option<files::MadeFiles>,
}

impl Made {
    fn mount_point(&self) -> Option<PathBuf> {
        self.files.as_ref().map(|files| files.at().to_path_buf())
    }

    /// The device that its file system is on.
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

/// What keys begin with; each is made by one process and used once.
const KEYS: &str = "schedlab-session-";

/// How entries of sessions are undone.
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

/// What there was to clean up.
#[derive(Debug, Default)]
pub struct Cleanup {
    /// The programs that were ended, by name.
    pub programs: Vec<String>,
    /// Where the session's file system was to be mounted, if it had one.
    pub at: Option<PathBuf>,
    /// The device from which that file system was taken, if there was one on it.
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

/// The processes and the file system of one experiment; dropping it ends them.
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
    /// The number of the device that shares are of.
    device: Option<String>,
    users: BTreeMap<String, user::User>,
    /// The user of `--as`.
    user: Option<String>,
}

impl Session {
    /// Begins; nothing but an entry in the journal is on the machine yet.
    ///
    /// # Errors
    /// [`Error::Io`] when the journal cannot be written.
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

    /// Makes a file system on a claimed device and mounts it. The claim ends its exclusive use of
    /// the device for that.
    ///
    /// # Errors
    /// Before anything is written: [`Error::ToolMissing`] with the package, [`Error::InUse`], and
    /// [`Error::Session`] for a file system that the kernel does not have, a device that is too
    /// small, options that lead elsewhere. [`Error::ToolFailed`] with what mkfs or mount said; the
    /// end of the session takes away what was made by then.
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
            std::os::unix::fs::chown(made.at(), Some(uid), Some(gid))
                .map_err(Error::io("give to the user", made.at()))?;
        }
        drop(state);
        self.files = Some(made);
        Ok(())
    }

    /// Names the user that programs of a plan run as; the root of the file system becomes theirs.
    ///
    /// # Errors
    /// [`Error::Session`] when there is no such user, or it is root.
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

    /// Refuses `what` where this process lacks one of these capabilities.
    ///
    /// # Errors
    /// [`Error::Session`] naming what is missing.
    pub fn require(&self, what: &str, needed: &[Capability]) -> Result<(), Error> {
        capability::require(&self.root, what, needed)
    }

    /// The user that programs of a plan run as; none if they run as schedlab does.
    pub fn user(&self) -> Option<String> {
        self.state().user.clone()
    }

    /// The options by which chroot makes itself that user.
    ///
    /// # Errors
    /// [`Error::Session`] when the user is not there any more.
    pub fn chroot_options(&self) -> Result<Vec<String>, Error> {
        let mut state = self.state();
        let Some(name) = state.user.clone() else { return Ok(Vec::new()) };
        let user = self.look_up(&mut state, &name)?;
        let groups: Vec<String> = user.groups.iter().map(|gid| gid.as_raw().to_string()).collect();
        let ids = format!("--userspec=+{}:+{}", user.uid.as_raw(), user.gid.as_raw());
        Ok(vec![ids, format!("--groups={}", groups.join(","))])
    }

    pub fn directory(&self) -> Option<&Path> {
        self.files.as_ref().map(files::Mounted::at)
    }

    /// Unmounts and mounts again: everything is on the device, and nothing of it in memory. Nothing
    /// else of the machine's caches is touched.
    ///
    /// # Errors
    /// [`Error::Session`] naming who still works in it after 5 s; [`Error::ToolFailed`] when mount
    /// fails.
    pub fn cool(&mut self) -> Result<(), Error> {
        match &self.files {
            Some(files) => files.remount(&self.root, &self.key),
            None => Ok(()),
        }
    }

    /// Whether a program can be given this share of the device here: a program that does nothing is
    /// given it. Later programs of the session get their shares of this device. A weight counts
    /// only where the device's scheduler is bfq, or where a cost model is at work (`io.cost.qos`);
    /// bounds hold with every scheduler, but under control groups v1 not for what is written
    /// through the page cache.
    ///
    /// # Errors
    /// [`Error::Session`] naming the part of the share, the controller and the reason.
    pub fn check_share(&self, device: &Device, share: &Share) -> Result<(), Error> {
        self.state().device = Some(device.number.clone());
        let program = self.program("true", "coreutils", "to try a share of the device")?;
        let ended = self.start(&Launch { program, share: share.clone(), ..Launch::default() })?;
        ended.wait(Duration::from_secs(30), &AtomicBool::new(false)).map(drop)
    }

    /// Whether `io_max` bounds what a program writes through the page cache: v1 counts that as the
    /// kernel's own.
    pub fn bounds_hold_for_the_page_cache(&self) -> bool {
        group::is_io_in_v2(&self.root)
    }

    /// Starts a program of this session.
    ///
    /// # Errors
    /// [`Error::Session`] naming the program that cannot be started, its user or its share;
    /// [`Error::Io`].
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

    /// Journals that a program will become this user by itself (`setpriv`): what it starts is found
    /// again by its mark only then.
    ///
    /// # Errors
    /// [`Error::Io`] when the journal cannot be written.
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

    /// Where a program is: in PATH, or in one of the directories of system programs.
    ///
    /// # Errors
    /// [`Error::ToolMissing`] with its package.
    pub fn program(&self, name: &str, package: &str, purpose: &str) -> Result<PathBuf, Error> {
        self.root.tool(name).ok_or_else(|| Error::ToolMissing {
            tool: name.to_string(),
            package: package.to_string(),
            purpose: purpose.to_string(),
        })
    }

    /// Ends all programs of the session, unmounts, and leaves the device without the file system
    /// that it got. Gives the names of programs that were still there.
    ///
    /// # Errors
    /// [`Error::Session`] when a program or the mount stays; the journal keeps it then, for
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

    /// The numbers of a user; none if this process is that user already.
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
    /// Cleans up as far as possible; what fails stays in the journal.
    fn drop(&mut self) {
        if !self.ended {
            let _ = self.finish();
        }
    }
}

/// Ends a session: programs, control groups, mount, directory, file system, journal entry and its
/// `lock`. Every step may already have been done: a crash can come between any two. Of an earlier
/// boot only the file system can be there.
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
