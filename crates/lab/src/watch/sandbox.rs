//! Sandbox of a watch's service: only what its plan needs.
//!
//! A test writes a queue's sysfs attributes and the state directory, and reads a block device; as
//! their owner it needs no capability. Only file systems, programs and report commands add some.
//! ProtectKernelTunables would make /sys read-only, and PrivateDevices would hide the disk.

use std::path::Path;

use machine::systemd::unit_word;

use super::Watch;
use crate::workloads::Workloads;

/// What a plan needs beyond reading the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Needs {
    files: bool,
    programs: bool,
    /// Runs a command to report.
    tell: bool,
    writes: bool,
}

impl Needs {
    fn of(watch: &Watch) -> Needs {
        let plan = &watch.plan;
        let is_program = |kind: &str| load::programs::find(kind).is_some();
        let programs =
            plan.workloads.iter().any(|spec| is_program(&spec.kind) || !spec.background.is_empty());
        // An unreadable plan is rejected elsewhere.
        let writes = Workloads::read(&mut plan.clone()).map_or(true, |workloads| workloads.write());
        Needs { files: plan.files.is_some(), programs, tell: watch.tell.is_some(), writes }
    }
}

/// Restrictions of every test.
const ALWAYS: [&str; 13] = [
    "NoNewPrivileges=true",
    "PrivateTmp=true",
    "ProtectHome=read-only",
    "ProtectSystem=strict",
    "ProtectClock=true",
    "ProtectHostname=true",
    "ProtectKernelLogs=true",
    "ProtectKernelModules=true",
    "LockPersonality=true",
    "RestrictSUIDSGID=true",
    "SystemCallArchitectures=native",
    "SystemCallErrorNumber=EPERM",
    "UMask=0077",
];

/// Restrictions unless there are programs, which may need control groups, JIT, real-time scheduling
/// or namespaces.
const WITHOUT_PROGRAMS: [&str; 5] = [
    "ProtectControlGroups=true",
    "MemoryDenyWriteExecute=true",
    "RestrictRealtime=true",
    "RestrictNamespaces=true",
    "SystemCallFilter=~@privileged @keyring",
];

/// Lines for `[Service]`.
pub(super) fn lines(watch: &Watch, state: &Path) -> Result<String, machine::Error> {
    let needs = Needs::of(watch);
    let mut lines: Vec<String> = ALWAYS.iter().map(ToString::to_string).collect();
    lines.push(format!("ReadWritePaths={}", writable(needs, state, watch.textfile.as_deref())?));
    lines.push("DevicePolicy=closed".to_owned());
    lines.push(format!(
        "DeviceAllow=block-* {}",
        if needs.writes || needs.files { "rw" } else { "r" }
    ));
    lines.push(format!("CapabilityBoundingSet={}", capabilities(needs).join(" ")));
    lines.push(format!(
        "SystemCallFilter=@system-service{}",
        if needs.files { " @mount" } else { "" }
    ));
    if !needs.programs && !needs.files && !needs.tell {
        lines.extend(WITHOUT_PROGRAMS.map(str::to_owned));
        lines.push("PrivateMounts=true".to_owned());
    }
    if needs.tell {
        lines.push("RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6".to_owned());
    } else {
        lines.extend(
            ["RestrictAddressFamilies=AF_UNIX", "PrivateNetwork=true", "IPAddressDeny=any"]
                .map(str::to_owned),
        );
    }
    Ok(lines.iter().map(|line| format!("{line}\n")).collect())
}

fn writable(needs: Needs, state: &Path, textfile: Option<&Path>) -> Result<String, machine::Error> {
    // Lists of paths expand no variables.
    let mut paths = vec![unit_word(state)?.replace("$$", "$")];
    if let Some(dir) = textfile.and_then(Path::parent) {
        paths.push(unit_word(dir)?.replace("$$", "$"));
    }
    if needs.files {
        // For the mount points.
        paths.push("/run".to_owned());
    }
    if needs.tell {
        // Mail spools.
        paths.extend(["-/var/spool", "-/var/mail"].map(str::to_owned));
    }
    Ok(paths.join(" "))
}

