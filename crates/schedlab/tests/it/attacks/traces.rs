//! Traces: where root writes them, process names in them, and corrupted files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use testbed::{Loop, require};

use crate::attacks::attacker;
use crate::common::{Lab, Ran, binary};

/// Killed when dropped.
struct Readers(Vec<Child>);

impl Readers {
    fn of(lab: &Lab, names: &[&str], device: &str) -> Readers {
        let start = |name: &&str| {
            let program = lab.path(name);
            testbed::copy_program("/bin/dd", &program);
            let script = "while :; do \"$0\" if=$1 of=/dev/null bs=8k count=200 iflag=direct status=none; done";
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", script]).arg(&program).arg(device).stdin(Stdio::null());
            shell.spawn().expect("a shell")
        };
        Readers(names.iter().map(start).collect())
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_trace_follows_no_link_and_is_not_made_where_another_user_may_write() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 8);
    let precious = lab.path("precious");
    fs::write(&precious, "precious").unwrap();
    let sticky = attacker::shared(lab.dir.path(), "sticky", 0o1777);
    symlink(&precious, sticky.join("a.parquet")).unwrap();
    let open = attacker::shared(lab.dir.path(), "open", 0o777);
    let theirs = attacker::home(lab.dir.path(), "theirs");
    for dir in [&sticky, &open, &theirs] {
        let out = dir.join("a.parquet");
        let ran =
            lab.run(&format!("trace record {} --for 200ms --out {}", device.name, out.display()));
        ran.expect_status(1).says(&[dir.file_name().unwrap().to_str().unwrap()]);
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
        assert!(dir == &sticky || !out.exists());
    }
    for words in [
        "trace profile F --html",
        "trace convert F --to",
        "trace synthesize F --device hp97560 --out",
        "fit F --out",
    ] {
        let file = trial(&lab);
        let name = match words {
            words if words.starts_with("trace profile") => "p.html",
            words if words.starts_with("trace convert") => "p.parquet",
            _ => "p.toml",
        };
        let _ = fs::remove_file(open.join(name));
        symlink(&precious, open.join(name)).unwrap();
        let words = words.replace('F', &file.display().to_string());
        let ran = lab.run(&format!("{words} {}", open.join(name).display()));
        assert_eq!(fs::read_to_string(&precious).unwrap(), "precious", "{words}: {ran:?}");
    }
}

fn trial(lab: &Lab) -> PathBuf {
    let traces = lab.path("t/traces");
    if !traces.exists() {
        lab.run(&format!(
            "compare --arena sim --device sata-ssd:capacity_mib=64 --schedulers none,bfq --workload oltp:clients=4 --rounds 1 \
             --figures-only --trial-time 1s --trace csv --quiet --out {}",
            lab.path("t").display()
        ))
        .expect_measured();
    }
    let mut files = fs::read_dir(traces).unwrap().flatten().map(|entry| entry.path());
    files
        .find(|path| path.to_str().unwrap().ends_with("-none.csv"))
        .expect("a trace of the variant none")
}

#[test]
fn the_name_of_a_process_cannot_steer_a_terminal_and_is_no_markup_in_a_page() {
    if !attacker::can_attack(&[]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 8);
    // Fifteen bytes, any but 0.
    let names = ["\u{1b}]0;owned\u{7}", "<img src=x>&\"'", "a\n8,0 x]\n- b|"];
    let readers = Readers::of(&lab, &names, &device.path);
    let (file, page) = (lab.path("a.parquet"), lab.path("a.html"));
    lab.run(&format!("trace record {} --for 2s --out {} --quiet", device.name, file.display()))
        .expect_status(0);
    drop(readers);
    let ran = lab
        .run(&format!("trace profile {} --top 1000 --html {}", file.display(), page.display()))
        .expect_status(0);
    let steers = |text: &str| text.contains(|c: char| c.is_control() && c != '\n' && c != '\t');
    assert!(!steers(&ran.stdout) && !steers(&ran.stderr), "{ran:?}");
    assert!(
        ran.stdout.contains(" ]0;owned "),
        "the name is shown, without what steers: {}",
        ran.stdout
    );
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.contains("&lt;img src=x&gt;") && !html.contains("<img"), "{html}");
    assert!(!html.contains('\u{1b}') && !html.contains('\u{7}'), "{html}");
    let text = lab.path("a.blkparse");
    lab.run(&format!("trace convert {} --to {}", file.display(), text.display())).expect_status(0);
    let text = fs::read_to_string(text).unwrap();
    assert!(
        !text.lines().any(|line| line.starts_with("8,0 x]") || line.starts_with("- b|"))
            && !steers(&text)
    );
    let plan = lab.path("w.toml");
    let made =
        format!("trace synthesize {} --device hp97560 --out {}", file.display(), plan.display());
    let ran = lab.run(&made).expect_status(0);
    assert!(!steers(&ran.stdout) && !steers(&fs::read_to_string(&plan).unwrap()), "{ran:?}");
    lab.run(&format!("run {} --dry-run", plan.display())).expect_status(0);
}

