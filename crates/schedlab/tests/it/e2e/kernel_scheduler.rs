//! The CPU scheduler of a real kernel in virtual time (`--arena kernel` without a device).

use std::fs;

use serde_json::Value;

use crate::common::{Lab, Ran, kernel_cache, trials};

/// One round of every variant without verdicts: figures.
pub(super) fn plan(variants: &[&str], workload: &str, background: &str) -> String {
    let variants = variants.iter().enumerate().map(|(i, tunables)| {
        format!("[[variant]]\nname = \"v{i}\"\nscheduler = \"\"\ntunables = {{ {tunables} }}\n")
    });
    format!(
        "arena = \"kernel-cpu\"\nkernel = \"debian:6.1\"\n[trial]\nduration_ms = 4000\nwarmup_ms = 100\n\
         [budget]\nrounds = 1\nfigures_only = true\n{}[[workload]]\nname = \"w\"\n{workload}\n{background}",
        variants.collect::<String>()
    )
}

pub(super) fn run(lab: &Lab, plan: &str, out: &str) -> Ran {
    let file = lab.path("plan.toml");
    fs::write(&file, plan).unwrap();
    let words = format!("run {} --out {} -q", file.display(), lab.path(out).display());
    in_cache(lab, &words).expect_status(0)
}

pub(super) fn in_cache(lab: &Lab, words: &str) -> Ran {
    let mut command = lab.command(words);
    command.envs(kernel_cache().map(|cache| ("SCHEDLAB_CACHE_DIR", cache)));
    Ran::from(command.output().unwrap())
}

pub(super) fn observed(trials: &[Value], variant: usize) -> &Value {
    let name = format!("v{variant}");
    let trial = trials.iter().find(|trial| trial["variant"] == name.as_str());
    &trial.unwrap_or_else(|| panic!("no trial of {name}: {trials:?}"))["observation"]
}

/// The program's share of the CPU while it ran.
fn share(observation: &Value) -> f64 {
    let run_ms = observation["counters"]["task_run_ms"].as_f64().unwrap();
    run_ms / (observation["duration_ns"].as_f64().unwrap() / 1e6)
}

/// Computes nearly always. Its few wake-ups give no percentile.
const SHARED: &str =
    "kind = \"wakeup\"\nprimary = \"wakeup_max_us\"\nparams = { workers = \"1\", work = \"50ms\" }";
const SPIN: &str = "[[workload.background]]\nkind = \"spin\"\nparams = { threads = \"1\" }\n";
/// The kernel's weights of nice levels (`sched_prio_to_weight`).
const WEIGHTS: [(i32, f64); 5] = [(0, 1024.0), (-5, 3121.0), (5, 335.0), (10, 110.0), (19, 15.0)];

#[test]
fn a_program_gets_the_share_that_its_weight_says() {
    if kernel_cache().is_none() {
        return;
    }
    let lab = Lab::new();
    let variants: Vec<String> =
        WEIGHTS.iter().map(|(nice, _)| format!("nice = \"{nice}\"")).collect();
    let variants: Vec<&str> = variants.iter().map(String::as_str).collect();
    run(&lab, &plan(&variants, SHARED, SPIN), "out");
    let trials = trials(&lab.path("out"));
    for (variant, (nice, weight)) in WEIGHTS.iter().enumerate() {
        let expected = weight / (weight + 1024.0);
        let found = share(observed(&trials, variant));
        // A wake-up waits for a slice at most, which is short next to 50 ms of computing.
        assert!(
            (found - expected).abs() < 0.02,
            "nice {nice}: share {found:.4}, expected {expected:.4}"
        );
    }
}

