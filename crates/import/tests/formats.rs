//! Every format, on files written by its program and on damaged ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use experiment::Options;
use experiment::analysis::{Analysis, Verdict};
use experiment::metric::Direction;
use experiment::plan::{Criteria, Method};
use import::{Choice, File, IMPORTERS, Import, find, guess, import, is_table, recognise};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// The files below a data directory whose names contain `part`.
fn files(dir: &str, part: &str) -> Vec<File> {
    let mut dirs = vec![data().join(dir)];
    let mut found = Vec::new();
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.file_name().unwrap().to_string_lossy().contains(part) {
                found.push(path);
            }
        }
    }
    found.sort();
    let read = |path: &PathBuf| File {
        path: path.to_string_lossy().into_owned(),
        text: fs::read_to_string(path).unwrap(),
    };
    found.iter().map(read).collect()
}

/// The only such file.
fn file(dir: &str, part: &str) -> File {
    let mut found = files(dir, part);
    assert_eq!(found.len(), 1, "{dir}, {part}");
    found.remove(0)
}

/// Simulates another run: multiplies every number that follows one of these words. A factor of one
/// leaves the text unchanged.
fn vary(text: &str, words: &[&str], factor: f64) -> String {
    let vary_line = |line: &str| {
        let found = words.iter().find_map(|word| Some(line.find(word)? + word.len()));
        let Some(start) =
            found.and_then(|at| Some(at + line[at..].find(|c: char| c.is_ascii_digit())?))
        else {
            return line.to_owned();
        };
        let is_part = |c: char| c.is_ascii_digit() || ".e+-".contains(c);
        let end = start + line[start..].find(|c| !is_part(c)).unwrap_or(line.len() - start);
        let number: f64 = line[start..end].parse().unwrap();
        format!("{}{}{}", &line[..start], number * factor, &line[end..])
    };
    if factor == 1.0 {
        return text.to_owned();
    }
    let varied = text.split('\n').map(vary_line).collect::<Vec<_>>().join("\n");
    assert_ne!(varied, text, "{words:?}");
    varied
}

/// Runs of a program under each variant, by file name; the first run of the first variant is the
/// original.
fn repeat(
    text: &str,
    words: &[&str],
    variants: &[&str],
    names: impl Fn(&str, usize) -> String,
    runs: usize,
) -> Vec<File> {
    let all = variants
        .iter()
        .enumerate()
        .flat_map(|(at, variant)| (0..runs).map(move |run| (at, *variant, run)));
    all.map(|(at, variant, run)| {
        let factor = 1.0 + 0.1 * at as f64 + 0.01 * run as f64;
        File { path: names(variant, run + 1), text: vary(text, words, factor) }
    })
    .collect()
}

/// Five runs of fio under each of these schedulers.
fn fio_runs(variants: &[&str]) -> Vec<File> {
    let words = ["\"iops\" :", "\"bw_bytes\" :", "\"mean\" :"];
    repeat(
        &file("fio", "json.json").text,
        &words,
        variants,
        |variant, run| format!("fio/{variant}-{run}.json"),
        5,
    )
}

fn read(format: &str, files: &[File], choice: &Choice<'_>) -> Result<Import, String> {
    import(find(format).unwrap(), files, choice).map_err(|error| error.to_string())
}

fn compared(import: &Import, baseline: &str) -> Analysis {
    let options = Options {
        baseline: Some(baseline.to_owned()),
        primary: import.primary.clone(),
        directions: import.directions.clone(),
        criteria: Criteria { method: Method::Fixed, ..Criteria::default() },
        cautions: import.cautions.clone(),
        ..Options::default()
    };
    experiment::analyze_samples("files", &import.samples, &options)
}

/// Trials per variant on the primary metric, by workload.
fn cells(import: &Import) -> BTreeMap<(String, String), usize> {
    let mut cells = BTreeMap::new();
    for sample in
        import.samples.iter().filter(|sample| import.primary[&sample.workload] == sample.metric)
    {
        *cells.entry((sample.workload.clone(), sample.variant.clone())).or_insert(0) += 1;
    }
    cells
}

