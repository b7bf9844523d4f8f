//! The part of a kernel tree that User-mode Linux can need: no hardware drivers, other
//! architectures, documentation or network.
//!
//! The whole tree has 1.3 GB and 80,000 files, which would dominate unpacking and copying; one
//! fifth remains. The configuration reads all `Kconfig` files and makefiles. Omitted files that a
//! patch changes are added later.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use machine::files::programs;
use sha2::{Digest, Sha256};
use text::hex;

use crate::source::check_age;
use crate::{Error, Progress};

const WHOLE: [&str; 14] = [
    "block", "certs", "crypto", "include", "init", "io_uring", "ipc", "kernel", "lib", "mm",
    "scripts", "security", "usr", "virt",
];
/// Needed parts of other top-level directories.
const PARTS: [(&str, &[&str]); 4] = [
    ("arch", &["um", "x86"]),
    ("drivers", &["base", "block", "char", "clocksource", "of", "pci", "tty", "virtio"]),
    (
        "fs",
        &[
            "autofs", "configfs", "crypto", "debugfs", "devpts", "exportfs", "ext4", "hostfs",
            "iomap", "jbd2", "kernfs", "nls", "notify", "proc", "quota", "ramfs", "resctrl",
            "sysfs", "tracefs", "unicode", "verity",
        ],
    ),
    ("tools", &["arch", "build", "include", "lib", "scripts"]),
];
/// Must not be copied from a user's directory.
const RESULTS: [&str; 9] = ["o", "a", "ko", "cmd", "order", "mod", "symvers", "so", "dbg"];

/// `path` is relative to the tree.
pub(crate) fn wanted(path: &Path) -> bool {
    let parts: Vec<&str> = path.components().filter_map(|part| part.as_os_str().to_str()).collect();
    let (Some(top), Some(file)) = (parts.first(), parts.last()) else { return false };
    let inside = match PARTS.iter().find(|(name, _)| name == top) {
        Some((_, kept)) if parts.len() > 2 => kept.contains(&parts[1]),
        Some((name, _)) => *name != "tools" || parts.len() == 2,
        None => parts.len() == 1 || WHOLE.contains(top),
    };
    inside
        || file.starts_with("Kconfig")
        || (is_makefile(file) && !["Documentation", "tools"].contains(top))
}

fn is_makefile(name: &str) -> bool {
    name.starts_with("Makefile") || name.starts_with("Kbuild")
}

fn is_result(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
    let extension = path.extension().and_then(|extension| extension.to_str());
    let generated = path.components().any(|part| part == Component::Normal("generated".as_ref()));
    generated
        || path.starts_with("include/config")
        || name.starts_with('.')
        || extension.is_some_and(|extension| RESULTS.contains(&extension))
        || ["vmlinux", "linux", "System.map"].iter().any(|result| path == Path::new(result))
}

/// A `.tar.xz` with one top-level directory.
pub(crate) fn unpack(
    from: &Path,
    to: &Path,
    wanted: &dyn Fn(&Path) -> bool,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
) -> Result<u64, Error> {
    let mut xz = programs::helper("xz")
        .args(["-T0", "-dc", "--"])
        .arg(from)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|cause| Error::Command { name: "xz".to_owned(), cause })?;
    // Returning early closes the pipe, which ends xz.
    let mut out = xz.stdout.take().expect("standard output is a pipe");
    let mut outcome = unpack_stream(&mut out, from, to, wanted, progress, stop);
    // Without reading the padding, xz would fail.
    if outcome.is_ok() && io::copy(&mut out, &mut io::sink()).is_err() {
        outcome = Err(Error::Archive { path: from.to_owned() });
    }
    drop(out);
    if outcome.is_err() {
        let _ = xz.kill();
    }
    let status = xz.wait().map_err(|cause| Error::Command { name: "xz".to_owned(), cause })?;
    let count = outcome?;
    if status.success() { Ok(count) } else { Err(Error::Archive { path: from.to_owned() }) }
}

