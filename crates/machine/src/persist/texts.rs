//! The contents of the files for a persistent setting (`docs/decisions/0008-persist.md`).
//!
//! Rule 90 follows those that identify the device (60-persistent-storage, 60-persistent-storage-dm,
//! 63-md-raid-arrays) and distributions' choices of schedulers (60-…), but not an administrator's
//! 99-: the last assignment wins. Each line has one assignment, in write order (decision 2):
//! scheduler, queue attributes with `read_ahead_kb` last, existing tunables. With exceptions, rules
//! apply only at `add`: udev emits `change` when a program closes the device after writing
//! (`OPTIONS+="watch"`), which would revert `schedlab set` or an experiment's setting.

use super::checked::CheckedSetting;
use super::udev::{Address, By, When, pattern};

/// Prefixes the file name.
pub(super) const ORDER: u32 = 90;

/// The label for "not this device".
const END: &str = "schedlab_end";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Note {
    /// A verdict with its interval, if there is one.
    pub because: Option<String>,
    pub command: String,
    pub date: String,
    pub version: String,
}

#[derive(Debug)]
pub(super) struct Subject<'a> {
    pub(super) address: &'a Address,
    /// `unpersist`'s argument.
    pub(super) key: String,
    pub(super) name: &'a str,
    /// Model and serial number, if known.
    pub(super) what: String,
    pub(super) kernel: String,
    pub(super) note: &'a Note,
    /// Removed by `unpersist`.
    pub(super) files: Vec<String>,
}

impl Subject<'_> {
    /// The comment at the top of each file.
    fn comment(&self, setting: &CheckedSetting) -> String {
        let note = self.note;
        let mut lines = vec![
            format!(
                "Written by schedlab {}: persists the I/O settings of one device across reboots.",
                note.version
            ),
            String::new(),
            format!(
                "device   {} (now {}), found by {}",
                self.what,
                self.name,
                self.address.words()
            ),
            format!("keeps    {}", assignments(setting)),
        ];
        lines.extend(note.because.iter().map(|why| format!("because  {why}")));
        lines.push(format!("date     {}, Linux {}", note.date, self.kernel));
        lines.push(format!("command  {}", note.command));
        if !self.files.is_empty() {
            lines.push(format!("undo     schedlab unpersist {}", self.key));
            lines.push(format!("by hand  rm {}", self.files.join(" ")));
        }
        lines.extend(caution(self.address).map(|words| format!("CAUTION  {words}")));
        lines
            .iter()
            .map(|line| format!("# {}", one_line(line)).trim_end().to_string() + "\n")
            .collect()
    }
}

/// If the device is not matched by its identity.
pub(super) fn caution(address: &Address) -> Option<&'static str> {
    match address.by {
        By::Identity => None,
        By::Path => Some("matched by its slot: any device plugged in there gets this setting"),
        By::Name => Some("matched by its name: any device with this kernel name gets this setting"),
    }
}

/// `scheduler=bfq slice_idle=0`.
pub(super) fn assignments(setting: &CheckedSetting) -> String {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_string();
    let quoted =
        |value: &str| if value.contains(' ') { format!("\"{value}\"") } else { value.to_string() };
    let all: Vec<String> = setting
        .writes()
        .iter()
        .map(|(path, value)| format!("{}={}", last(path), quoted(value)))
        .collect();
    all.join(" ")
}

pub(super) fn rule(subject: &Subject<'_>, setting: &CheckedSetting) -> String {
    let mut text = subject.comment(setting);
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    line(String::new());
    let unless = |condition: &str| format!("{condition}, GOTO=\"{END}\"");
    line(unless("SUBSYSTEM!=\"block\""));
    line(unless("ENV{DEVTYPE}!=\"disk\""));
    match subject.address.when {
        When::Added => line(unless("ACTION!=\"add\"")),
        When::Activated => {
            line(unless("ACTION!=\"add|change\""));
            line("# A table has been put into effect; a program that closes the device makes no such event.".into());
            line(unless("ENV{DM_ACTIVATION}!=\"1\""));
        }
        When::Assembled => {
            line(unless("ACTION!=\"add|change\""));
            line("# An array is assembled some time after it appears; once is enough.".into());
            line("ACTION==\"change\", IMPORT{db}=\"SCHEDLAB_PERSISTED\"".into());
            line(unless("ENV{SCHEDLAB_PERSISTED}==\"1\""));
        }
        When::Always => line(unless("ACTION!=\"add|change\"")),
    }
    for (key, value) in &subject.address.conditions {
        line(unless(&format!("{key}!=\"{}\"", pattern(value))));
    }
    if subject.address.when == When::Assembled {
        line("ENV{SCHEDLAB_PERSISTED}=\"1\"".into());
    }
    for (path, value) in setting.writes() {
        let exists =
            if path.contains("/iosched/") { format!("TEST==\"{path}\", ") } else { String::new() };
        line(format!("{exists}ATTR{{{path}}}=\"{value}\""));
    }
    line(format!("LABEL=\"{END}\""));
    text
}