fn value(import: &Import, variant: &str, metric: &str) -> f64 {
    let found =
        import.samples.iter().find(|sample| sample.variant == variant && sample.metric == metric);
    found.unwrap_or_else(|| panic!("no {metric} of {variant}")).value
}

fn cell(workload: &str, variant: &str) -> (String, String) {
    (workload.to_owned(), variant.to_owned())
}

#[test]
fn files_of_fio_are_trials_of_the_variant_that_their_names_say() {
    let all =
        read("fio", &fio_runs(&["none", "kyber", "mq-deadline"]), &Choice::default()).unwrap();
    let five = ["kyber", "mq-deadline", "none"].map(|variant| (cell("all", variant), 5));
    assert_eq!(cells(&all), five.into());
    assert_eq!(all.primary["all"], "iops");
    assert!(
        all.samples.iter().all(|sample| sample.round.is_none()),
        "an order that nobody wrote down is not made up"
    );
    // The figures of the first run as printed by fio.
    let json: serde_json::Value = serde_json::from_str(&file("fio", "json.json").text).unwrap();
    let job = &json["jobs"][0]["read"];
    let of = |path: &str| job.pointer(path).unwrap().as_f64().unwrap();
    let none = |metric: &str| value(&all, "none", metric);
    assert_eq!(none("iops"), of("/iops"));
    assert!((none("read_mb_per_s") * 1e6 / of("/bw_bytes") - 1.0).abs() < 1e-3);
    assert_eq!(none("read_latency_mean_us"), of("/lat_ns/mean") / 1e3);
    assert_eq!(none("read_clat_p99_us"), of("/clat_ns/percentile/99.000000") / 1e3);
    let analysis = compared(&all, "none");
    assert!(
        analysis.cautions.iter().any(|caution| caution.contains("no measurement order")),
        "{:?}",
        analysis.cautions
    );
}

#[test]
fn the_numbers_of_files_are_rounds_where_the_user_says_so() {
    let some = fio_runs(&["none", "kyber", "mq-deadline"]);
    for choice in [
        Choice { round: Some("run"), ..Choice::default() },
        Choice {
            variant_pattern: Some(r"/([a-z-]+)-\d\.json"),
            round_pattern: Some(r"-(\d)\.json"),
            ..Choice::default()
        },
    ] {
        let all = read("fio", &some, &choice).unwrap();
        let rounds: BTreeSet<_> = all.samples.iter().map(|sample| sample.round).collect();
        assert_eq!(rounds, (0..5).map(Some).collect(), "{choice:?}");
        assert_eq!(cells(&all).len(), 3, "{choice:?}");
    }
}