/// Capabilities of a test; the docs list the reasons.
fn capabilities(needs: Needs) -> Vec<&'static str> {
    let of_writes: &[&str] = &["CAP_SYS_PTRACE"];
    let of_files: &[&str] = &["CAP_SYS_ADMIN"];
    let of_programs: &[&str] = &[
        "CAP_MKNOD",
        "CAP_SETPCAP",
        "CAP_SYS_ADMIN",
        "CAP_SYS_CHROOT",
        "CAP_SYS_NICE",
        "CAP_SYS_PTRACE",
        "CAP_KILL",
    ];
    let of_other_users: &[&str] =
        &["CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_SETGID", "CAP_SETUID"];
    let mut all = Vec::new();
    for (is_needed, some) in [
        (needs.writes || needs.files, of_writes),
        (needs.files, of_files),
        (needs.programs, of_programs),
        (needs.programs || needs.tell, of_other_users),
    ] {
        all.extend(some.iter().filter(|_| is_needed).copied());
    }
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::plan::Plan;

    fn lines_of(more: &str, workload: &str, tell: bool) -> String {
        let plan = format!(
            "device = 'sdb'\n{more}[[variant]]\nname = 'none'\nscheduler = 'none'\n[[variant]]\nname = 'bfq'\nscheduler = 'bfq'\n\
             [[workload]]\nname = 'w'\n{workload}"
        );
        let hours = ("23:00-02:00".parse().unwrap(), "daily".parse().unwrap());
        let plan = Plan::from_toml(&plan).unwrap();
        let mut watch =
            Watch::new("nightly", "wwid naa.5", hours, "/usr/bin/schedlab".into(), plan).unwrap();
        watch.tell = tell.then(|| "mail root".to_owned());
        lines(&watch, Path::new("/var/lib/schedlab")).unwrap()
    }

    #[test]
    fn a_test_that_reads_has_no_capability_no_network_and_cannot_write_a_device() {
        let text = lines_of("", "kind = 'randread'\n", false);
        for line in [
            "CapabilityBoundingSet=\n",
            "PrivateNetwork=true",
            "DeviceAllow=block-* r\n",
            "MemoryDenyWriteExecute=true",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        assert!(text.contains("ReadWritePaths=\"/var/lib/schedlab\"\n"), "{text}");
    }

    #[test]
    fn what_a_plan_needs_is_granted_and_no_more() {
        let text = lines_of(
            "[files]\nkind = 'ext4'\n",
            "kind = 'oltp'\nparams = { file_size = '16M' }\n",
            false,
        );
        assert!(text.contains("CapabilityBoundingSet=CAP_SYS_ADMIN CAP_SYS_PTRACE\n"), "{text}");
        assert!(text.contains("@mount"), "{text}");
        assert!(
            text.contains("DeviceAllow=block-* rw\n")
                && text.contains("\"/var/lib/schedlab\" /run\n"),
            "{text}"
        );
        let text =
            lines_of("", "kind = 'command'\nparams = { run = 'true', on = 'device' }\n", false);
        assert!(text.contains("CAP_SETUID") && !text.contains("MemoryDenyWriteExecute"), "{text}");
        let text = lines_of("", "kind = 'randread'\n", true);
        assert!(
            text.contains("AF_INET6")
                && text.contains("/var/spool")
                && !text.contains("CAP_SYS_ADMIN"),
            "{text}"
        );
    }
    /// Figures from docs/src/decide/long-term.md.
    #[test]
    fn the_exposure_of_the_service_is_as_low_as_the_page_says() {
        let files = ("[files]\nkind = 'ext4'\n", "kind = 'oltp'\nparams = { file_size = '16M' }\n");
        let reads = "kind = 'randread'\n";
        let program = "kind = 'command'\nparams = { run = 'true', on = 'device' }\n";
        if !testbed::require(&["systemd-analyze"]) {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        for (most, text) in [
            (1.5, lines_of("", reads, false)),
            (3.2, lines_of(files.0, files.1, false)),
            (4.3, lines_of("", program, false)),
            (4.3, lines_of("", reads, true)),
        ] {
            let unit = dir.path().join("schedlab-watch-test.service");
            std::fs::write(&unit, format!("[Service]\nType=oneshot\nExecStart=/bin/true\n{text}"))
                .unwrap();
            let mut analyze = std::process::Command::new("systemd-analyze");
            let ran = analyze
                .args(["security", "--offline=true", "--no-pager"])
                .arg(&unit)
                .output()
                .unwrap();
            let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
            let line = printed.lines().find(|line| line.contains("Overall exposure level"));
            let words = line
                .and_then(|line| line.rsplit_once(": "))
                .unwrap_or_else(|| panic!("{printed}"))
                .1;
            let found: f64 =
                words.split(' ').next().and_then(|word| word.parse().ok()).expect("a figure");
            // Scores of systemd versions agree to about 0.2.
            assert!(found <= most + 0.3, "{found}, at most {most}\n{text}");
        }
    }
}
