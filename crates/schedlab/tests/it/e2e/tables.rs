//! Numbers measured elsewhere, and what `analyze` requires instead of guessing.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Lab, word};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/data");

fn data(name: &str) -> String {
    word(&Path::new(DATA).join(name))
}

/// Replaces `figure` in a real file.
fn repeat(lab: &Lab, name: &str, figure: &str, variants: &[&str], runs: usize) -> String {
    let path = Path::new(DATA).join(name);
    let (text, extension) =
        (fs::read_to_string(&path).unwrap(), path.extension().unwrap().display());
    assert!(text.contains(figure), "{name}: {figure}");
    let (words, number) = figure.rsplit_once(' ').unwrap();
    let number: f64 = number.parse().unwrap();
    let mut all = Vec::new();
    for (at, variant) in variants.iter().enumerate() {
        for run in 0..runs {
            let file = lab.path(&format!("{variant}-{}.{extension}", run + 1));
            let varied = number * (1.0 + 0.1 * at as f64 + 0.01 * run as f64);
            fs::write(&file, text.replace(figure, &format!("{words} {varied}"))).unwrap();
            all.push(file.display().to_string());
        }
    }
    all.join(" ")
}

fn fio(lab: &Lab, variants: &[&str], runs: usize) -> String {
    repeat(lab, "fio/json.json", "\"iops\" : 59917.705736", variants, runs)
}

#[test]
fn files_of_fio_are_compared_in_the_rounds_that_the_user_names() {
    let lab = Lab::new();
    let files = fio(&lab, &["kyber", "none"], 5);
    let analysis =
        lab.run(&format!("analyze --from fio {files} --round run --json")).expect_status(0).json();
    assert_eq!(
        (&analysis["arena"], &analysis["criteria"]["method"]),
        (&"foreign".into(), &"fixed".into())
    );
    let compared = analysis["comparisons"].as_array().unwrap();
    let primary: Vec<_> = compared.iter().filter(|one| one["primary"] == true).collect();
    assert_eq!(primary.len(), 1);
    assert_eq!(
        (&primary[0]["baseline"], &primary[0]["variant"], &primary[0]["metric"]),
        (&"none".into(), &"kyber".into(), &"iops".into())
    );
    let cautions = analysis["cautions"].to_string();
    assert!(
        cautions.contains("one look")
            && cautions.contains("no measurement order")
            && !cautions.contains("there are no rounds"),
        "{cautions}"
    );
    let without = lab.run(&format!("analyze --from fio {files} --json")).expect_status(0).json();
    assert!(without["cautions"].to_string().contains("there are no rounds"));
}