#[test]
fn clones_of_a_job_are_one_trial_and_their_percentiles_are_those_of_their_histograms() {
    let text = file("fio", "json+").text;
    let plus = repeat(
        &text,
        &["\"iops\" :"],
        &["none", "kyber"],
        |variant, _| format!("fio/plus-{variant}.json"),
        1,
    );
    let all = read("fio", &plus, &Choice::default()).unwrap();
    let expected: BTreeMap<_, _> = ["readers", "writer"]
        .iter()
        .flat_map(|job| ["plus-none", "plus-kyber"].map(|variant| (cell(job, variant), 1)))
        .collect();
    assert_eq!(cells(&all), expected);
    assert!(all.cautions.iter().any(|caution| caution.contains("no verdict can be reached")
        && caution.contains("schedlab compare")));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let reads = |job: usize| &json["jobs"][job]["read"];
    let sum = reads(0)["iops"].as_f64().unwrap() + reads(1)["iops"].as_f64().unwrap();
    let of = |metric: &str| {
        let found = |sample: &&experiment::samples::Sample| {
            sample.workload == "readers" && sample.variant == "plus-none" && sample.metric == metric
        };
        all.samples.iter().find(found).unwrap().value
    };
    assert_eq!(of("iops"), sum);
    let p99 = [0, 1].map(|job| {
        reads(job).pointer("/clat_ns/percentile/99.000000").unwrap().as_f64().unwrap() / 1e3
    });
    assert!(
        of("read_clat_p99_us") >= p99[0].min(p99[1])
            && of("read_clat_p99_us") <= p99[0].max(p99[1]),
        "{p99:?}"
    );
    // Without histograms the percentiles of clones are unknown and omitted.
    let mut plain = plus;
    for file in &mut plain {
        let mut json: serde_json::Value = serde_json::from_str(&file.text).unwrap();
        for job in json["jobs"].as_array_mut().unwrap() {
            for way in ["read", "write", "trim"] {
                job[way]["clat_ns"].as_object_mut().unwrap().remove("bins");
                job[way]["lat_ns"].as_object_mut().unwrap().remove("bins");
            }
        }
        file.text = json.to_string();
    }
    let all = read("fio", &plain, &Choice::default()).unwrap();
    assert!(
        all.samples
            .iter()
            .all(|sample| sample.workload != "readers" || !sample.metric.contains("p99"))
    );
    assert!(all.cautions.iter().any(|caution| caution.contains("json+")), "{:?}", all.cautions);
}

#[test]
fn a_job_that_failed_or_did_nothing_is_invalid() {
    let mut some = fio_runs(&["none", "kyber"]);
    some.retain(|file| file.path.ends_with("-1.json"));
    some[0].text = some[0].text.replacen("\"error\" : 0", "\"error\" : 5", 1);
    let all = read("fio", &some, &Choice::default()).unwrap();
    let analysis = compared(&all, "none");
    assert_eq!(analysis.comparisons[0].verdict, Verdict::Invalid, "{:?}", analysis.comparisons[0]);
    let reasons: Vec<String> =
        analysis.comparisons[0].reasons.iter().map(ToString::to_string).collect();
    assert!(reasons.iter().any(|reason| reason.contains("error 5")), "{reasons:?}");
}

#[test]
fn runs_of_hyperfine_are_trials_of_the_command_and_failed_ones_are_invalid() {
    let all = read("hyperfine", &files("hyperfine", "times"), &Choice::default()).unwrap();
    assert_eq!(cells(&all), ["seq 200", "seq 400"].map(|variant| (cell("all", variant), 6)).into());
    assert_eq!(value(&all, "seq 200", "time_s"), 0.005675215);
    let all = read(
        "hyperfine",
        &files("hyperfine", "times"),
        &Choice { variant: Some("n"), workload: Some("dir"), ..Choice::default() },
    )
    .unwrap();
    assert_eq!(cells(&all), ["200", "400"].map(|variant| (cell("hyperfine", variant), 6)).into());
    let failed = read("hyperfine", &files("hyperfine", "failed"), &Choice::default()).unwrap();
    let invalid: Vec<_> =
        failed.samples.iter().filter(|sample| !sample.invalid.is_empty()).collect();
    assert!(
        invalid.len() == 4 && invalid.iter().all(|sample| sample.variant == "sh -c \"exit 3\""),
        "{invalid:?}"
    );
}

