//! `schedlab list`: prints the program's own tables.

use std::collections::BTreeSet;

use anyhow::Result;
use elevator::{Build, ElevatorKind, Guarantee, LINUX};
use experiment::metric::{Direction, METRICS};
use load::programs::cpu::{LOADS, LoadKind};
use load::programs::{Needs, RUNNERS, RunnerKind};
use machine::Root;
use machine::device;
use report::Columns;
use serde_json::{Map, Value, json};

use crate::cli::{ListArgs, Listing};
use crate::failure::REACHED;
use crate::out;
use lab::arena::kernel;
use lab::arena::sim::ATTRIBUTES;

pub(crate) fn run(root: &Root, args: &ListArgs) -> Result<u8> {
    let (rows, header): (Vec<Value>, &[&str]) = match args.what {
        Listing::Schedulers => {
            (schedulers(root), &["name", "family", "sim", "kernel", "here", "help"])
        }
        Listing::Devices => (devices(), &["name", "evidence", "help"]),
        Listing::Workloads => {
            let all = workloads().into_iter().chain(programs()).chain(loads());
            (all.collect(), &["name", "primary", "needs", "writes", "help"])
        }
        Listing::Metrics => (metrics(), &["name", "unit", "better", "help"]),
        Listing::Settings => (settings(root), &["name", "example", "now", "help"]),
        Listing::Formats => (formats(), &["name", "reads", "trial"]),
        Listing::Traces => (traces(), &["name", "reads", "knows", "written as"]),
    };
    if args.json {
        out::line(serde_json::to_string_pretty(&rows)?)?;
        return Ok(REACHED);
    }
    let (beside, rows): (Vec<Value>, Vec<Value>) =
        rows.into_iter().partition(|row| row["load"] == true);
    out::table(&table(&rows, header))?;
    if !beside.is_empty() {
        out::line("\nBackground loads for --background with --arena cpu:")?;
        out::table(&table(&beside, &["name", "help"]))?;
    }
    explain(args.what, &rows, &beside)?;
    Ok(REACHED)
}

/// Marks of evidence.
const MARKS: &str =
    "C confirmed in the source, C2 second-hand, D derived, R recalled, P our proposal";

fn explain(what: Listing, rows: &[Value], beside: &[Value]) -> Result<()> {
    if matches!(what, Listing::Schedulers) {
        out::line("")?;
        for text in [
            &format!("SIM: confidence that the simulator's scheduler equals its source: {MARKS}."),
            "KERNEL: whether the kernel arena has it: its Linux, or a module of ours.",
            "HERE: whether this machine's kernel has it. Tunables: --json",
        ] {
            out::paragraph(text)?;
        }
        out::line("\nIn the simulator every variant also takes:")?;
        for row in ATTRIBUTES {
            out::hanging(&format!("  {:<14} ", row.name), row.help)?;
        }
        out::line("")?;
        out::paragraph(
            "In the kernel arena NAME@PATCH is NAME of a kernel with that patch, and every variant also takes:",
        )?;
        for row in kernel::ATTRIBUTES {
            out::hanging(
                &format!("  {:<14} ", row.name),
                &format!("{} ({})", row.help, row.form.words()),
            )?;
        }
    }
    if matches!(what, Listing::Devices) {
        out::line("")?;
        out::paragraph(&format!(
            "EVIDENCE: confidence that the model equals its source: {MARKS}. \
             --json prints the description of each, to start your own FILE.toml from"
        ))?;
    }
    if matches!(what, Listing::Formats) {
        for row in rows {
            out::line("")?;
            out::paragraph(&format!(
                "{}: metrics {}; labels {}",
                text(&row["name"]),
                text(&row["metrics"]),
                text(&row["labels"])
            ))?;
            for lack in row["lacks"].as_array().into_iter().flatten() {
                out::hanging("  ", &text(lack))?;
            }
        }
    }
    if matches!(what, Listing::Settings) {
        out::line("")?;
        out::paragraph(
            "A variant is settings joined by +, e.g. nice=-20+affinity=0. NOW: what this machine has.",
        )?;
        for row in rows.iter().filter(|row| row["why"].is_string()) {
            let name = text(&row["name"]);
            out::hanging(&format!("  {}: ", name.trim_end_matches(':')), &text(&row["why"]))?;
        }
        for row in rows.iter().filter(|row| !text(&row["names"]).is_empty()) {
            out::line("")?;
            out::paragraph(&format!("{}NAME can be {}", text(&row["name"]), text(&row["names"])))?;
        }
    }
    if matches!(what, Listing::Workloads) {
        out::line("\nParameters, with defaults: KIND:PARAM=VALUE:PARAM=VALUE")?;
        for row in rows.iter().chain(beside) {
            let params: Vec<String> = row["params"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(k, v)| format!("{k}={}", text(v)))
                .collect();
            out::hanging(&format!("  {:<14} ", text(&row["name"])), &params.join(" "))?;
        }
    }
    Ok(())
}

