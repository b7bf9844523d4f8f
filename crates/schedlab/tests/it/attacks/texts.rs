//! Foreign text that controls a terminal, is evaluated by a spreadsheet, becomes markup, or adds a
//! line to a unit.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testbed::Loop;

use crate::attacks::attacker::{self, can_attack};
use crate::common::{KERNEL, KERNEL_VARIABLE, Lab, Ran, binary, kernel_cache};

/// Sets the window title; similar sequences hide text or inject input.
const TITLE: &str = "\u{1b}]0;owned\u{7}";
/// Right-to-left override.
const OVERRIDE: char = '\u{202e}';

/// Also fails on empty output.
#[track_caller]
fn assert_shown(ran: &Ran) {
    let printed = format!("{}{}", ran.stdout, ran.stderr);
    let steers = |c: char| {
        (c.is_control() && c != '\n' && c != '\t') || ('\u{2028}'..='\u{202e}').contains(&c)
    };
    assert!(!printed.contains(steers), "{printed:?}");
    assert!(printed.contains("\\u001b]0;owned\\u0007"), "the name is shown, escaped: {printed:?}");
}

fn of_the_attacker(lab: &Lab, name: &str, content: &str) -> PathBuf {
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let home = attacker::home(lab.dir.path(), "attacker");
    let path = home.join(name);
    let mut tee = attacker::command("tee")
        .arg(&path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    tee.stdin.take().unwrap().write_all(content.as_bytes()).unwrap();
    assert!(tee.wait().unwrap().success());
    path
}

fn analyze(lab: &Lab, table: &Path, more: &[&str]) -> Ran {
    let command = &mut lab.command("analyze");
    Ran::from(
        command
            .arg(table)
            .args(["--variant", "variant", "--metric", "mb_s"])
            .args(more)
            .output()
            .unwrap(),
    )
}

#[test]
fn the_head_of_a_table_cannot_steer_the_terminal() {
    if !can_attack(&["tee"]) {
        return;
    }
    let lab = Lab::new();
    let table = of_the_attacker(
        &lab,
        "table.csv",
        &format!("variant,{TITLE}mb{OVERRIDE}\u{9b}2J\u{7f}\na,1\n"),
    );
    assert_shown(&analyze(&lab, &table, &[]).expect_status(2).says(&["not in the table"]));
}

#[test]
fn the_name_of_a_file_cannot_steer_the_terminal() {
    if !can_attack(&["tee"]) {
        return;
    }
    let lab = Lab::new();
    let table = of_the_attacker(&lab, &format!("{TITLE}{OVERRIDE}.csv"), "");
    assert_shown(&analyze(&lab, &table, &[]).expect_status(2).says(&["empty"]));
}

#[test]
fn names_in_json_cannot_steer_the_terminal_and_mean_the_same() {
    if !can_attack(&["tee"]) {
        return;
    }
    let lab = Lab::new();
    let name = format!("{TITLE}{OVERRIDE}\u{9b}2J\u{7f}");
    let table = of_the_attacker(
        &lab,
        "table.csv",
        &format!("variant,mb_s\na,1\n{name},2\na,1.1\n{name},2.1\n"),
    );
    let ran = analyze(&lab, &table, &["--baseline", "a", "--json"]).expect_status(0);
    assert_eq!(ran.json()["comparisons"][0]["variant"], name.as_str());
    assert_shown(&ran);
}

#[test]
fn the_list_of_kernels_cannot_steer_the_terminal() {
    if !can_attack(&[]) {
        return;
    }
    let lab = Lab::new();
    let dir = lab.path("cache/kernels/evil");
    fs::create_dir_all(dir.join("tree")).unwrap();
    for dir in ["cache", "cache/kernels", "cache/kernels/evil"] {
        fs::set_permissions(lab.path(dir), fs::Permissions::from_mode(0o700)).unwrap();
    }
    fs::write(dir.join("tree/linux"), "").unwrap();
    fs::set_permissions(dir.join("tree/linux"), fs::Permissions::from_mode(0o755)).unwrap();
    let results = serde_json::json!({
        "key": "evil", "linux": dir.join("tree/linux"), "tree": dir.join("tree"), "release": format!("6.1{TITLE}"),
        "source": "debian:6.1", "version": "1", "patches": [], "debug": false, "built": 1, "bytes": 1, "objects": 1,
        "asked": [], "recipe": "none",
    });
    fs::write(dir.join("kernel.json"), results.to_string()).unwrap();
    let ran =
        lab.command("kernel list").env("SCHEDLAB_CACHE_DIR", lab.path("cache")).output().unwrap();
    let ran = Ran::from(ran);
    assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(['\u{1b}', '\u{7}']), "{ran:?}");
}