#[test]
fn a_control_group_is_throttled_and_weighted_and_a_realtime_program_throttled_at_its_bound() {
    if kernel_cache().is_none() {
        return;
    }
    let lab = Lab::new();
    let variants = [
        "\"cpu.max\" = \"25%\"",
        "\"cpu.weight\" = \"300\"",
        "policy = \"fifo:50\"",
        "policy = \"idle\"",
    ];
    run(&lab, &plan(&variants, SHARED, SPIN), "out");
    let trials = trials(&lab.path("out"));
    let shares: Vec<f64> = (0..4).map(|variant| share(observed(&trials, variant))).collect();
    assert!(shares[0] <= 0.26 && shares[0] > 0.2, "{shares:?}");
    assert!(observed(&trials, 0)["counters"]["group_throttled_ms"].as_f64().unwrap() > 1000.0);
    // The background is in the root group, as one task of weight 1024 next to a group of 3072.
    assert!((shares[1] - 0.75).abs() < 0.03, "{shares:?}");
    // kernel.sched_rt_runtime_us: 950 ms in each second.
    assert!((shares[2] - 0.95).abs() < 0.02, "{shares:?}");
    assert!(shares[3] < 0.01, "{shares:?}");
}

#[test]
fn realtime_policies_follow_their_rules() {
    if kernel_cache().is_none() {
        return;
    }
    let lab = Lab::new();
    let turns = [
        "policy = \"fifo:50\"",
        "policy = \"rr:50\", \"sysctl:kernel.sched_rr_timeslice_ms\" = \"10\"",
    ];
    // Two workers that want the CPU for 50 ms at a time.
    let two = SHARED.replace("workers = \"1\"", "workers = \"2\"");
    run(&lab, &plan(&turns, &two, SPIN), "turns");
    let trials_of = |out: &str| trials(&lab.path(out));
    let switches = |trial: &Value| trial["counters"]["task_involuntary_switches"].as_f64().unwrap();
    let trials = trials_of("turns");
    let [fifo, rr] = [0, 1].map(|variant| switches(observed(&trials, variant)));
    // fifo only by the bound of 95 % of each second, rr also after each 10 ms.
    assert!(fifo <= 6.0 && (rr - 380.0).abs() <= 10.0, "{fifo} and {rr} in 3.8 s of computing");

    // A runtime in each period, next to any load; a spin takes a nanosecond.
    let reserved = [
        ("policy = \"deadline:5ms/20ms/20ms\"", 0.25),
        ("policy = \"deadline:3ms/10ms/30ms\"", 0.1),
    ];
    run(&lab, &plan(&reserved.map(|(policy, _)| policy), "kind = \"linpack\"", SPIN), "reserved");
    let trials = trials_of("reserved");
    for (variant, (policy, share)) in reserved.iter().enumerate() {
        let counters = &observed(&trials, variant)["counters"];
        let found = 1.0 - counters["background_spin_spins_per_s"].as_f64().unwrap() / 1e9;
        assert!((found - share).abs() < 0.01, "{policy}: {found:.4} of the CPU");
    }
}

#[test]
fn every_workload_and_background_of_the_cpu_arena_takes_virtual_time() {
    if kernel_cache().is_none() {
        return;
    }
    let lab = Lab::new();
    for (number, (work, metric)) in [
        ("kind = \"linpack\"", "kflops"),
        ("kind = \"messaging\"\nparams = { groups = \"1\", fds = \"2\" }", "messages_per_s"),
        ("kind = \"wakeup\"\nparams = { work = \"100us\" }", "wakeup_max_us"),
        ("kind = \"cyclic\"", "timer_latency_max_us"),
        ("kind = \"request\"", "response_max_us"),
        ("kind = \"frames\"", "frame_max_us"),
        ("kind = \"build\"\nparams = { work = \"500us\" }", "file_max_us"),
    ]
    .into_iter()
    .enumerate()
    {
        let forks = "[[workload.background]]\nkind = \"forks\"\nparams = { work = \"0\", rate = \"500\" }\n";
        let io = "[[workload.background]]\nkind = \"io\"\n";
        let io = if metric == "file_max_us" { io } else { "" };
        let work = format!("{work}\nprimary = \"{metric}\"");
        let plan = plan(&["", "nice = \"5\""], &work, &format!("{SPIN}{forks}{io}"))
            .replace("duration_ms = 4000", "duration_ms = 20")
            .replace("warmup_ms = 100", "warmup_ms = 10");
        run(&lab, &plan, &number.to_string());
        let trials = trials(&lab.path(&number.to_string()));
        let figures = [0, 1].map(|variant| observed(&trials, variant)["metrics"][metric].as_f64());
        assert!(
            figures.iter().all(|figure| figure.is_some_and(|it| it > 0.0)),
            "{work}: {trials:?}"
        );
    }
}

