//! A comparison as plain text for a mailing list: the answer, what it was measured on, a table for
//! each workload, what each variant makes worse, and the command that repeats it. Kernel lists take
//! text without markup, in lines of at most 72 columns.

use experiment::plan::{Plan, Variant};

use super::Exported;
use crate::columns::Columns;
use crate::evidence::Evidence;
use crate::grid::{folded, wrapped};
use crate::page::Page;
use crate::view::{MetricView, WorkloadView};
use crate::{answer, number, verdict, words};

const WIDTH: usize = 72;
/// Columns of a label with its colon.
const LABEL: usize = 10;
/// A longer name of a variant loses its middle.
const MAX_NAME: usize = 24;
/// Attributes of the request queue that decide how a scheduler fares.
const QUEUE: [&str; 6] =
    ["nr_requests", "rotational", "nomerges", "rq_affinity", "wbt_lat_usec", "max_sectors_kb"];

pub(super) fn render(exported: &Exported<'_>) -> String {
    let Exported { results, analysis, .. } = exported;
    let evidence = Evidence::of(results);
    let page = Page::of(analysis, Some(&evidence));
    let mut text = paragraph(&answer::headline(analysis));
    text.push('\n');
    for (label, value) in facts(&page, &evidence) {
        text += &hanging(&format!("{label}:"), LABEL, &value);
    }
    for workload in &page.workloads {
        for metric in workload.metrics.iter().filter(|metric| metric.primary) {
            text.push('\n');
            text += &table(workload, metric);
        }
    }
    text.push('\n');
    text += &losses(&page);
    text += "\nTo repeat it:\n\n";
    let command = page.command().unwrap_or_default();
    text += &folded("    ", &command, WIDTH);
    text.push('\n');
    if evidence.header.plan.arena.is_virtual() {
        text += "\n";
        text += &paragraph("It was measured in virtual time: the numbers are the same anywhere.");
    }
    text
}

fn paragraph(text: &str) -> String {
    wrapped(text, WIDTH).iter().map(|line| format!("{line}\n")).collect()
}

/// A text whose lines begin below each other, after a label of this width.
fn hanging(label: &str, width: usize, text: &str) -> String {
    let lines = wrapped(text, WIDTH - width).into_iter().enumerate();
    lines.map(|(i, line)| format!("{:<width$}{line}\n", if i == 0 { label } else { "" })).collect()
}

/// Device or model, kernel and its configuration, and how it was measured.
fn facts(page: &Page<'_>, evidence: &Evidence<'_>) -> Vec<(&'static str, String)> {
    let plan = &evidence.header.plan;
    let fact = |section: &str, name: &str| {
        let value = evidence.header.environment.get(section)?.get(name)?;
        Some(words::clean(value)).filter(|value| !value.is_empty() && value != "not exposed")
    };
    let arena = match plan.arena.is_virtual() {
        true => format!("modelled, {} arena of schedlab", plan.arena.name),
        false => fact("cpu", "model").unwrap_or_default(),
    };
    // The first says when.
    let device = page.about.iter().skip(1).filter(|about| !about.starts_with("Linux "));
    let device = device.cloned().chain([arena]).filter(|part| !part.is_empty());
    let mut facts = vec![("Device", device.collect::<Vec<_>>().join(", "))];
    facts.extend(kernels(plan, evidence).map(|text| ("Kernel", text)));
    facts.extend(fact("kernel", "command_line").map(|text| ("Booted", text)));
    let queue = QUEUE.iter().filter_map(|name| Some(format!("{name}={}", fact("queue", name)?)));
    let queue = queue.collect::<Vec<_>>().join(" ");
    facts.extend((!queue.is_empty()).then_some(("Queue", queue)));
    facts.extend(plan.variants.iter().filter_map(spelt_out).map(|text| ("Variant", text)));
    let length = plan.trial.duration_ms.map(number::span_ms);
    let length = length.map_or_else(String::new, |length| format!(" of {length}"));
    facts.push((
        "Rounds",
        format!(
            "{}{length} in random order, seed {}; {}",
            words::counted(evidence.trials.len() as u64, "trial"),
            plan.seed,
            page.rules
        ),
    ));
    facts.push(("schedlab", words::clean(&evidence.header.schedlab)));
    facts.extend(page.unconfirmed.iter().map(|text| ("Note", text.clone())));
    facts.extend(page.cautions().into_iter().map(|text| ("Note", text)));
    facts
}

/// The kernels that were measured, with what they were built from.
fn kernels(plan: &Plan, evidence: &Evidence<'_>) -> Option<String> {
    let facts = evidence.header.environment.get("kernel")?;
    let of = |name: &str| facts.get(name).map(|value| words::clean(value));
    if !plan.arena.chooses_kernel() {
        let version = of("version").map_or_else(String::new, |version| format!(", {version}"));
        return Some(format!("Linux {}{version}", of("release")?));
    }
    let built = facts.iter().filter_map(|(label, release)| {
        let patch = label.strip_prefix("release")?;
        let build = of(&label.replacen("release", "build", 1)).unwrap_or_default();
        let (release, patch) = (words::clean(release), words::clean(patch));
        Some(format!("{release}{patch} (build {build})"))
    });
    let source = plan.kernel.as_ref().map_or_else(String::new, |source| {
        format!(", built from {} by schedlab kernel build", words::clean(source))
    });
    Some(format!(
        "User-mode Linux {}{source}, in schedlab's configuration",
        built.collect::<Vec<_>>().join(", ")
    ))
}

/// A variant that its name does not describe.
fn spelt_out(variant: &Variant) -> Option<String> {
    let tunables = variant.tunables.iter().map(|(name, value)| format!(" {name}={value}"));
    let setting = format!("{}{}", variant.scheduler, tunables.collect::<String>());
    (setting != variant.name)
        .then(|| format!("{} is {}", words::clean(&variant.name), words::clean(&setting)))
}

fn table(workload: &WorkloadView<'_>, metric: &MetricView<'_>) -> String {
    let unit = if metric.scale.unit.is_empty() { "value" } else { &metric.scale.unit };
    let mut table = Columns::new(["Variant", unit, "Change [interval]", "Verdict", "rounds"]);
    for row in &metric.rows {
        let (change, verdict) = match row.comparison {
            Some(comparison) => (number::effect(comparison), verdict::word(comparison.verdict)),
            None if metric.baseline == Some(row.variant) => (String::new(), "baseline"),
            None => (String::new(), ""),
        };
        table.row([
            words::shortened(&row.marked(), MAX_NAME),
            row.bare_centre(metric),
            change,
            verdict.to_owned(),
            row.rounds(),
        ]);
    }
    let title = format!("{}: {}, {}", words::clean(workload.name), metric.label, metric.good());
    paragraph(&title) + &table.text("", WIDTH)
}

/// Metrics that each variant makes worse, the largest factor first.
fn losses(page: &Page<'_>) -> String {
    let found = page.variants.iter().filter_map(|variant| {
        let costs = answer::costs_of(&page.workloads, variant)?;
        let name = words::shortened(&words::clean(variant), MAX_NAME);
        Some(hanging("", 2, &format!("{name}: {costs}")))
    });
    match found.collect::<String>() {
        none if none.is_empty() => paragraph("No metric was shown to be worse."),
        found => format!("Worse, the largest factor first:\n{found}"),
    }
}
