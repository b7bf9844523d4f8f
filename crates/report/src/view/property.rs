//! In every format, the value next to a change is the one from which the change is computed.

use experiment::results::InvalidReason;
use experiment::samples::Sample;
use experiment::{Options, analyze_samples};
use proptest::prelude::*;

use super::*;
use crate::page::Page;

/// Variant, round, value; NaN for an invalid one.
type Value = (usize, u32, f64);

fn studied(values: &[Value]) -> Analysis {
    let sample = |(sequence, (variant, round, value)): (usize, &Value)| Sample {
        workload: "w".into(),
        metric: "iops".into(),
        variant: format!("variant{variant}"),
        round: Some(*round),
        sequence: sequence as u64,
        value: *value,
        requests: None,
        invalid: if value.is_nan() {
            vec![InvalidReason::Foreign { text: "invalid".into() }]
        } else {
            Vec::new()
        },
    };
    let samples: Vec<Sample> = values.iter().enumerate().map(sample).collect();
    let options = Options { baseline: Some("variant0".into()), ..Options::default() };
    analyze_samples("table", &samples, &options)
}

/// A row's value, and the baseline value that a reader compares it with.
type Shown = fn(&MetricView<'_>, &RowView<'_>) -> [String; 2];

fn one_centre(metric: &MetricView<'_>, row: &RowView<'_>) -> [String; 2] {
    let baseline =
        metric.rows.iter().find(|row| row.comparison.is_none()).map(|row| row.bare_centre(metric));
    [row.bare_centre(metric), row.own_baseline(metric).or(baseline).unwrap_or_default()]
}

fn in_markdown(analysis: &Analysis) -> Vec<(String, [String; 2])> {
    let text = crate::markdown::render(&Page::of(analysis, None)).expect("a report");
    let table: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| !line.starts_with("| variant |"))
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let number = |text: &str| text.split(' ').next().unwrap_or_default().to_owned();
    let baseline =
        table[2..].iter().find(|row| row[1].ends_with("(baseline)")).map(|row| number(row[2]));
    let of = |row: &Vec<&str>| {
        let own =
            row[2].split_once("(baseline ").map(|(_, own)| own.trim_end_matches(')').to_owned());
        (row[1].to_owned(), [number(row[2]), own.or(baseline.clone()).unwrap_or_default()])
    };
    table[2..].iter().map(of).collect()
}

fn agrees(comparison: &Comparison, [variant, baseline]: &[String; 2]) -> Result<(), String> {
    let (Some(ratio), Some(change)) = (comparison.ratio, number::estimate(comparison)) else {
        return Ok(());
    };
    let parsed = |text: &str| {
        text.replace(',', "").parse::<f64>().map_err(|_| format!("{variant} against {baseline}"))
    };
    let difference = parsed(variant)? - parsed(baseline)?;
    let sign = match change.chars().next() {
        Some('+') => 1.0,
        Some('-') => -1.0,
        _ if change.ends_with('×') => (ratio - 1.0).signum(),
        _ => 0.0,
    };
    let visible = ratio.ln().abs() > 0.02;
    match difference * sign {
        product if product < 0.0 || (product == 0.0 && visible) => {
            Err(format!("{variant} against {baseline}: {change}"))
        }
        _ => Ok(()),
    }
}

fn property(analysis: &Analysis, shown: Shown) -> Result<(), String> {
    let views = workloads(analysis, None);
    for metric in views.iter().flat_map(|workload| &workload.metrics) {
        for row in &metric.rows {
            if let Some(comparison) = row.comparison {
                agrees(comparison, &shown(metric, row))?;
            }
        }
    }
    for comparison in &analysis.comparisons {
        let (Some(variant), Some(baseline)) = (comparison.variant_mean, comparison.baseline_mean)
        else {
            continue;
        };
        let ratio = comparison.ratio.expect("what has means has a ratio");
        if (variant / baseline / ratio - 1.0).abs() > 1e-9 {
            return Err(format!("{variant} / {baseline} is not {ratio}"));
        }
    }
    Ok(())
}

fn values() -> impl Strategy<Value = Vec<Value>> {
    let value = prop_oneof![
        8 => (0.0..12.0f64).prop_map(f64::exp),
        8 => 900.0..1100.0f64,
        1 => Just(f64::NAN),
        1 => Just(0.0),
    ];
    prop::collection::vec((0usize..4, 0u32..7, value), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn the_difference_that_is_shown_has_the_sign_of_the_change_beside_it(values in values()) {
        let analysis = studied(&values);
        prop_assert_eq!(property(&analysis, one_centre), Ok(()));
        if !analysis.comparisons.is_empty() {
            for (name, shown) in in_markdown(&analysis) {
                let comparison = analysis.comparisons.iter().find(|comparison| comparison.variant == name);
                prop_assert_eq!(comparison.map_or(Ok(()), |comparison| agrees(comparison, &shown)), Ok(()));
            }
        }
    }
}

fn medians(metric: &MetricView<'_>, row: &RowView<'_>) -> [String; 2] {
    let of = |row: &RowView<'_>| {
        row.summary.map_or_else(String::new, |summary| metric.scale.bare(summary.median))
    };
    [of(row), metric.rows.iter().find(|row| row.comparison.is_none()).map(of).unwrap_or_default()]
}

fn one_baseline(metric: &MetricView<'_>, row: &RowView<'_>) -> [String; 2] {
    let baseline =
        metric.rows.iter().find(|row| row.comparison.is_none()).map(|row| row.bare_centre(metric));
    [row.bare_centre(metric), baseline.unwrap_or_default()]
}

#[test]
fn medians_and_a_baseline_of_other_rounds_are_rejected() {
    let rounds = |variant: usize, values: &[f64]| -> Vec<Value> {
        values.iter().zip(0..).map(|(value, round)| (variant, round, *value)).collect()
    };
    let outlier =
        studied(&[rounds(0, &[100.0, 100.0, 100.0, 100.0, 10.0]), rounds(1, &[90.0; 5])].concat());
    assert!(property(&outlier, medians).is_err() && property(&outlier, one_centre).is_ok());
    let stopped = studied(
        &[rounds(0, &[100.0, 100.0, 10.0, 10.0]), rounds(1, &[90.0; 2]), rounds(2, &[9.0; 4])]
            .concat(),
    );
    assert!(property(&stopped, one_baseline).is_err() && property(&stopped, one_centre).is_ok());
}

#[test]
fn every_format_shows_it() {
    let lab = crate::fixture::Lab::typical();
    let evidence = lab.evidence();
    let page = Page::of(&lab.analysis, Some(&evidence));
    let options =
        crate::terminal::Options { width: 80, colour: false, verbose: false, offered: Vec::new() };
    let texts = [
        crate::terminal::render(&lab.analysis, Some(&evidence), &[], &options),
        crate::markdown::render(&page).expect("a report"),
        crate::html::render(&page).expect("a page"),
    ];
    for metric in
        page.workloads.iter().flat_map(|workload| &workload.metrics).filter(|metric| metric.primary)
    {
        for row in &metric.rows {
            assert!(
                texts.iter().all(|text| text.contains(&row.bare_centre(metric))),
                "{}",
                row.variant
            );
        }
    }
    let csv = crate::csv::comparisons(&page).expect("a table");
    let first = lab.analysis.comparisons[0].variant_mean.expect("it was measured").to_string();
    assert!(csv.lines().nth(1).is_some_and(|line| line.contains(&first)), "{csv}");
}
