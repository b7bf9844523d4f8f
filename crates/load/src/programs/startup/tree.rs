//! A root directory for a program, its libraries by ldd, and other files.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use machine::session::Launch;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use crate::programs::cache;
use crate::programs::error::RunnerError;
use crate::programs::kind::Bench;

const TIMEOUT: Duration = Duration::from_secs(120);

/// Files per call of ldd.
const AT_A_TIME: usize = 200;

/// Device nodes with their numbers.
const NODES: [(&str, u32, u32); 4] =
    [("null", 1, 3), ("zero", 1, 5), ("random", 1, 8), ("urandom", 1, 9)];

/// In Python's library directory, but not part of the library.
pub(super) const NO_LIBRARY: &[&str] =
    &["site-packages", "dist-packages", "test", "tests", "idlelib", "ensurepip"];

#[derive(Debug)]
pub(super) struct Tree {
    pub(super) root: PathBuf,
    /// The path inside of the tree.
    pub(super) program: PathBuf,
    pub(super) files: Vec<PathBuf>,
    pub(super) bytes: u64,
}

impl Tree {
    /// Copies everything to a new directory, without names in `leave_out`.
    ///
    /// # Errors
    /// A file that cannot be copied, e.g. because the disk is full; a missing library.
    pub(super) fn make(
        bench: &Bench<'_>,
        root: &Path,
        program: &Path,
        copy: &[PathBuf],
        leave_out: &[&str],
    ) -> Result<Tree, RunnerError> {
        make_directories(&root.join("dev")).map_err(RunnerError::file("create", root))?;
        for (name, major, minor) in NODES {
            let node = root.join("dev").join(name);
            mknodat(
                CWD,
                &node,
                FileType::CharacterDevice,
                Mode::from_raw_mode(0o666),
                makedev(major, minor),
            )
            .map_err(std::io::Error::from)
            .and_then(|()| fs::set_permissions(&node, fs::Permissions::from_mode(0o666)))
            .map_err(RunnerError::file("make", &node))?;
        }
        make_directories(&root.join("tmp")).map_err(RunnerError::file("create", root))?;
        // A link to the original name works as outside.
        copy_file(program, root)?;
        for path in copy {
            copy_all(path, root, leave_out)?;
        }
        let objects = std::iter::once(program.to_path_buf())
            .chain(cache::files_below(root)?.into_iter().filter(|path| is_object(path)));
        let objects: Vec<PathBuf> = objects.collect();
        for library in libraries(bench, &objects)? {
            if !inside(&library, root).exists() {
                copy_file(&library, root)?;
            }
        }
        let files: Vec<PathBuf> = cache::files_below(root)?;
        let bytes = files
            .iter()
            .filter_map(|file| file.metadata().ok())
            .map(|metadata| metadata.len())
            .sum();
        Ok(Tree { root: root.to_path_buf(), program: program.to_path_buf(), files, bytes })
    }
}

pub(super) fn python_library(bench: &Bench<'_>, python: &Path) -> Result<PathBuf, RunnerError> {
    let ask = "import sysconfig; print(sysconfig.get_path('stdlib'))";
    let args = ["-c", ask].map(OsString::from).to_vec();
    let launch =
        Launch { program: python.to_path_buf(), args, dir: "/".into(), ..Launch::default() };
    let ended = bench.run(&launch, TIMEOUT)?;
    match ended.stdout.trim() {
        "" => Err(RunnerError::Unreadable {
            program: python.display().to_string(),
            missing: "directory of its library".into(),
            tail: crate::programs::error::tail(&ended),
        }),
        path => Ok(PathBuf::from(path)),
    }
}

fn is_object(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.ends_with(".so") || name.contains(".so."))
}

