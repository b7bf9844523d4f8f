//! The history of a device, in a terminal and as a page with plots.

use std::collections::BTreeMap;
use std::fmt::Write;

use experiment::analysis::Comparison;
use experiment::history::changes::{Followed, HistoryChange};
use experiment::history::{Entry, Measured, Outcome};
use experiment::metric;
use experiment::notation;
use jiff::Timestamp;
use minijinja::{Value, context};

use super::columns::Columns;
use super::plot::{self, history::Point};
use super::{number, template, view, words};

/// Maximum number of dates below the plot.
const TICKS: usize = 8;

#[derive(Debug, Clone, Copy)]
pub struct History<'a> {
    /// Oldest first.
    pub entries: &'a [Entry],
    /// Unreadable lines in the file.
    pub broken: usize,
    pub changes: &'a [HistoryChange],
    /// Tests between two false alarms, as given to the change detection.
    pub run_length: f64,
}

pub fn terminal(history: &History<'_>, width: usize) -> String {
    let mut text = format!("{}\n", title(history));
    let mut table = Columns::new(["WHEN (UTC)", "WATCH", "USE", "RESULT"]);
    for entry in history.entries {
        let (used, found) = result(entry);
        table.row([entry.at.replace('T', " ").trim_end_matches('Z'), &entry.watch, &used, &found]);
    }
    text.push_str(&table.text("", width));
    for line in changes(history) {
        let _ = writeln!(text, "{line}");
    }
    if history.broken > 0 {
        let _ = writeln!(
            text,
            "{} of the history omitted: incomplete, as after a crash",
            words::counted(history.broken as u64, "line")
        );
    }
    text
}

fn changes(history: &History<'_>) -> Vec<String> {
    let mut lines: Vec<String> =
        history.changes.iter().map(|change| words::clean(&changed_words(change))).collect();
    if !lines.is_empty() {
        lines.push(format!(
            "One such line in {} tests of a watch is expected by chance, if its tests do not depend on one another.",
            number::count(history.run_length as u64)
        ));
    }
    lines
}

/// `CHANGED since 2026-02-03 02:00: bfq on r: iops -10.0 % (noticed 2026-02-17 02:00);
/// kernel.release 6.12.0 (was 6.1.0)`.
fn changed_words(change: &HistoryChange) -> String {
    let when = |at: &str| at.replace('T', " ").trim_end_matches('Z').to_owned();
    let by = notation::change(change.ratio);
    let what = match change.followed {
        Followed::Level => change.metric.clone(),
        Followed::Effect => format!("effect on {}", change.metric),
    };
    let or = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    let differs = match change.differences.first() {
        Some(first) => {
            let more = change.differences.len() - 1;
            let more = if more > 0 {
                format!(" and {}", words::counted(more as u64, "other difference"))
            } else {
                String::new()
            };
            format!("; {} {} (was {}){more}", first.name, or(&first.now), or(&first.then))
        }
        None => "; no kernel, program, firmware or build of schedlab differs there".to_owned(),
    };
    format!(
        "CHANGED since {}: {} on {} ({}): {what} {by}, noticed {}{differs}",
        when(&change.at),
        change.variant,
        change.workload,
        change.watch,
        when(&change.noticed)
    )
}

