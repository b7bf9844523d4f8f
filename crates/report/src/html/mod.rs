//! report.html: one self-contained file with the answer on the first screen.
//!
//! The template escapes all values except plots, which escape their text. Without scripts and
//! external addresses, the page can be archived, mailed and opened offline.

use experiment::analysis::{Analysis, Comparison, Summary};
use experiment::results::Trial;
use minijinja::{Value, context};

use super::evidence::Evidence;
use super::figures::{self, FigureKind};
use super::invalid::InvalidGroup;
use super::page::Page;
use super::plot::{self, forest};
use super::sweep::{self, SweepView};
use super::view::{self, MetricView, RowView, WorkloadView};
use super::{actuator, number, remarks, template, verdict, words};

/// Pixel width of a forest, alone or in a table with several columns.
const FOREST: i32 = 420;
const COLUMN: i32 = 200;

pub(crate) fn render(page: &Page<'_>) -> crate::Result<String> {
    let evidence = page.evidence.as_ref();
    let sections = (page.workloads.iter().enumerate())
        .map(|(place, workload)| section(page, workload, &anchor(place, workload.name)))
        .collect::<crate::Result<Vec<Value>>>()?;
    let environment: Vec<Value> = evidence
        .iter()
        .flat_map(|evidence| &evidence.header.environment)
        .filter(|(_, facts)| !facts.is_empty())
        .map(|(name, facts)| {
            let facts: Vec<_> =
                facts.iter().map(|(name, value)| (name, words::or_none(value))).collect();
            context! { name => words::clean(name), facts }
        })
        .collect();
    let advice = page
        .advice
        .iter()
        .map(|(workload, of)| context! { workload, gain => of.gain, costs => of.costs });
    let tables = page
        .tables
        .iter()
        .map(|of| context! { title => of.title, head => of.head, rows => of.rows });
    let notes = evidence.iter().flat_map(|evidence| evidence.notes);
    let filled = context! {
        style => Value::from_safe_string(include_str!("../templates/style.css").into()),
        title => page.title,
        answer => unbroken(&page.headline.gain),
        costs => page.headline.costs.as_deref().map(unbroken),
        next => page.next,
        advice => advice.collect::<Vec<_>>(),
        alarms => alarms(&page.workloads),
        matrix => matrix(page)?,
        workloads => sections,
        tables => tables.collect::<Vec<_>>(),
        about => page.about,
        tunables => tunables(page),
        cautions => page.cautions(),
        invalid => page.invalid.iter().map(invalid_row).collect::<Vec<_>>(),
        thin => page.thin_summary,
        thin_rows => page.thin.iter().map(invalid_row).collect::<Vec<_>>(),
        method => page.method,
        rules => unbroken(&page.rules),
        overhead => page.overhead,
        unconfirmed => page.unconfirmed,
        facts => page.facts,
        notes => notes.map(|note| (number::span_ms(note.at_ms), words::clean(&note.event.to_string()))).collect::<Vec<_>>(),
        environment,
        plan => page.plan(),
        command => page.command(),
    };
    let templates = [
        ("report.html", include_str!("../templates/report.html")),
        ("workload.html", include_str!("../templates/workload.html")),
    ];
    template::fill(&templates, filled)
}

fn anchor(place: usize, name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let word: String = name.chars().take(40).map(plain).collect();
    let word = word.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    format!("workload-{}{}{word}", place + 1, if word.is_empty() { "" } else { "-" })
}

fn tunables(page: &Page<'_>) -> Vec<Value> {
    let of = |workload: &WorkloadView<'_>| {
        let metric = workload.metrics.iter().find(|metric| metric.primary)?;
        let sweep = sweep::of(page.analysis, workload.name, metric)?;
        let lines: Vec<_> =
            sweep.lines.into_iter().map(|(tunable, text)| (tunable, minus(text))).collect();
        Some(
            context! { place => words::name_of(workload.name), metric => metric.label, good => metric.good(), lines },
        )
    };
    page.workloads.iter().filter_map(of).collect()
}

/// A percent sign stays at its number.
fn unbroken(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}

fn invalid_row(group: &InvalidGroup<'_>) -> Value {
    context! {
        workload => words::clean(group.workload),
        variant => words::clean(group.variant),
        rounds => group.rounds,
        count => group.count,
        reason => words::clean(&group.reason.to_string()),
    }
}