fn inside(path: &Path, root: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Creates what is missing of a directory's path, open to the program's user with any umask of root.
fn make_directories(path: &Path) -> std::io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    path.parent().map_or(Ok(()), make_directories)?;
    fs::create_dir(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Creates parents. A link copied earlier must not lead out of the tree.
fn place(path: &Path, root: &Path) -> Result<PathBuf, RunnerError> {
    let to = inside(path, root);
    let below = to.strip_prefix(root).unwrap_or(&to);
    let mut above = root.to_path_buf();
    for part in below.components() {
        above.push(part);
        if above.is_symlink() {
            let cause = std::io::Error::other(format!(
                "{} is already a link; copy its target",
                above.display()
            ));
            return Err(RunnerError::file("copy to the device", path)(cause));
        }
    }
    let parent = to.parent().unwrap_or(root);
    make_directories(parent).map_err(RunnerError::file("create", parent))?;
    Ok(to)
}

/// Copies a path's target under the original path.
fn copy_file(path: &Path, root: &Path) -> Result<(), RunnerError> {
    let to = place(path, root)?;
    fs::copy(path, &to).map(drop).map_err(RunnerError::file("copy to the device", path))
}

fn copy_all(path: &Path, root: &Path, leave_out: &[&str]) -> Result<(), RunnerError> {
    let failed = |cause| RunnerError::file("copy to the device", path)(cause);
    let kind = fs::symlink_metadata(path).map_err(failed)?.file_type();
    if kind.is_symlink() {
        let target = fs::read_link(path).map_err(failed)?;
        symlink(target, place(path, root)?).map_err(failed)
    } else if kind.is_dir() {
        let entries =
            fs::read_dir(path).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(failed)?;
        make_directories(&place(path, root)?).map_err(failed)?;
        entries
            .iter()
            .filter(|entry| leave_out.iter().all(|name| entry.file_name() != *name))
            .try_for_each(|entry| copy_all(&entry.path(), root, leave_out))
    } else if kind.is_file() {
        copy_file(path, root)
    } else {
        Ok(())
    }
}

/// Libraries including the loader.
fn libraries(bench: &Bench<'_>, objects: &[PathBuf]) -> Result<BTreeSet<PathBuf>, RunnerError> {
    let ldd = bench.program("ldd", "libc-bin")?;
    let mut found = BTreeSet::new();
    for some in objects.chunks(AT_A_TIME) {
        let args = some.iter().map(OsString::from).collect();
        let launch = Launch {
            program: ldd.clone(),
            args,
            dir: "/".into(),
            user: bench.session.user(),
            ..Launch::default()
        };
        // Status 1 for a statically linked one is no error.
        let ended = bench.session.start(&launch)?.wait(TIMEOUT, bench.stop)?;
        if ended.stopped {
            return Err(RunnerError::Interrupted);
        }
        found.extend(ended.stdout.lines().filter_map(library));
    }
    Ok(found)
}

/// `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…)`, or `/lib64/ld-linux-x86-64.so.2 (0x…)`.
fn library(line: &str) -> Option<PathBuf> {
    let line = line.split_once("=>").map_or(line, |(_, path)| path).trim();
    let (path, address) = line.rsplit_once(" (")?;
    (path.starts_with('/') && address.starts_with("0x")).then(|| PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_link_leads_no_later_file_out_of_the_tree() {
        let dir = tempfile::tempdir().unwrap();
        let [source, root, victim] = ["source", "root", "victim"].map(|name| dir.path().join(name));
        [&source, &root, &victim].into_iter().for_each(|dir| fs::create_dir(dir).unwrap());
        fs::write(victim.join("file"), "theirs").unwrap();
        symlink(&victim, source.join("link")).unwrap();
        copy_all(&source.join("link"), &root, &[]).unwrap();
        fs::remove_file(source.join("link")).unwrap();
        fs::create_dir(source.join("link")).unwrap();
        fs::write(source.join("link/file"), "planted").unwrap();
        let error = copy_all(&source.join("link/file"), &root, &[]).unwrap_err().to_string();
        assert!(error.contains("is already a link"), "{error}");
        assert_eq!(fs::read_to_string(victim.join("file")).unwrap(), "theirs");
    }

    #[test]
    fn libraries_are_read_off_what_ldd_prints() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(
            library("\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f)"),
            path("/lib/x86_64-linux-gnu/libz.so.1")
        );
        assert_eq!(
            library("\t/lib64/ld-linux-x86-64.so.2 (0x00007f)"),
            path("/lib64/ld-linux-x86-64.so.2")
        );
        for other in [
            "\tlinux-vdso.so.1 (0x00007ffc)",
            "/usr/bin/python3:",
            "\tstatically linked",
            "\tlibgone.so => not found",
        ] {
            assert_eq!(library(other), None, "{other}");
        }
    }
}