#[test]
fn a_start_of_pgbench_is_a_trial_whatever_of_it_is_read() {
    let all = repeat(
        &file("pgbench", "one").text,
        &["tps =", "latency average ="],
        &["on", "off"],
        |variant, run| format!("pgbench/{variant}-{run}.txt"),
        4,
    );
    let all = read("pgbench", &all, &Choice::default()).unwrap();
    assert_eq!(cells(&all), ["off", "on"].map(|variant| (cell("all", variant), 4)).into());
    assert_eq!(
        (value(&all, "on", "tps"), value(&all, "on", "latency_mean_ms")),
        (304.950428, 6.558)
    );
    // Two threads are one trial; the last interval is omitted.
    let logs: Vec<File> =
        ["trans.", "agg."].iter().flat_map(|part| files("pgbench", part)).collect();
    let all = read("pgbench", &logs, &Choice::default()).unwrap();
    assert_eq!(cells(&all), ["agg", "trans"].map(|variant| (cell("all", variant), 1)).into());
    let lines = |part: &str| {
        files("pgbench", part).iter().map(|file| file.text.lines().count()).sum::<usize>()
    };
    assert!(
        (value(&all, "trans", "tps") / lines("trans.") as f64 - 1.0).abs() < 0.2,
        "it ran for a second"
    );
    let agg = files("pgbench", "agg.")[0].text.clone();
    let counts: Vec<f64> =
        agg.lines().map(|line| line.split(' ').nth(1).unwrap().parse().unwrap()).collect();
    let kept = &counts[..counts.len() - 1];
    assert_eq!(value(&all, "agg", "tps"), kept.iter().sum::<f64>() / kept.len() as f64);
    // Skipped transactions have no latency.
    let rate = files("pgbench", "rate.2");
    let others: Vec<File> = rate.into_iter().chain(files("pgbench", "trans.")).collect();
    let all = read("pgbench", &others, &Choice::default()).unwrap();
    assert!(value(&all, "rate", "latency_p99_ms") > 0.0);
}

#[test]
fn several_scripts_and_several_starts_in_one_file_are_told_apart() {
    let multi = &files("pgbench", "multi")[0].text;
    let file = File { path: "a.txt".to_owned(), text: format!("{multi}{multi}") };
    let other = File { path: "b.txt".to_owned(), text: multi.clone() };
    let all = read("pgbench", &[file, other], &Choice::default()).unwrap();
    assert_eq!(cells(&all), [(cell("all", "a"), 2), (cell("all", "b"), 1)].into());
    assert_eq!(value(&all, "a", "tps"), 218.128674, "of all scripts, not of one");
}

#[test]
fn systems_of_a_phoronix_result_are_variants_and_their_raw_values_trials() {
    let all = read("pts", &files("pts", "composite"), &Choice::default()).unwrap();
    assert_eq!(cells(&all), [(cell("all", "first"), 21), (cell("all", "second"), 25)].into());
    assert_eq!(all.directions["Numbers Per Second"], Direction::HigherIsBetter);
    assert_eq!(value(&all, "second", "Numbers Per Second"), 365268027.0);
    assert!(
        all.cautions.iter().any(|caution| caution.contains("chosen after looking")),
        "{:?}",
        all.cautions
    );
}

#[test]
fn a_phoronix_result_without_raw_values_gets_no_verdict_and_is_told_what_to_run() {
    let mut file = files("pts", "composite");
    let without: Vec<&str> =
        file[0].text.lines().filter(|line| !line.contains("RawString")).collect();
    file[0].text = without.join("\n");
    let all = read("pts", &file, &Choice::default()).unwrap();
    let analysis = compared(&all, "first");
    assert_eq!(
        (analysis.comparisons[0].verdict, analysis.comparisons[0].low),
        (Verdict::Inconclusive, None)
    );
    assert!(
        analysis.cautions.iter().any(|caution| caution.contains("FORCE_TIMES_TO_RUN")),
        "{:?}",
        analysis.cautions
    );
}