fn schedulers(root: &Root) -> Vec<Value> {
    let (loaded, unloaded) = device::offered(root);
    let here = |name: &str| {
        let has = |offered: &[String]| offered.iter().any(|offered| offered == name);
        let on = loaded.iter().filter(|(_, of)| has(of)).map(|(device, _)| device.as_str());
        let on: Vec<&str> = on.collect();
        match (on.is_empty(), has(&unloaded)) {
            (false, _) => format!("on {}", on.join(", ")),
            (true, true) => "as a module, loaded when needed".to_owned(),
            (true, false) => "no".to_owned(),
        }
    };
    let known = LINUX.iter().map(|row| {
        let mut fields = json!({"name": row.name, "family": row.family.name(), "kernel": in_the_kernel(row.name), "here": here(row.name), "since": row.since,
                                "config": row.config, "help": row.help});
        match elevator::find(row.name) {
            Some(kind) => add_simulated(&mut fields, kind),
            None => fields["sim"] = json!("no"),
        }
        fields
    });
    let simulated =
        elevator::ELEVATORS.iter().filter(|kind| LINUX.iter().all(|row| row.name != kind.name)).map(|kind| {
            let mut fields = json!({"name": kind.name, "family": kind.origin.name(), "kernel": in_the_kernel(kind.name), "here": "no",
                                    "help": kind.help});
            add_simulated(&mut fields, kind);
            fields
        });
    let offered = loaded.values().flatten().chain(&unloaded);
    let foreign: BTreeSet<&String> =
        offered.filter(|name| LINUX.iter().all(|row| row.name != **name)).collect();
    let others = foreign.into_iter().map(|name| {
        json!({"name": name, "family": "unknown", "sim": "no", "kernel": "no", "here": here(name),
               "help": "offered by this kernel, unknown to schedlab"})
    });
    known.chain(simulated).chain(others).collect()
}

fn in_the_kernel(name: &str) -> &'static str {
    if kernel::MODULES.contains(&name) {
        "ours"
    } else if LINUX.iter().any(|row| row.name == name) {
        "yes"
    } else {
        "no"
    }
}

fn add_simulated(fields: &mut Value, kind: &ElevatorKind) {
    let default = (kind.build)(&Build::default());
    let parameters: Vec<Value> = kind
        .tunables
        .iter()
        .map(|row| {
            json!({"name": row.name, "default": default.get(row.name), "unit": row.unit, "min": row.min, "max": row.max,
                   "evidence": row.evidence.mark(), "help": row.help})
        })
        .collect();
    fields["sim"] = json!(kind.evidence.mark());
    fields["origin"] = json!(kind.origin.name());
    fields["source"] = json!(kind.source);
    fields["evidence"] = json!(kind.evidence.mark());
    fields["evidence_words"] = json!(kind.evidence.words());
    fields["guarantees"] =
        json!(kind.guarantees.iter().map(|guarantee| format!("{guarantee:?}")).collect::<Vec<_>>());
    fields["guarantees_words"] =
        json!(kind.guarantees.iter().map(Guarantee::words).collect::<Vec<_>>());
    fields["parameters"] = json!(parameters);
}

fn devices() -> Vec<Value> {
    sim::DEVICES
        .iter()
        .map(|row| {
            json!({"name": row.name, "help": row.help, "source": row.source, "evidence": row.evidence.mark(),
                   "evidence_words": row.evidence.words(), "description": row.toml})
        })
        .collect()
}

fn workloads() -> Vec<Value> {
    sim::workload::describe()
        .into_iter()
        .map(|row| {
            let params: serde_json::Map<String, Value> =
                row.params.into_iter().map(|param| (param.name.to_owned(), Value::String(param.default))).collect();
            json!({"name": row.name, "primary": row.primary, "needs": "device", "writes": row.writes, "reaches_device": row.reaches_device,
                   "params": params, "help": row.help})
        })
        .collect()
}

