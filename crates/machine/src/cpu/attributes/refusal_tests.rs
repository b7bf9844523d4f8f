//! Refusals, each naming the setting and the remedy.

use super::fake_machine::FakeCpus;
use super::tests::variant;
use crate::cpu::{Guard, Setting};

fn refusal(machine: &FakeCpus, setting: &Setting) -> String {
    let guard = Guard::begin(&machine.root()).unwrap();
    guard.admit(setting).expect_err("it is refused").to_string()
}

#[track_caller]
fn says(machine: &FakeCpus, pairs: &[(&str, &str)], words: &[&str]) {
    let error = refusal(machine, &variant(pairs));
    assert!(error.starts_with(pairs[pairs.len() - 1].0), "{error}");
    for word in words {
        assert!(error.contains(word), "{word:?} is not in: {error}");
    }
}

#[test]
fn a_name_that_is_gone_is_answered_with_its_successor() {
    let machine = FakeCpus::booted();
    for (key, words) in [
        (
            "sysctl:kernel.sched_latency_ns",
            ["6.18.0-fake", "5.13", "6.6", "use debug:base_slice_ns"],
        ),
        (
            "sysctl:kernel.sched_min_granularity_ns",
            ["5.13", "base_slice_ns", "6.6", "use debug:base_slice_ns"],
        ),
        (
            "sysctl:kernel.sched_migration_cost_ns",
            ["5.13", "debugfs", "/sys/kernel/debug/sched", "debug:migration_cost_ns"],
        ),
        ("sysctl:kernel.sched_child_runs_first", ["6.6", "EEVDF", "deadlines", "feature:"]),
        ("sysctl:kernel.sched_schedstats", ["CONFIG_SCHEDSTATS", "", "", ""]),
        ("sysctl:kernel.sched_util_clamp_min", ["CONFIG_UCLAMP_TASK", "5.3", "", ""]),
        (
            "sysctl:kernel.sched_domain.cpu0.domain0.imbalance_pct",
            ["5.13", "debug:domains/", "", ""],
        ),
        ("debug:latency_ns", ["CFS", "6.6", "use debug:base_slice_ns", ""]),
        (
            "debug:min_granularity_ns",
            ["base_slice_ns since Linux 6.6", "use debug:base_slice_ns", "", ""],
        ),
    ] {
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let words: Vec<&str> =
            words.into_iter().map(|word| if word == "debugfs" { "debug" } else { word }).collect();
        says(&machine, &[(key, "1")], &words);
    }
    machine.put("proc/sys/kernel/osrelease", "5.15.0-fake");
    says(&machine, &[("sysctl:kernel.sched_latency_ns", "1")], &["use debug:latency_ns"]);
    std::fs::remove_dir_all(machine.path("sys/kernel/debug")).unwrap();
    says(
        &machine,
        &[("sysctl:kernel.sched_latency_ns", "1")],
        &["use debug:latency_ns", "CONFIG_DEBUG_FS"],
    );
}

#[test]
fn a_write_that_was_published_as_a_result_without_being_one_is_refused() {
    let machine = FakeCpus::booted();
    let key = "sysctl:kernel.sched_energy_aware";
    says(&machine, &[(key, "0")], &["it is empty", "different capacity", "schedutil"]);
    std::fs::remove_file(machine.path("proc/sys/kernel/sched_energy_aware")).unwrap();
    says(&machine, &[(key, "0")], &["CONFIG_ENERGY_MODEL", "changes nothing"]);
}

#[test]
fn unknown_names_are_answered_with_the_nearest_and_all_there_are() {
    let machine = FakeCpus::booted();
    says(
        &machine,
        &[("sysctl:kernel.sched_rr_timeslice", "1")],
        &["did you mean \"kernel.sched_rr_timeslice_ms\"", "timer_migration"],
    );
    says(
        &machine,
        &[("feature:WAKEUP_PREEMPT", "on")],
        &["did you mean \"WAKEUP_PREEMPTION\"", "expected one of PLACE_LAG, HRTICK"],
    );
    says(&machine, &[("feature:hrtick", "on")], &["did you mean \"HRTICK\""]);
    says(&machine, &[("feature:NO_HRTICK", "on")], &["feature:HRTICK=off"]);
    says(&machine, &[("debug:base_slice", "1")], &["did you mean \"base_slice_ns\"", "nr_migrate"]);
    says(&machine, &[("debug:features", "1")], &["feature:NAME=on"]);
    for path in ["../../etc/passwd", "/etc/passwd", "a/../../x"] {
        says(&machine, &[(&format!("debug:{path}"), "1")], &["below /sys/kernel/debug/sched"]);
    }
}

