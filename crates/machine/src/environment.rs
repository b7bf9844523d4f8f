//! Facts about the machine for assessing or repeating an experiment.
//!
//! Text by section and name, which later versions can read. Unavailable facts are "not exposed",
//! because a missing line would look like an oversight. Serial numbers of the machine, addresses
//! and user names are omitted, since results files are shared.

use std::collections::BTreeMap;
use std::fs;

use crate::device::{self, Device};
use crate::error::Error;
use crate::root::Root;

const NOT_EXPOSED: &str = "not exposed";

/// Each with the argument that prints its version.
const TOOLS: [(&str, &str); 4] =
    [("fio", "--version"), ("blkid", "--version"), ("losetup", "--version"), ("psql", "--version")];

/// Prefixes of options that affect I/O or the CPUs.
const TELLING_OPTIONS: [&str; 26] = [
    "amd_pstate",
    "blk",
    "cpuidle",
    "dm_mod",
    "elevator",
    "haltpoll",
    "hugepages",
    "idle",
    "intel_idle",
    "intel_pstate",
    "iommu",
    "isolcpus",
    "mitigations",
    "nohz",
    "nomodule",
    "nosmt",
    "nvme",
    "pcie_aspm",
    "preempt",
    "processor.",
    "rcu",
    "scsi_mod",
    "swiotlb",
    "threadirqs",
    "transparent_hugepage",
    "virtio",
];

/// By section (`kernel`, `device`, `queue`, `cpu`, `scheduler`, …) and name.
pub type Facts = BTreeMap<String, BTreeMap<String, String>>;

/// [`Error::Io`] if the boot id is unavailable, i.e. without /proc.
pub fn capture(root: &Root, device: &Device) -> Result<Facts, Error> {
    let mut facts = of_machine(root)?;
    facts.insert("device".into(), about(device));
    if let (Some(tags), Some(about)) = (device::tags(root, &device.name), facts.get_mut("device")) {
        about.insert("hardware_tags".into(), tags.to_string());
    }
    facts.insert(
        "queue".into(),
        device.queue.iter().map(|(name, a)| (name.clone(), a.value.clone())).collect(),
    );
    facts.insert(
        "tunables".into(),
        device.tunables.iter().map(|(name, a)| (name.clone(), a.value.clone())).collect(),
    );
    if let Some(file) = &device.backing_file {
        facts.insert("backing".into(), backing(root, &file.display().to_string()));
    }
    Ok(facts)
}

/// Facts that do not depend on a device.
pub fn of_machine(root: &Root) -> Result<Facts, Error> {
    let mut facts = Facts::new();
    facts.insert("kernel".into(), kernel(root)?);
    facts.insert("cpu".into(), cpu(root));
    facts.insert("memory".into(), memory(root));
    facts.insert("machine".into(), machine(root));
    facts.insert("tools".into(), tools(root));
    Ok(facts)
}

fn kernel(root: &Root) -> Result<BTreeMap<String, String>, Error> {
    let text =
        |path: &str| root.read_optional(root.proc(path)).unwrap_or_else(|| NOT_EXPOSED.to_string());
    Ok(section([
        ("release", text("sys/kernel/osrelease")),
        ("version", text("sys/kernel/version")),
        ("command_line", command_line(&text("cmdline"))),
        ("boot_id", root.boot_id()?),
        ("uptime_s", text("uptime").split_whitespace().next().unwrap_or_default().to_string()),
        ("load", text("loadavg")),
    ]))
}

/// Keeps only relevant parameters: others may contain addresses and keys.
fn command_line(all: &str) -> String {
    let matters = |word: &&str| TELLING_OPTIONS.iter().any(|option| word.starts_with(option));
    let (relevant, others): (Vec<&str>, Vec<&str>) = all.split_whitespace().partition(matters);
    format!("{} ({} other words left out)", relevant.join(" "), others.len())
        .trim_start()
        .to_string()
}

