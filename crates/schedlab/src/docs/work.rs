//! Reference pages of workloads and metrics.

use std::collections::BTreeMap;

use experiment::metric::{Direction, METRICS, Metric};
use load::programs::cpu::LOADS;
use load::programs::{Needs, RUNNERS, RunnerKind};
use sim::workload::WORKLOADS;

use super::sheet::{Sheet, code, short_form, yes};

fn options<'a>(sheet: &mut Sheet, options: impl IntoIterator<Item = &'a text::Field>) {
    let rows = options
        .into_iter()
        .map(|row| {
            let form = short_form(&row.form.words());
            [code(row.name), code(row.default), form, row.help.to_owned()]
        })
        .collect::<Vec<_>>();
    if !rows.is_empty() {
        sheet.table(["option", "default", "form", "meaning"], rows);
    }
}

fn program(sheet: &mut Sheet, row: &'static RunnerKind) {
    let package = row
        .program
        .map_or_else(String::new, |(_, package)| format!(" Debian package: `{package}`."));
    sheet.subsection(row.name).text(&format!("{}.{package}", capital(row.help)));
    options(sheet, row.options);
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

#[test]
fn the_page_about_workloads_has_every_workload_and_option() {
    let mut sheet = Sheet::new(
        "Workloads",
        "What `--workload` takes: `NAME:KEY=VALUE:KEY=VALUE`, in a plan `kind` and `params`. `primary=METRIC` names another\n\
         deciding metric. `schedlab list workloads` prints this page's tables; [Programs](../develop/programs.md) shows how to\n\
         run your own.",
    );
    sheet.section("Workloads of schedlab's own").text(
        "Every arena runs them. A workload that writes destroys the data on a device; see `--destroy-data` in\n\
         [the command line](cli.md).",
    );
    sheet.table(
        ["name", "what it does", "decides", "writes"],
        sim::workload::describe()
            .iter()
            .map(|row| [code(row.name), row.help.to_owned(), code(row.primary), yes(row.writes)]),
    );
    sheet.section("Parameters").text(
        "Sizes are binary (`4k` is 4096 bytes), times have a unit (`50us`, `10ms`, `2s`, `5min`).",
    );
    let mut seen = BTreeMap::new();
    for param in WORKLOADS.iter().flat_map(|kind| kind.describe().params) {
        seen.entry(param.name).or_insert((param.form, param.help));
    }
    sheet.table(
        ["parameter", "form", "meaning"],
        seen.iter().map(|(name, (form, help))| [code(name), short_form(form), (*help).to_owned()]),
    );
    sheet.text("Each workload takes these, with these defaults:");
    sheet.table(
        ["workload", "defaults"],
        sim::workload::describe().iter().map(|row| {
            let defaults =
                row.params.iter().map(|param| format!("{}={}", param.name, param.default));
            [code(row.name), code(defaults.collect::<Vec<_>>().join(" "))]
        }),
    );
    sheet.section("Programs").text(
        "Real programs, started on the device under test, in the `disk` arena, and in the `cpu` arena where noted.",
    );
    let mut deadlines = RUNNERS.iter().flat_map(|row| row.all_options());
    let deadline = deadlines.find(|row| row.name == "deadline").expect("every program has it");
    sheet.text(&format!(
        "Every program, here and among the CPU workloads, also takes `{}={}`: {}.",
        deadline.name, deadline.default, deadline.help
    ));
    RUNNERS.iter().filter(|row| row.needs != Needs::Cpus).for_each(|row| program(&mut sheet, row));
    sheet.section("CPU workloads").text("Workloads of the `cpu` arena.");
    RUNNERS.iter().filter(|row| row.needs == Needs::Cpus).for_each(|row| program(&mut sheet, row));
    sheet.section("Background load for the CPU arena").text(
        "With `--arena cpu`, `--background` takes these and the CPU workloads; on a device, any of schedlab's own workloads.",
    );
    for row in LOADS {
        sheet.subsection(row.name).text(&format!("{}.", capital(row.help)));
        options(&mut sheet, row.options);
    }
    super::check("workloads", sheet);
}

/// What most metrics need in a trial.
const USUAL_FLOOR: u64 = 100;
const USUAL_EVENTS: &str = "requests";

#[test]
fn the_page_about_metrics_has_every_row() {
    let mut sheet = Sheet::new(
        "Metrics",
        &format!(
            "What a trial reports. `primary=METRIC` on a workload names the one that decides; reports show the others too. MB\n\
             are 10^6 bytes, latency runs from a client's call to its result. The deciding metric needs at least {USUAL_FLOOR} {USUAL_EVENTS} in a\n\
             trial, unless the column *needs* has other events or another number (–: any). A trial that holds fewer is made longer before the first\n\
             round, or cautioned against."
        ),
    );
    // The floor of most rows is stated above the tables.
    let counts = |row: &Metric| match row.counts {
        None => "–".to_owned(),
        Some(counts) if row.floor() == USUAL_FLOOR => {
            let events = counts.words();
            if events == USUAL_EVENTS { String::new() } else { events.to_owned() }
        }
        Some(counts) => format!("{} {}", row.floor(), counts.words()),
    };
    let row =
        |row: &Metric| [code(row.name), row.unit.to_owned(), counts(row), row.help.to_owned()];
    let of = |direction: Direction| {
        METRICS.iter().filter(move |row| row.direction == direction).map(row)
    };
    let header = ["metric", "unit", "needs", "meaning"];
    sheet.section("More is better").table(header, of(Direction::HigherIsBetter));
    sheet.section("Less is better").text(
        "A percentile is evidence when at least ten requests lie beyond it: 1,000 requests for the 99th, 10,000 for the\n\
         99.9th.",
    );
    sheet.table(header, of(Direction::LowerIsBetter));
    sheet.section("Descriptive").text(
        "Summarised in every report, never compared: more of them is neither better nor worse.",
    );
    sheet.table(header, of(Direction::Descriptive));
    super::check("metrics", sheet);
}