#[test]
fn a_build_competes_for_the_cpu_and_its_disk() {
    if kernel_cache().is_none() {
        return;
    }
    let lab = Lab::new();
    let variants = [
        "\"io:scheduler\" = \"none\"",
        "\"io:scheduler\" = \"bfq\", \"io:low_latency\" = \"0\"",
        "\"io:scheduler\" = \"none\", \"io:cpu_percent\" = \"10000\"",
        "\"io:scheduler\" = \"none\", nice = \"-10\"",
    ];
    let work = "kind = \"build\"\nparams = { work = \"1ms\" }";
    let plan = plan(&variants, work, SPIN).replace("duration_ms = 4000", "duration_ms = 500");
    let ran = run(&lab, &plan, "first");
    run(&lab, &plan, "second");
    let bytes = |out: &str| fs::read_to_string(lab.path(out).join("results.jsonl")).unwrap();
    assert!(bytes("first") == bytes("second"), "virtual time is the same in every run");
    assert!(bytes("first").contains("\"device\":\"nvme\""), "the disk is named: {}", ran.stderr);
    let trials = trials(&lab.path("first"));
    let of = |variant: usize, kind: &str, name: &str| {
        let observation = observed(&trials, variant);
        observation[kind][name].as_f64().unwrap_or_else(|| panic!("no {name}: {observation}"))
    };
    for variant in 0..variants.len() {
        let files = of(variant, "counters", "files");
        assert!(files > 20.0, "{}", observed(&trials, variant));
        // A source and an object, of 64 and 32 KiB.
        assert_eq!(of(variant, "counters", "device_transfers"), 2.0 * files);
        assert_eq!(of(variant, "counters", "device_bytes"), f64::from(96 << 10) * files);
        // The disk takes 60 us; a process that has waited for it waits for the CPU as well.
        assert!(of(variant, "counters", "read_mean_us") > 60.0);
        assert!(of(variant, "counters", "queue_wait_max_us") > 500.0);
    }
    let rate = |variant| of(variant, "metrics", "files_per_s");
    // 100 times as long as the disk's own: some 100 us of the CPU for each request.
    assert!(rate(2) < 0.97 * rate(0), "the CPU time of requests: {} {}", rate(2), rate(0));
    assert!(rate(3) > 1.2 * rate(0), "a low nice level: {} {}", rate(3), rate(0));
}

#[test]
fn the_same_experiment_gives_the_same_bytes_and_a_verdict() {
    if kernel_cache().is_none() {
        return;
    }
    let lab = Lab::new();
    let compare = |out: &str| -> Ran {
        in_cache(
            &lab,
            &format!(
                "compare --arena kernel --kernel debian:6.1 --workload cyclic:interval=3ms --background spin:threads=4 \
                 --schedulers policy=batch,policy=fifo:1 --trial-time 3100ms --rounds 4 --out {}",
                lab.path(out).display()
            ),
        )
    };
    let first = compare("first");
    let shown = first.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["Use policy=fifo:1", "on one CPU in virtual time (Linux 6.1", "▲ better"] {
        assert!(shown.contains(part), "{part:?} in {shown}");
    }
    compare("second").expect_status(0);
    let bytes = |out: &str| fs::read(lab.path(out).join("results.jsonl")).unwrap();
    assert!(bytes("first") == bytes("second"), "virtual time is the same in every run");
}

