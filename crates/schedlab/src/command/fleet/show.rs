//! Terminal output of `schedlab fleet`.

use anyhow::Result;
use experiment::analysis::Verdict;
use experiment::fleet::levels::LevelComparison;
use experiment::fleet::{FleetComparison, Prediction, Ratios};
use experiment::notation::{self, Change};
use experiment::plan::Criteria;
use fleet::{FleetAnalysis, GroupAnalysis, QuestionAnalysis, Sides};
use report::Columns;

use crate::out;

const MOST: usize = 20;

pub(super) fn report(analysis: &FleetAnalysis) -> Result<()> {
    let keys = analysis
        .groups
        .first()
        .map(|group| group.keys.iter().map(|(key, _)| key.to_uppercase()))
        .into_iter()
        .flatten();
    let heads = ["MACHINES", "DRIVES", "RESULTS", "TRIALS", "WORKLOADS"];
    let mut table = Columns::new(keys.chain(heads.map(str::to_owned)));
    for group in &analysis.groups {
        let mut workloads: Vec<&str> =
            group.questions.iter().map(|of| of.workload.as_str()).collect();
        workloads.dedup();
        let counts = [group.machines, group.drives, group.results].map(|count| count.to_string());
        let values = group.keys.iter().map(|(_, value)| value.clone()).chain(counts);
        table.row(values.chain([group.trials.to_string(), workloads.join(", ")]));
    }
    out::table(&table)?;
    remarks(analysis)
}

pub(super) fn verdict(analysis: &FleetAnalysis, criteria: &Criteria) -> Result<()> {
    for group in &analysis.groups {
        for question in &group.questions {
            out::line(title(group, question))?;
            out::table(&comparisons(question, criteria))?;
            question.comparisons.iter().try_for_each(of_machines)?;
            out::line("")?;
        }
    }
    remarks(analysis)
}

fn title(group: &GroupAnalysis, question: &QuestionAnalysis<FleetComparison>) -> String {
    let keys: Vec<&str> = group
        .keys
        .iter()
        .map(|(_, value)| if value.is_empty() { "unknown" } else { value.as_str() })
        .collect();
    let QuestionAnalysis { workload, metric, unit, baseline, .. } = question;
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    format!("{}: {workload}, {metric}{unit} against {baseline}", keys.join(", "))
}

fn comparisons(question: &QuestionAnalysis<FleetComparison>, criteria: &Criteria) -> Columns {
    let further = format!("NEW MACHINE ({:.0} %)", 100.0 * (1.0 - criteria.alpha));
    let mut table = Columns::new([
        "VARIANT",
        "CHANGE",
        "INTERVAL",
        further.as_str(),
        "BETWEEN MACHINES",
        "MACHINES",
        "VERDICT",
    ]);
    for of in &question.comparisons {
        let between = match (of.between_percent, of.between_share) {
            (Some(percent), Some(share)) => format!("± {percent:.1} % (I² {:.0} %)", 100.0 * share),
            _ => "-".to_owned(),
        };
        let left_out = match of.outliers.len() {
            0 => String::new(),
            n => format!(" + {n} left out"),
        };
        table.row([
            of.variant.clone(),
            estimate(of.mean),
            interval(of.mean),
            format!(
                "{}{}",
                interval(of.further_machine),
                if of.prediction == Prediction::Normal { " if normal" } else { "" }
            ),
            between,
            format!("{}{left_out}", of.machines),
            word(of),
        ]);
    }
    table
}

fn word(of: &FleetComparison) -> String {
    let verdict = format!("{:?}", of.verdict).to_lowercase();
    match of.verdict {
        Verdict::Invalid | Verdict::Inconclusive => verdict,
        _ if of.holds_for_one => format!("{verdict}, for one too"),
        _ => format!("{verdict} on average"),
    }
}

fn of_machines(of: &FleetComparison) -> Result<()> {
    for outlier in of.outliers.iter().take(MOST) {
        out::line(format_args!(
            "left out of {}: {} ({}, {:.1} standard deviations from the median)",
            of.variant,
            outlier.machine,
            notation::change(outlier.ratio),
            outlier.distance
        ))?;
    }
    if of.outliers.len() > MOST {
        out::line(format_args!(
            "left out of {}: and {} more, with --json",
            of.variant,
            of.outliers.len() - MOST
        ))?;
    }
    if let Some(all) = of.with_outliers {
        out::line(format_args!("{} with them: {}", of.variant, change(all)))?;
    }
    if of.far_but_counted > 0 {
        out::line(format_args!(
            "{}: {} of {} machines are far from the median: several kinds of machines are pooled; group by what tells them apart, e.g. --by \
             model,firmware,kernel",
            of.variant, of.far_but_counted, of.machines
        ))?;
    }
    Ok(())
}

pub(super) fn comparison(
    sides: &Sides,
    questions: &[QuestionAnalysis<LevelComparison>],
) -> Result<()> {
    let Sides { key, first, second } = sides;
    for question in questions {
        let QuestionAnalysis { workload, metric, unit, .. } = question;
        out::line(format_args!(
            "{} {second} against {first}: {workload}, {metric} ({unit})",
            key.word()
        ))?;
        let mut table = Columns::new(["VARIANT", "CHANGE", "INTERVAL", "MACHINES", "VERDICT"]);
        for of in &question.comparisons {
            let machines = match of.paired {
                true => format!("{}, each in both", of.first_machines),
                false => format!("{} against {}", of.second_machines, of.first_machines),
            };
            table.row([
                of.variant.clone(),
                estimate(of.ratio),
                interval(of.ratio),
                machines,
                format!("{:?}", of.verdict).to_lowercase(),
            ]);
        }
        out::table(&table)?;
        for of in &question.comparisons {
            for outlier in of.outliers.iter().take(MOST) {
                out::line(format_args!(
                    "left out of {}: {} ({})",
                    of.variant,
                    outlier.machine,
                    notation::change(outlier.ratio)
                ))?;
            }
        }
        out::line("")?;
    }
    Ok(())
}

fn remarks(analysis: &FleetAnalysis) -> Result<()> {
    out::line(format_args!(
        "{} of {}",
        text::counted(analysis.results as u64, "result"),
        text::counted(analysis.machines as u64, "machine")
    ))?;
    analysis.cautions.iter().try_for_each(|caution| out::line(format_args!("- {caution}")))?;
    analysis
        .findings
        .iter()
        .take(MOST)
        .try_for_each(|finding| out::line(format_args!("- {finding}")))?;
    if analysis.findings.len() > MOST {
        out::line(format_args!(
            "- and {} more findings, with --json",
            analysis.findings.len() - MOST
        ))?;
    }
    for damaged in analysis.damaged.iter().take(MOST) {
        out::line(format_args!(
            "- {}: left out: {}; push the results file again",
            damaged.object, damaged.problem
        ))?;
    }
    if analysis.damaged.len() > MOST {
        out::line(format_args!(
            "- and {} more damaged files, with --json",
            analysis.damaged.len() - MOST
        ))?;
    }
    if analysis.others > 0 {
        out::line(format_args!(
            "- {} with a name that no result has",
            text::counted(analysis.others as u64, "file")
        ))?;
    }
    Ok(())
}

fn change(of: Ratios) -> Change {
    Change { ratio: of.ratio, low: of.low, high: of.high }
}

fn estimate(of: Option<Ratios>) -> String {
    of.map_or_else(|| "-".to_owned(), |of| change(of).estimate())
}

fn interval(of: Option<Ratios>) -> String {
    of.map_or_else(|| "-".to_owned(), |of| change(of).interval())
}
