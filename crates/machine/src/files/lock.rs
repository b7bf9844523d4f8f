//! Locks that end with their owner, even while it starts programs.
//!
//! Children inherit a `flock` lock between `fork` and `exec`. A POSIX record lock ([`OwnLock`])
//! belongs to the process: children do not inherit it, and it ends with the process. But it does
//! not exclude threads, and closing any descriptor of the file drops it, so a table of locked files
//! is consulted before opening one.
//!
//! A data file is read while it is locked, so it gets a `flock` lock ([`DataLock`]), released
//! explicitly.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use rustix::fs::{FlockOperation, fcntl_lock};
use rustix::io::Errno;
use rustix::process::{Flock, FlockType, fcntl_getlk};

use crate::files::dir::Dir;
use crate::files::error::Error;

/// Device and inode.
type Id = (u64, u64);

/// Files locked by this process.
static LOCKED: Mutex<BTreeSet<Id>> = Mutex::new(BTreeSet::new());

/// A lock file owned by this process until dropped. Nothing else may open the file.
#[derive(Debug)]
pub struct OwnLock {
    /// `None` only during drop.
    file: Option<File>,
    id: Id,
}

#[derive(Debug)]
pub enum Attempt {
    Locked(OwnLock),
    /// By this process or another; `None` if that is in another PID namespace.
    Taken {
        pid: Option<u32>,
    },
}

impl OwnLock {
    /// Creates the file if missing; fails if the file system has no locks.
    pub fn attempt(path: &Path) -> Result<Attempt, Error> {
        let failed = |cause| Error::Io { action: "open", path: path.to_path_buf(), cause };
        let find = || fs::metadata(path).ok().map(|about| (about.dev(), about.ino()));
        let open =
            || File::options().create(true).truncate(false).write(true).open(path).map_err(failed);
        attempt(path, find, open)
    }

    fn file(&self) -> &File {
        self.file.as_ref().expect("closed by nothing but drop")
    }
}

impl Drop for OwnLock {
    fn drop(&mut self) {
        let mut locked = table();
        // Closing unlocks, so this comes before another thread may open it.
        drop(self.file.take());
        locked.remove(&self.id);
    }
}

impl Dir {
    /// Creates the file if missing. Fails as [`Dir::append`], or if the file system has no locks.
    pub fn lock(&self, name: &str) -> Result<Attempt, Error> {
        attempt(&self.file(name), || self.id(name), || self.append(name))
    }

    /// The process that has this file's lock; not this one, whose lock would end by the look.
    pub fn lock_owner(&self, name: &str) -> Option<u32> {
        let file = File::open(self.file(name)).ok()?;
        let other = fcntl_getlk(&file, &Flock::from(FlockType::ReadLock)).ok()??;
        u32::try_from(other.pid?.as_raw_pid()).ok()
    }

    /// Whether `name` still is the lock's file.
    pub fn is_locked(&self, name: &str, lock: &OwnLock) -> bool {
        self.is_same_file(name, lock.file())
    }
}

fn attempt(
    path: &Path,
    find: impl Fn() -> Option<Id>,
    open: impl Fn() -> Result<File, Error>,
) -> Result<Attempt, Error> {
    let mut locked = table();
    if find().is_some_and(|id| locked.contains(&id)) {
        return Ok(Attempt::Taken { pid: Some(std::process::id()) });
    }
    let file = open()?;
    let failed = |errno| Error::io("lock", path)(errno);
    loop {
        match fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::AGAIN | Errno::ACCESS) => {}
            Err(errno) => return Err(failed(errno)),
        }
        if let Some(other) =
            fcntl_getlk(&file, &Flock::from(FlockType::WriteLock)).map_err(failed)?
        {
            let pid = other.pid.and_then(|pid| u32::try_from(pid.as_raw_pid()).ok());
            return Ok(Attempt::Taken { pid });
        }
        // Its owner has just released it.
    }
    let about = file.metadata().map_err(|cause| Error::Io {
        action: "look at",
        path: path.to_path_buf(),
        cause,
    })?;
    let id = (about.dev(), about.ino());
    locked.insert(id);
    Ok(Attempt::Locked(OwnLock { file: Some(file), id }))
}

fn table() -> MutexGuard<'static, BTreeSet<Id>> {
    LOCKED.lock().expect("no thread panics while it holds this")
}

/// Written only by its owner. Dropping it unlocks the file even if a child has the descriptor.
#[derive(Debug)]
pub struct DataLock(File);