#[test]
fn mmtests_is_read_from_its_logs_and_from_its_parsers() {
    let iterations = |dir: &str, words: &[&str]| {
        let of = |file: File| {
            let names = |variant: &str, run| {
                file.path.replace("base/iter-1", &format!("{variant}/iter-{run}"))
            };
            repeat(&file.text, words, &["base", "patched"], names, 3)
        };
        files(dir, "hackbench").into_iter().flat_map(of).collect::<Vec<_>>()
    };
    let all =
        read("mmtests", &iterations("mmtests", &["Total time:"]), &Choice::default()).unwrap();
    let expected: BTreeMap<_, _> = ["1", "2"]
        .iter()
        .flat_map(|groups| ["base", "patched"].map(|variant| (cell(groups, variant), 6)))
        .collect();
    assert_eq!(cells(&all), expected, "three iterations of two processes");
    let parsed = iterations("mmtests-parsed", &["_\t1\t", "_\t2\t"]);
    let parsed =
        read("mmtests", &parsed, &Choice { round: Some("run"), ..Choice::default() }).unwrap();
    let expected: BTreeMap<_, _> = ["1", "2"]
        .iter()
        .flat_map(|groups| ["base", "patched"].map(|variant| (cell(groups, variant), 3)))
        .collect();
    assert_eq!(cells(&parsed), expected, "what one iteration measured is averaged");
    let sum = |all: &Import| {
        all.samples
            .iter()
            .filter(|sample| sample.variant == "base")
            .map(|sample| sample.value)
            .sum::<f64>()
    };
    assert!(
        (sum(&all) / 2.0 - sum(&parsed)).abs() < 1e-9,
        "the parser of mmtests reads the same times"
    );
}

#[test]
fn runs_of_lkp_are_trials_of_their_commit_and_incomplete_ones_are_invalid() {
    let one = file("lkp", "stats.json");
    let names =
        |commit: &str, run: usize| one.path.replace("v6.17/0", &format!("{commit}/{}", run - 1));
    let mut some =
        repeat(&one.text, &["read_iops\":", "read_bw_MBps\":"], &["v6.17", "v6.18"], names, 3);
    some[5].text = some[5].text.replacen('{', "{\"last_state.is_incomplete_run\": 1,", 1);
    let all = read("lkp", &some, &Choice::default()).unwrap();
    assert_eq!(cells(&all), ["v6.17", "v6.18"].map(|variant| (cell("all", variant), 3)).into());
    let metrics: BTreeSet<&str> = all.samples.iter().map(|sample| sample.metric.as_str()).collect();
    let own =
        ["fio.read_bw_MBps", "fio.read_clat_99%_us", "fio.read_iops", "fio.time.elapsed_time"];
    assert_eq!(metrics, own.into(), "what monitors counted is there by --metric only");
    assert_eq!(all.samples.iter().filter(|sample| !sample.invalid.is_empty()).count(), own.len());
    let named = ["vmstat.io.bi".to_owned()];
    assert!(read("lkp", &some, &Choice { metrics: &named, ..Choice::default() }).is_ok());
    // The matrix over the runs holds the same.
    let matrix = read("lkp", &files("lkp", "matrix.json"), &Choice::default()).unwrap();
    assert_eq!(cells(&matrix).values().sum::<usize>(), 3);
    let of = |import: &Import| value(import, "v6.17", "fio.read_iops");
    assert_eq!(of(&matrix), of(&all));
}

#[test]
fn repetitions_and_iterations_within_a_process_are_one_trial() {
    let starts = repeat(
        &file("google-benchmark", "gbench").text,
        &["\"real_time\":", "\"cpu_time\":"],
        &["O0", "O2"],
        |variant, run| format!("google-benchmark/gbench-{variant}-{run}.json"),
        3,
    );
    let all = read("google-benchmark", &starts, &Choice::default()).unwrap();
    let expected: BTreeMap<_, _> = ["Sum/1024", "Sum/4096"]
        .iter()
        .flat_map(|name| ["gbench-O0", "gbench-O2"].map(|variant| (cell(name, variant), 3)))
        .collect();
    assert_eq!(cells(&all), expected, "three starts of three repetitions each");
    assert_eq!(all.primary["Sum/1024"], "real_time_ns");
    let all = read("jmh", &files("jmh", "sum"), &Choice::default()).unwrap();
    assert_eq!(
        cells(&all),
        ["backward", "forward"].map(|variant| (cell("all", variant), 4)).into(),
        "four forks of two iterations each"
    );
    assert_eq!(
        value(&all, "forward", "time_ns_per_op"),
        (3286.808265242913 + 2249.593866482155) / 2.0
    );
}

