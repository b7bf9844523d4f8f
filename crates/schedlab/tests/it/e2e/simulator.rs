//! The sim arena: reproducible bit for bit, and with traces that match the figures.

use std::fs;

use serde_json::Value;

use crate::common::{Lab, Ran, valid_analysis};

const SCHEDULERS: &str = "noop,deadline,cfq,anticipatory,antic-95,wpcas";

fn analyze(lab: &Lab, out: &str) -> Value {
    valid_analysis(&lab.path(out).join("analysis.json"))
}

fn compare(lab: &Lab, out: &str, more: &str) -> Ran {
    lab.run(&format!("compare --arena sim --quiet --out {} {more}", lab.path(out).display()))
}

#[test]
fn the_same_command_gives_the_same_results_analysis_and_report_byte_for_byte() {
    let lab = Lab::new();
    let words = format!(
        "--device hp97560 --schedulers {SCHEDULERS} --workload iozone --clients 40 --rounds 3 --figures-only --trial-time 5s --json"
    );
    let first = compare(&lab, "a", &words).expect_status(0);
    let second = compare(&lab, "b", &words).expect_status(0);
    assert_eq!(first.stdout, second.stdout);
    for file in
        ["analysis.json", "results.jsonl", "report.html", "report.md", "trials.csv", "plan.toml"]
    {
        let read = |out: &str| fs::read(lab.path(out).join(file)).unwrap();
        assert!(read("a") == read("b"), "{file} differs");
    }
    let other = compare(&lab, "c", &format!("{words} --seed 2")).expect_status(0);
    assert_ne!(first.stdout, other.stdout, "another seed gives other figures");
    // On one CPU.
    let mut alone = std::process::Command::new("taskset");
    alone.args([
        "-c",
        "0",
        env!("CARGO_BIN_EXE_schedlab"),
        "compare",
        "--arena",
        "sim",
        "--quiet",
        "--out",
    ]);
    alone.arg(lab.path("alone")).args(words.split_whitespace());
    let alone = Ran::from(alone.output().unwrap()).expect_status(0);
    assert_eq!(first.stdout, alone.stdout);
    let analysis = analyze(&lab, "a");
    assert_eq!(analysis["arena"], "sim");
    let measured = |metric: &str| {
        analysis["summaries"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["metric"] == metric)
            .count()
    };
    assert_eq!(measured("throughput_mb_per_s"), 6);
    assert_eq!(measured("fairness_jain"), 6);
    assert!(measured("anticipations") >= 3, "the schedulers that anticipate report it");
}

#[test]
fn a_cut_experiment_goes_on_to_the_results_that_it_would_have_had() {
    let lab = Lab::new();
    let words =
        "--device hp97560 --schedulers noop,deadline --workload randread --trial-time 2s --rounds";
    compare(&lab, "whole", &format!("{words} 6")).expect_status(0);
    compare(&lab, "cut", &format!("{words} 4")).expect_status(0);
    compare(&lab, "cut", &format!("{words} 6 --resume")).expect_status(0);
    let trials = |out: &str| -> Vec<Value> {
        let text = fs::read_to_string(lab.path(out).join("results.jsonl")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["kind"] == "trial").collect()
    };
    assert_eq!(trials("whole").len(), 12);
    assert_eq!(trials("whole"), trials("cut"));
    // Killed within the third round.
    fs::create_dir(lab.path("torn")).unwrap();
    let text = fs::read_to_string(lab.path("whole").join("results.jsonl")).unwrap();
    let kept: Vec<&str> = text.lines().take(1 + 5).collect();
    fs::write(lab.path("torn").join("results.jsonl"), kept.join("\n") + "\n").unwrap();
    compare(&lab, "torn", &format!("{words} 6 --resume")).expect_status(0);
    assert_eq!(trials("whole"), trials("torn"));
    assert_eq!(analyze(&lab, "whole")["comparisons"], analyze(&lab, "torn")["comparisons"]);
}

