//! Runs each command in an empty directory, with hostile names from every source.

use std::fs;
use std::path::{Path, PathBuf};

use experiment::analysis::Analysis;
use experiment::results::{Event, Note, Results};
use lab::watch::history::{Entry, Measured, Outcome};
use recorder::file::ReadOptions;

use crate::common::{Lab, Ran};
use crate::made_fleet;

pub(crate) const MARK: &str = "alert(1)";

/// Plans accept it: a formula, markup of each format, commands of TeX, shells and GitHub.
const PRINTABLE: &str = "=cmd|'/C calc'!A0<script>alert(1)</script><img src=x onerror=alert(1)>[x](javascript:alert(2))\
    ![i](http://evil.example/i)`b`*b*_u_~s~|p|\\input{/etc/passwd}[@evil]${7}$\\input{x}$%c&lt;\"q\"'@all#1</style><!--::error::x\
    ##[add-mask]x www.evil.example ](javascript:alert(3)) ,title=x";

/// Plans reject these, but results files, tables and traces may have them.
const STEERING: &str = "\u{1b}]0;owned\u{7}\u{202e}\u{9b}2J\u{7f}\u{2028}\r\n# H\n::stop-commands::x\n- l\n| a | b |\n    code\n===\n";

pub(crate) struct Writer {
    pub(crate) name: &'static str,
    pub(crate) is_hostile: bool,
    run: fn(&Stage, &Path),
}

pub(crate) static WRITERS: &[Writer] = &[
    Writer { name: "run", is_hostile: true, run },
    // Its names are from schedlab's own tables.
    Writer { name: "compare", is_hostile: false, run: compare },
    Writer { name: "sweep", is_hostile: false, run: sweep },
    Writer { name: "gate", is_hostile: true, run: gate },
    Writer { name: "merge", is_hostile: true, run: merge },
    Writer { name: "atlas", is_hostile: true, run: atlas },
    Writer { name: "tune", is_hostile: false, run: tune },
    Writer { name: "analysis", is_hostile: true, run: analyze },
    Writer { name: "report", is_hostile: true, run: report },
    Writer { name: "fleet", is_hostile: true, run: fleet },
    Writer { name: "trace", is_hostile: true, run: trace },
    Writer { name: "history", is_hostile: true, run: history },
];

pub(crate) struct Stage {
    lab: Lab,
}

const SIM: &str =
    "--arena sim --quiet --device hp97560 --trial-time 100ms --rounds 2 --figures-only";

impl Stage {
    pub(crate) fn new() -> Stage {
        let stage = Stage { lab: Lab::new() };
        let name = |prefix: &str| toml::Value::String(format!("{prefix}{PRINTABLE}")).to_string();
        let plan = format!(
            "name = {}\narena = 'sim'\ndevice = 'null'\nbudget = {{ rounds = 4, no_early_stop = true }}\n\
             trial = {{ duration_ms = 20, warmup_ms = 0 }}\n\
             variant = [{{ name = {}, scheduler = 'noop' }}, {{ name = {}, scheduler = 'deadline' }}]\n\
             workload = [{{ name = {}, kind = 'randread' }}]\n",
            name("- plan"),
            name(""),
            name("[x] "),
            name("* ")
        );
        fs::write(stage.lab.path("plan.toml"), plan).expect("room");
        made_fleet::write(&stage.lab.path("results"), &hostile_results(1));
        stage
    }

    /// In an empty directory.
    pub(crate) fn run(&self, writer: &Writer) -> PathBuf {
        let dir = self.lab.path(writer.name);
        fs::create_dir(&dir).expect("a new directory");
        (writer.run)(self, &dir);
        dir
    }

    fn trace(&self) -> PathBuf {
        self.lab.path(
            &format!("<script>alert(1)<[x](javascript:a)|`$%#{STEERING}.parquet")
                .replace("/script", ""),
        )
    }

    /// D is the directory, P the hostile plan, R the directory of the hostile results, F the trace.
    #[track_caller]
    fn schedlab(&self, dir: &Path, words: &str) -> Ran {
        let of = |word: &str| match word.split_once('/') {
            Some(("D", rest)) => dir.join(rest).display().to_string(),
            None if word == "D" => dir.display().to_string(),
            None if word == "P" => self.lab.path("plan.toml").display().to_string(),
            None if word == "R" => self.lab.path("results").display().to_string(),
            None if word == "F" => self.trace().display().to_string(),
            _ => word.to_owned(),
        };
        let mut command = self.lab.command("");
        command.current_dir(dir);
        let ran = Ran::from(
            command.args(words.split_whitespace().map(of)).output().expect("the binary starts"),
        );
        assert!(matches!(ran.status, Some(0 | 3)), "{words}: {ran:?}");
        ran
    }
}

