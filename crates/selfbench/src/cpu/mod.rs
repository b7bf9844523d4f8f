//! `selfbench cpu`: a kernel's CPU scheduler in virtual time, next to this machine's.
//!
//! The same plans run in the arena `cpu` on one CPU of this machine, and in `kernel-cpu`. Medians
//! over rounds; the machine's range shows what else it does. Each side is what a user gets: a child
//! of this program runs `schedlab run`.

mod cases;
mod place;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use experiment::stats::describe;
use serde::Serialize;
use serde_json::Value;

use cases::{CASES, Case};
use place::Confined;

#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) rounds: u32,
    pub(crate) seconds: f64,
    /// `debian:6.12`, and settings of every variant of the guest, in TOML.
    pub(crate) kernel: String,
    pub(crate) guest: Vec<(String, String)>,
    pub(crate) only: Option<String>,
    pub(crate) schedlab: PathBuf,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    workload: String,
    variant: String,
    figure: &'static str,
    /// By round, sorted.
    machine: Vec<f64>,
    guest: Vec<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    machine: String,
    kernel: String,
    guest: String,
    rounds: u32,
    /// Of the last minute, before and after.
    load: [f64; 2],
    rows: Vec<Row>,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    let dir = tempfile::Builder::new().prefix("schedlab-cpu-").tempdir()?;
    let before = load_average()?;
    let mut rows = Vec::new();
    for case in CASES {
        let title = title(case);
        if options.only.as_ref().is_some_and(|part| !title.contains(part.as_str())) {
            continue;
        }
        let machine = {
            let _confined = Confined::enter(case.place).context("one CPU: cannot be had")?;
            measure(options, case, dir.path(), Side::Machine)?
        };
        let guest = measure(options, case, dir.path(), Side::Guest)?;
        rows.extend(compare(case, &title, &machine, &guest));
    }
    ensure!(!rows.is_empty(), "no case has this name, or no trial has figures");
    let settings = options.guest.iter().map(|(name, value)| format!("{name}={value}"));
    Ok(Report {
        machine: std::fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned(),
        kernel: options.kernel.clone(),
        guest: settings.collect::<Vec<_>>().join("+"),
        rounds: options.rounds,
        load: [before, load_average()?],
        rows,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Machine,
    Guest,
}

fn title(case: &Case) -> String {
    let params: String = case.params.replace(['"', ' '], "");
    let params = if params.is_empty() { params } else { format!(":{params}") };
    format!("{}{params}, {} spinning", case.workload, case.spinners)
}

fn load_average() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/loadavg")?;
    text.split(' ').next().and_then(|word| word.parse().ok()).context("/proc/loadavg: no number")
}

fn plan(options: &Options, case: &Case, side: Side) -> String {
    let guest: String =
        options.guest.iter().map(|(name, value)| format!("{name:?} = {value:?}, ")).collect();
    let (arena, kernel, own) = match side {
        Side::Machine => ("cpu", String::new(), String::new()),
        Side::Guest => ("kernel-cpu", format!("kernel = {:?}\n", options.kernel), guest),
    };
    let variants = case.variants.iter().map(|(name, tunables)| {
        format!(
            "[[variant]]\nname = {name:?}\nscheduler = \"\"\ntunables = {{ {own}{tunables} }}\n"
        )
    });
    let Case { workload, params, spinners, .. } = case;
    format!(
        "arena = {arena:?}\n{kernel}[trial]\nduration_ms = {}\nwarmup_ms = 300\n[limits]\nsteal_share = 1.0\n\
         [budget]\nrounds = {}\nfigures_only = true\n{}[[workload]]\nname = \"w\"\nkind = {workload:?}\nparams = {{ {params} }}\n\
         [[workload.background]]\nkind = \"spin\"\nparams = {{ threads = \"{spinners}\" }}\n",
        (options.seconds * 1e3) as u64,
        options.rounds,
        variants.collect::<String>()
    )
}

/// The trials of one side.
fn measure(options: &Options, case: &Case, dir: &Path, side: Side) -> Result<Vec<Value>> {
    let (file, out) = (dir.join("plan.toml"), dir.join("out"));
    std::fs::write(&file, plan(options, case, side))?;
    let output = Command::new(&options.schedlab)
        .args(["run", "-q", "--out"])
        .args([&out, &file])
        .output()
        .with_context(|| format!("cannot start {}", options.schedlab.display()))?;
    // Its status is that of a verdict: figures are there with too few events for one, too.
    let text = std::fs::read_to_string(out.join("results.jsonl")).with_context(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        format!("{}, {side:?}: {}", title(case), said.trim())
    })?;
    std::fs::remove_dir_all(&out)?;
    let lines = text.lines().map(serde_json::from_str::<Value>).collect::<Result<Vec<_>, _>>()?;
    Ok(lines.into_iter().filter(|line| line.get("observation").is_some()).collect())
}

