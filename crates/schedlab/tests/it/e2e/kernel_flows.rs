//! Flows in the kernel arena: control groups and I/O priorities of a real Linux.

use std::fs;

use serde_json::Value;
use testbed::require;

use crate::common::{Lab, Ran, kernel_cache, trials};

/// Two flows of eight random readers on a disk of 130 IO/s.
fn plan(variants: &[(&str, &str, &str)], more: &str) -> String {
    let variants = variants.iter().map(|(name, scheduler, tunables)| {
        format!(
            "[[variant]]\nname = \"{name}\"\nscheduler = \"{scheduler}\"\ntunables = {{ {tunables} }}\n"
        )
    });
    format!(
        "arena = \"kernel\"\ndevice = \"cheetah9lp\"\n[trial]\nduration_ms = 3000\nwarmup_ms = 500\n[budget]\nrounds = 1\nfigures_only = true\n{}\
         [[workload]]\nname = \"readers\"\nkind = \"flows\"\nprimary = \"heavy.share_percent\"\n{more}\n\
         [[workload.flow]]\nname = \"heavy\"\nkind = \"randread\"\nparams = {{ clients = 8 }}\n\
         [[workload.flow]]\nname = \"light\"\nkind = \"randread\"\nparams = {{ clients = 8 }}\n",
        variants.collect::<String>()
    )
}

fn run(lab: &Lab, plan: &str, out: &str) -> Ran {
    let file = lab.path("flows.toml");
    fs::write(&file, plan).unwrap();
    let words = format!("run {} --out {} -q", file.display(), lab.path(out).display());
    let mut command = lab.command(&words);
    command.envs(kernel_cache().map(|cache| ("SCHEDLAB_CACHE_DIR", cache)));
    Ran::from(command.output().unwrap())
}

fn metric(trials: &[Value], variant: &str, name: &str) -> f64 {
    reported(trials, variant, name).unwrap_or_else(|| panic!("{variant} has no {name}: {trials:?}"))
}

fn reported(trials: &[Value], variant: &str, name: &str) -> Option<f64> {
    let trial = trials
        .iter()
        .find(|trial| trial["variant"] == variant)
        .unwrap_or_else(|| panic!("no trial of {variant}"));
    trial["observation"]["metrics"][name].as_f64()
}

/// Capacity below the disk's, so that io.cost has something to share.
const COST: &str = "\"io.cost.model\" = \"ctrl=user rbps=20000000 rseqiops=1000 rrandiops=80 wbps=20000000 wseqiops=1000 \
                    wrandiops=80\", \"io.cost.qos\" = \"enable=1 ctrl=user rpct=0 wpct=0 min=100 max=100\"";
const WEIGHTS: &str = "\"io.weight@heavy\" = 400, \"io.weight@light\" = 100";

#[test]
fn settings_of_flows_reach_the_guests_kernel_and_act_where_that_kernel_lets_them() {
    if kernel_cache().is_none() {
        return;
    }
    let lab = Lab::new();
    let cost = format!("{COST}, {WEIGHTS}");
    let plan = plan(
        &[
            ("none", "none", ""),
            ("ignored", "none", WEIGHTS),
            ("io.cost", "none", &cost),
            ("io.max", "none", "\"io.max@light\" = \"riops=10\""),
            ("ioprio", "mq-deadline", "\"ioprio@heavy\" = \"realtime:0\""),
            ("class", "mq-deadline", "\"io.prio.class@light\" = \"idle\""),
            (
                "bfq",
                "bfq",
                "low_latency = 0, \"io.bfq.weight@heavy\" = 400, \"io.bfq.weight@light\" = 100",
            ),
        ],
        "",
    );
    let ran = run(&lab, &plan, "once");
    ran.says(&[
        "WARNING: variant ignored: io.weight@heavy has no effect under none",
        "io.cost.qos = \"enable=1\"",
    ]);
    let once = trials(&lab.path("once"));
    let share = |variant: &str| metric(&once, variant, "heavy.share_percent");
    assert!((40.0..60.0).contains(&share("none")), "equal flows share equally: {}", share("none"));
    assert_eq!(share("ignored"), share("none"), "a weight that nothing reads changes nothing");
    assert!(share("io.cost") > 70.0, "400 : 100 is 80 %: {}", share("io.cost"));
    assert!(metric(&once, "io.max", "light.iops") <= 11.0, "bounded to 10 requests a second");
    for variant in ["ioprio", "class"] {
        assert!(
            share(variant) > 90.0,
            "mq-deadline serves a higher class first: {variant} {}",
            share(variant)
        );
    }
    assert!(share("bfq") > 60.0, "{}", share("bfq"));
    // A guest's processes start at the same virtual time.
    run(&lab, &plan, "twice");
    assert!(once == trials(&lab.path("twice")), "the same plan gives the same results file");
}