#[test]
fn only_the_schedulers_own_sysctls_are_written() {
    let machine = FakeCpus::booted();
    for name in
        ["kernel.panic", "vm.swappiness", "kernel.sched_x/../../panic", "kernel/../vm/x", ""]
    {
        let key = format!("sysctl:{name}");
        if name.is_empty() {
            assert!(Setting::read("default", [(key.as_str(), "1")]).is_err());
            continue;
        }
        let error = refusal(&machine, &variant(&[(&key, "1")]));
        assert!(error.contains("kernel.sched_*") || error.contains("does not have it"), "{error}");
    }
    says(
        &machine,
        &[("sysctl:sched_rr_timeslice_ms", "1")],
        &["write sysctl:kernel.sched_rr_timeslice_ms"],
    );
    says(&machine, &[("sysctl:kernel.panic", "1")], &["writes no others"]);
}

#[test]
fn values_that_are_of_another_kind_are_refused() {
    let machine = FakeCpus::booted();
    says(
        &machine,
        &[("sysctl:kernel.sched_rr_timeslice_ms", "50ms")],
        &["a whole number", "now contains 100"],
    );
    says(&machine, &[("debug:nr_migrate", "many")], &["a whole number"]);
    says(
        &machine,
        &[("debug:preempt", "fulll")],
        &["did you mean \"full\"", "none, voluntary, full, lazy"],
    );
    says(&machine, &[("feature:HRTICK", "2")], &["neither on nor off"]);
    says(&machine, &[("autogroup", "maybe")], &["neither on nor off"]);
    says(&machine, &[("boost", "maybe")], &["neither on nor off"]);
    says(
        &machine,
        &[("governor", "performanc")],
        &["policy0", "did you mean \"performance\"", "powersave", "modprobe"],
    );
}

#[test]
fn the_same_thing_by_two_names_is_refused() {
    let machine = FakeCpus::booted();
    let error = refusal(
        &machine,
        &variant(&[("autogroup", "on"), ("sysctl:kernel.sched_autogroup_enabled", "0")]),
    );
    assert!(error.contains("the same setting as autogroup"), "{error}");
    let guard = Guard::begin(&machine.root()).unwrap();
    guard
        .admit(&variant(&[("feature:HRTICK", "on"), ("feature:PLACE_LAG", "off")]))
        .expect("two words of one file");
}

#[test]
fn a_machine_that_does_not_have_the_place_says_what_is_missing() {
    let machine = FakeCpus::booted();
    std::fs::remove_dir_all(machine.path("sys/devices/system/cpu/cpufreq")).unwrap();
    says(&machine, &[("governor", "performance")], &["no cpufreq driver", "virtual machine"]);
    says(&machine, &[("boost", "off")], &["no cpufreq driver"]);
    machine.put("sys/kernel/security/lockdown", "none [integrity] confidentiality");
    says(&machine, &[("debug:nr_migrate", "1")], &["locked down (integrity)", "Secure Boot"]);
    machine.put("sys/kernel/security/lockdown", "[none] integrity confidentiality");
    std::fs::remove_dir_all(machine.path("sys/kernel/debug/sched")).unwrap();
    says(
        &machine,
        &[("feature:HRTICK", "on")],
        &["debugfs is not mounted", "mount -t debugfs none /sys/kernel/debug"],
    );
    machine.put("sys/kernel/debug/sched_features", "HRTICK");
    Guard::begin(&machine.root())
        .unwrap()
        .admit(&variant(&[("feature:HRTICK", "off")]))
        .expect("the old place");
    says(&machine, &[("debug:nr_migrate", "1")], &["5.13", "CONFIG_SCHED_DEBUG"]);
    std::fs::remove_file(machine.path("proc/sys/kernel/sched_autogroup_enabled")).unwrap();
    says(&machine, &[("autogroup", "off")], &["CONFIG_SCHED_AUTOGROUP"]);
}

#[test]
fn a_file_that_can_only_be_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let machine = FakeCpus::booted();
    let path = machine.path("sys/kernel/debug/sched/nr_migrate");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o444)).unwrap();
    says(&machine, &[("debug:nr_migrate", "1")], &["is read-only"]);
}

