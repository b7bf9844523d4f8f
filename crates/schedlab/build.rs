//! Names the source of this build: the commit, and a hash of the source where that is not exactly
//! the commit's (docs/decisions/0036-builds.md). Also run for the Python package, so that both have
//! one identity.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Build inputs below the workspace; tests are left out.
const SOURCES: [&str; 5] = ["Cargo.toml", "Cargo.lock", "crates", "kernel", "python/src"];
const NOT_BUILT: [&str; 3] = ["tests", "benches", "snapshots"];

fn main() {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = package.ancestors().find(|dir| dir.join("Cargo.lock").exists()).unwrap_or(&package);
    let mut files = Vec::new();
    SOURCES.iter().for_each(|name| collect(&root.join(name), &mut files));
    files.sort();
    files.iter().for_each(|path| rerun_if_changed(path));
    // What becomes part of the program is listed when `guest` is built.
    rerun_if_changed(&root.join("kernel"));
    let git = Git { root };
    // At a commit the reflog grows, HEAD itself need not change. A file that is missing would run
    // this script every time.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git.run(&["rev-parse", "--git-path", name]).map(|path| root.join(path));
        path.filter(|path| path.exists()).iter().for_each(|path| rerun_if_changed(path));
    }
    println!("cargo::rustc-env=SCHEDLAB_SOURCE={}", describe(&git, || hash(root, &files)));
}

fn describe(git: &Git<'_>, hash: impl Fn() -> String) -> String {
    // No tags, of which a clone may have others, and a fixed length, which otherwise depends on the
    // number of objects.
    let commit = git.run(&["describe", "--always", "--exclude=*", "--abbrev=12"]);
    // In a subdirectory of a repository, the repository is another project's.
    let is_top = git.run(&["rev-parse", "--show-prefix"]).is_some_and(|prefix| prefix.is_empty());
    match commit.filter(|_| is_top) {
        Some(commit) if git.is_clean() => commit,
        Some(commit) => format!("{commit}-dirty.{}", hash()),
        None => {
            format!("{}-unknown.{}", env::var("CARGO_PKG_VERSION").expect("cargo sets it"), hash())
        }
    }
}

/// The files below a path.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if NOT_BUILT.contains(&name.as_ref()) || name.starts_with('.') {
        return;
    }
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().for_each(|entry| collect(&entry.path(), files)),
        Err(_) => files.push(path.to_owned()),
    }
}

fn rerun_if_changed(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

/// FNV-1a of 64 bits over names and contents: against accidents, in one hundredth of a second and
/// without a dependency.
fn hash(root: &Path, files: &[PathBuf]) -> String {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(file).to_string_lossy();
        let content = fs::read(file).unwrap_or_default();
        for byte in name.bytes().chain([0]).chain(content).chain([0]) {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    format!("{sum:016x}")
}

struct Git<'a> {
    root: &'a Path,
}

impl Git<'_> {
    /// The output of git without its end of line; none without git, or outside of a repository.
    fn run(&self, args: &[&str]) -> Option<String> {
        // Without locks git writes nothing.
        let output = Command::new("git")
            .arg("-C")
            .arg(self.root)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .args(args)
            .output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim_end().to_owned())
    }

    /// Whether what is built is what was committed.
    fn is_clean(&self) -> bool {
        let excluded = NOT_BUILT.map(|name| format!(":(exclude,glob)**/{name}/**"));
        let mut args = vec!["status", "--porcelain", "--"];
        args.extend(SOURCES);
        args.extend(excluded.iter().map(String::as_str));
        self.run(&args).is_some_and(|changed| changed.is_empty())
    }
}