#[test]
fn writeback_is_throttled_for_a_reader_on_ext4_unless_the_variant_switches_that_off() {
    if kernel_cache().is_none() || !require(&["root", "mkfs.ext4"]) {
        return;
    }
    let lab = Lab::new();
    let variants =
        [("on", "none", "fs = \"ext4\""), ("off", "none", "fs = \"ext4\", wbt_lat_usec = 0")];
    let reader = "params = { clients = 1, file_size = \"16M\" }";
    // More than the disk can write, but not an endless loop: computing takes no virtual time.
    let writer = "params = { clients = 1, file_size = \"64M\", direct = false, think_time = \"10ms\", block_size = \"256k\" }";
    let text = plan(&variants, "params = { alone = true }").replacen(
        "params = { clients = 8 }",
        reader,
        1,
    );
    let text = text.replace(
        "kind = \"randread\"\nparams = { clients = 8 }",
        &format!("kind = \"seqwrite\"\n{writer}"),
    );
    run(&lab, &text, "out");
    let all = trials(&lab.path("out"));
    let of = |variant: &str, name: &str| metric(&all, variant, name);
    let worst = ["on", "off"].map(|variant| of(variant, "heavy.latency_p999_us"));
    assert!(
        worst[1] > 4.0 * worst[0],
        "behind writeback that nothing holds back a read waits for all of it: {worst:?}"
    );
    for variant in ["on", "off"] {
        assert!(
            of(variant, "light.write_mb_per_s") > 0.0 && of(variant, "insulation_min") > 0.0,
            "{variant}"
        );
        assert!(
            of(variant, "heavy.slowdown") > 0.0
                && of(variant, "slowdown_max") >= of(variant, "heavy.slowdown"),
            "{variant}"
        );
    }
}

#[test]
fn words_that_no_kernel_could_take_are_refused_before_anything_is_built() {
    let lab = Lab::new();
    let refused = |tunables: &str, says: &[&str]| {
        run(&lab, &plan(&[("a", "none", ""), ("b", "none", tunables)], ""), "out")
            .expect_status(2)
            .says(says);
    };
    refused(
        "\"io.weight@haevy\" = 400",
        &["variant b: io.weight@haevy: no workload has this flow", "did you mean \"heavy\""],
    );
    refused("\"io.weight\" = 400", &["io.weight@FLOW"]);
    refused("\"io.wieght@heavy\" = 400", &["did you mean \"io.weight\""]);
    refused("\"io.weight@../heavy\" = 400", &["invalid flow name"]);
    refused("\"io.max@heavy\" = \"wbps=1M\\n8:16 wbps=1\"", &["invalid value", "wbps=10M"]);
    refused("\"io.cost.qos@heavy\" = \"enable=1\"", &["remove @heavy"]);
    refused("cdl_enable = 1", &["(no device/cdl_enable)"]);
    refused("clients = \"kernel\"", &["leave clients out"]);
    lab.run("kernel exec --device hp97560 --scheduler none:io.weight@a=1 -- true")
        .expect_status(2)
        .says(&["io.weight@a", "/sys/fs/cgroup"]);
}

#[test]
fn a_value_that_the_guests_kernel_refuses_is_named_with_the_file() {
    if kernel_cache().is_none() {
        return;
    }
    let lab = Lab::new();
    let variants =
        [("a", "none", ""), ("b", "none", "\"io.prio.class@heavy\" = \"promote-to-rt\"")];
    run(&lab, &plan(&variants, ""), "out").expect_status(1).says(&[
        "io.prio.class@heavy: the guest's kernel refused `promote-to-rt`",
        "/sys/fs/cgroup/heavy/io.prio.class",
    ]);
}