fn hostile_results(number: u64) -> Results {
    let mut results = made_fleet::results(number, 0.8, 12);
    let steering = |text: &str| format!("{text}{PRINTABLE}{STEERING}");
    let plan = &mut results.header.plan;
    let names = |name: &str| format!("{name}{PRINTABLE}");
    plan.name = names("1. plan");
    plan.device = steering("/dev/sdb");
    plan.baseline = plan.baseline.as_ref().map(|name| names(name));
    plan.variants.iter_mut().for_each(|variant| variant.name = names(&variant.name));
    plan.workloads.iter_mut().for_each(|workload| workload.name = names(&workload.name));
    results.header.command = steering("schedlab run ");
    results.header.schedlab = steering("0.1.0");
    for (section, facts) in &mut results.header.environment {
        facts.values_mut().filter(|_| section != "cpu").for_each(|value| *value = steering(value));
    }
    for trial in &mut results.trials {
        trial.variant = names(&trial.variant);
        trial.workload = names(&trial.workload);
        trial.observation.metrics.insert(steering("=own_"), 1.5 + trial.sequence as f64);
    }
    let event =
        Event::StoppedVariant { workload: steering("w"), variant: steering("a"), rounds: 3 };
    results.notes.push(Note { at_ms: 1, event });
    results
}

fn run(stage: &Stage, dir: &Path) {
    for format in ["csv", "parquet", "perfetto"] {
        let _ = fs::remove_file(dir.join("out/results.jsonl"));
        stage.schedlab(
            dir,
            &format!("run P --quiet --trace {format} --out D/out --metrics-file D/metrics.prom"),
        );
    }
}

fn compare(stage: &Stage, dir: &Path) {
    let words = "--schedulers noop,deadline --workload randread --trace csv --out out --metrics-file metrics.prom";
    stage.schedlab(dir, &format!("compare {SIM} {words}"));
}

fn sweep(stage: &Stage, dir: &Path) {
    let words = "--scheduler deadline --values read_expire=100,900 --workload randread --trial-time 3s --rounds 4";
    stage.schedlab(dir, &format!("sweep --arena sim --quiet --device hp97560 {words} --out D/out"));
}

fn gate(stage: &Stage, dir: &Path) {
    stage
        .schedlab(dir, "gate --plan P --quiet --against last-good --state D/state --out D/out-1 --junit D/junit-1.xml");
    let ran = stage
        .schedlab(dir, "gate --plan P --quiet --against D/out-1 --out D/out-2 --junit D/junit-2.xml --github --json");
    fs::write(dir.join("annotations.txt"), ran.stderr).expect("room");
}

fn merge(stage: &Stage, dir: &Path) {
    stage.schedlab(dir, "shard run P --rounds 0..2 --out D/a.segment");
    stage.schedlab(dir, "shard run P --rounds 2..4 --out D/b.segment");
    stage.schedlab(dir, "shard merge D/a.segment D/b.segment --out D/out");
}

fn atlas(stage: &Stage, dir: &Path) {
    let words = "atlas --devices null,hp97560 --schedulers noop,deadline --workloads two-readers --quick --quiet";
    stage.schedlab(dir, &format!("{words} --out D"));
    let cell = dir.join("cells/sim.null.two-readers/results.jsonl");
    let own = fs::read(&cell).expect("it was measured");
    fs::write(
        &cell,
        serde_json::json!({ "kind": format!("{PRINTABLE}{STEERING}") }).to_string() + "\n",
    )
    .expect("room");
    let ran = Ran::from(
        stage
            .lab
            .command("atlas --render --quiet --out")
            .arg(dir)
            .output()
            .expect("the binary starts"),
    );
    assert!(ran.stderr.contains("left out"), "{ran:?}");
    fs::write(&cell, own).expect("room");
}

fn tune(stage: &Stage, dir: &Path) {
    stage.schedlab(
        dir,
        "tune --arena sim --quiet --device hp97560 --workload randread --trials 40 --out D/out",
    );
}

fn analyze(stage: &Stage, dir: &Path) {
    let (name, metric) = (format!("{PRINTABLE}{STEERING}"), format!("own_{PRINTABLE}"));
    let mut table = csv::Writer::from_path(stage.lab.path("table.csv")).expect("room");
    table.write_record(["variant", &metric, "workload"]).expect("room");
    for (i, variant) in ["base", &name].into_iter().cycle().take(12).enumerate() {
        table
            .write_record([variant, &format!("{}", 10 + i % 3 + i % 2 * 4), &format!("w{name}")])
            .expect("room");
    }
    table.flush().expect("room");
    let mut command = stage.lab.command(
        "analyze --variant variant --baseline base --workload workload --higher-is-better",
    );
    command
        .arg(&metric)
        .arg("--metric")
        .arg(&metric)
        .arg(stage.lab.path("table.csv"))
        .arg("--out")
        .arg(dir.join("table"));
    let ran = Ran::from(command.output().expect("the binary starts"));
    assert!(matches!(ran.status, Some(0 | 3)), "{ran:?}");
    stage.schedlab(dir, "analyze R --out D/results");
    stage.schedlab(dir, "analyze R R --out D/several");
}

