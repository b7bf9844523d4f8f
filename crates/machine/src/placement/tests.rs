//! Parsing policies, and messages for refused placements.

use std::fs;

use super::*;
use crate::root::Root;

#[test]
fn a_policy_is_read_and_written_the_same() {
    for text in ["other", "batch", "idle", "fifo:50", "rr:1"] {
        assert_eq!(text.parse::<Policy>().unwrap().to_string(), text);
    }
    let parsed: Policy = "deadline:5ms/10ms/20ms".parse().unwrap();
    assert_eq!(
        parsed,
        Policy::Deadline { runtime: 5_000_000, deadline: 10_000_000, period: 20_000_000 }
    );
    assert_eq!("fifo/50".parse::<Policy>(), Ok(Policy::Fifo(50)));
    for (text, said) in [
        ("fifo", "fifo:50"),
        ("fifo:0", "1 to 98"),
        ("rr:99", "1 to 98"),
        ("deadline:20ms/10ms/10ms", "each at most the next"),
        ("batch:3", "is not a policy"),
        ("realtime", "is not a policy"),
    ] {
        assert!(text.parse::<Policy>().unwrap_err().contains(said), "{text}");
    }
}

#[test]
fn a_slice_is_a_time_that_the_kernel_takes() {
    assert_eq!(
        [read_slice("100us"), read_slice("3ms"), read_slice("100ms")],
        [Ok(100_000), Ok(3_000_000), Ok(100_000_000)]
    );
    for text in ["", "3", "99us", "101ms", "-1ms"] {
        assert!(read_slice(text).unwrap_err().contains("100us to 100ms"), "{text}");
    }
}

fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::at(dir.path());
    for (path, text) in files {
        let path = root.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    (dir, root)
}

const FOUR: &[(&str, &str)] =
    &[("/sys/devices/system/cpu/present", "0-3"), ("/sys/devices/system/cpu/online", "0-3")];

#[test]
fn what_cannot_be_had_is_refused_before_it_is_tried() {
    let (_dir, root) = machine(FOUR);
    let list = |text: &str| text.parse::<CpuList>().unwrap();
    let deadline: Option<Policy> = Some("deadline:1ms/10ms/10ms".parse().unwrap());
    for (policy, affinity, isolate, said) in [
        (None, "7", None, Some("CPU 7: this machine has no CPU 7; it has 0-3")),
        (None, "0-1", Some("0"), Some("CPU 1 is not isolated")),
        (None, "0", Some("0-1"), None),
        (deadline, "0", None, Some("remove affinity")),
        (deadline, "0", Some("0"), Some("remove isolate")),
        (deadline, "0-3", None, None),
        (Some(Policy::Fifo(1)), "0", Some("0"), None),
    ] {
        let placement =
            Placement { policy, affinity: Some(list(affinity)), ..Placement::default() };
        let answer =
            placement.admit(&root, isolate.map(list).as_ref()).map_err(|error| error.to_string());
        match said {
            None => assert_eq!(answer, Ok(()), "{affinity} {isolate:?}"),
            Some(said) => assert!(
                answer.clone().unwrap_err().contains(said),
                "{affinity} {isolate:?}: {answer:?}"
            ),
        }
    }
}

#[test]
fn the_kernels_refusal_is_told_with_the_next_step() {
    let groups = "4:cpu,cpuacct:/service\n0::/\n";
    let mounts = "31 23 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n32 23 0:30 / /x rw - cgroup2 cgroup2 rw\n";
    let (_dir, root) = machine(&[
        ("/sys/devices/system/cpu/online", "0-1"),
        ("/proc/self/cpuset", "/jail"),
        ("/proc/self/cgroup", groups),
        ("/proc/self/mountinfo", mounts),
        ("/sys/fs/cgroup/cpu/service/cpu.rt_runtime_us", "0\n"),
        ("/proc/sys/kernel/sched_rt_runtime_us", "950000"),
        ("/proc/sys/kernel/sched_rt_period_us", "1000000"),
        ("/proc/sys/kernel/sched_deadline_period_min_us", "100"),
        ("/proc/sys/kernel/sched_deadline_period_max_us", "4194304"),
    ]);
    let told = |policy: &str, what: &str, errno: i32| {
        let placement = Placement { policy: policy.parse().ok(), ..Placement::default() };
        placement.refused(&root, what, &io::Error::from_raw_os_error(errno))
    };
    let deadline = "deadline:99ms/100ms/100ms";
    for (policy, what, errno, said) in [
        (
            "fifo:50",
            POLICY,
            libc::EPERM,
            "cpu/service/cpu.rt_runtime_us`, or start schedlab outside",
        ),
        (deadline, POLICY, libc::EBUSY, "this one 99 % of a CPU, and 95 % can be granted"),
        (deadline, POLICY, libc::EINVAL, "between 100 and 4194304 microseconds"),
        (deadline, POLICY, libc::EPERM, "neither affinity nor a cpuset"),
        ("", AFFINITY, libc::EINVAL, "online (0-1) and in schedlab's cpuset (/jail)"),
        ("", NICE, libc::EACCES, "CAP_SYS_NICE"),
        ("", SLICE, libc::EINVAL, "its slice is refused: Invalid argument"),
    ] {
        let text = told(policy, what, errno);
        assert!(text.starts_with(what) && text.contains(said), "{text}");
    }
    fs::write(root.proc("self/status"), "CapEff:\t0000000000000000\n").unwrap();
    let text = told("rr:98", POLICY, libc::EPERM);
    assert!(text.contains("a limit of 98 (`ulimit -r` is"), "{text}");
}
