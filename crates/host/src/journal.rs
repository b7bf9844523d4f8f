//! The journal: what has to be undone, written down and made durable before it is done.
//!
//! One small JSON file an entry, made by temporary file, fsync, rename, fsync of the directory: an entry is there whole or not at
//! all, whatever the moment of the crash. A log with many entries would need a reader that copes with a torn tail. Beside each
//! entry lies a lock file that the owner keeps locked (`flock`): the kernel lets go of it when the owner dies, however it dies,
//! so "is the owner still alive?" needs no guess about process ids. The lock files of devices are never deleted, since deleting one
//! that another process is about to lock would give two owners. Those of temporary loop devices and of sessions go with their entry: the
//! key is used once, and whoever locks the name later finds no entry to own. Those of kept settings go as well, since `forget` leaves nothing
//! behind: whoever has locked a file that is no longer the one of that name takes the lock anew.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::kept::FileChange;
use crate::root::Root;
use crate::session::Made;
use crate::settings::{Lasting, Snapshot};

/// The version of the entries that this build writes and reads.
const SCHEMA: u32 = 1;

/// What the keys of temporary loop devices begin with; each is made by one process and used once.
pub const TEMPORARY: &str = "schedlab-loop-";

/// What the keys of sessions begin with; each is made by one process and used once.
pub const SESSION: &str = "schedlab-session-";

/// What the keys of kept settings begin with.
pub const KEPT: &str = "schedlab-kept-";

/// How long a lock can outlive its owner: a process killed while it starts another leaves its locks to that one until it has
/// become the program that it is to be.
pub const INHERITED: Duration = Duration::from_secs(2);

/// How entries of one kind are undone: their owner registers it.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The kind, as the entry has it.
    pub name: &'static str,
    /// Undoes what the entry of this key says, written during that boot; gives what was done.
    pub undo: fn(&Root, &serde_json::Value, &str, &Lock) -> Result<Vec<String>, Error>,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    schema: u32,
    /// The boot during which it was written.
    pub boot_id: String,
    /// The process that wrote it; for people, the lock is what counts.
    pub pid: u32,
    /// Until when its owner means to keep it, where that is known in advance; for people, the lock is what counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasting: Option<Lasting>,
    /// What has to be undone.
    pub undo: Undo,
}

/// What has to be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Undo {
    /// Settings of a device.
    Settings {
        /// The device's stable identity.
        identity: String,
        /// Its kernel name when the entry was written.
        device: String,
        /// The values to put back.
        original: Snapshot,
    },
    /// A temporary file, and the loop device over it if there is one.
    LoopFile {
        /// The file; nobody else's, since it is only ever created where no file was.
        file: PathBuf,
    },
    /// Programs that are started, and a file system that is made and mounted.
    #[allow(private_interfaces)]
    Session(Made),
    /// What is changed of the machine's processors.
    Processors(serde_json::Value),
    /// Files that make a setting last. They outlive a restart, and so does the need to undo this.
    Files {
        /// What they are about, for the user.
        about: String,
        /// The files, each as it was and as it is to become.
        #[allow(private_interfaces)]
        files: Vec<FileChange>,
        /// Directories that are made for them, the outermost first.
        directories: Vec<PathBuf>,
    },
}

impl Entry {
    /// An entry of this process and this boot.
    pub fn new(root: &Root, undo: Undo) -> Result<Entry, Error> {
        Ok(Entry { schema: SCHEMA, boot_id: root.boot_id()?, pid: std::process::id(), lasting: None, undo })
    }

    /// The same, its owner meaning to keep it so long.
    pub fn lasting(self, lasting: Option<Lasting>) -> Entry {
        Entry { lasting, ..self }
    }
}

/// Exclusive ownership of an entry's name, for as long as it lives.
#[derive(Debug)]
pub struct Lock {
    _file: File,
    path: PathBuf,
    temporary: bool,
}

