//! Programs that write the same attributes after udev.

use std::path::PathBuf;

use super::conflict::{Conflict, Precedence, Question, drop_in_files, lines};
use crate::root::Root;

/// For includes between tuned profiles.
const MAX_DEPTH: usize = 8;

pub(super) fn find(root: &Root, question: &Question<'_>) -> Vec<Conflict> {
    let looks = [tuned, tlp, laptop_mode, tmpfiles, sysfsutils, scripts, kernel_parameter];
    looks.iter().flat_map(|look| look(root, question)).collect()
}

fn conflict(
    program: &'static str,
    file: &str,
    line: usize,
    writes: &str,
    advice: impl Into<String>,
) -> Conflict {
    Conflict {
        program,
        file: PathBuf::from(file),
        line: Some(line),
        writes: writes.to_string(),
        order: Precedence::After,
        advice: advice.into(),
    }
}

fn parse_assignment<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let (found, value) = line.split_once('=')?;
    (found.trim() == name).then(|| value.trim().trim_matches('"').trim())
}

/// Includes those that the active profiles include.
fn tuned(root: &Root, question: &Question<'_>) -> Vec<Conflict> {
    let active = root.read_optional(root.path("/etc/tuned/active_profile")).unwrap_or_default();
    let mut waiting: Vec<String> = active.split_whitespace().map(str::to_string).collect();
    let mut seen: Vec<String> = Vec::new();
    let mut found = Vec::new();
    while let Some(profile) = waiting.pop() {
        if seen.contains(&profile) || seen.len() > MAX_DEPTH || profile.starts_with("schedlab-") {
            continue;
        }
        let dirs =
            ["/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned"];
        let path = dirs
            .iter()
            .map(|dir| format!("{dir}/{profile}/tuned.conf"))
            .find(|path| root.path(path).is_file());
        seen.push(profile);
        let Some(path) = path else { continue };
        for (number, line) in lines(root, &path) {
            if let Some(included) = parse_assignment(&line, "include") {
                waiting.extend(included.split(',').map(|name| name.trim().to_string()));
            }
            let option = |name: &str, attribute: &str| {
                parse_assignment(&line, name).is_some() && question.asks(attribute)
            };
            let sysfs = line.starts_with("/sys/")
                && question.is_named_in(&line)
                && question.may_mean(&line);
            if option("elevator", "scheduler") || option("readahead", "read_ahead_kb") || sysfs {
                let advice = "keep with --as tuned instead, or copy the profile to /etc/tuned without this line";
                found.push(conflict("tuned", &path, number, &line, advice));
            }
        }
    }
    found
}

fn tlp(root: &Root, question: &Question<'_>) -> Vec<Conflict> {
    let mut files = vec!["/etc/default/tlp".to_string(), "/etc/tlp.conf".to_string()];
    files.extend(drop_in_files(root, &["/etc/tlp.d"], ".conf"));
    let mut found = Vec::new();
    for file in files {
        for (number, line) in lines(root, &file) {
            let Some(value) =
                parse_assignment(&line, "DISK_IOSCHED").filter(|_| question.asks("scheduler"))
            else {
                continue;
            };
            if !value.is_empty() && value.split_whitespace().any(|word| word != "keep") {
                found.push(conflict(
                    "TLP",
                    &file,
                    number,
                    &line,
                    "write persist for this disk there",
                ));
            }
        }
    }
    found
}

fn laptop_mode(root: &Root, question: &Question<'_>) -> Vec<Conflict> {
    let file = "/etc/laptop-mode/laptop-mode.conf";
    let sets =
        |line: &str| parse_assignment(line, "CONTROL_READAHEAD").is_some_and(|value| value != "0");
    let asked = lines(root, file)
        .into_iter()
        .filter(|(_, line)| question.asks("read_ahead_kb") && sets(line));
    asked
        .map(|(number, line)| {
            conflict("laptop-mode-tools", file, number, &line, "set CONTROL_READAHEAD=0 there")
        })
        .collect()
}

fn tmpfiles(root: &Root, question: &Question<'_>) -> Vec<Conflict> {
    let files = drop_in_files(
        root,
        &["/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/lib/tmpfiles.d"],
        ".conf",
    );
    let mut found = Vec::new();
    for file in files {
        for (number, line) in lines(root, &file) {
            let mut words = line.split_whitespace();
            let writes = words.next().is_some_and(|kind| kind.starts_with('w'));
            let path = words.next().unwrap_or_default();
            if writes && question.is_named_in(path) && question.may_mean(path) {
                found.push(conflict("systemd-tmpfiles", &file, number, &line, "remove the line"));
            }
        }
    }
    found
}

fn sysfsutils(root: &Root, question: &Question<'_>) -> Vec<Conflict> {
    let mut files = vec!["/etc/sysfs.conf".to_string()];
    files.extend(drop_in_files(root, &["/etc/sysfs.d"], ".conf"));
    let mut found = Vec::new();
    for file in files {
        for (number, line) in lines(root, &file) {
            let Some((path, _)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
                continue;
            };
            let sets_rights =
                ["mode", "owner"].contains(&path.split_whitespace().next().unwrap_or_default());
            if !sets_rights && question.is_named_in(path) && question.may_mean(path) {
                found.push(conflict("sysfsutils", &file, number, &line, "remove the line"));
            }
        }
    }
    found
}

fn scripts(root: &Root, question: &Question<'_>) -> Vec<Conflict> {
    let rc = ["/etc/rc.local", "/etc/rc.d/rc.local", "/etc/init.d/boot.local"]
        .map(|file| ("rc.local", file.to_string()));
    let units = drop_in_files(root, &["/etc/systemd/system"], ".service")
        .into_iter()
        .map(|file| ("a systemd unit", file));
    let mut found = Vec::new();
    for (program, file) in rc.into_iter().chain(units) {
        for (number, line) in lines(root, &file) {
            if !line.starts_with(['#', ';'])
                && question.is_named_in(&line)
                && question.may_mean(&line)
            {
                found.push(conflict(program, &file, number, &line, "remove the line"));
            }
        }
    }
    found
}

/// `elevator=` on the kernel's command line.
fn kernel_parameter(root: &Root, question: &Question<'_>) -> Vec<Conflict> {
    let line = root.read_optional(root.proc("cmdline")).unwrap_or_default();
    let word = line.split_whitespace().find(|word| word.starts_with("elevator="));
    let Some(word) = word.filter(|_| question.asks("scheduler")) else { return Vec::new() };
    let major: u32 =
        root.kernel_release().split('.').next().and_then(|text| text.parse().ok()).unwrap_or(0);
    let (order, advice) = match major >= 5 {
        true => (
            Precedence::Idle,
            "Linux ignores it since 5.0; remove it from the boot loader's configuration",
        ),
        false => (Precedence::Before, ""),
    };
    let file = PathBuf::from("/proc/cmdline");
    vec![Conflict {
        program: "the kernel",
        file,
        line: None,
        writes: word.into(),
        order,
        advice: advice.into(),
    }]
}