/// The module counts each wait and each slice; the kernel counts sums of its own.
#[test]
fn waits_slices_and_shares_are_those_of_the_kernels_own_counters() {
    if kernel_cache().is_none() {
        return;
    }
    let lab = Lab::new();
    let variants =
        ["", "nice = \"5\"", "nice = \"-10\"", "policy = \"rr:1\"", "\"cpu.weight\" = \"50\""];
    let two = SHARED.replace("workers = \"1\"", "workers = \"2\"");
    run(&lab, &plan(&variants, &two, SPIN), "out");
    let trials = trials(&lab.path("out"));
    for (variant, tunables) in variants.iter().enumerate() {
        let counters = &observed(&trials, variant)["counters"];
        let figure = |name: &str| {
            counters[name].as_f64().unwrap_or_else(|| panic!("{tunables}: no {name}: {counters}"))
        };
        let is_near = |found: f64, expected: f64, tolerance: f64| {
            assert!(
                (found - expected).abs() <= tolerance,
                "{tunables}: {found}, {expected}: {counters}"
            );
        };
        // Threads begin and end their own counting within the program's.
        is_near(figure("slices"), figure("task_involuntary_switches"), 10.0);
        is_near(figure("queue_wait_sum_us") / 1e3, figure("task_wait_ms"), 50.0);
        assert!(figure("queue_wait_max_us") >= figure("queue_wait_p99_us"));
        assert!(figure("slice_max_us") >= figure("slice_p50_us") && figure("slice_p50_us") > 0.0);
        if !tunables.is_empty() && !tunables.starts_with("nice") {
            assert!(counters["share_us"].is_null(), "{tunables}: weights do not give its share");
            continue;
        }
        is_near(figure("share_us") / 1e3, figure("task_run_ms"), 50.0);
        // 4 s of computing; a slice of each competitor is a few milliseconds.
        is_near(figure("share_us") / 1e3, figure("share_by_weight_us") / 1e3, 30.0);
        for lag in ["share_behind_max_us", "share_task_behind_max_us", "share_task_ahead_max_us"] {
            assert!(figure(lag) < 30e3, "{tunables}, {lag}: {counters}");
        }
    }
}

/// Lag is counted twice, by the program's sum and by task. What a fair class may owe a task is a
/// slice and a tick; a task that begins may be some slices ahead.
#[test]
fn the_lag_of_the_only_thread_is_that_of_its_program_and_bounded() {
    if kernel_cache().is_none() {
        return;
    }
    let lab = Lab::new();
    let three = SPIN.replace("\"1\"", "\"3\"");
    let variants = ["", "nice = \"5\"", "nice = \"-10\"", "nice = \"19\""];
    run(&lab, &plan(&variants, "kind = \"linpack\"", &three), "out");
    let trials = trials(&lab.path("out"));
    for (variant, tunables) in variants.iter().enumerate() {
        let counters = &observed(&trials, variant)["counters"];
        let figure = |name: &str| counters[name].as_f64().unwrap();
        for (way, limit_us) in [("behind", 3_000.0), ("ahead", 6_000.0)] {
            let of_task = figure(&format!("share_task_{way}_max_us"));
            let of_program = figure(&format!("share_{way}_max_us"));
            assert!(
                of_task > 0.0 && of_task <= limit_us && (of_task - of_program).abs() < 1.0,
                "{tunables}, {way}: {of_task} {of_program}"
            );
        }
    }
}