/// Hostile input must be refused, not end in a signal.
fn bounded(lab: &Lab, words: &str) -> Ran {
    let mut command = Command::new("prlimit");
    command
        .args(["--as=1500000000", "timeout", "--kill-after=1", "300"])
        .arg(binary())
        .args(words.split_whitespace());
    command.env("SCHEDLAB_STATE_DIR", lab.state()).stdin(Stdio::null());
    Ran::from(command.output().expect("prlimit and timeout run"))
}

fn changed(file: &Path, to: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(file).expect("a trace");
    change(&mut bytes);
    fs::write(to, bytes).expect("room");
}

#[test]
fn a_trace_that_is_damaged_anywhere_ends_in_a_result_or_a_refusal() {
    if !require(&["root", "prlimit", "timeout"]) {
        return;
    }
    let lab = Lab::new();
    let (whole, bad) = (lab.path("whole.parquet"), lab.path("bad.parquet"));
    lab.run(&format!("trace convert {} --to {}", trial(&lab).display(), whole.display()))
        .expect_status(0);
    let size = fs::metadata(&whole).unwrap().len() as usize;
    let commands = [
        "trace profile B --json",
        "fit B",
        "trace synthesize B --device hp97560 --json",
        "trace convert B",
    ];
    for step in 0..24 {
        let at = match step {
            0..12 => size * step / 12,
            _ => size - 1 - (step - 12) * 37 % size.min(2000),
        };
        changed(&whole, &bad, |bytes| match step % 3 {
            0 => bytes[at] ^= 0xff,
            1 => bytes[at] = bytes[at].wrapping_add(1),
            _ => bytes.truncate(at.max(5)),
        });
        let words = commands[step % commands.len()].replace('B', &bad.display().to_string());
        let ran = bounded(&lab, &words);
        assert!(matches!(ran.status, Some(0..=2)), "{words}, byte {at}: {ran:?}");
        assert!(!ran.stderr.contains("panicked"), "{words}, byte {at}: {}", ran.stderr);
    }
    // An endless line.
    fs::write(&bad, vec![b'8'; 100 << 20]).unwrap();
    for words in commands {
        let ran = bounded(&lab, &words.replace('B', &bad.display().to_string())).expect_status(1);
        assert!(ran.stderr.contains("bad.parquet"), "{}", ran.stderr);
    }
}

#[test]
fn the_advice_of_a_live_disk_leaves_no_process_behind_when_it_is_ended() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 8);
    let out = lab.path("advice");
    let mut child = lab.start(&format!("advise {} --for 1h --out {}", device.path, out.display()));
    testbed::eventually("the trace is on its way", || out.join("trace.parquet").exists());
    let mut children = String::new();
    testbed::eventually("the trace is made by a process of its own", || {
        children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id()))
            .unwrap_or_default();
        !children.is_empty()
    });
    assert!(
        Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success()
    );
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(143));
    for pid in children.split_whitespace() {
        assert!(!Path::new(&format!("/proc/{pid}")).exists(), "{pid} goes on");
    }
}
