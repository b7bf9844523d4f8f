//! Boots a new kernel once, with an init that prints its release and powers off.
//!
//! The kernel may be foreign. As far as this machine supports it, it can write only to its scratch
//! directory; as the user, it can do no more than the makefiles that built it. The init is compiled
//! here and uses three system calls, because a compiler is installed, while a shell or library may
//! not be.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use machine::files::programs;

use machine::confine::{Landlock, Limits, Seal};

use crate::Error;
use crate::child::Run;

const LIMITS: Limits = Limits { file_bytes: 1 << 30, descriptors: 1024 };
const INIT: &str = include_str!("init.c");
/// Precedes the release in the output.
const UP: &str = "schedlab guest is up: ";
/// Real time, for a kernel with all checks on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Maximum number of boots without output.
const ATTEMPTS: u32 = 3;

/// Returns the release. `scratch` is a temporary directory.
pub(crate) fn boot(linux: &Path, scratch: &Path, stop: &AtomicBool) -> Result<String, Error> {
    let (source, init, uml) = (scratch.join("init.c"), scratch.join("init"), scratch.join("uml"));
    fs::write(&source, INIT).map_err(|cause| Error::io("write", &source, cause))?;
    fs::create_dir_all(&uml).map_err(|cause| Error::io("create", &uml, cause))?;
    let mut gcc = programs::helper("gcc");
    gcc.args(["-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector", "-O2", "-o"])
        .arg(&init)
        .arg(&source);
    // A killed compiler leaves temporary files.
    gcc.env("TMPDIR", scratch);
    let said = Run::new(stop).quiet(gcc)?;
    if !said.status.success() {
        return Err(Error::Boot {
            linux: linux.to_owned(),
            why: format!("its init does not compile: {}", said.last_line()),
        });
    }
    let failed = |why: String| Error::Boot { linux: linux.to_owned(), why };
    let mut last_words = String::new();
    for _ in 0..ATTEMPTS {
        let guest = guest(linux, scratch, &uml, &init)?;
        let said = match Run::new(stop).at_most(LIMIT).quiet(guest) {
            Err(Error::Slow { seconds, .. }) => {
                return Err(failed(format!("it did not come up within {seconds} s")));
            }
            other => other?,
        };
        let release = said.text.lines().find_map(|line| line.trim().strip_prefix(UP));
        if let Some(release) = release {
            return Ok(release.to_owned());
        }
        last_words = format!("{}\n({})", tail(&said.text), said.status);
        if !is_silent(&said.text) {
            break;
        }
    }
    Err(failed(format!("its last words are:\n{last_words}")))
}

/// The kernel with our init.
fn guest(linux: &Path, scratch: &Path, uml: &Path, init: &Path) -> Result<Command, Error> {
    let mut guest = programs::command_with_empty_env(linux);
    guest
        .args([
            "mem=128M",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            "con=null",
            "con0=fd:0,fd:1",
            "quiet",
            "panic=-1",
        ])
        .args([
            "time-travel=inf-cpu",
            &format!("uml_dir={}", uml.display()),
            &format!("init={}", init.display()),
        ]);
    guest.env("TMPDIR", scratch);
    let confined = |error: machine::confine::Error| Error::Boot {
        linux: linux.to_owned(),
        why: error.to_string(),
    };
    let landlock =
        Landlock::read_all_write_only(&[scratch, Path::new("/dev/null")]).map_err(confined)?;
    Seal::new(landlock, LIMITS).map_err(confined)?.apply_to(&mut guest);
    Ok(guest)
}

/// Whether the kernel printed nothing. On a busy machine, User-mode Linux occasionally exits before
/// its first line, for an unknown reason, and boots at the next attempt. A panicking kernel prints
/// it.
fn is_silent(text: &str) -> bool {
    text.lines().all(|line| line.trim().is_empty() || line.starts_with("Warning: tempdir "))
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(10)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_said_anything_is_not_booted_again() {
        assert!(is_silent("") && is_silent("Warning: tempdir /x is not on tmpfs\n\n"));
        assert!(!is_silent(
            "Warning: tempdir /x is not on tmpfs\nKernel panic - not syncing: no init\n"
        ));
    }
}