impl Lock {
    /// Takes the lock of `key`, or says who has it; `what` is its name for the user.
    pub fn take(root: &Root, key: &str, what: &str) -> Result<Lock, Error> {
        let dir = root.state("lock");
        fs::create_dir_all(&dir).map_err(Error::io("create", &dir))?;
        let path = dir.join(format!("{key}.lock"));
        let mut file = loop {
            let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
            let mut file = open.map_err(Error::io("open", &path))?;
            if !try_flock(&file, &path)? {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text);
                let owner: Option<u32> = text.trim().parse().ok();
                let is_dead = owner.is_some_and(|pid| !root.proc(pid.to_string()).exists());
                if !is_dead || !flock_within(&file, &path, INHERITED)? {
                    return Err(Error::Busy { device: what.to_string(), pid_of_other: owner });
                }
            }
            // Its last owner may have deleted it between our opening and our locking.
            let ours = file.metadata().map_err(Error::io("look at", &path))?.ino();
            if fs::metadata(&path).is_ok_and(|named| named.ino() == ours) {
                break file;
            }
        };
        // For the message of the next one who comes; not worth failing for.
        let _ = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0)));
        let _ = write!(file, "{}", std::process::id());
        let temporary = [TEMPORARY, SESSION, KEPT].iter().any(|prefix| key.starts_with(prefix));
        Ok(Lock { _file: file, path, temporary })
    }

    /// Deletes the lock file of a temporary loop device, a session or a kept setting; for the end of its entry, under the lock. An empty
    /// file that stays does no harm, so nothing fails for it.
    pub fn retire(&self) {
        if self.temporary {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Locks an open file or directory exclusively; false if someone else has it.
pub fn try_flock(file: &File, path: &Path) -> Result<bool, Error> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(Error::io("lock", path)(errno.into())),
    }
}

/// The same, and who has it now is given `patience` to let go.
pub fn flock_within(file: &File, path: &Path, patience: Duration) -> Result<bool, Error> {
    let began = Instant::now();
    while !try_flock(file, path)? {
        if began.elapsed() >= patience {
            return Ok(false);
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(true)
}

/// The name of an entry: the identity with everything but letters, digits, `.`, `_` and `-` written as %XX.
pub fn key(identity: &str) -> String {
    let mut key = String::new();
    for byte in identity.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => key.push(char::from(byte)),
            _ => key.push_str(&format!("%{byte:02X}")),
        }
    }
    key
}

/// Where the entry of `key` is.
pub fn path(root: &Root, key: &str) -> PathBuf {
    root.state("journal").join(format!("{key}.json"))
}

/// Writes an entry; when this returns, it survives a loss of power.
pub fn write(root: &Root, key: &str, entry: &Entry) -> Result<(), Error> {
    let dir = root.state("journal");
    fs::create_dir_all(&dir).map_err(Error::io("create", &dir))?;
    let path = path(root, key);
    let new = new_path(&path);
    let text = serde_json::to_vec_pretty(entry).expect("an entry has only texts and numbers, which always make JSON");
    let files = root.files();
    let written = files
        .create(&new, &text)
        .and_then(|()| files.sync_file(&new))
        .and_then(|()| files.rename(&new, &path))
        .and_then(|()| files.sync_dir(&dir));
    written.map_err(|error| {
        let _ = files.remove(&new);
        Error::io("write the journal entry", &path)(error)
    })
}

/// Removes an entry. Not made durable, which would cost as much as a switch of the scheduler: what a loss of power brings back
/// is an entry of another boot, and that is dropped unread.
pub fn remove(root: &Root, key: &str) -> Result<(), Error> {
    let path = path(root, key);
    root.files().remove(&path).map_err(Error::io("remove", &path))
}

/// Removes an entry so that no loss of power brings it back: for what outlives a restart.
pub fn remove_for_good(root: &Root, key: &str) -> Result<(), Error> {
    remove(root, key)?;
    let dir = root.state("journal");
    root.files().sync_dir(&dir).map_err(Error::io("sync", &dir))
}

/// The entry of `key`, if there is one.
pub fn read(root: &Root, key: &str) -> Result<Option<Entry>, Error> {
    let path = path(root, key);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", &path)(error)),
    };
    let entry: Entry =
        serde_json::from_slice(&text).map_err(|error| Error::Journal { path: path.clone(), why: error.to_string() })?;
    if entry.schema != SCHEMA {
        let why = format!("it has version {}, and this schedlab reads version {SCHEMA}", entry.schema);
        return Err(Error::Journal { path, why });
    }
    Ok(Some(entry))
}

