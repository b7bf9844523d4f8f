//! Requirements of a test. If one is missing, the test is skipped with a message; under
//! `SCHEDLAB_MUST_RUN_ALL=1` it fails instead.

use std::path::{Path, PathBuf};

/// Whether the test can run. `needs` lists programs, and `root`; missing ones are printed.
///
/// # Panics
/// If one is missing and `SCHEDLAB_MUST_RUN_ALL` is set.
#[must_use]
#[track_caller]
pub fn require(needs: &[&str]) -> bool {
    let has = |need: &&str| if *need == "root" { is_root() } else { tool(need).is_some() };
    let missing: Vec<&str> = needs.iter().copied().filter(|need| !has(need)).collect();
    if !missing.is_empty() {
        skip(&format!("{} needed (scripts/need test)", missing.join(", ")));
    }
    missing.is_empty()
}

/// Prints that a test is skipped.
///
/// # Panics
/// If `SCHEDLAB_MUST_RUN_ALL` is set.
#[track_caller]
pub fn skip(reason: &str) {
    assert!(
        std::env::var_os("SCHEDLAB_MUST_RUN_ALL").is_none(),
        "SCHEDLAB_MUST_RUN_ALL is set, but: {reason}"
    );
    eprintln!("SKIPPED: {reason}");
}

#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Looks in `PATH`, the directories of root's programs, and PostgreSQL's directories.
#[must_use]
pub fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let postgresql = versions.map(|version| version.path().join("bin"));
    let root = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let directories = std::env::split_paths(&path).chain(root).chain(postgresql);
    directories.map(|directory| directory.join(name)).find(|file| Path::is_file(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_and_a_made_up_one_is_not() {
        assert!(tool("sh").is_some());
        assert!(tool("no-such-program-anywhere").is_none());
    }
}
