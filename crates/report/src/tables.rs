//! Tables next to the verdicts: repeats, anticipation, CPU scheduler counters, published figures.
//!
//! Published figures are shown next to measured ones and not compared with them.

use experiment::analysis::{Analysis, Summary};
use experiment::notation;
use experiment::plan::Published;

use super::evidence::Evidence;
use super::number::{self, Scale};
use super::table::Table;
use super::{cpu, repeats, view, words};

const ANTICIPATION: [(&str, &str); 7] = [
    ("anticipations", "waits"),
    ("anticipation_successes", "successes"),
    ("anticipation_failures", "failures"),
    ("success_wait_mean_ms", "ms per\nsuccess"),
    ("failure_wait_total_ms", "ms, all\nfailures"),
    ("false_idle_ms", "ms false idle\nper wait"),
    ("deceptive_idle_ms", "ms idle,\nrequests held"),
];

pub(crate) fn tables(analysis: &Analysis, evidence: Option<&Evidence<'_>>) -> Vec<Table> {
    let workloads = view::workloads(analysis, evidence);
    let variants = view::variants(analysis, evidence);
    let mut found: Vec<Table> = workloads
        .iter()
        .filter_map(|workload| anticipation(analysis, workload.name, &variants))
        .collect();
    found.extend(workloads.iter().filter_map(|workload| repeats::table(analysis, workload.name)));
    let scheduled = |evidence| {
        workloads.iter().filter_map(|w| cpu::table(evidence, w.name, &variants)).collect::<Vec<_>>()
    };
    found.extend(evidence.map(scheduled).unwrap_or_default());
    let published =
        evidence.map(|evidence| evidence.header.plan.published.as_slice()).unwrap_or_default();
    found.extend(
        workloads
            .iter()
            .filter_map(|workload| beside(analysis, workload.name, published, &variants)),
    );
    found
}

fn summary<'a>(
    analysis: &'a Analysis,
    workload: &str,
    metric: &str,
    variant: &str,
) -> Option<&'a Summary> {
    analysis
        .summaries
        .iter()
        .find(|s| s.workload == workload && s.metric == metric && s.variant == variant)
}

/// Shows means per trial.
fn anticipation(analysis: &Analysis, workload: &str, variants: &[&str]) -> Option<Table> {
    let primary = analysis
        .comparisons
        .iter()
        .find(|j| j.primary && j.workload == workload)
        .map(|j| j.metric.as_str());
    let waits = |variant: &str| {
        summary(analysis, workload, "anticipations", variant).is_some_and(|s| s.mean > 0.0)
    };
    if !variants.iter().any(|variant| waits(variant)) {
        return None;
    }
    let mut columns: Vec<(&str, String)> =
        ANTICIPATION.iter().map(|(metric, head)| (*metric, (*head).to_owned())).collect();
    columns.extend(primary.map(|metric| {
        let unit = Scale::of(metric, []).unit;
        (
            metric,
            format!("{}{}{unit}", view::label(metric), if unit.is_empty() { "" } else { ",\n" }),
        )
    }));
    let rows = variants.iter().map(|variant| {
        let cell = |metric: &str| {
            summary(analysis, workload, metric, variant)
                .map_or_else(|| "-".into(), |s| number::significant(s.mean))
        };
        (words::clean(variant), columns.iter().map(|(metric, _)| cell(metric)).collect())
    });
    let place = words::name_of(workload).map(|place| format!("{place}: ")).unwrap_or_default();
    Some(Table {
        title: format!(
            "{place}anticipation: time spent waiting for a process's next request, and its outcome, means over trials"
        ),
        rows: rows.collect(),
        head: columns.into_iter().map(|(_, head)| head).collect(),
        detail: false,
    })
}

/// Shows ratios to the baseline, too: two machines differ in speed, but may agree in a scheduler's
/// effect.
fn beside(
    analysis: &Analysis,
    workload: &str,
    published: &[Published],
    variants: &[&str],
) -> Option<Table> {
    let of_workload: Vec<&Published> =
        published.iter().filter(|one| one.workload == workload).collect();
    let source = of_workload.first()?.source.clone();
    let baseline = variants.first()?;
    let rows = of_workload.iter().map(|one| {
        let base = of_workload
            .iter()
            .find(|other| other.metric == one.metric && other.variant == *baseline);
        let mean =
            |variant: &str| summary(analysis, workload, &one.metric, variant).map(|s| s.mean);
        let ratio = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) if b != 0.0 => notation::change(a / b),
            _ => "-".to_owned(),
        };
        let measured = mean(&one.variant);
        let cells = vec![
            number::significant(one.value),
            measured.map_or_else(|| "-".into(), number::significant),
            ratio(Some(one.value), base.map(|base| base.value)),
            ratio(measured, mean(baseline)),
        ];
        let unit = Scale::of(&one.metric, []).unit;
        let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
        (words::clean(&format!("{}{unit}, {}", view::label(&one.metric), one.variant)), cells)
    });
    let place = words::name_of(workload).map(|place| format!("{place}: ")).unwrap_or_default();
    let head = [
        "published".into(),
        "measured".into(),
        format!("published\nto {baseline}"),
        format!("measured\nto {baseline}"),
    ];
    Some(Table {
        title: format!("{place}compared with published figures ({})", words::clean(&source)),
        rows: rows.collect(),
        head: head.map(|text: String| words::clean_lines(&text)).to_vec(),
        detail: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Lab;

    fn with_anticipation() -> Lab {
        let mut lab = Lab::typical();
        for (variant, mean) in [("none", 0.0), ("bfq", 400.0)] {
            for metric in ["anticipations", "anticipation_successes"] {
                let like = lab
                    .analysis
                    .summaries
                    .iter()
                    .find(|s| s.workload == "oltp" && s.variant == variant)
                    .unwrap()
                    .clone();
                lab.analysis.summaries.push(Summary { metric: metric.into(), mean, ..like });
            }
        }
        lab
    }

    #[test]
    fn a_table_of_waits_is_there_only_where_a_scheduler_waited() {
        assert_eq!(tables(&Lab::typical().analysis, None), []);
        let lab = with_anticipation();
        let found = tables(&lab.analysis, Some(&lab.evidence()));
        assert_eq!(found.len(), 1);
        let bfq = found[0].rows.iter().find(|(variant, _)| variant == "bfq").unwrap();
        assert_eq!(bfq.1[..3], ["400", "400", "-"], "what was not reported is a dash");
        assert_eq!(found[0].head.len(), bfq.1.len());
    }

    #[test]
    fn published_figures_stand_beside_the_measured_ones_with_both_ratios() {
        let mut lab = Lab::typical();
        let one = |variant: &str, value| Published {
            workload: "oltp".into(),
            metric: "iops".into(),
            variant: variant.into(),
            value,
            source: "somebody, table 1".into(),
        };
        lab.header.plan.published = vec![one("none", 100.0), one("bfq", 150.0)];
        let found = tables(&lab.analysis, Some(&lab.evidence()));
        assert!(found[0].title.contains("somebody, table 1"));
        let bfq = &found[0].rows[1];
        assert!(bfq.0.contains("bfq") && bfq.1[0] == "150" && bfq.1[2] == "+50.0 %", "{bfq:?}");
        let mean = |variant| summary(&lab.analysis, "oltp", "iops", variant).unwrap().mean;
        assert_eq!(bfq.1[3], notation::change(mean("bfq") / mean("none")));
    }
}