/// The keys of all entries, sorted. Unfinished entries are not among them: nothing was changed under those.
pub fn keys(root: &Root) -> Result<Vec<String>, Error> {
    let dir = root.state("journal");
    match fs::read_dir(&dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::io("read", &dir)(error)),
        Ok(_) => {
            Ok(root.names(&dir).iter().filter_map(|name| name.strip_suffix(".json")).map(str::to_string).collect())
        }
    }
}

/// Removes unfinished entries of dead owners, and the locks of those who died before they had an entry.
pub fn sweep(root: &Root) {
    for name in root.names(root.state("journal")) {
        if let Some(key) = name.strip_suffix(".json.new")
            && let Ok(lock) = Lock::take(root, key, key)
        {
            let _ = fs::remove_file(root.state("journal").join(&name));
            lock.retire();
        }
    }
    for name in root.names(root.state("lock")) {
        if let Some(key) = name.strip_suffix(".lock")
            && [TEMPORARY, SESSION].iter().any(|prefix| key.starts_with(prefix))
            && !path(root, key).exists()
            && let Ok(lock) = Lock::take(root, key, key)
            && !path(root, key).exists()
        {
            lock.retire();
        }
    }
}

fn new_path(path: &Path) -> PathBuf {
    path.with_extension("json.new")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_plain_file_name_and_different_for_different_identities() {
        assert_eq!(key("wwid naa.5000/1"), "wwid%20naa.5000%2F1");
        assert_ne!(key("a b"), key("a_b"));
    }

    #[test]
    fn an_entry_is_read_as_it_was_written_and_is_gone_when_removed() {
        let (_dir, root) = machine();
        let entry = Entry::new(&root, Undo::LoopFile { file: "/var/tmp/x".into() }).expect("a boot id");
        write(&root, "k", &entry).expect("a writable state directory");
        assert_eq!(read(&root, "k").expect("readable"), Some(entry));
        assert_eq!(keys(&root).expect("readable"), ["k"]);
        remove(&root, "k").expect("removable");
        assert_eq!(read(&root, "k").expect("absent is no error"), None);
    }

    #[test]
    fn an_entry_of_another_version_or_a_cut_one_is_refused_with_its_path() {
        let (_dir, root) = machine();
        fs::create_dir_all(root.state("journal")).expect("a state directory");
        for text in [
            "",
            "{\"schema\":",
            "{\"schema\":2,\"boot_id\":\"b\",\"pid\":1,\"undo\":{\"what\":\"loop-file\",\"file\":\"/x\"}}",
        ] {
            fs::write(path(&root, "k"), text).expect("writable");
            let error = read(&root, "k").unwrap_err().to_string();
            assert!(error.contains("k.json"), "{error}");
        }
    }

    #[test]
    fn a_lock_has_one_owner_and_names_it() {
        let (_dir, root) = machine();
        let lock = Lock::take(&root, "k", "/dev/x").expect("free");
        let busy = Lock::take(&root, "k", "/dev/x").unwrap_err();
        assert!(matches!(busy, Error::Busy { pid_of_other: Some(pid), .. } if pid == std::process::id()), "{busy}");
        drop(lock);
        Lock::take(&root, "k", "/dev/x").expect("free again");
    }

    #[test]
    fn a_lock_that_a_dead_owners_child_still_has_for_a_moment_is_waited_for() {
        let (_dir, root) = machine();
        let lock = Lock::take(&root, "k", "/dev/x").expect("free");
        let dead = u32::MAX;
        fs::write(root.state("lock").join("k.lock"), dead.to_string()).expect("writable");
        let child = thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            drop(lock);
        });
        Lock::take(&root, "k", "/dev/x").expect("free as soon as the child has become another program");
        child.join().expect("it ends");
    }

    fn machine() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Root::at(dir.path());
        fs::create_dir_all(root.proc(std::process::id().to_string())).expect("fake proc");
        fs::create_dir_all(root.proc("sys/kernel/random")).expect("fake proc");
        fs::write(root.proc("sys/kernel/random/boot_id"), "boot-1\n").expect("fake boot id");
        (dir, root)
    }
}
