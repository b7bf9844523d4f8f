//! The tables of the literature, studied again: what their evidence supports.

use crate::common::Lab;

fn table(name: &str) -> String {
    format!("{}/../../data/published/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn judgements(arguments: &[&str], status: i32) -> serde_json::Value {
    let lab = Lab::new();
    let mut all = vec!["study"];
    all.extend(arguments);
    all.push("--json");
    lab.run(&all).expect_status(status).json()
}

fn verdicts(study: &serde_json::Value) -> Vec<(String, String, String)> {
    let text = |v: &serde_json::Value| v.as_str().unwrap().to_owned();
    let all = study["judgements"].as_array().unwrap();
    all.iter().map(|j| (text(&j["workload"]), text(&j["arm"]), text(&j["verdict"]))).collect()
}

#[test]
fn three_runs_in_fixed_order_do_not_show_that_any_scheduler_is_best() {
    let file = table("hdparm_io_schedulers.csv");
    for metric in ["cached_reads_mb_per_s", "buffered_disk_reads_mb_per_s"] {
        let study = judgements(&[&file, "--arm", "scheduler", "--metric", metric, "--workload", "machine"], 0);
        let verdicts = verdicts(&study);
        assert_eq!(verdicts.len(), 6, "three schedulers against none on two machines");
        assert!(verdicts.iter().all(|(.., verdict)| verdict == "inconclusive"), "{metric}: {verdicts:?}");
        assert!(study["cautions"].to_string().contains("blocks"), "{}", study["cautions"]);
    }
}

#[test]
fn the_linpack_deviations_are_the_sample_deviations_not_the_square_root_of_five_times_the_mean() {
    let file = table("linpack_cpu_settings.csv");
    let study =
        judgements(&[&file, "--arm", "setting", "--metric", "kflops", "--block", "reps", "--baseline", "default"], 0);
    let summary = study["summaries"].as_array().unwrap().iter().find(|s| s["arm"] == "default").unwrap();
    // Computed apart: python3 -c 'import statistics as s; x=[9717238.512,9655598.973,9567577.259,9526415.548,9784073.599]; print(s.mean(x), s.stdev(x))'
    assert!((summary["mean"].as_f64().unwrap() - 9_650_180.778_2).abs() < 0.01, "{summary}");
    assert!((summary["sd"].as_f64().unwrap() - 105_587.117_5).abs() < 0.01, "{summary}");
    let never = verdicts(&study).into_iter().find(|(_, arm, _)| arm.contains("sched_energy_aware")).unwrap();
    assert!(never.2 == "inconclusive", "a write that never took effect has no effect: {never:?}");
}

#[test]
fn a_row_whose_switch_failed_is_void() {
    let file = table("kyber_mdelay_100ms.csv");
    let study = judgements(
        &[
            &file,
            "--arm",
            "requested",
            "--metric",
            "buffered_disk_reads_mb_per_s",
            "--baseline",
            "none",
            "--void-if",
            "write_error",
        ],
        3,
    );
    let bfq = study["judgements"].as_array().unwrap().iter().find(|j| j["arm"] == "bfq").unwrap();
    assert_eq!(bfq["verdict"], "void");
    assert!(bfq["reasons"].to_string().contains("Invalid argument"), "{bfq}");
}

#[test]
fn one_run_each_gives_ratios_without_intervals() {
    let lab = Lab::new();
    let postmark = lab
        .run(&[
            "study",
            &table("wpcas_postmark.csv"),
            "--arm",
            "scheduler",
            "--metric",
            "throughput_kbit_per_s",
            "--baseline",
            "as",
            "--json",
        ])
        .expect_status(0)
        .json();
    let wpcas = postmark["judgements"].as_array().unwrap().iter().find(|j| j["arm"] == "wpcas").unwrap().clone();
    // 45238 / 34231: the table's own throughputs give +32 %, where the text claims +24 %.
    assert!((wpcas["ratio"].as_f64().unwrap() - 1.3215).abs() < 0.0005, "{wpcas}");
    assert_eq!((&wpcas["verdict"], &wpcas["low"]), (&"inconclusive".into(), &serde_json::Value::Null));
    for (file, arm, metric) in [
        ("mq_deadline_tunables.csv", "setting", "buffered_disk_reads_mb_per_s"),
        ("pgbench_tpcb.csv", "scheduler", "tps_excluding_connections"),
        ("rhel4_oracle_relative.csv", "scheduler", "relative_throughput_to_cfq"),
    ] {
        let study = judgements(&[&table(file), "--arm", arm, "--metric", metric], 0);
        assert!(verdicts(&study).iter().all(|(.., v)| v == "inconclusive"), "{file}: {study}");
    }
}

#[test]
fn a_wrong_column_names_the_nearest_one() {
    let lab = Lab::new();
    lab.run(&["study", &table("pgbench_tpcb.csv"), "--arm", "schedular", "--metric", "clients"])
        .expect_status(2)
        .says(&["schedular", "scheduler"]);
    lab.run(&["study", &table("pgbench_tpcb.csv")]).expect_status(2).says(&["--arm", "--metric", "scheduler"]);
}