fn alarms(workloads: &[WorkloadView<'_>]) -> Vec<String> {
    let remarks = remarks::remarks(workloads, false, &[]);
    remarks.into_iter().filter(|r| r.invalid).map(|r| format!("{}: {}", r.about, r.text)).collect()
}

/// The forest of the deciding metrics. Complete sweeps are excluded: their tables contain it.
fn matrix(page: &Page<'_>) -> crate::Result<Value> {
    let is_swept = |workload: &WorkloadView<'_>, metric: &MetricView<'_>| {
        sweep::of(page.analysis, workload.name, metric).is_some_and(|sweep| sweep.complete)
    };
    let primary: Vec<(&WorkloadView<'_>, &MetricView<'_>)> = page
        .workloads
        .iter()
        .filter_map(|w| Some((w, w.metrics.iter().find(|m| m.primary)?)))
        .filter(|(workload, metric)| !is_swept(workload, metric))
        .collect();
    let width = if primary.len() == 1 { FOREST } else { COLUMN };
    let forests: Vec<forest::Rows> =
        primary.iter().map(|(_, metric)| forest_of(page.analysis, metric, width)).collect();
    let columns: Vec<Value> = primary
        .iter()
        .map(|(workload, metric)| {
            let (label, good) = (&metric.label, metric.good());
            match words::name_of(workload.name) {
                Some(head) => context! { head, below => format!("{label}, {good}") },
                None => context! { head => label, below => good },
            }
        })
        .collect();
    let mut rows = Vec::new();
    for (place, variant) in page.variants.iter().enumerate() {
        let mut cells = Vec::new();
        for ((_, metric), forest) in primary.iter().zip(&forests) {
            let row = metric.rows.iter().find(|row| row.variant == *variant);
            cells.push(row.map(|row| cell(forest, metric, row)).transpose()?);
        }
        let name = view::marked(variant, view::mark(page.evidence.as_ref(), variant));
        rows.push(
            context! { variant => name, mark => safe(plot::canvas::legend_mark(place)?), cells },
        );
    }
    let axes = forests.iter().map(|forest| Ok(safe(forest.axis()?)));
    Ok(context! { columns, rows, axes => axes.collect::<crate::Result<Vec<Value>>>()? })
}

fn forest_of(analysis: &Analysis, metric: &MetricView<'_>, width: i32) -> forest::Rows {
    let comparisons: Vec<&Comparison> =
        metric.rows.iter().filter_map(|row| row.comparison).collect();
    forest::Rows::of(&comparisons, analysis.criteria.margin, width)
}

fn cell(forest: &forest::Rows, metric: &MetricView<'_>, row: &RowView<'_>) -> crate::Result<Value> {
    let bar = row.comparison.map(|comparison| forest.row(comparison)).transpose()?;
    Ok(context! { bar => bar.map(safe), ..row_values(metric, row) })
}

fn row_values(metric: &MetricView<'_>, row: &RowView<'_>) -> Value {
    let comparison = row.comparison;
    let of_trials = |f: &dyn Fn(&Summary) -> String| row.summary.map(f).unwrap_or_default();
    // The template engine would print `None` as a word, hence empty strings.
    context! {
        variant => row.marked(),
        baseline => comparison.is_none(),
        centre => row.centre_with_unit(metric),
        own_baseline => row.own_baseline(metric).unwrap_or_default(),
        beside_change => view::beside_change(metric, row),
        bare_median => of_trials(&|s| metric.scale.bare(s.median)),
        mean => of_trials(&|s| metric.scale.bare(s.mean)),
        sd => of_trials(&|s| s.sd.map(|sd| format!("± {}", metric.scale.bare(sd))).unwrap_or_default()),
        cv => of_trials(&|s| s.cv_percent.map(|cv| format!("{} %", number::significant(cv))).unwrap_or_default()),
        span => of_trials(&|s| format!("{} – {}", metric.scale.bare(s.min), metric.scale.bare(s.max))),
        n => row.summary.map_or(0, |s| s.n),
        outliers => row.summary.map_or(0, |s| s.outliers),
        verdict => comparison.map(|j| verdict::word(j.verdict)).unwrap_or_default(),
        sign => comparison.map(|j| verdict::sign(j.verdict)).unwrap_or_default(),
        estimate => comparison.and_then(number::estimate).map(minus).unwrap_or_default(),
        interval => comparison.filter(|j| j.ratio.is_some()).map(number::interval).map(minus).unwrap_or_default(),
        confidence => comparison.map(|j| number::percent(j.confidence)).unwrap_or_default(),
        rounds => row.rounds(),
        more_rounds => comparison.filter(|_| metric.primary).and_then(view::more_rounds_clause).unwrap_or_default(),
    }
}

fn section(page: &Page<'_>, workload: &WorkloadView<'_>, anchor: &str) -> crate::Result<Value> {
    let (analysis, evidence) = (page.analysis, page.evidence.as_ref());
    let name = words::clean(workload.name);
    let deciding = figures::deciding(workload);
    let trials = figures::trials_of(evidence, workload.name);
    let metrics: Vec<Value> = workload
        .metrics
        .iter()
        .map(|metric| {
            let rows: Vec<Value> = metric.rows.iter().map(|row| row_values(metric, row)).collect();
            let unit = &metric.scale.unit;
            context! { label => metric.label, unit, good => metric.good(), primary => metric.primary, rows }
        })
        .collect();
    let legend = (page.variants.iter().enumerate())
        .map(|(place, variant)| Ok(context! { variant => words::clean(variant), mark => safe(plot::canvas::legend_mark(place)?) }))
        .collect::<crate::Result<Vec<Value>>>()?;
    let plots = deciding
        .map(|metric| plots(analysis, workload, metric, &trials, &page.variants))
        .transpose()?;
    let swept =
        deciding.and_then(|metric| Some((metric, sweep::of(analysis, workload.name, metric)?)));
    let swept = swept
        .map(|(metric, sweep)| before_and_after(analysis, evidence, workload, metric, &sweep))
        .transpose()?;
    let remarks = page.remarks(std::slice::from_ref(workload));
    let remarks = remarks.iter().map(
        |remark| context! { about => remark.about, text => remark.text, invalid => remark.invalid },
    );
    Ok(context! {
        anchor,
        heading => words::name_of(workload.name).unwrap_or_else(|| "All rows of the table".into()),
        name,
        metric => deciding.map(|metric| metric.label.clone()),
        good => deciding.map(MetricView::good),
        actuator => actuator(page, workload)?,
        plots,
        sweep => swept,
        legend,
        metrics,
        remarks => remarks.collect::<Vec<_>>(),
        trials => trials.len(),
    })
}

fn actuator(page: &Page<'_>, workload: &WorkloadView<'_>) -> crate::Result<Vec<Value>> {
    let Some(evidence) = &page.evidence else { return Ok(Vec::new()) };
    let warmup_ns =
        evidence.header.plan.trial.warmup_ms.unwrap_or_default().saturating_mul(1_000_000);
    let mut excerpts = actuator::excerpts(evidence.actuator, workload.name, warmup_ns);
    excerpts.sort_by_key(|excerpt| {
        page.variants.iter().position(|variant| *variant == excerpt.variant)
    });
    let span = plot::actuator::span(&excerpts);
    let mut found = Vec::new();
    for excerpt in &excerpts {
        let variant = words::clean(excerpt.variant);
        let said = format!(
            "{} in {}, {}",
            words::counted(excerpt.visits.len() as u64, "request"),
            number::span_ms(excerpt.length_ns / 1_000_000),
            words::counted(excerpt.moves as u64, "move"),
        );
        let label = format!("{variant}: position of the actuator over time: {said}");
        found.extend(
            plot::actuator::plot(&label, excerpt, span)?
                .map(|svg| context! { variant, said, svg => safe(svg) }),
        );
    }
    Ok(found)
}

fn plots(
    analysis: &Analysis,
    workload: &WorkloadView<'_>,
    metric: &MetricView<'_>,
    trials: &[&Trial],
    variants: &[&str],
) -> crate::Result<Value> {
    let drawn = figures::of_metric(analysis, workload, metric, trials, variants)?;
    let one =
        |kind| drawn.iter().find(|drawn| drawn.kind == kind).map(|drawn| safe(drawn.svg.clone()));
    let mut curves = drawn
        .iter()
        .filter(|drawn| drawn.kind == FigureKind::Latency)
        .map(|drawn| safe(drawn.svg.clone()));
    Ok(context! {
        distribution => one(FigureKind::Distribution),
        timeline => one(FigureKind::Timeline),
        curve => curves.next(),
        more_curves => curves.collect::<Vec<_>>(),
    })
}

fn before_and_after(
    analysis: &Analysis,
    evidence: Option<&Evidence<'_>>,
    workload: &WorkloadView<'_>,
    metric: &MetricView<'_>,
    sweep: &SweepView<'_>,
) -> crate::Result<Value> {
    let curves: Vec<Value> = figures::responses(analysis, evidence, workload, metric, sweep)?
        .into_iter()
        .map(|drawn| context! { tunable => drawn.of, line => minus(drawn.said), svg => safe(drawn.svg) })
        .collect();
    let forest = forest_of(analysis, metric, COLUMN);
    let rows = sweep.rows.iter().map(|row| {
        let comparison = row.comparison;
        Ok(context! {
                bar => safe(forest.row(comparison)?),
                tunable => row.tunable, default => row.default, tried => row.tried, before => row.before, after => row.after,
                change => number::estimate(comparison).map(minus).unwrap_or_else(|| "no evidence".into()),
                interval => comparison.ratio.map(|_| minus(number::interval(comparison))).unwrap_or_default(),
                verdict => verdict::word(comparison.verdict), sign => verdict::sign(comparison.verdict),
                rounds => comparison.rounds,
                more_rounds => view::more_rounds_clause(comparison).unwrap_or_default(),
            })
    });
    let rows = rows.collect::<crate::Result<Vec<Value>>>()?;
    Ok(context! { rows, curves, unit => metric.scale.unit, axis => safe(forest.axis()?) })
}

/// Uses a real minus sign, because a page is not limited to ASCII.
fn minus(number: String) -> String {
    number.replace('-', "−")
}

fn safe(svg: String) -> Value {
    Value::from_safe_string(plot::canvas::themed(&svg))
}

#[cfg(test)]
mod tests;