impl DataLock {
    /// `None` while another owner has it; fails if the file system has no locks.
    pub fn attempt(file: File) -> io::Result<Option<DataLock>> {
        match file.try_lock() {
            Ok(()) => Ok(Some(DataLock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(cause)) => Err(cause),
        }
    }
}

impl Deref for DataLock {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for DataLock {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

impl Drop for DataLock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::io::{BufRead, BufReader, Write};
    use std::os::fd::AsFd;
    use std::process::{Child, Command, Stdio};

    use rustix::io::{FdFlags, fcntl_setfd};

    use super::*;

    /// The file to lock in another process of this program.
    const FILE: &str = "SCHEDLAB_TEST_LOCK";

    /// A program with the descriptor, like a child before `exec`.
    fn start_heir(descriptor: impl AsFd) -> Child {
        fcntl_setfd(&descriptor, FdFlags::empty()).expect("an open descriptor");
        let child =
            Command::new("sleep").arg("600").stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        fcntl_setfd(&descriptor, FdFlags::CLOEXEC).expect("an open descriptor");
        child.expect("sleep starts")
    }

    fn end(mut child: Child) {
        child.kill().expect("our child");
        child.wait().expect("our child");
    }

    fn take(path: &Path) -> Option<OwnLock> {
        match OwnLock::attempt(path).expect("files have locks here") {
            Attempt::Locked(lock) => Some(lock),
            Attempt::Taken { .. } => None,
        }
    }

    /// Another process that locks the file, starts an heir, and waits to be killed; and its output.
    fn start_other(path: &Path) -> (Child, String) {
        let test = "files::lock::tests::another_process_locks_a_file_and_waits";
        let mut child = Command::new(env::current_exe().expect("this program"))
            .args(["--exact", test, "--nocapture"])
            .env(FILE, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program again");
        let output = child.stdout.take().expect("a pipe");
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        let answer =
            lines.into_iter().find_map(|line| Some(line.split_once("lock: ")?.1.to_owned()));
        (child, answer.expect("it has tried"))
    }

    #[test]
    fn another_process_locks_a_file_and_waits() {
        let Some(path) = env::var_os(FILE) else { return };
        let lock = take(Path::new(&path));
        let heir = lock.as_ref().map(|lock| start_heir(lock.file()));
        println!("lock: {}", heir.map_or("taken".to_owned(), |heir| heir.id().to_string()));
        std::io::stdout().flush().expect("a pipe");
        let _ = std::io::stdin().read_line(&mut String::new());
    }

    #[test]
    fn a_lock_has_one_owner_in_a_process_and_names_it() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("a.lock");
        let lock = take(&path).expect("free");
        let second = OwnLock::attempt(&path).expect("files have locks here");
        assert!(
            matches!(second, Attempt::Taken { pid: Some(pid) } if pid == std::process::id()),
            "{second:?}"
        );
        assert!(take(&dir.path().join("b.lock")).is_some(), "another file is another lock");
        drop(lock);
        assert!(take(&path).is_some());
    }

    #[test]
    fn a_refused_attempt_leaves_the_lock_of_the_process() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("a.lock");
        let lock = take(&path).expect("free");
        assert!(take(&path).is_none());
        let (other, answer) = start_other(&path);
        end(other);
        assert_eq!(answer, "taken", "closing a second descriptor would have unlocked the file");
        drop(lock);
    }

    #[test]
    fn a_lock_that_is_dropped_is_free_while_a_child_has_its_descriptor() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("a.lock");
        let lock = take(&path).expect("free");
        let heir = start_heir(lock.file());
        drop(lock);
        let again = take(&path);
        end(heir);
        assert!(again.is_some());
    }

    #[test]
    fn a_lock_whose_owner_is_killed_is_free_while_a_child_has_its_descriptor() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("a.lock");
        let (other, heir) = start_other(&path);
        let taken = OwnLock::attempt(&path).expect("files have locks here");
        assert!(
            matches!(taken, Attempt::Taken { pid: Some(pid) } if pid == other.id()),
            "{taken:?}"
        );
        end(other);
        let heir = heir.parse().ok().and_then(rustix::process::Pid::from_raw).expect("a process");
        let again = take(&path);
        rustix::process::kill_process(heir, rustix::process::Signal::KILL)
            .expect("the heir is alive");
        assert!(again.is_some());
    }

    #[test]
    fn a_file_of_data_is_free_while_a_child_has_its_descriptor() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let open = || File::create(dir.path().join("data")).expect("writable");
        let lock = DataLock::attempt(open()).expect("files have locks here").expect("free");
        assert!(DataLock::attempt(open()).expect("files have locks here").is_none());
        let heir = start_heir(&lock.0);
        drop(lock);
        let again = DataLock::attempt(open()).expect("files have locks here");
        end(heir);
        assert!(again.is_some());
    }
}
