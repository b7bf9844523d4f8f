//! Published tables, analyzed again: what their evidence supports.

use std::path::Path;

use crate::common::{Lab, word};

fn table(name: &str) -> String {
    word(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/published").join(name))
}

fn comparisons(words: &str, status: i32) -> serde_json::Value {
    Lab::new().run(&format!("analyze {words} --json")).expect_status(status).json()
}

fn verdicts(analysis: &serde_json::Value) -> Vec<(String, String, String)> {
    let text = |v: &serde_json::Value| v.as_str().unwrap().to_owned();
    let all = analysis["comparisons"].as_array().unwrap();
    all.iter().map(|j| (text(&j["workload"]), text(&j["variant"]), text(&j["verdict"]))).collect()
}

#[test]
fn three_runs_in_fixed_order_do_not_show_that_any_scheduler_is_best() {
    let file = table("hdparm_io_schedulers.csv");
    for metric in ["cached_reads_mb_per_s", "buffered_disk_reads_mb_per_s"] {
        let analysis = comparisons(
            &format!("{} --variant scheduler --metric {} --workload machine", file, metric),
            0,
        );
        let verdicts = verdicts(&analysis);
        assert_eq!(verdicts.len(), 6, "three schedulers against none on two machines");
        assert!(
            verdicts.iter().all(|(.., verdict)| verdict == "inconclusive"),
            "{metric}: {verdicts:?}"
        );
        assert!(analysis["cautions"].to_string().contains("rounds"), "{}", analysis["cautions"]);
    }
}

#[test]
fn the_linpack_deviations_are_the_sample_deviations_not_the_square_root_of_five_times_the_mean() {
    let file = table("linpack_cpu_settings.csv");
    let analysis = comparisons(
        &format!("{} --variant setting --metric kflops --round reps --baseline default", file),
        0,
    );
    let summary = analysis["summaries"]
        .as_array()
        .unwrap()
        .iter()
        .find(|s| s["variant"] == "default")
        .unwrap();
    // Independently: python3 -c 'import statistics as s;
    // x=[9717238.512,9655598.973,9567577.259,9526415.548,9784073.599]; print(s.mean(x),
    // s.stdev(x))'
    assert!((summary["mean"].as_f64().unwrap() - 9_650_180.778_2).abs() < 0.01, "{summary}");
    assert!((summary["sd"].as_f64().unwrap() - 105_587.117_5).abs() < 0.01, "{summary}");
    let never = verdicts(&analysis)
        .into_iter()
        .find(|(_, variant, _)| variant.contains("sched_energy_aware"))
        .unwrap();
    assert!(never.2 == "inconclusive", "a write that never took effect has no effect: {never:?}");
}

#[test]
fn a_row_whose_switch_failed_is_invalid() {
    let file = table("kyber_mdelay_100ms.csv");
    let analysis = comparisons(
        &format!(
            "{} --variant requested --metric buffered_disk_reads_mb_per_s --baseline none --invalid-if write_error --fail-if partly-invalid",
            file
        ),
        8,
    );
    let bfq =
        analysis["comparisons"].as_array().unwrap().iter().find(|j| j["variant"] == "bfq").unwrap();
    assert_eq!(bfq["verdict"], "invalid");
    assert!(bfq["reasons"].to_string().contains("Invalid argument"), "{bfq}");
}

#[test]
fn one_run_each_gives_ratios_without_intervals() {
    let lab = Lab::new();
    let postmark = lab
        .run(&format!(
            "analyze {} --variant scheduler --metric throughput_kbit_per_s --baseline as --json",
            table("wpcas_postmark.csv")
        ))
        .expect_status(0)
        .json();
    let wpcas = postmark["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .find(|j| j["variant"] == "wpcas")
        .unwrap()
        .clone();
    // 45238 / 34231: the table's own throughputs give +32 %, the text claims +24 %.
    assert!((wpcas["ratio"].as_f64().unwrap() - 1.3215).abs() < 0.0005, "{wpcas}");
    assert_eq!(
        (&wpcas["verdict"], &wpcas["low"]),
        (&"inconclusive".into(), &serde_json::Value::Null)
    );
    for (file, variant, metric) in [
        ("mq_deadline_tunables.csv", "setting", "buffered_disk_reads_mb_per_s"),
        ("pgbench_tpcb.csv", "scheduler", "tps_excluding_connections --baseline cfq"),
        ("rhel4_oracle_relative.csv", "scheduler", "relative_throughput_to_cfq --baseline cfq"),
    ] {
        let analysis =
            comparisons(&format!("{} --variant {} --metric {}", table(file), variant, metric), 0);
        assert!(
            verdicts(&analysis).iter().all(|(.., v)| v == "inconclusive"),
            "{file}: {analysis}"
        );
    }
}

#[test]
fn a_wrong_column_names_the_nearest_one() {
    let lab = Lab::new();
    lab.run(&format!("analyze {} --variant schedular --metric clients", table("pgbench_tpcb.csv")))
        .expect_status(2)
        .says(&["schedular", "scheduler"]);
    // The only text column is the variant.
    lab.run(&format!("analyze {}", table("pgbench_tpcb.csv"))).expect_status(2).says(&[
        "--metric",
        "latency_average_ms",
        "tps_including_connections",
    ]);
}

fn linpack_section() -> String {
    let page = include_str!("../../../../../research/published.md");
    let from = page.split("## LINPACK under nice").nth(1).expect("the page has a section about it");
    from.split("\n## ").next().unwrap().to_owned()
}

/// Returns its output and exit status.
fn as_written(lab: &Lab, command: &str) -> (String, Option<i32>) {
    let dir = lab.path("reader");
    if !dir.exists() {
        std::fs::create_dir(&dir).unwrap();
        let data = format!("{}/../../data", env!("CARGO_MANIFEST_DIR"));
        std::os::unix::fs::symlink(data, dir.join("data")).unwrap();
    }
    let binary = Path::new(env!("CARGO_BIN_EXE_schedlab")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap());
    let done = std::process::Command::new("sh")
        .args(["-c", command])
        .current_dir(dir)
        .env("PATH", path)
        .env("SCHEDLAB_STATE_DIR", lab.state())
        .output()
        .unwrap();
    (String::from_utf8(done.stdout).unwrap(), done.status.code())
}

#[test]
fn the_page_about_linpack_shows_what_its_commands_print() {
    let (lab, section) = (Lab::new(), linpack_section());
    let commands: Vec<&str> = section
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| ["schedlab ", "awk "].iter().any(|word| line.starts_with(word)))
        .collect();
    let [first, rule, awk, invalid, reversed] = commands[..] else {
        panic!("five commands, not {commands:#?}")
    };
    let analysis_of = |command: &str| -> serde_json::Value {
        let (text, status) = as_written(&lab, &format!("{command} --json"));
        assert_eq!(status, Some(0), "{command}");
        serde_json::from_str(&text).unwrap()
    };
    let (analysis, by_three_sigma) = (analysis_of(first), analysis_of(rule));
    let find = |analysis: &serde_json::Value, list: &str, variant: &str| {
        analysis[list]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| one["variant"] == variant)
            .cloned()
            .unwrap_or_default()
    };
    let of = |list: &str, variant: &str| find(&analysis, list, variant);
    let rows: Vec<Vec<&str>> = section
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| setting"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), 7, "{rows:?}");
    for row in rows {
        let (summary, compared) = (of("summaries", row[0]), of("comparisons", row[0]));
        let grouped = |value: f64| {
            let digits = format!("{value:.0}");
            let places = (0..digits.len())
                .map(|i| if i > 0 && (digits.len() - i) % 3 == 0 { " " } else { "" });
            places
                .zip(digits.chars())
                .map(|(gap, digit)| format!("{gap}{digit}"))
                .collect::<String>()
        };
        let number = |value: &serde_json::Value| {
            value.as_f64().unwrap_or_else(|| panic!("{row:?}: {summary} {compared}"))
        };
        assert_eq!(row[1], grouped(number(&summary["mean"])), "{row:?}");
        let sd = format!(
            "{} ({:.2} %)",
            grouped(number(&summary["sd"])),
            number(&summary["cv_percent"])
        );
        assert_eq!(row[2], sd, "{row:?}");
        if row[0] == "default" {
            continue;
        }
        let percent = |name: &str| format!("{:+.1}", (number(&compared[name]) - 1.0) * 100.0);
        assert_eq!(row[3], format!("{} %", percent("ratio")));
        assert_eq!(row[4], format!("{} … {} %", percent("low"), percent("high")));
        assert_eq!(Some(row[5]), compared["verdict"].as_str());
        assert_eq!(Some(row[6]), find(&by_three_sigma, "comparisons", row[0])["verdict"].as_str());
    }
    // The write that never happened is invalid, in the words shown.
    assert_eq!(as_written(&lab, awk).1, Some(0));
    let (text, status) = as_written(&lab, invalid);
    assert_eq!(status, Some(8));
    let shown = |start: &str| {
        let lines: Vec<&str> =
            section.lines().skip_while(|line| !line.starts_with(&format!("    {start}"))).collect();
        let round = lines.iter().take_while(|line| line.starts_with("    "));
        round.map(|line| format!("{}\n", &line[4..])).collect::<String>()
    };
    for start in ["sched_energy_aware=0 (write never took  ", "INVALID  "] {
        assert!(
            !shown(start).is_empty() && text.contains(&shown(start)),
            "{}\n{text}",
            shown(start)
        );
    }
    // The same series as the baseline: a false alarm of the three-sigma rule.
    let (text, status) = as_written(&lab, reversed);
    assert_eq!(status, Some(0));
    assert!(!shown("default  ").is_empty() && text.contains(&shown("default  ")), "{text}");
}