fn compare(case: &Case, title: &str, machine: &[Value], guest: &[Value]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (variant, _) in case.variants {
        for figure in case.figures {
            let of = |trials: &[Value]| -> Vec<f64> {
                let own = trials.iter().filter(|trial| trial["variant"] == *variant);
                let mut values: Vec<f64> =
                    own.filter_map(|trial| (figure.of)(&trial["observation"])).collect();
                values.sort_by(f64::total_cmp);
                values
            };
            let (machine, guest) = (of(machine), of(guest));
            let (workload, variant) = (title.to_owned(), (*variant).to_owned());
            rows.push(Row { workload, variant, figure: figure.name, machine, guest });
        }
    }
    rows
}

impl Row {
    fn difference_percent(&self) -> Option<f64> {
        let (machine, guest) = (describe::median(&self.machine)?, describe::median(&self.guest)?);
        (machine != 0.0).then(|| (guest / machine - 1.0) * 100.0)
    }
}

impl fmt::Display for Report {
    /// In Markdown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { machine, kernel, guest, rounds, load: [before, after], rows } = self;
        writeln!(
            f,
            "Machine: Linux {machine}, one CPU, load average {before} before and {after} after. Guest: {kernel}, {guest}. Medians of {rounds} rounds.\n"
        )?;
        writeln!(f, "| workload | variant | figure | machine | its range | guest | difference |")?;
        writeln!(f, "|---|---|---|--:|--:|--:|--:|")?;
        for row in rows {
            let median = |values: &[f64]| describe::median(values).map_or("-".into(), number);
            let range = match (row.machine.first(), row.machine.last()) {
                (Some(least), Some(most)) => format!("{} to {}", number(*least), number(*most)),
                _ => "-".to_owned(),
            };
            let difference = row.difference_percent().map_or("-".into(), |percent| {
                format!("{percent:+.0} %{}", if percent.abs() > 25.0 { " *" } else { "" })
            });
            writeln!(
                f,
                "| {} | {} | {} | {} | {range} | {} | {difference} |",
                row.workload,
                row.variant,
                row.figure,
                median(&row.machine),
                median(&row.guest)
            )?;
        }
        Ok(())
    }
}

fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use experiment::plan::Plan;
    use serde_json::json;

    use super::*;

    fn options() -> Options {
        Options {
            rounds: 3,
            seconds: 2.0,
            kernel: "debian:6.12".to_owned(),
            guest: vec![("hz".to_owned(), "250".to_owned())],
            only: None,
            schedlab: PathBuf::new(),
        }
    }

    #[test]
    fn both_sides_of_each_case_differ_only_in_arena_kernel_and_guest_settings() {
        for case in CASES {
            let [machine, guest] = [Side::Machine, Side::Guest].map(|side| {
                let text = plan(&options(), case, side);
                Plan::from_toml(&text).unwrap_or_else(|e| panic!("{}: {e}\n{text}", title(case)))
            });
            assert_eq!((machine.arena.name, guest.arena.name), ("cpu", "kernel-cpu"));
            assert_eq!(machine.workloads, guest.workloads);
            for (own, theirs) in machine.variants.iter().zip(&guest.variants) {
                let mut settings = theirs.tunables.clone();
                assert_eq!(settings.remove("hz").as_deref(), Some("250"));
                assert_eq!(own.tunables, settings);
            }
        }
    }

    #[test]
    fn a_figure_is_the_median_of_a_variants_own_trials_and_a_large_difference_is_marked() {
        let trial = |variant: &str, run_ms: f64| {
            json!({ "variant": variant, "observation": {
                "duration_ns": 1e9, "counters": { "task_run_ms": run_ms }, "metrics": {} } })
        };
        let machine = [400.0, 500.0, 510.0].map(|ms| trial("default", ms));
        let guest = [trial("default", 300.0), trial("nice=5", 250.0)];
        let rows = compare(&CASES[0], "w", &machine, &guest);
        let row = rows.iter().find(|row| row.variant == "default").unwrap();
        assert_eq!(row.difference_percent().unwrap().round(), -40.0);
        let report = Report {
            machine: "6.18".to_owned(),
            kernel: "debian:6.12".to_owned(),
            guest: String::new(),
            rounds: 3,
            load: [0.0; 2],
            rows,
        };
        let text = report.to_string();
        assert!(text.contains("| 50.0 | 40.0 to 51.0 | 30.0 | -40 % * |"), "{text}");
    }
}
