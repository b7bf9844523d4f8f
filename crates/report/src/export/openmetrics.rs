//! OpenMetrics text: values, effects and verdicts as gauges.
//!
//! Source: <https://prometheus.io/docs/specs/om/open_metrics_spec/>. To be valid in the older
//! Prometheus format, too, which node_exporter's textfile collector reads, the text uses no `info`,
//! `stateset` or timestamps, and escapes only `\`, `"` and newlines.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use experiment::analysis::{Comparison, Verdict};
use text::controls_terminal;

use super::series::{Exported, Series};

const VERDICTS: [(Verdict, &str); 5] = [
    (Verdict::Better, "better"),
    (Verdict::Worse, "worse"),
    (Verdict::Equivalent, "equivalent"),
    (Verdict::Inconclusive, "inconclusive"),
    (Verdict::Invalid, "invalid"),
];

pub(crate) type Labels = Vec<(&'static str, String)>;

/// Both formats require a family's samples to be contiguous and their labels unique.
#[derive(Default)]
pub(crate) struct Text(String);

pub(super) fn render(exported: &Exported<'_>, series: &[Series]) -> String {
    let mut text = Text::default();
    about(&mut text, exported);
    let values = |value: fn(&Series) -> Option<f64>| {
        series.iter().filter_map(move |one| Some((of_series(exported, one), value(one)?)))
    };
    text.family("value", "geometric mean of the deciding metric", values(|one| Some(one.mean)));
    text.family(
        "value_low",
        "lower end of its 95 percent interval",
        values(|one| Some(one.range?.0)),
    );
    text.family(
        "value_high",
        "upper end of its 95 percent interval",
        values(|one| Some(one.range?.1)),
    );
    text.family("trials", "trials that count", values(|one| Some(one.n as f64)));
    let deciding: Vec<&Comparison> =
        exported.analysis.comparisons.iter().filter(|comparison| comparison.primary).collect();
    let effects = |value: fn(&Comparison) -> Option<f64>| {
        deciding.iter().filter_map(move |one| Some((of_comparison(exported, one), value(one)?)))
    };
    text.family(
        "effect_ratio",
        "variant by baseline on the deciding metric",
        effects(|one| one.ratio),
    );
    text.family(
        "effect_ratio_low",
        "lower end of the interval of the verdict",
        effects(|one| one.low),
    );
    text.family(
        "effect_ratio_high",
        "upper end of the interval of the verdict",
        effects(|one| one.high),
    );
    text.family(
        "invalid_rounds",
        "rounds that were invalid for the comparison",
        effects(|one| Some(f64::from(one.invalid_rounds))),
    );
    let states = deciding.iter().flat_map(|one| {
        VERDICTS.iter().map(|(verdict, word)| {
            let mut labels = of_comparison(exported, one);
            labels.push(("verdict", (*word).to_owned()));
            (labels, f64::from(u8::from(one.verdict == *verdict)))
        })
    });
    text.family("verdict", "1 for the verdict on a variant, 0 for every other", states);
    text.finish()
}

fn about(text: &mut Text, exported: &Exported<'_>) {
    let header = &exported.results.header;
    let fact = |section: &str, name: &str| {
        header
            .environment
            .get(section)
            .and_then(|facts| facts.get(name))
            .cloned()
            .unwrap_or_default()
    };
    let mut labels = of(exported);
    labels.push(("arena", header.plan.arena.name.to_owned()));
    labels.push(("identity", fact("device", "identity")));
    labels.push(("kernel", fact("kernel", "release")));
    labels.push(("schedlab", header.schedlab.clone()));
    text.family("experiment_about", "what was measured, and with what; always 1", [(labels, 1.0)]);
    let started = (header.started_unix_ms > 0)
        .then(|| (of(exported), header.started_unix_ms as f64 / 1000.0));
    text.family(
        "experiment_started_seconds",
        "start of the experiment, in seconds since 1970",
        started,
    );
}

fn of(exported: &Exported<'_>) -> Labels {
    vec![
        ("experiment", exported.name.to_owned()),
        ("device", exported.results.header.plan.device.clone()),
    ]
}

fn of_series(exported: &Exported<'_>, one: &Series) -> Labels {
    let mut labels = of(exported);
    labels.push(("workload", one.workload.clone()));
    labels.push(("metric", one.metric.clone()));
    labels.push(("unit", one.unit.clone()));
    labels.push(("variant", one.variant.clone()));
    labels
}

fn of_comparison(exported: &Exported<'_>, one: &Comparison) -> Labels {
    let mut labels = of(exported);
    labels.push(("workload", one.workload.clone()));
    labels.push(("metric", one.metric.clone()));
    labels.push(("variant", one.variant.clone()));
    labels.push(("baseline", one.baseline.clone()));
    labels
}

impl Text {
    pub(crate) fn finish(mut self) -> String {
        self.0.push_str("# EOF\n");
        self.0
    }

    pub(crate) fn family(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels, f64)>,
    ) {
        let mut taken = BTreeSet::new();
        let finite = samples.into_iter().filter(|(_, value)| value.is_finite());
        let lines: Vec<String> = finite
            .map(|(labels, value)| (shown(&labels), value))
            .filter(|(labels, _)| taken.insert(labels.clone()))
            .map(|(labels, value)| format!("schedlab_{name}{{{labels}}} {value:?}\n"))
            .collect();
        if !lines.is_empty() {
            let head =
                write!(self.0, "# HELP schedlab_{name} {help}\n# TYPE schedlab_{name} gauge\n");
            head.expect("a string takes all");
            self.0.extend(lines);
        }
    }
}

fn shown(labels: &Labels) -> String {
    labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
        .collect::<Vec<_>>()
        .join(",")
}

/// NUL and terminal control characters are valid but cannot be escaped, so they become spaces.
fn escaped(value: &str) -> String {
    let mut text = String::new();
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            c if c.is_control() || controls_terminal(c) => text.push(' '),
            c => text.push(c),
        }
    }
    text
}