#[test]
fn one_trial_of_each_variant_gets_no_verdict_and_is_told_what_to_run() {
    let lab = Lab::new();
    let words = format!("analyze --from fio {} --metric iops", fio(&lab, &["none", "kyber"], 1));
    let shown =
        lab.run(&words).expect_status(0).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["one trial of each variant", "schedlab compare", "fio:FILE.fio"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let analysis = lab.run(&format!("{words} --json")).expect_status(0).json();
    assert_eq!(
        (&analysis["comparisons"][0]["verdict"], &analysis["comparisons"][0]["low"]),
        (&"inconclusive".into(), &serde_json::Value::Null)
    );
}

#[test]
fn files_of_hyperfine_pgbench_and_phoronix_name_their_variants_and_the_baseline_is_asked_for() {
    let lab = Lab::new();
    let hyperfine = data("hyperfine/times.json");
    lab.run(&format!("analyze --from hyperfine {hyperfine}")).expect_status(2).says(&[
        "seq 200",
        "seq 400",
        "--baseline",
    ]);
    let analysis = lab
        .run(&format!("analyze --from hyperfine {hyperfine} --variant n --baseline 200 --json"))
        .expect_status(0)
        .json();
    assert_eq!(
        (&analysis["comparisons"][0]["variant"], &analysis["comparisons"][0]["metric"]),
        (&"400".into(), &"time_s".into())
    );
    let logs = repeat(&lab, "pgbench/one.txt", "tps = 304.950428", &["on", "off"], 4);
    let words = format!("analyze --from pgbench {logs} --round run --baseline on");
    let analysis = lab.run(&format!("{words} --json")).expect_status(0).json();
    assert_eq!(
        (&analysis["comparisons"][0]["metric"], &analysis["comparisons"][0]["baseline"]),
        (&"tps".into(), &"on".into())
    );
    let pts = lab
        .run(&format!("analyze --from pts {} --baseline first --json", data("pts/composite.xml")))
        .expect_status(0)
        .json();
    assert_eq!(pts["comparisons"][0]["variant"], "second");
    assert!(
        pts["cautions"].to_string().contains("the number of runs was chosen after looking"),
        "{pts}"
    );
    let work = lab.path("mmtests");
    for (variant, iteration) in [("base", 1), ("base", 2), ("patched", 1), ("patched", 2)] {
        let logs = "hackbench-process-pipes/logs";
        let copy = work.join(format!("{variant}/iter-{iteration}/{logs}"));
        fs::create_dir_all(&copy).unwrap();
        for log in ["hackbench-1", "hackbench-2"] {
            fs::copy(
                Path::new(DATA).join("mmtests/base/iter-1").join(logs).join(log),
                copy.join(log),
            )
            .unwrap();
        }
    }
    let mmtests = format!("analyze --from mmtests {} --baseline base --json", work.display());
    assert_eq!(
        lab.run(&mmtests).expect_status(0).json()["comparisons"].as_array().unwrap().len(),
        2,
        "for one and two groups"
    );
}

#[test]
fn a_direction_is_known_or_asked_for_and_never_guessed() {
    let lab = Lab::new();
    let table = lab.path("table.csv");
    let rows: String = (0..6)
        .map(|run| format!("none,{},{}\nslow,{},{}\n", 100 + run, 50 + run, 300 + run, 90 + run))
        .collect();
    fs::write(&table, format!("variant,clat_ns_mean,score\n{rows}")).unwrap();
    let analyze =
        |more: &str| lab.run(&format!("analyze {} --variant variant {more}", table.display()));
    let latency = analyze("--metric clat_ns_mean --json").expect_status(0).json();
    assert_eq!(
        (&latency["comparisons"][0]["verdict"], &latency["recommendation"]["variant"]),
        (&"worse".into(), &"none".into())
    );
    analyze("--metric score").expect_status(2).says(&[
        "\"score\"",
        "--lower-is-better",
        "--higher-is-better",
    ]);
    analyze("--metric clat_ns_mean --metric score").expect_status(2).says(&["--higher-is-better"]);
    for (flag, verdict) in
        [("--lower-is-better score", "worse"), ("--higher-is-better score", "better")]
    {
        let json = analyze(&format!("--metric score {flag} --json")).expect_status(0).json();
        assert_eq!(json["comparisons"][0]["verdict"], verdict, "{flag}");
    }
    analyze("--metric score --lower-is-better score --higher-is-better score")
        .expect_status(2)
        .says(&["also given"]);
    // Row order does not determine the baseline.
    fs::write(&table, "variant,tps\nb,1\na,2\n").unwrap();
    analyze("--metric tps").expect_status(2).says(&["\"b\", \"a\"", "--baseline"]);
}

#[test]
fn standard_input_and_tables_with_tabs_are_read_and_what_is_neither_is_named() {
    let lab = Lab::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_schedlab"))
        .args(["analyze", "-", "--variant", "variant", "--metric", "tps", "--json"])
        .env("SCHEDLAB_STATE_DIR", lab.state())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"variant;tps\nnone;1\nx;2\nnone;1.5\nx;2.5\n").unwrap();
    let done = child.wait_with_output().unwrap();
    let analysis: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(
        (&analysis["comparisons"][0]["variant"], &analysis["name"]),
        (&"x".into(), &"-".into())
    );

    let tabs = lab.path("table.tsv");
    fs::write(&tabs, "variant\ttps\nnone\t1\nx\t2\n").unwrap();
    lab.run(&format!("analyze {} --variant variant --metric tps", tabs.display())).expect_status(0);
    let other = lab.path("table.dat");
    fs::copy(&tabs, &other).unwrap();
    lab.run(&format!("analyze {} --variant variant --metric tps", other.display()))
        .expect_status(0);
    lab.run(&format!("analyze {}", data("fio/json.json")))
        .expect_status(2)
        .says(&["read as fio", "one variant only"]);
    fs::write(&other, b"variant,tps\n\xe9,1\n").unwrap();
    lab.run(&format!("analyze {} --variant variant --metric tps", other.display()))
        .expect_status(2)
        .says(&["UTF-8", "iconv"]);
    let fifo = lab.path("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    lab.run(&format!("analyze {} --variant variant --metric tps", fifo.display()))
        .expect_status(2)
        .says(&["FIFO", "analyze - <"]);
    lab.run(&format!("analyze --from pgbench {}", data("pgbench")))
        .expect_status(2)
        .says(&["a directory"]);
    lab.run(&format!("analyze --from fio {}", data("pgbench")))
        .expect_status(2)
        .says(&["no file of fio"]);
}

#[test]
fn a_format_is_recognised_and_read_as_if_it_were_named() {
    let lab = Lab::new();
    let runs = fio(&lab, &["none", "kyber"], 4);
    let named = lab.run(&format!("analyze --from fio {runs} --json")).expect_status(0);
    let found = lab.run(&format!("analyze {runs} --json")).expect_status(0).says(&["read as fio"]);
    assert_eq!(found.json(), named.json());
    let [dir, criterion] = ["fio", "criterion/fibonacci"].map(|name| lab.path(name));
    fs::create_dir(&dir).unwrap();
    for (i, run) in runs.split_whitespace().enumerate() {
        let name = Path::new(run).file_name().unwrap();
        fs::copy(run, dir.join(name)).unwrap();
        let baseline = criterion.join(format!("{}-{}", ["old", "new"][i % 2], i / 2 + 1));
        fs::create_dir_all(&baseline).unwrap();
        let text =
            format!("{{\"sampling_mode\":\"Flat\",\"iters\":[2,2],\"times\":[1{i}3,1{i}5]}}");
        fs::write(baseline.join("sample.json"), text).unwrap();
    }
    let words = format!("analyze {} --json", dir.display());
    assert_eq!(lab.run(&words).expect_status(0).json()["comparisons"], named.json()["comparisons"]);
    let words = format!("analyze {} --baseline old --json", criterion.display());
    let found = lab.run(&words).expect_status(0).says(&["read as criterion"]).json();
    assert_eq!(found["comparisons"][0]["metric"], "time_ns");
}

#[test]
fn sources_of_two_kinds_are_refused() {
    let lab = Lab::new();
    let runs = fio(&lab, &["none", "kyber"], 1);
    let first = runs.split_whitespace().next().unwrap();
    let hyperfine = data("hyperfine/times.json");
    lab.run(&format!("analyze {first} {hyperfine}")).expect_status(2).says(&[
        "hyperfine",
        "fio",
        "one kind at a time",
    ]);
    lab.run(&format!("analyze {runs} --invalid-if x")).expect_status(2).says(&["for tables"]);
    let table = lab.path("table.csv");
    fs::write(&table, "variant,tps\nnone,1\nx,2\n").unwrap();
    lab.run(&format!("analyze {} --round-pattern x", table.display()))
        .expect_status(2)
        .says(&["--round-pattern", "--from"]);
}

#[test]
fn a_file_of_a_format_is_a_table_where_its_columns_are_named() {
    let lab = Lab::new();
    let raw = data("criterion/raw.csv");
    lab.run(&format!("analyze {raw}")).expect_status(2).says(&["read as criterion"]);
    lab.run(&format!("analyze {raw} --variant function --metric sample_measured_value"))
        .expect_status(2)
        .says(&["one variant only", "in column \"function\""]);
}

#[test]
fn a_table_needs_no_flags_where_its_columns_tell() {
    let lab = Lab::new();
    let table = lab.path("numbers");
    let rows = (1..=5).map(|run| format!("none,{run},1{run}0\nx,{run},2{run}0\n"));
    let text = format!("scheduler,run,tps\n{}", rows.collect::<String>());
    fs::write(&table, &text).unwrap();
    let words = format!("analyze {} --json", table.display());
    let found =
        lab.run(&words).expect_status(0).says(&["--variant scheduler --metric tps --round run"]);
    let flags = "--variant scheduler --metric tps --round run";
    let named = lab.run(&format!("{words} {flags}")).expect_status(0);
    assert_eq!(found.json(), named.json());
    fs::write(&table, text.replace("tps", "x")).unwrap();
    lab.run(&words).expect_status(2).says(&["which way is better", "--lower-is-better"]);
    fs::write(&table, text.replace("run,", "ms,")).unwrap();
    lab.run(&words).expect_status(2).says(&["found ms, tps", "--metric COL"]);
}

#[test]
fn a_text_that_no_format_reads_lists_what_each_missed() {
    let lab = Lab::new();
    let other = lab.path("notes.txt");
    fs::write(&other, "Just words.\nAnd more.\n").unwrap();
    lab.run(&format!("analyze {}", other.display())).expect_status(2).says(&[
        "no format reads it",
        "--from",
        "\n  fio: no \"fio version\"\n",
        "\n  mangohud: no fps,frametime,",
        "\n  table: no header of two or more columns",
    ]);
}

#[test]
fn the_formats_are_listed_with_what_they_lack() {
    let lab = Lab::new();
    let formats = lab.run("list formats --json").expect_status(0).json();
    let names: Vec<_> = formats
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        names,
        [
            "fio",
            "hyperfine",
            "pgbench",
            "pts",
            "mmtests",
            "lkp",
            "google-benchmark",
            "jmh",
            "criterion",
            "mangohud",
            "capframex",
        ]
    );
    let shown = lab.run("list formats").expect_status(0).stdout;
    let help = lab.run("analyze --help").expect_status(0).stdout;
    assert!(names.iter().all(|name| shown.contains(name) && help.contains(name)), "{shown}{help}");
}