pub(super) fn module_list(subject: &Subject<'_>, setting: &CheckedSetting) -> Option<String> {
    let module = setting.module.as_ref()?;
    Some(format!("{}{module}\n", subject.comment(setting)))
}

/// The disk plugin matches udev properties; settings that it does not support need the sysfs
/// plugin, which matches paths.
pub(super) fn tuned(
    subject: &Subject<'_>,
    setting: &CheckedSetting,
    active: Option<&str>,
) -> String {
    let mut text = subject.comment(setting);
    text.push_str("# To use it: tuned-adm profile ");
    text.push_str(&format!(
        "schedlab-{}\n\n[main]\nsummary=schedlab: {}\n",
        subject.address.key,
        assignments(setting)
    ));
    if let Some(active) = active {
        text.push_str(&format!("include={active}\n"));
    }
    let read_ahead = setting.queue.iter().find(|(name, _)| name == "read_ahead_kb");
    if setting.scheduler.is_some() || read_ahead.is_some() {
        let conditions: Vec<String> = subject
            .address
            .conditions
            .iter()
            .map(|(key, value)| {
                let property = key.trim_start_matches("ENV{").trim_end_matches('}');
                // In udev's properties, this is a path in /dev.
                let (property, value) = if property == "KERNEL" {
                    ("DEVNAME", format!("/dev/{value}"))
                } else {
                    (property, value.clone())
                };
                format!("(?m)^{property}={}$", regex(&value))
            })
            .collect();
        text.push_str(&format!(
            "\n[schedlab_disk]\ntype=disk\ndevices_udev_regex={}\n",
            conditions[0]
        ));
        if let Some(scheduler) = &setting.scheduler {
            text.push_str(&format!("elevator={scheduler}\n"));
        }
        if let Some((_, kib)) = read_ahead {
            text.push_str(&format!("readahead={kib}\n"));
        }
    }
    let others: Vec<(String, &str)> = setting
        .writes()
        .into_iter()
        .filter(|(path, _)| path != "queue/scheduler" && path != "queue/read_ahead_kb")
        .collect();
    if !others.is_empty() {
        text.push_str(&format!(
            "\n# tuned sets these by path: they go to whatever is called {} then.\n[schedlab_sysfs]\ntype=sysfs\n",
            subject.name
        ));
        for (path, value) in others {
            text.push_str(&format!("/sys/block/{}/{path}={value}\n", subject.name));
        }
    }
    text
}

/// An entry, with the rule that it needs to take effect.
pub(super) fn hwdb(subject: &Subject<'_>, setting: &CheckedSetting) -> String {
    let mut text = subject.comment(setting);
    let lookup: Vec<String> = subject
        .address
        .conditions
        .iter()
        .map(|(key, _)| {
            let property = key.trim_start_matches("ENV{").trim_end_matches('}');
            if property == "KERNEL" { "$kernel".to_string() } else { format!("$env{{{property}}}") }
        })
        .collect();
    let values: Vec<String> =
        subject.address.conditions.iter().map(|(_, value)| pattern(value)).collect();
    text.push_str(&format!(
        "#\n# The hardware database only gives properties to devices; it sets nothing. So this takes two files; to undo it,\n\
         # delete them and repeat the update.\n\
         #\n# 1. /etc/udev/hwdb.d/{ORDER}-schedlab.hwdb, then `systemd-hwdb update`:\n\
         schedlab:{}\n",
        values.join(":")
    ));
    for (index, (path, value)) in setting.writes().iter().enumerate() {
        let _ = path;
        text.push_str(&format!(" SCHEDLAB_{index}={value}\n"));
    }
    text.push_str(&format!(
        "\n# 2. /etc/udev/rules.d/{ORDER}-schedlab-hwdb.rules, the same for all devices with these settings:\n\
         ACTION==\"add\", SUBSYSTEM==\"block\", ENV{{DEVTYPE}}==\"disk\", \\\n  \
         IMPORT{{builtin}}=\"hwdb 'schedlab:{}'\"\n",
        lookup.join(":")
    ));
    for (index, (path, _)) in setting.writes().iter().enumerate() {
        text.push_str(&format!(
            "ACTION==\"add\", ENV{{SCHEDLAB_{index}}}==\"?*\", ATTR{{{path}}}=\"$env{{SCHEDLAB_{index}}}\"\n"
        ));
    }
    text
}