#[test]
fn nothing_of_the_machine_is_needed_or_changed() {
    let lab = Lab::new();
    compare(
        &lab,
        "a",
        "--device hp97560 --schedulers a=none,b=none --workload oltp --rounds 2 --figures-only --trial-time 20s",
    )
    .expect_status(0);
    assert!(!lab.state().exists(), "no journal is begun where nothing is changed");
    let analysis = analyze(&lab, "a");
    let comparison = &analysis["comparisons"][0];
    assert_eq!(
        comparison["ratio"], 1.0,
        "an A/A comparison of common random numbers is exactly equal"
    );
}

fn verdicts(analysis: &Value, metric: &str) -> Vec<(String, String, String)> {
    let of_metric =
        analysis["comparisons"].as_array().unwrap().iter().filter(|row| row["metric"] == metric);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    of_metric
        .map(|row| (text(&row["variant"]), text(&row["verdict"]), row["reasons"].to_string()))
        .collect()
}

#[test]
fn schedulers_cost_cpu_time_on_flash_unless_it_is_off() {
    let lab = Lab::new();
    let load = "--device nvme:capacity_mib=256 --workload randread:clients=4:iodepth=64 --trial-time 20ms --rounds 6";
    compare(&lab, "on", &format!("{load} --schedulers none,mq-deadline,kyber,bfq"))
        .expect_status(0);
    let on = analyze(&lab, "on");
    let thousands = |variant: &str| {
        let of = |row: &&Value| row["metric"] == "iops" && row["variant"] == variant;
        on["summaries"].as_array().unwrap().iter().find(of).unwrap()["mean"].as_f64().unwrap() / 1e3
    };
    for (variant, rate) in
        [("none", 640.0), ("mq-deadline", 496.0), ("kyber", 638.0), ("bfq", 294.0)]
    {
        assert!(
            (thousands(variant) / rate - 1.0).abs() < 0.03,
            "{variant}: {}",
            thousands(variant)
        );
    }
    let variants = "none=none:cpu_percent=0,mq-deadline=mq-deadline:cpu_percent=0,bfq=bfq:cpu_percent=0,again=none:cpu_percent=0";
    let off = compare(&lab, "off", &format!("{load} --schedulers {variants}"));
    assert!(off.stdout.contains("without cpu_percent=0"), "{}", off.stdout);
    for (variant, verdict, reasons) in verdicts(&analyze(&lab, "off"), "iops") {
        match variant.as_str() {
            "again" => assert_eq!(verdict, "equivalent", "the same scheduler costs the same"),
            _ => assert!(
                verdict == "inconclusive" && reasons.contains("set cpu_percent=100"),
                "{variant}: {verdict} {reasons}"
            ),
        }
    }
}

#[test]
fn a_flow_that_starves_decides_the_comparison() {
    let lab = Lab::new();
    let words = "--device cheetah9lp --schedulers linus-2.4,sstf --workload mixed --rounds 4 --trial-time 3s";
    let report = compare(&lab, "a", words).expect_status(0).stdout;
    assert!(
        report.contains("≤ 0.") && report.contains("completed no reads in 4 of 4 rounds"),
        "{report}"
    );
    let (_, verdict, reasons) = verdicts(&analyze(&lab, "a"), "read_iops").remove(0);
    assert!(verdict == "worse" && reasons.contains("the change is a bound"), "{verdict} {reasons}");
    // Too short for a single read under either scheduler.
    let short = compare(&lab, "b", &words.replace("3s", "5ms"))
        .expect_status(3)
        .says(&["or give 630 ms"])
        .stdout;
    assert!(short.contains("make it longer"), "{short}");
}

#[test]
fn reads_from_memory_are_no_evidence_in_the_simulator_either() {
    let lab = Lab::new();
    let words = "--device hp97560 --schedulers none,bfq --workload cached-read --trial-time 50ms --rounds 4";
    let report = compare(&lab, "a", words).expect_status(3).stdout;
    assert!(report.contains("I/O never") && report.contains("the device moved 0 B"), "{report}");
    let all = verdicts(&analyze(&lab, "a"), "throughput_mb_per_s");
    assert!(!all.is_empty() && all.iter().all(|(_, verdict, _)| verdict == "invalid"), "{all:?}");
}