#[test]
fn every_format_is_recognised_by_its_files() {
    for (format, dir, part) in [
        ("fio", "fio", "json.json"),
        ("hyperfine", "hyperfine", "times"),
        ("pgbench", "pgbench", "one"),
        ("pts", "pts", "composite"),
        ("mmtests", "mmtests-parsed", "tsv"),
        ("lkp", "lkp", "stats"),
        ("google-benchmark", "google-benchmark", "gbench"),
        ("jmh", "jmh", "sum"),
        ("criterion", "criterion", "sample"),
        ("criterion", "criterion", "raw"),
        ("mangohud", "mangohud", "00.csv"),
        ("mangohud", "mangohud", "versioned"),
        ("capframex", "capframex", "record"),
        ("pgbench", "pgbench", "agg"),
        ("pgbench", "pgbench", "rate.2"),
    ] {
        let found = recognise(&files(dir, part)[0].text).map(|row| row.name);
        assert_eq!(found, Ok(format));
    }
}

#[test]
fn a_text_of_no_format_names_what_each_missed() {
    for text in ["", "{}", "1 2 3 4 5 6 7\n", "a,b\n1,2\n", &files("mangohud", "summary")[0].text] {
        let tried = recognise(text).unwrap_err();
        let names: Vec<&str> = tried.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, IMPORTERS.iter().map(|row| row.name).collect::<Vec<_>>(), "{text}");
        assert!(tried.iter().all(|(_, mark)| !mark.is_empty()), "{tried:?}");
    }
    let tried = recognise("{\"results\": []}").unwrap_err();
    assert!(tried.contains(&("hyperfine", "\"command\"")), "{tried:?}");
}

#[test]
fn baselines_of_criterion_are_variants_and_their_samples_one_trial() {
    let text = file("criterion", "raw").text;
    let one = files("criterion", "sample").remove(0);
    assert!(one.path.contains("/new/"), "{}", one.path);
    let names = |variant: &str, run| one.path.replace("/new/", &format!("/{variant}-{run}/"));
    // The time of the first sample, in which the others differ.
    let time = one.text.split("\"times\":[").nth(1).unwrap().split(',').next().unwrap();
    let slower = |factor: f64| {
        one.text.replacen(time, &(time.parse::<f64>().unwrap() * factor).to_string(), 1)
    };
    let mut all = Vec::new();
    for (variant, factor) in [("old", 1.0), ("new", 2.0)] {
        for run in 1..=5 {
            let text = slower(factor + 0.01 * run as f64);
            all.push(File { path: names(variant, run), text });
        }
    }
    // The last measurement, stored as a copy.
    all.push(File { path: one.path.clone(), text: all[9].text.clone() });
    let all = read("criterion", &all, &Choice::default()).unwrap();
    assert_eq!(cells(&all), ["new", "old"].map(|variant| (cell("all", variant), 5)).into());
    assert_eq!(all.primary["all"], "time_ns");
    let both = [one, File { path: "raw.csv".to_owned(), text }];
    let both = read("criterion", &both, &Choice { variant: Some("dir"), ..Choice::default() });
    let both = both.unwrap();
    assert_eq!(value(&both, "", "time_ns"), value(&both, "new", "time_ns"));
    assert!((value(&both, "new", "time_ns") - 8.3).abs() < 0.2);
}