fn programs() -> Vec<Value> {
    let row = |row: &&'static RunnerKind| {
        let (params, help) = described(row.all_options());
        let needs = match row.needs {
            Needs::Device => "device",
            Needs::Files => "files",
            Needs::Either => "device or files",
            Needs::Cpus => "cpus",
        };
        // The primary metric may depend on options, without some of which the row cannot be read.
        let primary = match row.read([]) {
            Ok(options) if row.needs == Needs::Cpus => (row.primary)(&options),
            _ => "-".to_owned(),
        };
        let writes = matches!(row.needs, Needs::Files | Needs::Either);
        json!({"name": row.name, "primary": primary, "needs": needs, "writes": writes, "reaches_device": row.needs != Needs::Cpus,
               "package": row.program.map(|(_, package)| package), "params": params, "params_help": help, "help": row.help})
    };
    RUNNERS.iter().map(row).collect()
}

fn loads() -> Vec<Value> {
    let row = |row: &'static LoadKind| {
        let (params, help) = described(row.options.iter());
        json!({"name": row.name, "load": true, "primary": "-", "needs": "cpus", "writes": false, "reaches_device": false,
               "params": params, "params_help": help, "help": row.help})
    };
    LOADS.iter().map(row).collect()
}

fn described(
    options: impl Iterator<Item = &'static text::Field>,
) -> (Map<String, Value>, Map<String, Value>) {
    let options: Vec<&text::Field> = options.collect();
    let of = |what: fn(&text::Field) -> String| {
        options.iter().map(|option| (option.name.to_owned(), Value::String(what(option)))).collect()
    };
    let help = |row: &text::Field| format!("{} ({})", row.help, row.form.words());
    (of(|row| row.default.to_owned()), of(help))
}

fn metrics() -> Vec<Value> {
    METRICS
        .iter()
        .map(|row| {
            let better = match row.direction {
                Direction::HigherIsBetter => "higher",
                Direction::LowerIsBetter => "lower",
                Direction::Descriptive => "-",
            };
            let counts = row.counts.map(|counts| counts.words());
            let least = row.counts.map(|_| row.floor());
            json!({"name": row.name, "unit": row.unit, "better": better, "counts": counts, "least_events": least, "help": row.help})
        })
        .collect()
}

fn traces() -> Vec<Value> {
    let row = |row: &trace::formats::FormatRow| {
        let endings: Vec<String> = row.endings.iter().map(|ending| format!(".{ending}")).collect();
        json!({"name": row.name, "reads": row.what, "knows": row.knows, "written as": endings.join(", ")})
    };
    trace::formats::FORMATS.iter().map(row).collect()
}

fn formats() -> Vec<Value> {
    let row = |row: &import::Importer| {
        let metrics: Vec<&str> = row.metrics.iter().map(|(name, ..)| *name).collect();
        let metrics = if metrics.is_empty() { json!("of the file") } else { json!(metrics) };
        let labels: Vec<&str> = row.labels.iter().map(|(name, _)| *name).collect();
        json!({"name": row.name, "reads": row.reads, "trial": row.trial, "metrics": metrics, "labels": labels, "lacks": row.lacks,
               "repeat": row.repeat})
    };
    import::IMPORTERS.iter().map(row).collect()
}

fn settings(root: &Root) -> Vec<Value> {
    let row = |name: &str, example: String, help: &str, here: machine::cpu::Availability| {
        let (now, why) = if here.available {
            (here.description, None)
        } else {
            ("not here".to_owned(), Some(here.description))
        };
        json!({"name": name, "example": example, "help": help, "here": here.available, "now": now, "why": why, "names": here.names})
    };
    let schedulers = [
        row(
            "default",
            "default".to_owned(),
            "the kernel's own scheduler, as it was found",
            machine::cpu::Availability {
                available: true,
                description: "yes".to_owned(),
                names: Vec::new(),
            },
        ),
        row(
            "sched_ext:",
            "sched_ext:/usr/bin/scx_simple".to_owned(),
            "a scheduler that a program loads",
            machine::cpu::sched_ext_availability(root),
        ),
    ];
    let keys = machine::cpu::KEYS.iter().map(|key| {
        let name = match key.name {
            "sysctl:" => "sysctl:kernel.sched_rr_timeslice_ms",
            "feature:" => "feature:WAKEUP_PREEMPTION",
            "debug:" => "debug:base_slice_ns",
            name => name,
        };
        row(key.name, format!("{name}={}", key.example), key.help, key.availability(root))
    });
    schedulers.into_iter().chain(keys).collect()
}