/// Only the guest's init runs, for a clock read of 256 ns each 100 ms.
#[test]
fn a_thread_that_is_alone_hardly_waits_and_gets_all_of_the_cpu() {
    if kernel_cache().is_none() {
        return;
    }
    let lab = Lab::new();
    run(&lab, &plan(&["", "nice = \"5\""], "kind = \"linpack\"", ""), "out");
    let trials = trials(&lab.path("out"));
    for variant in 0..2 {
        let counters = &observed(&trials, variant)["counters"];
        let figure = |name: &str| counters[name].as_f64().unwrap();
        assert!(figure("queue_wait_max_us") < 1.0, "{counters}");
        assert!((figure("slice_p50_us") - 100e3).abs() < 200.0, "{counters}");
        let error = figure("share_us") - figure("share_by_weight_us");
        assert!(figure("share_us") > 1e6 && error.abs() < 20.0, "{counters}");
    }
}

#[test]
fn a_trace_of_the_run_queue_changes_nothing_and_has_the_same_bytes_twice() {
    if kernel_cache().is_none() {
        return;
    }
    let lab = Lab::new();
    let compare = |out: &str, trace: &str| {
        let words = format!(
            "compare --arena kernel --kernel debian:6.1 --workload wakeup --background spin --schedulers default,nice=5 \
             --trial-time 200ms --rounds 2 --figures-only {trace} --out {}",
            lab.path(out).display()
        );
        in_cache(&lab, &words)
    };
    compare("plain", "").expect_status(0);
    for out in ["first", "second"] {
        compare(out, "--trace perfetto").expect_status(0);
    }
    let bytes = |path: &str| fs::read(lab.path(path)).unwrap();
    assert_eq!(trials(&lab.path("plain")), trials(&lab.path("first")), "probes take no time");
    for variant in ["default", "nice-5"] {
        let [first, second] = ["first", "second"]
            .map(|out| bytes(&format!("{out}/traces/wakeup-{variant}.perfetto-trace")));
        assert!(first == second, "{variant}: the same events at the same times");
        // Each of some thousand wake-ups is two switches of at least 50 bytes.
        assert!(first.len() > 100_000, "{variant}: {} bytes", first.len());
        let has = |word: &[u8]| first.windows(word.len()).any(|window| window == word);
        assert!(has(b"guest-cpu-progr") || has(b"schedlab"), "names of tasks");
    }
    compare("csv", "--trace csv").expect_status(2).says(&["choose --trace perfetto"]);
}

#[test]
fn what_virtual_time_cannot_have_is_refused_before_a_kernel_boots() {
    let lab = Lab::new();
    let compare = "compare --arena kernel --schedulers default,nice=5 --rounds 4 --workload";
    for (words, says) in [
        (
            format!("{compare} command:run=true").replace("--arena kernel", "--arena kernel-cpu"),
            "computes natively, which takes no virtual time",
        ),
        (format!("{compare} wakeup --background memory"), "neither caches nor memory bandwidth"),
        (format!("{compare} messaging:pipes=false"), "pipes=true"),
        (format!("{compare} wakeup --device hp97560"), "nothing here does I/O"),
        (format!("{compare} build:read=5000"), "read is a multiple of 4k"),
        (format!("{compare} build").replace("nice=5", "io:scheduler=bfqq"), "did you mean \"bfq\""),
        (format!("{compare} randread"), "--device: missing"),
        (
            "compare --arena kernel --workload wakeup --schedulers default,affinity=1".to_owned(),
            "the guest has no CPU 1",
        ),
        (
            format!("{compare} wakeup --kernel debian:6.1").replace("nice=5", "cpus=2"),
            "several need 6.19 or later",
        ),
        (
            "compare --arena kernel --workload wakeup --schedulers default,cpu.max=0".to_owned(),
            "5ms/10ms",
        ),
        (
            format!("{compare} wakeup").replace("nice=5", "policy=deadline:5ms/20ms/20ms"),
            "only the first thread",
        ),
        (format!("{compare} command:on=cpu:run=true"), "computes natively"),
    ] {
        in_cache(&lab, &words).expect_status(2).says(&[says]);
    }
}