fn unpack_stream(
    from: impl Read,
    name: &Path,
    to: &Path,
    wanted: &dyn Fn(&Path) -> bool,
    progress: &mut dyn Progress,
    stop: &AtomicBool,
) -> Result<u64, Error> {
    let damaged = |_| Error::Archive { path: name.to_owned() };
    let mut archive = tar::Archive::new(BufReader::with_capacity(1 << 18, from));
    let mut count = 0;
    for (number, entry) in (1u64..).zip(archive.entries().map_err(damaged)?) {
        let mut entry = entry.map_err(damaged)?;
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        if number % 1000 == 0 {
            progress.step(number, number.max(85_000), None);
        }
        let full = entry.path().map_err(damaged)?.into_owned();
        let path: PathBuf = full.components().skip(1).collect();
        let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if entry.header().entry_type().is_dir() || !plain || !wanted(&path) {
            continue;
        }
        let target = to.join(&path);
        make_parent(&target)?;
        entry.unpack(&target).map_err(|cause| Error::io("write", &target, cause))?;
        count += 1;
    }
    Ok(count)
}

/// Copies only needed files.
pub(crate) fn copy(from: &Path, to: &Path, stop: &AtomicBool) -> Result<(), Error> {
    for path in files(from)? {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        copy_file(from, to, &path)?;
    }
    Ok(())
}

/// Preserves the modification time, to avoid compiling again.
pub(crate) fn copy_file(from: &Path, to: &Path, path: &Path) -> Result<(), Error> {
    let (source, target) = (from.join(path), to.join(path));
    make_parent(&target)?;
    let write = |cause| Error::io("write", &target, cause);
    let about = fs::symlink_metadata(&source).map_err(|cause| Error::io("read", &source, cause))?;
    if about.is_symlink() {
        let points = fs::read_link(&source).map_err(|cause| Error::io("read", &source, cause))?;
        return std::os::unix::fs::symlink(points, &target).map_err(write);
    }
    fs::copy(&source, &target).map_err(write)?;
    let changed = about.modified().map_err(|cause| Error::io("read", &source, cause))?;
    File::options().write(true).open(&target).and_then(|file| file.set_modified(changed)).or_else(
        |error| {
            // The file gets the time of the copy and is compiled again.
            if error.kind() == std::io::ErrorKind::PermissionDenied {
                Ok(())
            } else {
                Err(write(error))
            }
        },
    )
}

/// A hash of needed files' names, sizes and modification times.
pub(crate) fn state(dir: &Path) -> Result<String, Error> {
    use std::os::unix::fs::MetadataExt;
    let parts = ["Kconfig", "Makefile", "arch/um/Kconfig"];
    if let Some(missing) = parts.iter().find(|part| !dir.join(part).is_file()) {
        return Err(Error::NoTree { dir: dir.to_owned(), missing });
    }
    if let Some(found) = release_of(dir) {
        check_age(&dir.display().to_string(), found)?;
    }
    let mut hash = Sha256::new();
    for path in files(dir)? {
        let full = dir.join(&path);
        let about = fs::symlink_metadata(&full).map_err(|cause| Error::io("read", &full, cause))?;
        hash.update(path.as_os_str().as_encoded_bytes());
        hash.update(format!("\0{} {}.{}\n", about.size(), about.mtime(), about.mtime_nsec()));
    }
    Ok(hex(&hash.finalize())[..16].to_owned())
}

/// Major and minor number in the tree's makefile.
pub(crate) fn release_of(dir: &Path) -> Option<(u32, u32)> {
    let text = fs::read_to_string(dir.join("Makefile")).ok()?;
    let number = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_prefix('='));
        value?.trim().parse().ok()
    };
    Some((number("VERSION")?, number("PATCHLEVEL")?))
}

