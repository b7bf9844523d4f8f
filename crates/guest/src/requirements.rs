//! Tools that a build needs, and their packages.

use std::path::{Path, PathBuf};

use machine::files::programs;

use crate::Error;

/// With their Debian packages.
const ALWAYS: [(&str, &str); 7] = [
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("make", "make"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("xz", "xz-utils"),
];

/// User-mode Linux is linked with the C library.
const HEADERS: [&str; 2] = ["/usr/include/stdio.h", "/usr/include/x86_64-linux-musl/stdio.h"];

pub(crate) fn check(patched: bool) -> Result<(), Error> {
    if !cfg!(target_arch = "x86_64") {
        return Err(Error::Machine { arch: std::env::consts::ARCH });
    }
    let dirs = programs::directories();
    let headers = HEADERS.iter().any(|header| Path::new(header).is_file());
    match missing(&dirs, patched, headers) {
        packages if packages.is_empty() => Ok(()),
        packages => Err(Error::Tools { packages }),
    }
}

fn missing(dirs: &[PathBuf], patched: bool, headers: bool) -> Vec<&'static str> {
    let there = |command: &str| dirs.iter().any(|dir| dir.join(command).is_file());
    let patch = patched.then_some(("patch", "patch"));
    let mut packages: Vec<&str> = ALWAYS
        .into_iter()
        .chain(patch)
        .filter(|(command, _)| !there(command))
        .map(|(_, package)| package)
        .collect();
    if !headers {
        packages.push("libc6-dev");
    }
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_by_its_package() {
        let dir = tempfile::tempdir().unwrap();
        let bare = [dir.path().to_owned()];
        assert_eq!(
            missing(&bare, true, false),
            ["gcc", "binutils", "make", "flex", "bison", "bc", "xz-utils", "patch", "libc6-dev"]
        );
        for (command, _) in ALWAYS.into_iter().filter(|(command, _)| *command != "flex") {
            std::fs::write(dir.path().join(command), "").unwrap();
        }
        assert_eq!(
            missing(&bare, false, true),
            ["flex"],
            "patch is asked for only where there are patches"
        );
    }
}
