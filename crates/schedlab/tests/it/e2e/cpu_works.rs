//! CPU workloads and loads, and LINPACK under callgrind. No times are asserted, since test machines
//! are shared.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testbed::{eventually, require};

use crate::common::{Lab, Ran};

/// Marks a test's processes, forked ones included.
const OURS: &str = "SCHEDLAB_TEST_PROCESS";

fn start(lab: &Lab, order: &Value) -> Child {
    let mut command = lab.command("cpu-work");
    command
        .env(OURS, lab.dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(order.to_string().as_bytes()).unwrap();
    child
}

fn wait_for_begin(child: &mut Child) {
    let mut line = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    assert_eq!(&line, b"begun\n");
}

fn report(child: Child) -> Value {
    let ran = Ran::from(child.wait_with_output().unwrap()).expect_status(0);
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// In ticks, reaped children included.
fn cpu_ticks(child: &Child) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let fields = stat.rsplit(") ").next().unwrap().split(' ').skip(11).take(4);
    fields.map(|field| field.parse::<u64>().unwrap()).sum()
}

fn alive(lab: &Lab) -> Vec<String> {
    let mark = format!("{OURS}={}", lab.dir.path().display());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environ.split(|byte| *byte == 0).any(|line| line == mark.as_bytes()) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    found
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// With the primary metric of each.
fn works() -> [(Value, &'static str); 7] {
    let duration_ns = 200_000_000;
    let messaging = |threads: bool| json!({"work": "messaging", "groups": 1, "fds": 3, "bytes": 100, "threads": threads, "pipes": threads, "duration_ns": duration_ns});
    [
        (json!({"work": "linpack", "array": 100, "least_ns": 20_000_000}), "kflops"),
        (json!({"work": "linpack", "array": 20, "least_ns": 0, "reps": 5}), "kflops"),
        (messaging(false), "messages_per_s"),
        (messaging(true), "messages_per_s"),
        (
            json!({"work": "wakeup", "messengers": 1, "workers": 2, "work_ns": 1000, "duration_ns": duration_ns}),
            "wakeup_p99_us",
        ),
        (
            json!({"work": "cyclic", "threads": 2, "interval_ns": 200_000, "duration_ns": duration_ns}),
            "timer_latency_p99_us",
        ),
        (
            json!({"work": "build", "jobs": 2, "work_ns": 1_000_000, "read": 65536, "write": 4096, "dir": "/var/tmp", "seed": 1, "duration_ns": duration_ns}),
            "files_per_s",
        ),
    ]
}

#[test]
fn every_work_does_its_order_and_reports() {
    let lab = Lab::new();
    for (order, primary) in works() {
        let mut child = start(&lab, &order);
        wait_for_begin(&mut child);
        let report = report(child);
        assert!(report["metrics"][primary].as_f64().unwrap() > 0.0, "{order}: {report}");
        assert!(report["window_ns"].as_u64().unwrap() > 0, "{order}: {report}");
        if order["work"] != "linpack" && fs::metadata("/proc/self/schedstat").is_ok() {
            assert!(report["counters"]["task_run_ms"].as_f64().unwrap() > 0.0, "{order}: {report}");
        }
        assert_eq!(alive(&lab), [""; 0], "{order}");
    }
}

fn loads(lab: &Lab) -> [(Value, &'static str); 4] {
    [
        (json!({"work": "spin", "threads": 2}), "spins_per_s"),
        (json!({"work": "memory", "threads": 2, "size": 1 << 20}), "mb_per_s"),
        (json!({"work": "forks", "processes": 3, "rate": 0, "work_ns": 1000}), "forks_per_s"),
        (
            json!({"work": "io", "threads": 1, "dir": lab.dir.path(), "size": 1 << 20, "block": 4096, "sync_every": 8}),
            "write_mb_per_s",
        ),
    ]
}

#[test]
fn every_load_goes_on_until_it_is_told_to_end_and_leaves_nothing() {
    let lab = Lab::new();
    for (order, counter) in loads(&lab) {
        let mut child = start(&lab, &order);
        wait_for_begin(&mut child);
        let before = cpu_ticks(&child);
        eventually("it has worked", || cpu_ticks(&child) >= before + 5);
        kill_process(pid(&child), Signal::TERM).unwrap();
        let report = report(child);
        assert!(report["counters"][counter].as_f64().unwrap() > 0.0, "{order}: {report}");
        assert_eq!(report["metrics"], json!({}), "{order}");
        assert_eq!(alive(&lab), [""; 0], "{order}");
    }
    assert_eq!(fs::read_dir(lab.dir.path()).unwrap().count(), 0, "no file is left");
}

#[test]
fn processes_of_a_work_or_load_that_is_killed_do_not_outlive_it() {
    let lab = Lab::new();
    // Neither ends on its own.
    let storm = json!({"work": "forks", "processes": 8, "rate": 0, "work_ns": 600_000_000_000u64});
    let messages = json!({"work": "messaging", "groups": 1, "fds": 4, "bytes": 100, "threads": false, "pipes": false,
                          "duration_ns": 600_000_000_000u64});
    for order in [storm, messages] {
        let mut child = start(&lab, &order);
        eventually("it has forked all of its processes", || alive(&lab).len() == 9);
        child.kill().unwrap();
        child.wait().unwrap();
        eventually("no process is left", || alive(&lab).is_empty());
    }
}

#[test]
fn a_work_that_is_told_to_end_before_its_work_is_done_reports_nothing() {
    let lab = Lab::new();
    let mut child =
        start(&lab, &json!({"work": "linpack", "array": 100, "least_ns": 60_000_000_000u64}));
    wait_for_begin(&mut child);
    kill_process(pid(&child), Signal::TERM).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    let told = String::from_utf8_lossy(&ended.stdout);
    assert!(!told.contains("kflops"), "{told}");
    assert!(String::from_utf8_lossy(&ended.stderr).contains("ended by a signal"));
}

#[test]
fn an_order_that_cannot_be_done_says_why() {
    let lab = Lab::new();
    let failed = |order: Value| Ran::from(start(&lab, &order).wait_with_output().unwrap());
    let array = failed(json!({"work": "linpack", "array": 512, "least_ns": 0}));
    assert_ne!(array.status, Some(0));
    array.says(&["equal columns", "array=514"]);
    let io = failed(
        json!({"work": "io", "threads": 1, "dir": "/nowhere", "size": 4096, "block": 4096, "sync_every": 1}),
    );
    assert_ne!(io.status, Some(0));
    io.says(&["without a name", "dir=", "No such file"]);
}

#[test]
fn every_workload_is_compared_on_the_cpus_under_every_load() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    let io = format!("io:dir={}:size=1M:block=4k", lab.dir.path().display());
    let cases = [
        ("linpack:array=40", "kflops", "spin:threads=1", "background_spin_spins_per_s"),
        (
            "messaging:groups=1:fds=2",
            "messages_per_s",
            "memory:size=1M",
            "background_memory_mb_per_s",
        ),
        (
            "wakeup:workers=2:work=0s",
            "wakeup_p99_us",
            "forks:processes=1",
            "background_forks_forks_per_s",
        ),
        ("cyclic:interval=50us", "timer_latency_p99_us", &io, "background_io_write_mb_per_s"),
    ];
    for (work, primary, load, counter) in cases {
        let name = work.split(':').next().unwrap();
        let measured = |trial_time: &str| {
            let out = lab.path(&format!("{name}-{trial_time}"));
            let words = format!(
                "compare --arena cpu --schedulers default,nice=5 --workload {work} --background {load} --rounds 2 \
                 --figures-only --budget 1h --trial-time {trial_time} --warmup 20ms --out {}",
                out.display()
            );
            lab.run(&words).expect_measured();
            let trials = crate::common::trials(&out);
            assert_eq!(trials.len(), 4, "two rounds of two variants");
            let lacks = trials.into_iter().find(|trial| {
                let of = |kind: &str, name: &str| trial["observation"][kind][name].as_f64();
                !(of("metrics", primary) > Some(0.0) && of("counters", counter) > Some(0.0))
            });
            lacks.map_or(Ok(()), |trial| Err(format!("{work}, {trial_time}: {trial}")))
        };
        // Next to other programs a short trial may end before the workload has had a CPU.
        let found = measured("300ms").or_else(|why| {
            println!("{why}");
            measured("10s")
        });
        assert_eq!(found, Ok(()));
    }
}

/// Overhead included.
fn instructions(lab: &Lab, reps: u64) -> f64 {
    let file = lab.path("callgrind.out");
    let own = lab.command("cpu-work");
    let mut command = std::process::Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--error-exitcode=9"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(own.get_program())
        .args(own.get_args())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let order = json!({"work": "linpack", "array": 200, "least_ns": 0, "reps": reps});
    child.stdin.take().unwrap().write_all(order.to_string().as_bytes()).unwrap();
    wait_for_begin(&mut child);
    report(child);
    let text = fs::read_to_string(&file).unwrap();
    let totals = text
        .lines()
        .find_map(|line| line.strip_prefix("totals: ").or(line.strip_prefix("summary: ")));
    totals
        .and_then(|count| count.trim().parse().ok())
        .unwrap_or_else(|| panic!("no total in {text:.300}"))
}

#[test]
fn linpack_takes_the_same_instructions_every_time() {
    if !require(&["root", "valgrind"]) {
        return;
    }
    let lab = Lab::new();
    let (once, again, few) = (instructions(&lab, 8), instructions(&lab, 8), instructions(&lab, 4));
    assert!((once / again - 1.0).abs() < 0.001, "{once} and {again}");
    // Both forms, four repetitions.
    let per_operation = (once - few) / (4.0 * 2.0 * (2e6 / 3.0 + 2e4));
    // A load, multiply, add, store and the loop for two operations, from fully vectorised to
    // scalar.
    assert!((0.8..6.0).contains(&per_operation), "{per_operation} instructions for each operation");
}

#[test]
fn works_and_loads_are_listed_with_what_they_need_and_take() {
    let lab = Lab::new();
    let rows = lab.run("list workloads --json").expect_status(0).json();
    let rows = rows.as_array().unwrap();
    let row = |name: &str| {
        rows.iter()
            .find(|row| row["name"] == name)
            .unwrap_or_else(|| panic!("{name} is not listed"))
    };
    for (name, primary) in [
        ("linpack", "kflops"),
        ("messaging", "messages_per_s"),
        ("wakeup", "wakeup_p99_us"),
        ("cyclic", "timer_latency_p99_us"),
        ("request", "response_p99_us"),
        ("frames", "frame_p99_us"),
        ("build", "files_per_s"),
    ] {
        let row = row(name);
        assert_eq!(
            (&row["needs"], &row["primary"], &row["writes"]),
            (&json!("cpus"), &json!(primary), &json!(false))
        );
    }
    for name in ["spin", "memory", "forks", "io"] {
        assert_eq!(
            (&row(name)["load"], &row(name)["needs"]),
            (&json!(true), &json!("cpus")),
            "{name}"
        );
    }
    let shown = lab.run("list workloads").expect_status(0).stdout;
    for word in ["NEEDS", "cpus", "--background", "forks", "processes=0", "dir=/var/tmp"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
}