#[test]
fn slips_are_named_with_the_nearest_right_word_or_the_range() {
    let lab = Lab::new();
    let refused = |words: &str, says: &[&str]| {
        compare(&lab, "x", words).expect_status(2).says(says);
    };
    refused("--device hp97650 --schedulers noop,cfq", &["hp97650", "hp97560"]);
    refused("--device hp97560:queue_deph=3 --schedulers noop,cfq", &["queue_deph", "queue_depth"]);
    refused("--device hp97560 --schedulers noop,anticipatry", &["anticipatry", "anticipatory"]);
    refused(
        "--device hp97560 --schedulers noop,deadline:fifo_bach=3",
        &["fifo_bach", "fifo_batch"],
    );
    refused(
        "--device hp97560 --schedulers noop,wpcas:gamma_percent=500",
        &["gamma_percent", "500", "to 100"],
    );
    refused(
        "--device hp97560 --schedulers noop,cfq --workload randread:file_size=1T",
        &["1T", "smaller file_size"],
    );
    refused("--device nowhere.toml --schedulers noop,cfq", &["nowhere.toml"]);
    refused(
        "--device hp97560 --schedulers noop,cfq --workload randread:primary=anticipations",
        &["anticipations", "has no better direction"],
    );
    refused("--device hp97560 --schedulers noop,cfq --destroy-data sda", &["--destroy-data"]);
    refused("--device /dev/vda --schedulers noop,cfq", &["/dev/vda", "--arena disk"]);
    refused("--device ./nothing/ --schedulers noop,cfq", &["./nothing/"]);
    lab.run("compare --device loop:16M --schedulers none,bfq --trace csv")
        .expect_status(2)
        .says(&["--trace", "schedlab trace record"]);
    assert!(!lab.path("x").exists(), "what is refused leaves nothing behind");
}

#[test]
fn a_trace_becomes_tracks_whether_at_once_or_from_its_events() {
    let lab = Lab::new();
    let words = "--device hp97560 --schedulers deadline,anticipatory --workload dss --rounds 2 --figures-only --trial-time 2s";
    for format in ["perfetto", "parquet"] {
        compare(&lab, format, &format!("{words} --trace {format}")).expect_status(0);
    }
    let at_once =
        fs::read(lab.path("perfetto").join("traces/dss-anticipatory.perfetto-trace")).unwrap();
    let has = |text: &str| at_once.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(
        ["waits of the scheduler", "at the disk", "the disk is idle, requests wait"]
            .iter()
            .all(|text| has(text))
    );
    let from = lab.path("parquet").join("traces/dss-anticipatory.parquet");
    let (from, to) = (from.to_str().unwrap(), lab.path("later.perfetto-trace"));
    lab.run(&format!("trace convert {from} --to {}", to.display())).expect_status(0);
    assert!(fs::read(&to).unwrap() == at_once);
    lab.run(&format!("trace convert {from} --to {}", to.display()))
        .expect_status(1)
        .says(&["exists already"]);
}

#[test]
fn a_device_of_ones_own_is_a_file() {
    let lab = Lab::new();
    let listed = lab.run("list devices --json").expect_status(0).stdout;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let hp = listed.as_array().unwrap().iter().find(|row| row["name"] == "hp97560").unwrap();
    let own = lab.path("own.toml");
    fs::write(&own, hp["description"].as_str().unwrap()).unwrap();
    let words =
        "--schedulers noop,deadline --workload randread --rounds 2 --figures-only --trial-time 2s";
    compare(&lab, "own", &format!("--device {} {words}", own.display())).expect_status(0);
    compare(&lab, "row", &format!("--device hp97560 {words}")).expect_status(0);
    assert_eq!(analyze(&lab, "own")["comparisons"], analyze(&lab, "row")["comparisons"]);
    let other = fs::read_to_string(&own).unwrap().replace("rpm = 4002", "rpm = 5400");
    assert!(other.contains("5400"));
    fs::write(&own, other).unwrap();
    let again = format!("--device {} {words} --resume", own.display());
    compare(&lab, "own", &again).expect_status(2).says(&["description", "cannot be combined"]);
    fs::write(&own, "model = \"hdd\"\ncylinder = 12\n").unwrap();
    compare(&lab, "bad", &format!("--device {} {words}", own.display()))
        .expect_status(2)
        .says(&["own.toml", "cylinder"]);
}