fn about(device: &Device) -> BTreeMap<String, String> {
    let or = |text: &Option<String>| text.clone().unwrap_or_else(|| NOT_EXPOSED.to_string());
    let count =
        |number: Option<u64>| number.map_or(NOT_EXPOSED.to_string(), |number| number.to_string());
    let mounts: Vec<String> = device
        .mounts
        .iter()
        .map(|m| format!("{} at {} ({} {})", m.device, m.at, m.fs, m.options))
        .collect();
    section([
        ("name", device.name.clone()),
        ("kind", device.kind.name().to_string()),
        ("number", device.number.clone()),
        ("identity", device.identity.clone()),
        ("size_bytes", device.size_bytes.to_string()),
        ("model", or(&device.model)),
        ("firmware", or(&device.firmware)),
        ("diskseq", count(device.diskseq)),
        ("logical_block_size", count(device.logical_block_size)),
        ("physical_block_size", count(device.physical_block_size)),
        ("scheduler", or(&device.scheduler)),
        ("available_schedulers", device.available_schedulers.join(" ")),
        ("write_cache", or(&device.write_cache)),
        ("mounts", mounts.join("; ")),
        ("swap", device.swap.join(" ")),
        ("holders", device.holders.join(" ")),
        ("slaves", device.slaves.join(" ")),
        ("signature", device.signature.to_string()),
    ])
}

/// The mount with the longest prefix of the path.
fn backing(root: &Root, file: &str) -> BTreeMap<String, String> {
    let table = root.read_optional(root.proc("self/mountinfo")).unwrap_or_default();
    let mut best: Option<(&str, &str, &str)> = None;
    for line in table.lines() {
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let Some(at) = left.split(' ').nth(4) else { continue };
        let mut right = right.split(' ');
        let (Some(kind), Some(source)) = (right.next(), right.next()) else { continue };
        let below = std::path::Path::new(file).starts_with(at);
        if below && best.is_none_or(|(longest, ..)| at.len() >= longest.len()) {
            best = Some((at, kind, source));
        }
    }
    let (at, kind, source) = best.unwrap_or((NOT_EXPOSED, NOT_EXPOSED, NOT_EXPOSED));
    section([
        ("file", file.to_string()),
        ("mounted_at", at.to_string()),
        ("file_system", kind.to_string()),
        ("source", source.to_string()),
    ])
}

fn cpu(root: &Root) -> BTreeMap<String, String> {
    let info = root.read_optional(root.proc("cpuinfo")).unwrap_or_default();
    let field = |name: &str| {
        let line =
            info.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
        line.and_then(|line| Some(line.split_once(':')?.1.trim().to_string()))
            .unwrap_or_else(|| NOT_EXPOSED.to_string())
    };
    let sys = |path: &str| {
        let text = root.read_optional(root.sys("devices/system/cpu").join(path));
        text.unwrap_or_else(|| NOT_EXPOSED.to_string())
    };
    let steal = root.read_optional(root.proc("stat")).and_then(|stat| {
        let line = stat.lines().next()?;
        line.split_whitespace().nth(8).map(str::to_string)
    });
    section([
        ("model", field("model name")),
        ("count", info.lines().filter(|line| line.starts_with("processor")).count().to_string()),
        ("online", sys("online")),
        ("governor", sys("cpu0/cpufreq/scaling_governor")),
        ("max_khz", sys("cpu0/cpufreq/cpuinfo_max_freq")),
        ("smt", sys("smt/control")),
        ("microcode", field("microcode")),
        ("mitigated", mitigated(root)),
        ("steal_ticks_at_start", steal.unwrap_or_else(|| NOT_EXPOSED.to_string())),
    ])
}

/// Active mitigations, which cost time at each system call.
fn mitigated(root: &Root) -> String {
    let dir = root.sys("devices/system/cpu/vulnerabilities");
    let costs = |name: &String| {
        root.read_optional(dir.join(name)).is_some_and(|text| text.starts_with("Mitigation"))
    };
    root.names(&dir).into_iter().filter(costs).collect::<Vec<_>>().join(" ")
}

