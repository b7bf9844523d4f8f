//! The plots of an analysis, for a page or as standalone files with the same content.

use experiment::analysis::{Analysis, Comparison};
use experiment::results::Trial;

use crate::evidence::Evidence;
use crate::page::Page;
use crate::plot::{canvas, distribution, forest, latency, response, timeline};
use crate::sweep::{self, SweepView};
use crate::view::{MetricView, RowView, WorkloadView};
use crate::{number, verdict, words};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureKind {
    Effects,
    /// One column per variant.
    Distribution,
    /// Every trial over time.
    Timeline,
    Latency,
    /// The change of the metric over the values of one tunable.
    Response,
}

impl FigureKind {
    pub const ALL: [FigureKind; 5] = [
        FigureKind::Effects,
        FigureKind::Distribution,
        FigureKind::Timeline,
        FigureKind::Latency,
        FigureKind::Response,
    ];

    pub fn name(self) -> &'static str {
        match self {
            FigureKind::Effects => "effects",
            FigureKind::Distribution => "distribution",
            FigureKind::Timeline => "timeline",
            FigureKind::Latency => "latency",
            FigureKind::Response => "response",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    pub workload: String,
    pub metric: String,
    pub kind: FigureKind,
    /// `all`, `read` or `write` for latency, the tunable for a response, otherwise empty.
    pub of: String,
    /// Text alternative.
    pub label: String,
    /// An SVG file.
    pub svg: String,
}

/// The figures of each workload's deciding metric.
pub fn figures(analysis: &Analysis, evidence: Option<&Evidence<'_>>) -> crate::Result<Vec<Figure>> {
    let page = Page::of(analysis, evidence);
    let mut all = Vec::new();
    for workload in &page.workloads {
        let Some(metric) = deciding(workload) else { continue };
        let trials = trials_of(evidence, workload.name);
        for drawn in of_metric(analysis, workload, metric, &trials, &page.variants)? {
            all.push(drawn.whole(workload, metric));
        }
        let swept = sweep::of(analysis, workload.name, metric);
        for drawn in swept
            .map(|sweep| responses(analysis, evidence, workload, metric, &sweep))
            .transpose()?
            .into_iter()
            .flatten()
        {
            all.push(drawn.whole(workload, metric));
        }
    }
    Ok(all)
}

pub(crate) fn deciding<'v, 'a>(workload: &'v WorkloadView<'a>) -> Option<&'v MetricView<'a>> {
    workload.metrics.iter().find(|metric| metric.primary).or(workload.metrics.first())
}

pub(crate) fn trials_of<'a>(evidence: Option<&Evidence<'a>>, workload: &str) -> Vec<&'a Trial> {
    evidence
        .iter()
        .flat_map(|evidence| evidence.trials)
        .filter(|trial| trial.workload == workload)
        .collect()
}

pub(crate) struct Drawn {
    pub(crate) kind: FigureKind,
    /// See [`Figure::of`].
    pub(crate) of: String,
    /// The effect of the tunable for a response, otherwise empty.
    pub(crate) said: String,
    label: String,
    pub(crate) svg: String,
}

impl Drawn {
    fn whole(self, workload: &WorkloadView<'_>, metric: &MetricView<'_>) -> Figure {
        Figure {
            workload: workload.name.to_owned(),
            metric: metric.name.to_owned(),
            kind: self.kind,
            of: self.of,
            label: self.label,
            svg: canvas::whole_file(&self.svg),
        }
    }
}

pub(crate) fn of_metric(
    analysis: &Analysis,
    workload: &WorkloadView<'_>,
    metric: &MetricView<'_>,
    trials: &[&Trial],
    variants: &[&str],
) -> crate::Result<Vec<Drawn>> {
    let name = words::clean(workload.name);
    let comparisons: Vec<&Comparison> =
        metric.rows.iter().filter_map(|row| row.comparison).collect();
    let subject = |label| distribution::Subject {
        label,
        trials,
        variants,
        metric: metric.name,
        words: &metric.label,
        scale: &metric.scale,
    };
    let effects = format!("{name}: effect of each variant on {}: {}", metric.label, found(metric));
    let spread = format!(
        "{name}: {} of every trial, a column for each variant: {}",
        metric.label,
        means(metric)
    );
    let drift = format!("{name}: {} of every trial over the time since the start", metric.label);
    let mut all = Vec::new();
    let mut add = |kind, of: &str, label: &str, svg: Option<String>| {
        all.extend(svg.map(|svg| Drawn {
            kind,
            of: of.to_owned(),
            said: String::new(),
            label: label.to_owned(),
            svg,
        }));
    };
    let forest = forest::plot(&effects, &comparisons, metric.direction, analysis.criteria.margin)?;
    add(FigureKind::Effects, "", &effects, forest);
    add(FigureKind::Distribution, "", &spread, distribution::plot(&subject(&spread))?);
    add(FigureKind::Timeline, "", &drift, timeline::plot(&subject(&drift))?);
    for op in &latency::kinds(trials) {
        let label =
            format!("{name}: latency percentiles of {op} requests, one line for each variant");
        add(FigureKind::Latency, op, &label, latency::plot(&label, trials, variants, op)?);
    }
    Ok(all)
}