/// The kernel parameter, or why this kernel has none.
pub(super) fn boot(kernel: &str, scheduler: Option<&str>) -> Result<String, String> {
    let mut numbers = kernel.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= (5, 0) {
        return Err(format!(
            "Linux {kernel} ignores elevator=: the parameter selected a scheduler of the single-queue block \
             layer, which was removed in Linux 5.0 (since 5.4 the kernel logs this); use a udev rule: remove \
             --as boot, or add --force for the line of an older kernel"
        ));
    }
    old_boot(scheduler)
}

/// The parameter for a kernel before 5.0, regardless of the running one.
pub(super) fn old_boot(scheduler: Option<&str>) -> Result<String, String> {
    match scheduler {
        Some(name @ ("noop" | "deadline" | "cfq")) => Ok(format!(
            "# before Linux 5.0, for every disk that blk-mq does not drive; tunables cannot be given this way\nelevator={name}\n"
        )),
        Some(name) => Err(format!("elevator= supports noop, deadline and cfq only, not {name}")),
        None => Err("elevator= selects a scheduler, but the setting has none".to_string()),
    }
}

/// A regular expression for Python. Control characters, which could end the line, match anything.
fn regex(value: &str) -> String {
    let each = |c: char| match c {
        c if c.is_control() || text::controls_terminal(c) => ".".to_string(),
        c if c.is_ascii_alphanumeric() || "_-: /".contains(c) => c.to_string(),
        c => format!("\\{c}"),
    };
    value.chars().map(each).collect()
}

/// Cannot end its comment or continue on the next line.
fn one_line(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() || text::controls_terminal(c) { ' ' } else { c })
        .collect();
    text.trim_end_matches(['\\', ' ']).to_string()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;

    /// Generates many characters that are special in one of the formats.
    fn hostile() -> impl Strategy<Value = String> {
        proptest::collection::vec(
            prop_oneof![
                Just("\n".to_string()),
                Just("\r\n".to_string()),
                Just("\"".to_string()),
                Just("\\".to_string()),
                Just("\", RUN+=\"/bin/sh\"".to_string()),
                Just("[sysfs]\n".to_string()),
                Just("%n$x\0\u{2028}\u{85}".to_string()),
                any::<String>(),
            ],
            0..6,
        )
        .prop_map(|parts| parts.concat())
    }

    /// Counts what systemd, udev, kmod or tuned treat as the end of a line.
    fn nr_lines(text: &str) -> usize {
        text.split(['\n', '\r', '\0', '\u{85}', '\u{b}', '\u{c}']).count()
    }

    proptest! {
        #[test]
        fn no_text_from_outside_makes_a_second_line(
            serial in hostile(), model in hostile(), because in hostile(), command in hostile(), what in hostile(),
        ) {
            let setting = CheckedSetting {
                scheduler: Some("bfq".into()),
                queue: vec![("read_ahead_kb".into(), "64".into())],
                tunables: vec![("slice_idle".into(), "0".into())],
                module: Some("bfq".into()),
            };
            let all = |words: [&str; 5]| {
                let [serial, model, because, command, what] = words.map(str::to_string);
                let conditions = vec![("ENV{ID_SERIAL_SHORT}".into(), serial), ("ENV{ID_MODEL}".into(), model)];
                let address = Address { key: "key".into(), conditions, by: By::Identity, when: When::Added };
                let note = Note { because: Some(because), command, date: "date".into(), version: "1".into() };
                let files = vec![PathBuf::from("/etc/x").display().to_string()];
                let subject =
                    Subject { address: &address, key: "key".into(), name: "sda", what, kernel: "6".into(), note: &note, files };
                [
                    rule(&subject, &setting),
                    module_list(&subject, &setting).expect("it has a module"),
                    tuned(&subject, &setting, None),
                    hwdb(&subject, &setting),
                ]
            };
            let harmless = all(["s", "m", "b", "c", "w"]);
            for (text, like) in all([&serial, &model, &because, &command, &what]).iter().zip(&harmless) {
                prop_assert_eq!(nr_lines(text), nr_lines(like), "{}", text);
                let meaning = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count();
                prop_assert_eq!(meaning(text), meaning(like), "{}", text);
                // No line continues on the next one.
                let continued = |text: &str| text.lines().filter(|line| line.ends_with('\\')).count();
                prop_assert_eq!(continued(text), continued(like), "{}", text);
            }
            // Each line has paired quotes, none escaped.
            for line in rule_of(&serial).lines().filter(|line| !line.starts_with('#')) {
                prop_assert!(line.matches('"').count() % 2 == 0 && !line.contains("\\\""), "{line}");
            }
        }
    }

    /// The rule's condition for this serial number.
    fn rule_of(serial: &str) -> String {
        format!("ENV{{ID_SERIAL}}!=\"{}\", GOTO=\"{END}\"", pattern(serial))
    }
}