#[test]
fn a_log_of_frames_is_one_trial_in_every_version_of_mangohud() {
    let all = files("mangohud", ".csv");
    let all: Vec<File> = all.into_iter().filter(|file| !file.path.contains("summary")).collect();
    let all = read("mangohud", &all, &Choice::default()).unwrap();
    assert_eq!(cells(&all).values().sum::<usize>(), 3);
    for sample in all.samples.iter().filter(|sample| sample.metric == "fps") {
        assert!((70.0..125.0).contains(&sample.value), "{sample:?}");
    }
    // Forty frames of 8 ms, one of which takes 40 ms.
    let one = "vkcube";
    assert!((value(&all, one, "fps") - 1e3 / 8.8).abs() < 3.0);
    assert!((value(&all, one, "frametime_p99_ms") - 40.0).abs() < 2.0);
    assert!((value(&all, one, "low_1_percent_fps") - 25.0).abs() < 2.0);
    assert!(!all.cautions.iter().any(|caution| caution.contains("log_interval")));
    let frames = file("mangohud", "versioned").text;
    // Only some of the lines, as with log_interval.
    let head = frames.lines().take(7);
    let some = frames.lines().skip(7).step_by(3);
    let text = head.chain(some).map(|line| format!("{line}\n")).collect();
    let sampled = [File { path: "a.csv".to_owned(), text }];
    let sampled = read("mangohud", &sampled, &Choice::default()).unwrap();
    assert!(sampled.cautions.iter().any(|caution| caution.contains("log_interval")));
}

#[test]
fn runs_of_a_record_of_capframex_are_trials() {
    let one = file("capframex", "record");
    let other = File { path: "new.json".to_owned(), text: one.text.replace("old driver", "new") };
    let choice = Choice { variant: Some("comment"), ..Choice::default() };
    let all = read("capframex", &[one, other], &choice).unwrap();
    let two = ["new", "old driver"].map(|variant| (cell("all", variant), 2));
    assert_eq!(cells(&all), two.into());
    assert!((value(&all, "new", "fps") - 1e3 * 15.0 / (15.0 * 8.0 + 32.0)).abs() < 5.0);
}

#[test]
fn what_is_cut_off_localised_or_of_another_format_is_named_with_its_place_and_what_to_do() {
    let one = |format: &str, text: &str| {
        read(
            format,
            &[File { path: "x.json".to_owned(), text: text.to_owned() }],
            &Choice::default(),
        )
        .unwrap_err()
    };
    let fio = file("fio", "json.json").text;
    for (error, words) in [
        (one("fio", &fio[..fio.len() / 2]), vec!["x.json: line ", "column", "truncated"]),
        (
            one("fio", &fio.replacen("\"iops\" : ", "\"iops\" : 1,", 1)),
            vec!["line ", "decimal comma"],
        ),
        (
            one("fio", &fio.replacen("\"iops\" : ", "\"iops\" : -", 1)),
            vec!["job randread", "negative"],
        ),
        (one("fio", &fio.replacen("\"iops\" : ", "\"iops\" : nan, \"x\" : ", 1)), vec!["line "]),
        (one("fio", &fio.replace("fio-3.33", "fio-2.2")), vec!["fio-2.2", "expected fio-3"]),
        (one("fio", &format!("{fio}{fio}")), vec!["several JSON documents"]),
        (one("fio", "fio: no such file\n"), vec!["not valid JSON", "--output-format=json"]),
        (one("fio", "{\"fio version\":\"fio-3.33\",\"jobs\":[]}"), vec!["no job"]),
        (one("hyperfine", &fio), vec!["missing field `results`", "--export-json"]),
        (
            one("hyperfine", "{\"results\":[{\"command\":\"a\"}]}"),
            vec!["command \"a\"", "no times"],
        ),
        (
            one("hyperfine", "{\"results\":[{\"command\":\"a\",\"times\":[]}]}"),
            vec!["no run of a command"],
        ),
        (
            one("hyperfine", "{\"results\":[{\"command\":\"a\",\"times\":[1,-1]}]}"),
            vec!["run 2", "negative"],
        ),
        (
            one("pgbench", &file("pgbench", "one").text.replace("tps = 304.95", "tps = 304,95")),
            vec!["line 2", "localised"],
        ),
        (one("pgbench", "Transaktionstyp: x\ntps = 1\n"), vec!["LC_ALL=C"]),
        (one("pgbench", "transaction type: x\n"), vec!["no line \"tps"]),
        (one("pgbench", "0 1 12 0 1795410905 375674\n0 2 x 0 179"), vec!["line 2"]),
        (one("pts", "<PhoronixTestSuite><Result>"), vec!["line 1", "truncated"]),
        (one("pts", "<html></html>"), vec!["expected PhoronixTestSuite"]),
        (
            one(
                "pts",
                "<!DOCTYPE a [<!ENTITY b \"c\">]><PhoronixTestSuite>&b;</PhoronixTestSuite>",
            ),
            vec!["DTD"],
        ),
        (one("mmtests", "x\n"), vec!["line 1", "parse-results"]),
        (one("lkp", "{\"a.x\":[1,2]}"), vec!["without stats_source"]),
        (
            one("google-benchmark", "{\"benchmarks\":[]}"),
            vec!["--benchmark_report_aggregates_only"],
        ),
        (one("jmh", "[]"), vec!["no fork"]),
        (one("criterion", "{\"iters\":[1],\"times\":[]}"), vec!["0 times of 1 samples"]),
        (one("criterion", "{\"iters\":[0],\"times\":[1]}"), vec!["benchmark ", "inf"]),
        (one("criterion", "group,function,value\na,b,c\n"), vec!["no column", "raw.csv"]),
        (one("mangohud", "0.1% Min FPS\n1\n"), vec!["no line \"fps,", "summary"]),
        (one("mangohud", "fps,frametime,\n1,2\nx,3\n"), vec!["line 3", "frames per second"]),
        (one("mangohud", "fps,frametime,\n0,2\n"), vec!["line 2"]),
        (one("mangohud", "fps,frametime,\n"), vec!["no frame"]),
        (one("capframex", "{\"Runs\":[{\"CaptureData\":null}]}"), vec!["no run with frames"]),
        (
            one("capframex", "{\"Runs\":[{\"CaptureData\":{\"MsBetweenPresents\":[1,0]}}]}"),
            vec!["run 1", "a frame of 0 ms"],
        ),
        (one("jmh", &"[".repeat(100_000)), vec!["line 1"]),
    ] {
        for word in words {
            assert!(error.contains(word), "{word}: {error}");
        }
    }
}