fn memory(root: &Root) -> BTreeMap<String, String> {
    let info = root.read_optional(root.proc("meminfo")).unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map_or(NOT_EXPOSED.to_string(), |text| text.trim().to_string())
    };
    let vm = |name: &str| {
        root.read_optional(root.proc("sys/vm").join(name))
            .unwrap_or_else(|| NOT_EXPOSED.to_string())
    };
    section([
        ("total", field("MemTotal")),
        ("available_at_start", field("MemAvailable")),
        ("swap_total", field("SwapTotal")),
        ("dirty_ratio", vm("dirty_ratio")),
        ("dirty_background_ratio", vm("dirty_background_ratio")),
        ("swappiness", vm("swappiness")),
    ])
}

fn machine(root: &Root) -> BTreeMap<String, String> {
    let dmi = |name: &str| {
        root.read_optional(root.sys("class/dmi/id").join(name))
            .unwrap_or_else(|| NOT_EXPOSED.to_string())
    };
    let info = root.read_optional(root.proc("cpuinfo")).unwrap_or_default();
    let flags = info.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let hypervisor = flags.split_whitespace().any(|flag| flag == "hypervisor");
    let clock = root.sys("devices/system/clocksource/clocksource0/current_clocksource");
    let os = fs::read_to_string(root.path("/etc/os-release")).unwrap_or_default();
    let pretty =
        os.lines().find_map(|line| line.strip_prefix("PRETTY_NAME=")).unwrap_or(NOT_EXPOSED);
    section([
        (
            "hostname",
            root.read_optional(root.proc("sys/kernel/hostname"))
                .unwrap_or_else(|| NOT_EXPOSED.to_string()),
        ),
        (
            "virtual",
            if hypervisor { "yes: a hypervisor is below" } else { "no hypervisor announced" }
                .to_string(),
        ),
        (
            "hypervisor",
            root.read_optional(root.sys("hypervisor/type"))
                .unwrap_or_else(|| NOT_EXPOSED.to_string()),
        ),
        ("vendor", dmi("sys_vendor")),
        ("product", dmi("product_name")),
        ("firmware", dmi("bios_version")),
        ("clocksource", root.read_optional(clock).unwrap_or_else(|| NOT_EXPOSED.to_string())),
        ("system", pretty.trim_matches('"').to_string()),
        ("architecture", std::env::consts::ARCH.to_string()),
    ])
}

fn tools(root: &Root) -> BTreeMap<String, String> {
    let version = |(tool, argument): &(&str, &str)| {
        let output = root.run(tool, &[argument], tool, "to record its version").ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Some((tool.to_string(), text.lines().next().unwrap_or_default().trim().to_string()))
    };
    TOOLS.iter().filter_map(version).collect()
}

fn section<const N: usize>(facts: [(&str, String); N]) -> BTreeMap<String, String> {
    facts.into_iter().map(|(name, text)| (name.to_string(), text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device;

    #[test]
    fn the_facts_of_this_machine_name_its_kernel_its_cpu_and_the_device() {
        let root = Root::real();
        let Some(device) = device::list(&root).expect("/sys is there").into_iter().next() else {
            return eprintln!("SKIPPED: no block device here");
        };
        let facts = capture(&root, &device).expect("/proc is there");
        assert_eq!(facts["kernel"]["release"], root.kernel_release());
        assert_eq!(facts["device"]["name"], device.name);
        assert_ne!(facts["cpu"]["count"], "0");
        assert!(facts["memory"]["total"].ends_with("kB"));
    }

    #[test]
    fn of_the_kernels_command_line_only_what_bears_on_performance_is_recorded() {
        let line = command_line("root=UUID=1 mitigations=off luks.key=/secret elevator=bfq");
        assert_eq!(line, "mitigations=off elevator=bfq (2 other words left out)");
    }

    #[test]
    fn the_file_system_below_a_loop_file_is_the_innermost_mount() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Root::at(dir.path());
        fs::create_dir_all(root.proc("self")).expect("fake proc");
        let table = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /var rw - xfs /dev/sda2 rw\n3 1 0:5 / /va rw - tmpfs t rw\n";
        fs::write(root.proc("self/mountinfo"), table).expect("fake mounts");
        assert_eq!(backing(&root, "/var/tmp/f.img")["file_system"], "xfs");
        assert_eq!(backing(&root, "/home/f.img")["file_system"], "ext4");
    }
}