#[test]
fn a_realtime_policy_that_would_leave_nothing_to_anybody_is_refused() {
    let machine = FakeCpus::booted();
    let runtime = "sysctl:kernel.sched_rt_runtime_us";
    for (value, policy) in
        [("-1", "fifo:50"), ("1000000", "rr:1"), ("-1", "deadline:1ms/10ms/10ms")]
    {
        let error = refusal(&machine, &variant(&[("policy", policy), (runtime, value)]));
        assert!(error.starts_with(runtime) && error.contains("lock up the machine"), "{error}");
    }
    let period = variant(&[("policy", "fifo:50"), ("sysctl:kernel.sched_rt_period_us", "900000")]);
    assert!(refusal(&machine, &period).contains("lock up"), "950000 of 900000 is all of it");
    let server = variant(&[("policy", "fifo:50"), ("debug:fair_server/cpu0/runtime", "0")]);
    assert!(refusal(&machine, &server).contains("lock up"));
    let admitted =
        |pairs: &[(&str, &str)]| Guard::begin(&machine.root()).unwrap().admit(&variant(pairs));
    admitted(&[("policy", "batch"), (runtime, "-1")]).expect("no realtime policy");
    admitted(&[("policy", "fifo:50"), (runtime, "500000")]).expect("half of each second is left");
    admitted(&[("policy", "fifo:50")]).expect("the machine has its throttling");
}

#[test]
fn where_throttling_is_off_already_a_cpu_has_to_be_left_to_others() {
    let machine = FakeCpus::booted();
    machine.put("proc/sys/kernel/sched_rt_runtime_us", "-1");
    let error = refusal(&machine, &variant(&[("policy", "fifo:50")]));
    assert!(
        error.contains("lock up") && error.contains("affinity=") && error.contains("is -1"),
        "{error}"
    );
    assert!(
        refusal(&machine, &variant(&[("policy", "rr:50"), ("affinity", "0-1")]))
            .contains("lock up")
    );
    let admitted =
        |pairs: &[(&str, &str)]| Guard::begin(&machine.root()).unwrap().admit(&variant(pairs));
    admitted(&[("policy", "fifo:50"), ("affinity", "1")]).expect("CPU 0 is left");
    admitted(&[("policy", "fifo:50"), ("sysctl:kernel.sched_rt_runtime_us", "900000")])
        .expect("the variant sets a bound");
    admitted(&[("policy", "batch")]).expect("no realtime policy");
}

#[test]
fn who_may_not_write_is_told_before_anything_is_measured() {
    use crate::cpu::Attribute;
    use rustix::thread::{Uid, set_thread_res_uid};
    // It becomes unprivileged.
    if !testbed::require(&["root"]) {
        return;
    }
    let machine = FakeCpus::booted();
    let root = machine.root();
    let resolve = |key: &str, value: &str| {
        let attribute = Attribute { key: key.to_string(), value: value.to_string() };
        super::resolve::resolve(&root, &attribute).map(drop).map_err(|error| error.to_string())
    };
    // As on a machine, whatever the umask: all but debugfs is open.
    let chmod = |words: &[&str], path: &str| {
        let status =
            std::process::Command::new("chmod").args(words).arg(machine.path(path)).status();
        assert!(status.is_ok_and(|status| status.success()), "{path}");
    };
    chmod(&["-R", "go+rX"], "");
    chmod(&["700"], "sys/kernel/debug");
    resolve("autogroup", "off").expect("root may");
    let as_unprivileged = || {
        let unprivileged = Uid::from_raw(65_534);
        // Affects only this thread.
        set_thread_res_uid(unprivileged, unprivileged, unprivileged)
            .expect("root may become any user");
        [
            resolve("autogroup", "off"),
            resolve("debug:nr_migrate", "1"),
            resolve("feature:HRTICK", "on"),
        ]
    };
    let refused =
        std::thread::scope(|scope| scope.spawn(as_unprivileged).join().expect("no panic"));
    let words = ["only root may write", "only root may access", "only root may access"];
    for (result, words) in refused.into_iter().zip(words) {
        let error = result.expect_err("an unprivileged user may not");
        assert!(error.contains(words) && error.contains("run as root"), "{error}");
    }
}