fn report(stage: &Stage, dir: &Path) {
    fs::copy(stage.lab.path("results/results.jsonl"), dir.join("results.jsonl")).expect("room");
    stage.schedlab(dir, "report D");
    let formats = if testbed::tool("rsvg-convert").is_some() { "svg,pdf" } else { "svg" };
    stage.schedlab(dir, &format!("report D --format {formats} --figures D/figures"));
    for format in
        ["bencher", "customBiggerIsBetter", "customSmallerIsBetter", "openmetrics", "otlp"]
    {
        let ran = stage.schedlab(dir, &format!("report D --export {format}"));
        fs::write(dir.join(format!("{format}.export")), ran.stdout).expect("room");
    }
    fs::remove_file(dir.join("results.jsonl")).expect("it was copied");
}

fn fleet(stage: &Stage, dir: &Path) {
    stage.schedlab(dir, "fleet contribute R --out D/lines.jsonl");
    for number in 1..4 {
        let results = made_fleet::write(
            &stage.lab.path(&format!("machine-{number}")),
            &hostile_results(number),
        );
        let machine = format!("m{number}{PRINTABLE}{STEERING}").replace('\0', "");
        let mut command = stage.lab.command("fleet push");
        command.arg(results).arg("--machine").arg(machine).arg("--fleet").arg(dir.join("fleet"));
        let ran = Ran::from(command.output().expect("the binary starts")).expect_status(0);
        assert!(ran.stdout.contains("pushed"), "{ran:?}");
    }
    stage.schedlab(dir, "fleet copy D/copy --fleet D/fleet");
    stage.schedlab(dir, "--state-dir D/state fleet learn --fleet D/fleet");
}

fn trace(stage: &Stage, dir: &Path) {
    let (events, plain) = (stage.lab.path("events"), stage.lab.path("plain.parquet"));
    let words = format!(
        "compare --arena sim --device sata-ssd:capacity_mib=64 --schedulers none,bfq --workload oltp:clients=4 --rounds 1 \
         --figures-only --trial-time 200ms --trace csv --quiet --out {}",
        events.display()
    );
    stage.schedlab(dir, &words);
    let trace = fs::read_dir(events.join("traces"))
        .expect("readable")
        .flatten()
        .next()
        .expect("a trace")
        .path();
    stage.schedlab(dir, &format!("trace convert {} --to {}", trace.display(), plain.display()));
    let mut trace = lab::traces::read(&trace, &ReadOptions::default()).expect("a trace");
    let hostile = |text: &mut String| *text = format!("{text}{PRINTABLE}{STEERING}");
    trace.processes.iter_mut().for_each(|process| {
        hostile(&mut process.name);
        hostile(&mut process.cgroup);
    });
    trace.devices.iter_mut().for_each(|device| hostile(&mut device.name));
    trace.schedulers.iter_mut().for_each(hostile);
    let about = &mut trace.about;
    [&mut about.source, &mut about.kernel, &mut about.cut_short, &mut about.filter]
        .into_iter()
        .for_each(hostile);
    recorder::file::write(&stage.trace(), &trace).expect("room");
    stage.schedlab(dir, "trace profile F --html D/profile.html");
    for ending in ["parquet", "iolog", "blkparse", "perfetto-trace"] {
        stage.schedlab(dir, &format!("trace convert F --to D/trace.{ending}"));
    }
    stage.schedlab(dir, "trace synthesize F --device hp97560 --out D/synthesized.toml");
    stage.schedlab(dir, "fit F --out D/model.toml");
    // Written, not run.
    let disk = machine::device::list(&machine::Root::real()).expect("disks").remove(0).name;
    stage.schedlab(
        dir,
        &format!(
            "advise F --quiet --arena sim --schedulers none,bfq --confirm-on {disk} --out D/advice"
        ),
    );
}

fn history(stage: &Stage, dir: &Path) {
    let hostile = |text: &str| format!("{text}{PRINTABLE}{STEERING}");
    let results = hostile_results(1);
    let analysis: Analysis = experiment::analyze(&results, None);
    let at = stage.lab.state().join("history/disk");
    fs::create_dir_all(&at).expect("room");
    let mut lines = String::new();
    for day in 1..9 {
        let measured = Measured {
            recommended: Some(hostile("bfq")),
            sentence: hostile("Use "),
            changed: day == 5,
            applied: Some(hostile("scheduler=bfq")),
            effects: analysis.comparisons.iter().filter(|of| of.primary).cloned().collect(),
            ..Measured::default()
        };
        let entry = Entry {
            at: format!("2026-11-0{day}T02:00:00Z"),
            watch: hostile("w"),
            device: hostile("/dev/sdb"),
            outcome: match day {
                1 => Outcome::Skipped { why: hostile("busy ") },
                2 => Outcome::Failed { why: hostile("gone ") },
                _ => Outcome::Measured(Box::new(measured)),
            },
        };
        lines += &serde_json::to_string(&entry).expect("JSON");
        lines.push('\n');
    }
    fs::write(at.join("history.jsonl"), lines).expect("room");
    stage.schedlab(dir, "watch history --out D/history.html");
}