#[test]
fn a_trial_is_as_long_as_the_device_asks_however_many_rounds_there_are() {
    let lab = Lab::new();
    for more in ["", "--rounds 20"] {
        let plan = lab.run(&format!(
            "compare --arena sim --device hp97560 --schedulers noop,cfq --dry-run {more}"
        ));
        let plan = plan.expect_status(0).stdout;
        assert!(plan.contains("duration_ms = 60000"), "{more}: {plan}");
    }
}

#[test]
fn a_trace_says_what_was_reported_in_both_formats() {
    let lab = Lab::new();
    let words = "--device hp97560 --schedulers deadline,wpcas --workload seqread:block_size=4k:clients=3 --rounds 1 --figures-only --trial-time 20s --warmup 0s";
    let mut seen = Vec::new();
    for format in ["csv", "parquet"] {
        compare(&lab, format, &format!("{words} --trace {format}")).expect_status(0);
        let file =
            lab.path(format).join(format!("traces/seqread-block_size-4k-clients-3-wpcas.{format}"));
        let told =
            lab.run(&format!("trace convert {} --json", file.display())).expect_status(0).stdout;
        seen.push(serde_json::from_str::<Value>(&told).unwrap());
    }
    assert_eq!(seen[0], seen[1]);
    let reported = &analyze(&lab, "csv")["summaries"];
    let of = |metric: &str| {
        let row = reported
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["metric"] == metric && row["variant"] == "wpcas");
        row.unwrap()["mean"].as_f64().unwrap()
    };
    let figures = seen[0]["figures"].as_array().unwrap();
    let figure = |name: &str| {
        figures.iter().find(|row| row["name"] == name).unwrap()["value"].as_f64().unwrap()
    };
    // The trace extends to the last completion, slightly beyond the window.
    assert!(
        (figure("read rate") / of("iops") - 1.0).abs() < 0.03,
        "{} {}",
        figure("read rate"),
        of("iops")
    );
    assert!((figure("read time mean") / of("latency_mean_us") - 1.0).abs() < 0.03);
}

#[test]
fn the_list_of_schedulers_tells_source_parameters_and_evidence_of_each() {
    let lab = Lab::new();
    let listed = lab.run("list schedulers --json").expect_status(0).stdout;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let names = "none noop linus-2.4 deadline anticipatory antic-95 wpcas cfq mq-deadline kyber bfq fcfs sstf scan c-scan look c-look \
                 fscan vscan-r sptf asptf edf scan-edf dm-scan rg-scan gsr";
    for name in names.split_whitespace() {
        let row = listed.as_array().unwrap().iter().find(|row| row["name"] == name);
        let row = row.unwrap_or_else(|| panic!("{name} is listed"));
        assert!(["C", "C2", "D", "R", "P"].contains(&row["evidence"].as_str().unwrap()), "{name}");
        assert!(!row["source"].as_str().unwrap().is_empty(), "{name}");
        for parameter in row["parameters"].as_array().unwrap() {
            let of = |key: &str| parameter[key].as_u64().unwrap();
            assert!(
                of("min") <= of("default") && of("default") <= of("max"),
                "{name}: {parameter}"
            );
            assert!(
                !parameter["help"].as_str().unwrap().is_empty()
                    && !parameter["evidence"].as_str().unwrap().is_empty()
            );
        }
    }
    let table = lab.run("list schedulers").expect_status(0).stdout;
    assert!(table.contains("wpcas") && table.contains("turnaround_us"), "{table}");
    let devices = lab.run("list devices").expect_status(0).stdout;
    assert!(devices.contains("hp97560") && devices.contains("nvme"), "{devices}");
}
