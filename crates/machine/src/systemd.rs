//! systemd timers.
//!
//! If systemd is installed but not running (in a container, or an image being built), a timer is
//! enabled for the next boot. If it is not installed, nothing is done.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use crate::error::Error;
use crate::root::Root;

/// Quoted for a unit's command line, without expansion.
///
/// # Errors
/// [`Error::NoUnitText`] for invalid UTF-8 and control characters, which not every version of
/// systemd can keep on a line.
pub fn unit_word(text: impl AsRef<OsStr>) -> Result<String, Error> {
    let text = text.as_ref();
    let no_utf8 = || Error::NoUnitText {
        text: text.to_string_lossy().into(),
        found: "bytes that are not UTF-8",
    };
    let text = text.to_str().ok_or_else(no_utf8)?;
    check_unit_text(text)?;
    let text = text.replace('\\', r"\\").replace('"', "\\\"").replace('$', "$$").replace('%', "%%");
    Ok(format!("\"{text}\""))
}

/// Quotes the value of a setting such as `Description=`.
///
/// # Errors
/// [`Error::NoUnitText`] for a control character, a change of writing direction, or a trailing
/// backslash, which would continue the line.
pub fn unit_text(text: &str) -> Result<String, Error> {
    check_unit_text(text)?;
    if text.ends_with('\\') {
        return Err(Error::NoUnitText { text: text.into(), found: "a backslash at its end" });
    }
    Ok(text.replace('%', "%%"))
}