pub(crate) fn responses(
    analysis: &Analysis,
    evidence: Option<&Evidence<'_>>,
    workload: &WorkloadView<'_>,
    metric: &MetricView<'_>,
    sweep: &SweepView<'_>,
) -> crate::Result<Vec<Drawn>> {
    let name = words::clean(workload.name);
    let all: Vec<&Comparison> = sweep.rows.iter().map(|row| row.comparison).collect();
    let range = response::span(&all, analysis.criteria.margin);
    let mut curves = Vec::new();
    for (of, (tunable, line)) in sweep.responses.iter().zip(&sweep.lines) {
        let label =
            format!("{name}: change of {} over the values of {tunable}: {line}", metric.label);
        let unit = evidence.map(|evidence| (evidence.unit_of)(&of.scheduler, &of.tunable));
        let points = of
            .points
            .iter()
            .filter_map(|point| Some((point.value.as_str(), sweep::comparison(metric, point)?)));
        let curve = response::Curve {
            label: &label,
            tunable: &of.tunable,
            unit: unit.unwrap_or_default(),
            default: of.default.as_deref(),
            points: points.collect(),
            metric: format!("change of {}", metric.label),
            margin: analysis.criteria.margin,
        };
        let svg = response::plot(&curve, &range)?;
        let (kind, of, said) = (FigureKind::Response, tunable.clone(), line.clone());
        curves.extend(svg.map(|svg| Drawn { kind, of, said, label, svg }));
    }
    Ok(curves)
}

/// `mq-deadline better, +11.6 % [+10.9, +12.2]; …`.
fn found(metric: &MetricView<'_>) -> String {
    let comparisons = metric.rows.iter().filter_map(|row| row.comparison);
    let words: Vec<String> = comparisons
        .map(|j| {
            format!(
                "{} {}, {}",
                words::clean(&j.variant),
                verdict::word(j.verdict),
                number::effect(j).replace('-', "−")
            )
        })
        .collect();
    words.join("; ")
}

fn means(metric: &MetricView<'_>) -> String {
    let of = |row: &RowView<'_>| {
        format!(
            "{} {} {}",
            words::clean(row.variant),
            metric.centre_head(),
            row.centre_with_unit(metric)
        )
    };
    metric.rows.iter().map(of).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Lab;

    #[test]
    fn a_figure_is_a_whole_file_with_the_plot_that_the_page_has() {
        let lab = Lab::typical();
        let all = figures(&lab.analysis, Some(&lab.evidence())).expect("the figures are drawn");
        let page = crate::files(&lab.analysis, Some(&lab.evidence())).expect("the report is made");
        let (_, html) = page.iter().find(|(name, _)| *name == "report.html").expect("the page");
        assert!(all.len() >= 3, "{}", all.len());
        for figure in all.iter().filter(|figure| figure.kind != FigureKind::Effects) {
            assert!(
                figure.svg.starts_with("<svg ") && figure.svg.contains("xmlns="),
                "{}",
                figure.label
            );
            let (_, body) = figure.svg.split_once("fill=\"#FFFFFF\"/>").expect("a background");
            let shown = canvas::themed(body);
            assert!(html.contains(shown.trim_end()), "{} is not the page's", figure.label);
        }
        let kinds: Vec<FigureKind> = all.iter().map(|figure| figure.kind).collect();
        assert!(
            kinds.contains(&FigureKind::Effects) && kinds.contains(&FigureKind::Latency),
            "{kinds:?}"
        );
    }

    #[test]
    fn an_analysis_without_results_has_its_effects_alone() {
        let all = figures(&Lab::typical().analysis, None).expect("the figures are drawn");
        assert!(all.iter().all(|figure| figure.kind == FigureKind::Effects) && !all.is_empty());
    }
}
