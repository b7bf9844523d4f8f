//! Temporary files of unfinished writes, and their removal after a crash.
//!
//! A file is removed only if it is certainly abandoned: a regular file of this user with a name of
//! this form and no second one, no process with the number in the name, and no lock, which detects
//! processes in other containers or machines.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::files::dir::Dir;

/// Precedes process id and a number.
const NAMES: &str = ".schedlab-";

/// Unique in this process.
pub(crate) fn name() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    format!("{NAMES}{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

fn process_of(name: &str) -> Option<u32> {
    let (pid, number) = name.strip_prefix(NAMES)?.split_once('-')?;
    let (pid, number): (u32, u64) = (pid.parse().ok()?, number.parse().ok()?);
    (format!("{NAMES}{pid}-{number}") == name).then_some(pid)
}

/// Ignores failures, which are harmless.
pub(crate) fn remove_abandoned(dir: &Dir) {
    for name in dir.names().unwrap_or_default() {
        if process_of(&name).is_some_and(|pid| !is_alive(pid)) && is_abandoned(dir, &name).is_some()
        {
            let _ = dir.remove(&name);
        }
    }
}

/// True without /proc.
fn is_alive(pid: u32) -> bool {
    let proc = Path::new("/proc");
    proc.join(pid.to_string()).exists() || !proc.join("self").exists()
}

/// The locked file, if it is this user's, has one name and was not locked.
fn is_abandoned(dir: &Dir, name: &str) -> Option<File> {
    let file = dir.open_if_exists(name).ok()??;
    let about = file.metadata().ok()?;
    let is_ours = about.uid() == rustix::process::geteuid().as_raw() && about.nlink() == 1;
    (is_ours && file.try_lock().is_ok() && dir.is_same_file(name, &file)).then_some(file)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{chown, symlink};

    use super::*;

    /// Exceeds the kernel's maximum.
    const DEAD: u32 = 4_194_305;

    #[test]
    fn a_name_has_a_process_if_it_is_schedlabs() {
        assert_eq!(process_of(&name()), Some(std::process::id()));
        assert_eq!(process_of(".schedlab-7-12"), Some(7));
        for other in [
            ".schedlab-7",
            ".schedlab-07-1",
            ".schedlab-+7-1",
            ".schedlab-7-1-2",
            "schedlab-7-1",
            ".schedlab--1",
        ] {
            assert_eq!(process_of(other), None, "{other}");
        }
    }

    #[test]
    fn an_unfinished_file_is_removed_if_it_is_proven_to_be_nobodys() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let out = Dir::open(dir.path()).expect("ours");
        let put = |name: &str| {
            fs::write(out.file(name), "half").expect("writable");
            name.to_owned()
        };
        let dead = |number: u32| format!(".schedlab-{DEAD}-{number}");
        let gone = [put(&dead(0)), put(&dead(1))];
        let mut stays = vec![
            put(&format!(".schedlab-{}-1000000", std::process::id())),
            put(".schedlab-1-0"),
            put(&format!(".schedlab-{DEAD}")),
            put(&format!("schedlab-{DEAD}-0")),
            put(&format!(".schedlab-{DEAD}-0x")),
        ];
        let locked = put(&dead(2));
        let lock = File::open(out.file(&locked)).expect("readable");
        lock.try_lock().expect("free");
        fs::hard_link(out.file(&put(&dead(3))), out.file("precious")).expect("a second name");
        symlink("precious", out.file(&dead(4))).expect("a link");
        fs::create_dir(out.file(&dead(5))).expect("a directory");
        stays.extend([locked, dead(3), dead(4), dead(5), "precious".to_owned()]);
        if rustix::process::geteuid().is_root() {
            chown(out.file(&put(&dead(6))), Some(64_321), Some(64_321))
                .expect("root may give away");
            stays.push(dead(6));
        }
        out.replace("page.html", b"page").expect("writable");
        stays.push("page.html".to_owned());
        stays.sort();
        assert_eq!(out.names().expect("readable"), stays);
        assert!(gone.iter().all(|name| !stays.contains(name)));
    }
}