fn check_unit_text(text: &str) -> Result<(), Error> {
    if text.chars().any(|c| c.is_control() || text::controls_terminal(c)) {
        return Err(Error::NoUnitText {
            text: text.into(),
            found: "a line break or another control character",
        });
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// Runs now, and after every boot.
    Started,
    /// Runs after the next boot.
    AtBoot,
    /// There is no systemd.
    Never,
}

/// Starts an installed timer now, if systemd runs, and after every boot.
pub fn enable(root: &Root, timer: &str) -> Result<Timer, Error> {
    if root.tool("systemctl").is_none() {
        return Ok(Timer::Never);
    }
    if !runs(root) {
        systemctl(root, &["enable", timer])?;
        return Ok(Timer::AtBoot);
    }
    systemctl(root, &["daemon-reload"])?;
    systemctl(root, &["enable", "--now", timer])?;
    Ok(Timer::Started)
}

/// Stops a timer without removing its file.
pub fn disable(root: &Root, timer: &str) -> Result<(), Error> {
    match (root.tool("systemctl").is_some(), runs(root)) {
        (false, _) => Ok(()),
        (true, true) => systemctl(root, &["disable", "--now", timer]),
        (true, false) => systemctl(root, &["disable", timer]),
    }
}

/// Starts a program once after a delay, as root in the current directory, by a transient timer,
/// which a reboot ends. Requires a running systemd.
///
/// # Errors
/// [`Error::ToolFailed`]; [`Error::NoUnitText`] for a word that no unit can contain.
pub fn later(
    root: &Root,
    unit: &str,
    after: Duration,
    dir: &Path,
    words: &[String],
) -> Result<(), Error> {
    words.iter().try_for_each(|word| check_unit_text(word))?;
    let (unit, after) = (format!("--unit={unit}"), format!("--on-active={}s", after.as_secs()));
    let dir = format!("--working-directory={}", dir.display());
    let mut args = vec![
        "--collect",
        "--quiet",
        &unit,
        &after,
        "--timer-property=AccuracySec=1min",
        &dir,
        "--",
    ];
    // systemd expands variables in a service's command line.
    let words: Vec<String> = words.iter().map(|word| word.replace('$', "$$")).collect();
    args.extend(words.iter().map(String::as_str));
    run(root, "systemd-run", &args)
}

/// Call this after a unit was removed.
pub fn reload(root: &Root) -> Result<(), Error> {
    if runs(root) { systemctl(root, &["daemon-reload"]) } else { Ok(()) }
}

pub fn runs(root: &Root) -> bool {
    root.tool("systemctl").is_some() && root.path("/run/systemd/system").is_dir()
}

fn systemctl(root: &Root, args: &[&str]) -> Result<(), Error> {
    run(root, "systemctl", args)
}

fn run(root: &Root, tool: &str, args: &[&str]) -> Result<(), Error> {
    let output = root.run(tool, args, "systemd", "to start tests by a timer")?;
    if output.status.success() { Ok(()) } else { Err(Error::failed(tool, args, &output)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crashpoints::install_script;

    /// systemctl logs its arguments.
    fn machine(runs: bool, status: i32) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let tools = dir.path().join("tools");
        std::fs::create_dir(&tools).expect("a directory");
        let log = dir.path().join("log");
        let script = format!(
            "#!/bin/sh\necho \"$@\" >> {}\necho refused >&2\nexit {status}\n",
            log.display()
        );
        install_script(&tools.join("systemctl"), &script);
        install_script(&tools.join("systemd-run"), &script);
        if runs {
            std::fs::create_dir_all(dir.path().join("run/systemd/system")).expect("a directory");
        }
        let root = Root::at(dir.path()).with_tool_dirs(vec![tools]);
        (dir, root)
    }

    fn asked(dir: &tempfile::TempDir) -> Vec<String> {
        let log = std::fs::read_to_string(dir.path().join("log")).unwrap_or_default();
        log.lines().map(str::to_string).collect()
    }

    #[test]
    fn a_timer_is_started_where_systemd_runs_and_waits_for_the_next_boot_elsewhere() {
        let (dir, root) = machine(true, 0);
        assert_eq!(enable(&root, "x.timer").expect("no error"), Timer::Started);
        disable(&root, "x.timer").expect("no error");
        reload(&root).expect("no error");
        let all =
            ["daemon-reload", "enable --now x.timer", "disable --now x.timer", "daemon-reload"];
        assert_eq!(asked(&dir), all);
        let (dir, root) = machine(false, 0);
        assert_eq!(enable(&root, "x.timer").expect("no error"), Timer::AtBoot);
        disable(&root, "x.timer").expect("no error");
        reload(&root).expect("no error");
        assert_eq!(asked(&dir), ["enable x.timer", "disable x.timer"]);
    }

    #[test]
    fn a_program_is_started_once_after_a_time_and_its_words_stay_as_they_are() {
        let (dir, root) = machine(true, 0);
        let words = ["/usr/bin/schedlab", "run", "/a b/$x/plan.toml"].map(str::to_owned);
        later(&root, "x", Duration::from_secs(28_800), Path::new("/a b"), &words)
            .expect("no error");
        let asked = asked(&dir).join("\n");
        assert!(
            asked.contains("--unit=x --on-active=28800s")
                && asked.contains("--working-directory=/a b -- "),
            "{asked}"
        );
        assert!(asked.ends_with("/usr/bin/schedlab run /a b/$$x/plan.toml"), "{asked}");
        let (_dir, root) = machine(true, 1);
        let error = later(&root, "x", Duration::from_secs(60), Path::new("/"), &words)
            .unwrap_err()
            .to_string();
        assert!(error.contains("systemd-run") && error.contains("refused"), "{error}");
        let error =
            later(&root, "x", Duration::from_secs(60), Path::new("/"), &["a\nb".to_owned()]);
        assert!(matches!(error, Err(Error::NoUnitText { .. })));
    }

    #[test]
    fn without_systemd_nothing_is_done_and_what_it_refuses_is_told() {
        let (dir, root) = machine(true, 0);
        let bare = root.clone().with_tool_dirs(vec![]);
        assert_eq!(enable(&bare, "x.timer").expect("no error"), Timer::Never);
        disable(&bare, "x.timer").expect("no error");
        assert!(asked(&dir).is_empty());
        let (_dir, root) = machine(true, 1);
        let error = enable(&root, "x.timer").unwrap_err().to_string();
        assert!(error.contains("daemon-reload") && error.contains("refused"), "{error}");
    }

    #[test]
    fn a_word_of_a_unit_is_one_word_and_what_cannot_be_one_is_refused() {
        assert_eq!(
            unit_word("/opt/my lab/$x/50%").expect("it can be quoted"),
            "\"/opt/my lab/$$x/50%%\""
        );
        assert_eq!(unit_word("a\"b\\").expect("it can be quoted"), "\"a\\\"b\\\\\"");
        assert_eq!(
            unit_text("/dev/disk/by-partlabel/a\\x20%n").expect("a text"),
            "/dev/disk/by-partlabel/a\\x20%%n"
        );
        for refused in ["a\n[Service]\nExecStart=/bin/sh", "a\r", "a\0", "\u{85}"] {
            assert!(unit_word(refused).is_err() && unit_text(refused).is_err());
        }
        let error = unit_text("sda\\").unwrap_err().to_string();
        assert!(error.contains("backslash at its end"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_a_second_line(text in ".*") {
            for quoted in [unit_word(&text), unit_text(&text)].into_iter().flatten() {
                proptest::prop_assert!(!quoted.contains(char::is_control));
                proptest::prop_assert!(!quoted.ends_with('\\'));
            }
        }
    }
}