/// Reads and writes per second of `mixed`, by variant.
fn mixed(lab: &Lab, arena: &str, place: (&str, u32), clients: &str) -> Vec<(f64, f64)> {
    let (device, iodepth) = place;
    // A disk serves few requests in a second.
    let (duration_ms, warmup_ms) =
        if device.starts_with("null") { (2000, 500) } else { (10_000, 2000) };
    let variant = |name: &&str| {
        let tunables = match (arena, *name) {
            ("kernel", _) => format!("clients = \"{clients}\""),
            (_, "none") => String::new(),
            _ => "linux = 601".to_owned(),
        };
        format!(
            "[[variant]]\nname = \"{name}\"\nscheduler = \"{name}\"\ntunables = {{ {tunables} }}\n"
        )
    };
    let plan = format!(
        "arena = \"{arena}\"\ndevice = \"{device}\"\nseed = 3\n[trial]\nduration_ms = {duration_ms}\nwarmup_ms = {warmup_ms}\n\
         [budget]\nrounds = 1\nfigures_only = true\n{}[[workload]]\nname = \"mixed\"\nkind = \"mixed\"\n\
         params = {{ iodepth = {iodepth} }}\n",
        MIXED_VARIANTS.iter().map(variant).collect::<String>()
    );
    let out = format!("{arena}-{clients}-{}-{iodepth}", device.split(':').next().unwrap());
    run(lab, &plan, &out);
    let trials = trials(&lab.path(&out));
    // A starved reader has no rate.
    let rate = |variant: &str, name: &str| reported(&trials, variant, name).unwrap_or(0.0);
    MIXED_VARIANTS
        .iter()
        .map(|variant| (rate(variant, "read_iops"), rate(variant, "write_iops")))
        .collect()
}

const MIXED_VARIANTS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// The reference is a program's thread that sleeps in io_submit until a tag is free.
#[test]
fn mixed_has_one_answer_in_simulator_and_guest() {
    if kernel_cache().is_none() {
        return;
    }
    let lab = Lab::new();
    let arenas = [("sim", "auto"), ("kernel", "kernel"), ("kernel", "syscalls")];
    for place in
        [("null:service_ns=300000:queue_depth=32", 64), ("cheetah9lp", 1), ("cheetah9lp", 2)]
    {
        let rates = arenas.map(|(arena, clients)| mixed(&lab, arena, place, clients));
        // Under none, plugging decides who starves, and the simulator has no plug: see the page
        // about the arena.
        let plugs = |variant: &str| variant == "none" && place.1 == 2;
        for (i, variant) in MIXED_VARIANTS.iter().enumerate().filter(|(_, variant)| !plugs(variant))
        {
            let [sim, threads, programs] = [rates[0][i].0, rates[1][i].0, rates[2][i].0];
            println!(
                "{place:?}, {variant}: {sim} reads/s simulated, {threads} of threads, {programs} of programs"
            );
            // bfq depends on an estimated peak rate, which needs many completions.
            let bound = if *variant == "bfq" { 0.1 } else { 0.06 };
            for other in [sim, threads] {
                assert!(
                    (other / programs - 1.0).abs() < bound,
                    "{place:?}, {variant}: {sim}, {threads}, {programs}"
                );
            }
        }
    }
    // A disk with a queue serves the reader one to four times a second, too few for a ratio.
    let disk = arenas.map(|(arena, clients)| mixed(&lab, arena, ("wd4tb7200", 64), clients));
    for (i, variant) in MIXED_VARIANTS.iter().enumerate().filter(|(_, variant)| **variant != "bfq")
    {
        for other in [disk[0][i], disk[1][i]] {
            let (reads, writes) = disk[2][i];
            assert!(
                (other.0 - reads).abs() <= 2.0,
                "wd4tb7200, {variant}: {other:?}, of programs {reads} reads/s"
            );
            assert!(
                (other.1 / writes - 1.0).abs() < 0.08,
                "wd4tb7200, {variant}: {other:?}, of programs {writes} writes/s"
            );
        }
    }
}
