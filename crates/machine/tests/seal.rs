//! Restrictions on real processes.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output};

use machine::confine::{Landlock, Limits, Seal, landlock_abi};

const LIMITS: Limits = Limits { file_bytes: 1 << 20, descriptors: 64 };

/// The shell script can write to `allowed` only.
fn sealed(script: &str, dir: &Path, allowed: &Path) -> Output {
    let landlock = Landlock::read_all_write_only(&[allowed]).unwrap();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script]).current_dir(dir);
    Seal::new(landlock, LIMITS).unwrap().apply_to(&mut shell);
    shell.output().unwrap()
}

fn lab() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let allowed = dir.path().join("allowed");
    fs::create_dir(&allowed).unwrap();
    fs::write(dir.path().join("victim"), "as it was").unwrap();
    (dir, allowed)
}

#[test]
fn only_the_named_directory_can_be_written_and_everything_be_read() {
    if landlock_abi() == 0 {
        eprintln!("SKIPPED: this test needs Landlock");
        return;
    }
    let (dir, allowed) = lab();
    let script = "cat victim; echo new > allowed/new && echo made; echo other > victim; echo x > beside; rm victim; mkfifo allowed/f; true";
    let said = sealed(script, dir.path(), &allowed);
    assert_eq!(String::from_utf8_lossy(&said.stdout), "as it wasmade\n", "{said:?}");
    assert_eq!(fs::read_to_string(dir.path().join("victim")).unwrap(), "as it was");
    assert_eq!(fs::read_to_string(allowed.join("new")).unwrap(), "new\n");
    assert!(!dir.path().join("beside").exists() && !allowed.join("f").exists());
}

#[test]
fn where_names_may_be_removed_nothing_is_written() {
    if landlock_abi() == 0 {
        eprintln!("SKIPPED: this test needs Landlock");
        return;
    }
    let (dir, removals) = lab();
    fs::write(removals.join("old"), "").unwrap();
    fs::create_dir(removals.join("directory")).unwrap();
    fs::write(removals.join("entry"), "as it was").unwrap();
    let nowhere: &[&Path] = &[];
    let landlock =
        Landlock::read_all_write_only_and_remove(nowhere, std::slice::from_ref(&removals)).unwrap();
    let victim = dir.path().join("victim");
    // Affects only this thread.
    let inside = std::thread::spawn(move || {
        landlock.restrict().unwrap();
        let removed = fs::remove_file(removals.join("old")).is_ok()
            && fs::remove_dir(removals.join("directory")).is_ok();
        let written = fs::write(removals.join("new"), "").is_ok()
            || fs::write(removals.join("entry"), "x").is_ok();
        (
            removed,
            written || fs::create_dir(removals.join("made")).is_ok(),
            fs::remove_file(victim).is_ok(),
        )
    });
    assert_eq!(inside.join().unwrap(), (true, false, false));
}

#[test]
fn tcp_is_closed_unless_connections_are_asked_for_and_listening_always() {
    // TCP is in the fourth version.
    if landlock_abi() < 4 {
        eprintln!("SKIPPED: this test needs Landlock 4");
        return;
    }
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let nowhere: &[&Path] = &[];
    let cases = [
        (Landlock::read_all_write_only(nowhere), false),
        (Landlock::read_all_write_only_and_connect(nowhere), true),
    ];
    for (landlock, connects) in cases {
        let landlock = landlock.unwrap();
        // Affects only this thread.
        let inside = std::thread::spawn(move || {
            landlock.restrict().unwrap();
            let writes = fs::write(std::env::temp_dir().join("no-such-name"), "").is_ok();
            (TcpStream::connect(address).is_ok(), TcpListener::bind("127.0.0.1:0").is_ok(), writes)
        });
        assert_eq!(inside.join().unwrap(), (connects, false, false));
    }
}

#[test]
fn what_landlock_leaves_open_of_files_is_forbidden_as_a_system_call() {
    let (dir, allowed) = lab();
    let before = fs::metadata(dir.path().join("victim")).unwrap();
    let said = sealed(
        "chmod 4777 victim; chown 1 victim; touch -d 2001-01-01 victim; true",
        dir.path(),
        &allowed,
    );
    let after = fs::metadata(dir.path().join("victim")).unwrap();
    assert_eq!(
        (after.mode(), after.uid(), after.mtime()),
        (before.mode(), before.uid(), before.mtime())
    );
    assert_eq!(String::from_utf8_lossy(&said.stderr).lines().count(), 3, "{said:?}");
}

#[test]
fn a_sealed_process_has_no_capabilities_cannot_gain_any_and_keeps_to_its_limits() {
    let (dir, allowed) = lab();
    let said = sealed(
        "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; head -c 2M /dev/zero > allowed/large",
        dir.path(),
        &allowed,
    );
    let text = String::from_utf8_lossy(&said.stdout);
    let value = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("missing").trim().to_owned()
    };
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        assert_eq!(value(set), "0000000000000000", "{set}");
    }
    if rustix::process::geteuid().is_root() {
        assert_eq!(value("CapBnd:"), "0000000000000000");
    }
    assert_eq!((value("NoNewPrivs:"), value("Seccomp:")), ("1".to_owned(), "2".to_owned()));
    assert!(fs::metadata(allowed.join("large")).unwrap().len() <= 1 << 20);
}

#[test]
fn a_signal_does_not_reach_a_process_outside() {
    if landlock_abi() < 6 {
        eprintln!("SKIPPED: this test needs Landlock 6");
        return;
    }
    let (dir, allowed) = lab();
    let mut victim = Command::new("sleep").arg("60").spawn().unwrap();
    let said = sealed(&format!("kill -9 {}", victim.id()), dir.path(), &allowed);
    let alive = victim.try_wait().unwrap().is_none();
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(alive && !said.status.success(), "{said:?}");
}