#[test]
fn a_cell_of_csv_is_no_formula_and_numbers_stay_numbers() {
    if !can_attack(&["tee"]) {
        return;
    }
    let lab = Lab::new();
    let rows = "=cmd|' /C calc'!A0,1\n@SUM(1),2\n=cmd|' /C calc'!A0,1.1\n@SUM(1),-2.1\n";
    let table = of_the_attacker(&lab, "table.csv", &format!("variant,mb_s\n{rows}"));
    let out = lab.path("out");
    let ran = analyze(
        &lab,
        &table,
        &["--baseline", "=cmd|' /C calc'!A0", "--out", out.to_str().unwrap()],
    );
    assert!(matches!(ran.status, Some(0 | 3)), "{ran:?}");
    let csv = fs::read_to_string(lab.path("out/comparisons.csv")).unwrap();
    assert!(csv.contains(",'=cmd|' /C calc'!A0,") && csv.contains(",'@SUM(1),"), "{csv}");
    let is_formula =
        |cell: &str| cell.starts_with(['=', '@', '+', '-']) && cell.parse::<f64>().is_err();
    assert!(!csv.split([',', '\n']).any(is_formula), "{csv}");
    // Exported cells read back unchanged.
    let again = lab.path("again.csv");
    fs::write(&again, "variant,mb_s\n'=a,1\nb,2\n'=a,1.1\nb,2.1\n").unwrap();
    let ran = analyze(&lab, &again, &["--baseline", "=a", "--json"]).expect_status(0);
    assert_eq!(ran.json()["comparisons"][0]["baseline"], "=a");
}

#[test]
fn the_name_of_a_device_makes_no_line_of_its_own_in_a_unit() {
    if !can_attack(&[]) {
        return;
    }
    let lab = Lab::new();
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let device = Loop::new(&lab.dir, "image", 8);
    let home = attacker::home(lab.dir.path(), "attacker");
    // The attacker's directory, with a link to a device that root is asked to watch.
    let dir = home.join("w\n[Service]\nExecStart=");
    fs::create_dir_all(dir.join("tmp")).unwrap();
    let link = dir.join("tmp/evil #");
    symlink(&device.path, &link).unwrap();
    let mut command = lab.command("watch add --dry-run --name x --device");
    let ran = Ran::from(command.arg(&link).output().unwrap());
    let starts = |line: &&str| line.starts_with("ExecStart=");
    let evil: Vec<&str> =
        ran.stdout.lines().filter(starts).filter(|line| !line.contains("watch run x")).collect();
    assert!(evil.is_empty(), "{evil:?}");
    ran.expect_status(2).says(&["invalid in a systemd unit", "rename the file or device"]);
}

#[test]
fn a_name_that_a_shell_made_an_argument_of_cannot_steer_the_terminal() {
    if !can_attack(&["script"]) {
        return;
    }
    let lab = Lab::new();
    // On a terminal, since clap strips colours elsewhere.
    let line = format!("'{}' analyze a b $(printf -- '--x\\033]0;owned\\007')", binary().display());
    let printed = on_a_terminal(&lab, &line);
    assert!(printed.contains("--x\\u001b]0;owned\\u0007"), "{printed:?}");
    assert!(!printed.contains(TITLE), "{printed:?}");
}

#[test]
fn a_program_in_a_guest_cannot_steer_the_terminal_and_is_passed_on_as_it_is_into_a_pipe() {
    if !can_attack(&["script"]) {
        return;
    }
    let Some(cache) = kernel_cache() else { return };
    let lab = Lab::new();
    let words = "kernel exec --quiet -- printf";
    let said = r"\033]0;owned\007";
    let piped = lab.command(words).arg(said).env("SCHEDLAB_CACHE_DIR", &cache).output().unwrap();
    assert_eq!(piped.stdout, TITLE.as_bytes(), "{}", String::from_utf8_lossy(&piped.stderr));
    let line = format!(
        "SCHEDLAB_CACHE_DIR='{}' '{}' {words} '{said}'",
        cache.display(),
        binary().display()
    );
    let printed = on_a_terminal(&lab, &line);
    assert!(printed.contains("\\u001b]0;owned\\u0007") && !printed.contains(TITLE), "{printed:?}");
}

fn on_a_terminal(lab: &Lab, line: &str) -> String {
    let log = lab.path("typescript");
    let done = Command::new("script")
        .args(["-qec", line])
        .arg(&log)
        .env("TERM", "xterm")
        .env(KERNEL_VARIABLE, KERNEL)
        .output()
        .unwrap();
    let log = fs::read(&log).unwrap_or_else(|e| panic!("{e}: {done:?}"));
    String::from_utf8_lossy(&log).into_owned()
}