fn table(rows: &[Value], header: &[&str]) -> Columns {
    let mut table = Columns::new(header.iter().map(|name| name.to_uppercase()));
    for row in rows {
        table.row(header.iter().map(|name| text(&row[*name])));
    }
    table
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Array(all) => all.iter().map(text).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &[(&str, &[(&str, &str)])] = &[
        (
            "Linux today",
            &[("none", "none"), ("mq-deadline", "mq-deadline"), ("bfq", "bfq"), ("kyber", "kyber")],
        ),
        (
            "Linux 2.6",
            &[
                ("noop", "noop"),
                ("deadline", "deadline"),
                ("cfq", "cfq"),
                ("anticipatory (AS)", "anticipatory"),
            ],
        ),
        ("Linux 2.4", &[("the 2.4 elevator with elvtune", "linus-2.4")]),
        (
            "anticipation research",
            &[("AS", "anticipatory"), ("the 95 % heuristic", "antic-95"), ("WPCAS", "wpcas")],
        ),
        (
            "throughput",
            &[
                ("FCFS", "fcfs"),
                ("SSTF", "sstf"),
                ("SCAN", "scan"),
                ("C-SCAN", "c-scan"),
                ("LOOK", "look"),
                ("C-LOOK", "c-look"),
            ],
        ),
        (
            "real time",
            &[
                ("SCAN-EDF", "scan-edf"),
                ("DM-SCAN", "dm-scan"),
                ("RG-SCAN", "rg-scan"),
                ("GSR", "gsr"),
            ],
        ),
        (
            "bandwidth or latency reservation",
            &[
                ("DVT", "dvt"),
                ("Hybrid", "hybrid"),
                ("Argon", "argon"),
                ("pClock", "pclock"),
                ("adaptive DRR", "drr"),
                ("MBAC", "mbac"),
                ("BFQ", "bfq-2010"),
            ],
        ),
        (
            "this decade",
            &[
                ("ADIOS", "adios"),
                ("K2", "k2"),
                ("SFQ(D)", "sfq-d"),
                ("FlashFQ", "flashfq"),
                ("MQFQ", "mqfq"),
                ("io.cost", "iocost"),
                ("Gimbal", "gimbal"),
            ],
        ),
    ];

    /// The README counts the schedulers that Linux shipped, each confirmed in its source.
    #[test]
    fn linux_schedulers_in_the_readme_are_confirmed_and_counted() {
        let groups = &MAP[..3];
        let shipped: Vec<&str> =
            groups.iter().flat_map(|(_, names)| names.iter().map(|(_, here)| *here)).collect();
        for name in &shipped {
            let kind = elevator::find(name).expect("it is simulated");
            assert_eq!(kind.evidence, elevator::Evidence::Confirmed, "{name}");
        }
        assert_eq!(shipped.len(), 9);
        let readme = include_str!("../../../../README.md");
        assert!(readme.contains("the nine of Linux since 2.4, all confirmed in their sources"));
        let cfq = elevator::find("cfq").expect("it is simulated");
        assert!(
            cfq.source.contains("2.6.20") && readme.contains("of CFQ the version of 2.6.20 alone")
        );
    }

    #[test]
    fn every_scheduler_of_the_literature_s_map_is_listed_with_evidence_and_guarantees() {
        let root = tempfile::tempdir().expect("a directory");
        let listed = schedulers(&Root::at(root.path()));
        let mut missing = Vec::new();
        for (group, names) in MAP {
            for (name, here) in *names {
                let Some(row) = listed.iter().find(|row| row["name"] == *here) else {
                    missing.push(format!("{group}: {name} ({here})"));
                    continue;
                };
                let words = |field: &str| row[field].as_str().is_some_and(|text| !text.is_empty());
                assert!(
                    words("evidence")
                        && words("evidence_words")
                        && words("source")
                        && words("help"),
                    "{row}"
                );
                let guarantees = |field: &str| row[field].as_array().map_or(0, Vec::len);
                assert!(
                    guarantees("guarantees") > 0
                        && guarantees("guarantees") == guarantees("guarantees_words"),
                    "{row}"
                );
            }
        }
        assert!(missing.is_empty(), "not listed: {}", missing.join(", "));
    }
}
