//! The tables of a results file and of an analysis.
//!
//! Metric names imply the units of values. Unknown values are null; foreign text is passed
//! unchanged.

use std::collections::BTreeSet;

use experiment::analysis::{Analysis, Comparison, Summary, Verdict};
use experiment::metric::Direction;
use experiment::results::Results;
use pyo3::prelude::*;

use crate::table::{Column, Table};

/// One row per trial: its place, its values and its invalid reasons.
pub(crate) fn trials(results: &Results) -> PyResult<Table> {
    let all = &results.trials;
    let names = |of: fn(&experiment::results::Observation) -> Vec<&String>| -> BTreeSet<&str> {
        all.iter().flat_map(|trial| of(&trial.observation)).map(String::as_str).collect()
    };
    let metrics = names(|seen| seen.metrics.keys().collect());
    let counters = names(|seen| seen.counters.keys().collect());
    let invalid = all.iter().map(|trial| {
        let reasons: Vec<String> =
            trial.observation.invalid.iter().map(ToString::to_string).collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    });
    let mut columns = vec![
        Column::count("sequence", all.iter().map(|trial| Some(trial.sequence))),
        Column::text("workload", all.iter().map(|trial| Some(&trial.workload))),
        Column::count("round", all.iter().map(|trial| Some(trial.round.into()))),
        Column::count("position", all.iter().map(|trial| Some(trial.position.into()))),
        Column::text("variant", all.iter().map(|trial| Some(&trial.variant))),
        Column::count("started_ms", all.iter().map(|trial| Some(trial.started_ms))),
        Column::count("duration_ns", all.iter().map(|trial| Some(trial.observation.duration_ns))),
        Column::text("invalid", invalid),
    ];
    for name in &metrics {
        columns.push(Column::number(
            name,
            all.iter().map(|trial| trial.observation.metrics.get(*name).copied()),
        ));
    }
    for name in &counters {
        let values = all.iter().map(|trial| trial.observation.counters.get(*name).copied());
        let own =
            if metrics.contains(name) { format!("counter_{name}") } else { (*name).to_owned() };
        columns.push(Column::number(&own, values));
    }
    Table::of(columns)
}

/// One row per point of each latency curve.
pub(crate) fn latencies(results: &Results) -> PyResult<Table> {
    let curves = || {
        results
            .trials
            .iter()
            .flat_map(|trial| trial.observation.latency.iter().map(move |curve| (trial, curve)))
    };
    let points = || {
        curves()
            .flat_map(|(trial, curve)| curve.points.iter().map(move |point| (trial, curve, *point)))
    };
    Table::of(vec![
        Column::count("sequence", points().map(|(trial, _, _)| Some(trial.sequence))),
        Column::text("workload", points().map(|(trial, _, _)| Some(&trial.workload))),
        Column::count("round", points().map(|(trial, _, _)| Some(trial.round.into()))),
        Column::text("variant", points().map(|(trial, _, _)| Some(&trial.variant))),
        Column::text("op", points().map(|(_, curve, _)| Some(&curve.op))),
        Column::count("requests", points().map(|(_, curve, _)| Some(curve.count))),
        Column::number("percentile", points().map(|(_, _, (percentile, _))| Some(percentile))),
        Column::count("latency_ns", points().map(|(_, _, (_, ns))| Some(ns))),
    ])
}

pub(crate) fn comparisons(analysis: &Analysis) -> PyResult<Table> {
    let all = &analysis.comparisons;
    let number =
        |name, of: fn(&Comparison) -> Option<f64>| Column::number(name, all.iter().map(of));
    let count = |name, of: fn(&Comparison) -> Option<u32>| {
        Column::count(name, all.iter().map(|j| of(j).map(u64::from)))
    };
    Table::of(vec![
        Column::text("workload", all.iter().map(|j| Some(&j.workload))),
        Column::text("metric", all.iter().map(|j| Some(&j.metric))),
        Column::flag("primary", all.iter().map(|j| j.primary)),
        Column::text("variant", all.iter().map(|j| Some(&j.variant))),
        Column::text("baseline", all.iter().map(|j| Some(&j.baseline))),
        number("variant_mean", |j| j.variant_mean),
        number("baseline_mean", |j| j.baseline_mean),
        number("ratio", |j| j.ratio),
        number("low", |j| j.low),
        number("high", |j| j.high),
        Column::text("verdict", all.iter().map(|j| Some(verdict(j.verdict)))),
        count("rounds", |j| Some(j.rounds)),
        count("invalid_rounds", |j| Some(j.invalid_rounds)),
        number("confidence", |j| Some(j.confidence)),
        count("more_rounds", |j| j.more_rounds),
        Column::text(
            "reasons",
            all.iter().map(|j| joined(j.reasons.iter().map(ToString::to_string).collect())),
        ),
    ])
}

pub(crate) fn summaries(analysis: &Analysis) -> PyResult<Table> {
    let all = &analysis.summaries;
    let number = |name, of: fn(&Summary) -> Option<f64>| Column::number(name, all.iter().map(of));
    Table::of(vec![
        Column::text("workload", all.iter().map(|s| Some(&s.workload))),
        Column::text("metric", all.iter().map(|s| Some(&s.metric))),
        Column::text("direction", all.iter().map(|s| Some(direction(s.direction)))),
        Column::text("variant", all.iter().map(|s| Some(&s.variant))),
        Column::count("n", all.iter().map(|s| Some(s.n.into()))),
        number("mean", |s| Some(s.mean)),
        number("sd", |s| s.sd),
        number("cv_percent", |s| s.cv_percent),
        number("median", |s| Some(s.median)),
        number("geometric_mean", |s| s.geometric_mean),
        number("min", |s| Some(s.min)),
        number("max", |s| Some(s.max)),
        Column::count("outliers", all.iter().map(|s| Some(s.outliers.into()))),
    ])
}

fn joined(reasons: Vec<String>) -> Option<String> {
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Invalid => "invalid",
    }
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::HigherIsBetter => "higher",
        Direction::LowerIsBetter => "lower",
        Direction::Descriptive => "descriptive",
    }
}