#[test]
fn choices_that_the_files_do_not_have_are_errors() {
    let some = fio_runs(&["none"]);
    for (choice, words) in [
        (Choice { variant: Some("system"), ..Choice::default() }, ["--variant system", "job"]),
        (
            Choice { variant_pattern: Some("("), ..Choice::default() },
            ["--variant-pattern", "unclosed group"],
        ),
        (
            Choice { variant_pattern: Some("zzz([a-z])"), ..Choice::default() },
            ["matches none", "widen"],
        ),
        (Choice { round: Some("night"), ..Choice::default() }, ["--round night", "run"]),
        (Choice { metrics: &["iosp".to_owned()], ..Choice::default() }, ["iosp", "did you mean"]),
    ] {
        let error = read("fio", &some, &choice).unwrap_err();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}

#[test]
fn every_format_takes_any_text_without_a_panic() {
    let mut texts: Vec<String> = vec![
        String::new(),
        "\0".repeat(9),
        "{}".into(),
        "[]".into(),
        "é\n{\n".into(),
        "1 2 3 4 5 6 7\n".repeat(4),
    ];
    for dir in [
        "fio",
        "hyperfine",
        "pgbench",
        "pts",
        "mmtests-parsed",
        "lkp",
        "google-benchmark",
        "jmh",
        "criterion",
        "mangohud",
        "capframex",
    ] {
        texts.extend(files(dir, ".").into_iter().take(3).map(|file| file.text));
        let whole = texts.last().unwrap().clone();
        let cuts =
            (0..whole.len()).step_by(whole.len() / 7 + 1).filter(|at| whole.is_char_boundary(*at));
        texts.extend(cuts.map(|at| whole[..at].to_owned()));
    }
    for row in IMPORTERS {
        for text in &texts {
            let _ = import(
                row,
                &[File { path: "a/b.c".to_owned(), text: text.clone() }],
                &Choice::default(),
            );
        }
    }
    for text in &texts {
        let _ = (recognise(text), is_table(text), guess(text, None, &[]));
    }
}