pub fn page(histories: &[History<'_>]) -> crate::Result<String> {
    let devices =
        histories.iter().map(|history| device(history)).collect::<crate::Result<Vec<Value>>>()?;
    let page = context! {
        style => Value::from_safe_string(include_str!("templates/style.css").into()),
        devices,
    };
    template::fill(&[("history.html", include_str!("templates/history.html"))], page)
}

fn device(history: &History<'_>) -> crate::Result<Value> {
    let curves = curves(history)
        .into_iter()
        .map(|curve| curve.drawn())
        .collect::<crate::Result<Vec<Value>>>()?;
    let rows: Vec<Value> = history
        .entries
        .iter()
        .rev()
        .map(|entry| {
            let (used, found) = result(entry);
            let at = entry.at.replace('T', " ");
            context! { at => at.trim_end_matches('Z'), watch => entry.watch, used, found => words::clean(&found), changed => changed(entry) }
        })
        .collect();
    Ok(context! { title => title(history), changes => changes(history), curves, rows })
}

fn result(entry: &Entry) -> (String, String) {
    match &entry.outcome {
        Outcome::Measured(measured) => {
            let mark = if measured.changed { " (changed)" } else { "" };
            let used = measured.recommended.as_deref().unwrap_or("no advice");
            (format!("{used}{mark}"), effects(measured))
        }
        Outcome::Skipped { why } => (String::new(), format!("not tested: {why}")),
        Outcome::Failed { why } => (String::new(), format!("failed: {why}")),
    }
}

fn effects(measured: &Measured) -> String {
    let one = |comparison: &Comparison| {
        let verdict = format!("{:?}", comparison.verdict).to_lowercase();
        format!(
            "{} {} {} ({verdict})",
            comparison.workload,
            comparison.variant,
            number::effect(comparison)
        )
    };
    let mut words: Vec<String> = measured.effects.iter().map(one).collect();
    words.extend(measured.applied.as_ref().map(|what| format!("set: {what}")));
    words.join("; ")
}

fn changed(entry: &Entry) -> bool {
    matches!(&entry.outcome, Outcome::Measured(measured) if measured.changed)
}

fn title(history: &History<'_>) -> String {
    let device = history.entries.last().map_or("", |entry| entry.device.as_str());
    let tests = history
        .entries
        .iter()
        .filter(|entry| matches!(entry.outcome, Outcome::Measured(_)))
        .count();
    let skipped = history.entries.len() - tests;
    format!(
        "{device}: {}{}",
        words::counted(tests as u64, "test"),
        if skipped > 0 { format!(", {skipped} more skipped or failed") } else { String::new() }
    )
}

struct Curve<'a> {
    watch: &'a str,
    workload: &'a str,
    metric: &'a str,
    baseline: &'a str,
    /// Seconds since 1970.
    tests: Vec<(i64, Vec<&'a Comparison>)>,
}

fn curves<'a>(history: &History<'a>) -> Vec<Curve<'a>> {
    let mut curves: BTreeMap<(&str, &str, &str, &str), Curve<'a>> = BTreeMap::new();
    for entry in history.entries {
        let (Outcome::Measured(measured), Ok(at)) = (&entry.outcome, entry.at.parse::<Timestamp>())
        else {
            continue;
        };
        for comparison in &measured.effects {
            let key: (&str, &str, &str, &str) =
                (&entry.watch, &comparison.workload, &comparison.metric, &comparison.baseline);
            let (watch, workload, metric, baseline) = key;
            let curve = curves.entry(key).or_insert_with(|| Curve {
                watch,
                workload,
                metric,
                baseline,
                tests: Vec::new(),
            });
            match curve.tests.last_mut() {
                Some((then, comparisons)) if *then == at.as_second() => {
                    comparisons.push(comparison)
                }
                _ => curve.tests.push((at.as_second(), vec![comparison])),
            }
        }
    }
    curves.into_values().collect()
}

impl Curve<'_> {
    fn drawn(&self) -> crate::Result<Value> {
        let mut variants: Vec<&str> = vec![self.baseline];
        for comparison in self.tests.iter().flat_map(|(_, comparisons)| comparisons) {
            if !variants.contains(&comparison.variant.as_str()) {
                variants.push(&comparison.variant);
            }
        }
        let first = self.tests.first().map_or(0, |(at, _)| *at);
        let day = |at: i64| (at - first) as f64 / 86_400.0;
        let points = variants.iter().map(|variant| self.points(variant, &day)).collect::<Vec<_>>();
        let each = self.tests.len().div_ceil(TICKS).max(1);
        let date = |at: i64| {
            Timestamp::from_second(at)
                .map_or_else(|_| String::new(), |at| at.strftime("%Y-%m-%d").to_string())
        };
        let mut days: Vec<(f64, String)> =
            self.tests.iter().step_by(each).map(|(at, _)| (day(*at), date(*at))).collect();
        days.dedup_by(|a, b| a.1 == b.1);
        let row = metric::find(self.metric);
        let what = row.map_or_else(|| view::label(self.metric), |row| row.help.to_owned());
        let label =
            format!("{} on {}: effect of each variant, test by test", self.watch, self.workload);
        let svg = plot::history::plot(&label, &words::clean(self.baseline), &days, &points)?;
        let legend = variants
            .iter()
            .enumerate()
            .skip(1)
            .map(|(at, variant)| {
                let mark =
                    Value::from_safe_string(plot::canvas::themed(&plot::canvas::legend_mark(at)?));
                Ok(context! { mark, variant => words::clean(variant) })
            })
            .collect::<crate::Result<Vec<Value>>>()?;
        Ok(
            context! { watch => self.watch, workload => self.workload, what, legend, plot => svg.map(|svg| Value::from_safe_string(plot::canvas::themed(&svg))) },
        )
    }

    fn points(&self, variant: &str, day: &dyn Fn(i64) -> f64) -> Vec<Point> {
        let of_variant = self
            .tests
            .iter()
            .flat_map(|(at, comparisons)| comparisons.iter().map(move |j| (*at, *j)));
        let shown = of_variant.filter(|(_, comparison)| comparison.variant == variant).filter_map(
            |(at, comparison)| {
                let (low, high) =
                    (comparison.low.unwrap_or(0.0), comparison.high.unwrap_or(f64::INFINITY));
                Some(Point { day: day(at), ratio: comparison.ratio?, low, high })
            },
        );
        shown.collect()
    }
}