/// Needed files, without build results, in order.
fn files(top: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    let mut dirs = vec![PathBuf::new()];
    while let Some(dir) = dirs.pop() {
        let full = top.join(&dir);
        let read = |cause| Error::io("read", &full, cause);
        for entry in fs::read_dir(&full).map_err(read)? {
            let entry = entry.map_err(read)?;
            let path = dir.join(entry.file_name());
            let kind = entry.file_type().map_err(read)?;
            if kind.is_dir() {
                if entry.file_name() != ".git" {
                    dirs.push(path);
                }
            } else if wanted(&path) && !is_result(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn make_parent(path: &Path) -> Result<(), Error> {
    let parent = path.parent().expect("a file of the tree lies in a directory");
    fs::create_dir_all(parent).map_err(|cause| Error::io("create", parent, cause))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_guest_needs_stays_and_what_it_cannot_need_goes() {
        let kept = [
            "Makefile",
            "COPYING",
            "block/kyber-iosched.c",
            "arch/um/kernel/time.c",
            "arch/x86/um/ldt.c",
            "arch/Kconfig",
            "drivers/base/core.c",
            "drivers/Makefile",
            "drivers/gpu/drm/amd/display/Kconfig",
            "drivers/net/Makefile",
            "fs/ext4/inode.c",
            "fs/namei.c",
            "net/Kconfig",
            "sound/Kconfig",
            "Documentation/Kconfig",
            "include/linux/blk-mq.h",
            "arch/variant/Kconfig",
            "tools/include/linux/types.h",
            "rust/Makefile",
        ];
        for path in kept {
            assert!(wanted(Path::new(path)), "{path}");
        }
        let gone = [
            "Documentation/block/bfq-iosched.rst",
            "drivers/gpu/drm/amd/display/dc.c",
            "arch/variant/mm/fault.c",
            "net/core/dev.c",
            "fs/btrfs/inode.c",
            "sound/core/pcm.c",
            "tools/perf/perf.c",
            "samples/bpf/a.c",
            "tools/perf/Makefile",
        ];
        for path in gone {
            assert!(!wanted(Path::new(path)), "{path}");
        }
    }

    fn write(top: &Path, path: &str, text: &str) {
        let path = top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_tree_is_told_from_a_changed_one_and_a_build_in_it_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        write(top, "Kconfig", "");
        write(top, "Makefile", "");
        assert!(matches!(state(top), Err(Error::NoTree { missing: "arch/um/Kconfig", .. })));
        write(top, "arch/um/Kconfig", "");
        write(top, "block/elevator.c", "int x;");
        let first = state(top).unwrap();
        for result in [
            "block/elevator.o",
            ".config",
            "include/generated/autoconf.h",
            "block/.elevator.o.cmd",
            ".git/HEAD",
            "linux",
        ] {
            write(top, result, "built");
        }
        write(top, "drivers/gpu/x.c", "not needed");
        assert_eq!(state(top).unwrap(), first);
        write(top, "block/elevator.c", "int xy;");
        assert_ne!(state(top).unwrap(), first);
    }

    #[test]
    fn a_tree_that_is_too_old_is_refused_with_the_oldest() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["Kconfig", "arch/um/Kconfig"] {
            write(dir.path(), path, "");
        }
        let of = |version: &str| {
            write(dir.path(), "Makefile", &format!("# SPDX\n{version}\nSUBLEVEL = 7\n"));
            state(dir.path())
        };
        let error = of("VERSION = 5\nPATCHLEVEL = 15").unwrap_err().to_string();
        assert!(error.contains("Linux 5.15 is too old (expected 6.1 or later)"), "{error}");
        for version in ["VERSION = 6\nPATCHLEVEL = 1", "VERSION = 9\nPATCHLEVEL = 0", "OTHER = 1"] {
            of(version).expect(version);
        }
    }

    #[test]
    fn a_copy_keeps_times_and_leaves_out_results() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(from.path(), "block/a.c", "1");
        write(from.path(), "block/a.o", "1");
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        File::options()
            .write(true)
            .open(from.path().join("block/a.c"))
            .unwrap()
            .set_modified(old)
            .unwrap();
        std::os::unix::fs::symlink("a.c", from.path().join("block/b.c")).unwrap();
        copy(from.path(), to.path(), &AtomicBool::new(false)).unwrap();
        assert_eq!(fs::metadata(to.path().join("block/a.c")).unwrap().modified().unwrap(), old);
        assert!(fs::symlink_metadata(to.path().join("block/b.c")).unwrap().is_symlink());
        assert!(!to.path().join("block/a.o").exists());
    }
}
