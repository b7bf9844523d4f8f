//! What all renderers show, in reading order. Everything is borrowed from the analysis, so a
//! renderer cannot change a number.

use experiment::analysis::{Analysis, Comparison, Summary, Verdict, WorkloadAdvice};
use experiment::metric::{self, Direction};
use experiment::plan::ArenaFacts;
use experiment::results::InvalidReason;

use super::evidence::Evidence;
use super::number::{self, Scale};
use super::words::{clean, counted};

pub(crate) struct WorkloadView<'a> {
    pub(crate) name: &'a str,
    pub(crate) advice: Option<&'a WorkloadAdvice>,
    /// The deciding metric first.
    pub(crate) metrics: Vec<MetricView<'a>>,
}

pub(crate) struct MetricView<'a> {
    /// As named in the results file.
    pub(crate) name: &'a str,
    /// In words.
    pub(crate) label: String,
    /// Whether it decides.
    pub(crate) primary: bool,
    pub(crate) direction: Direction,
    pub(crate) baseline: Option<&'a str>,
    pub(crate) scale: Scale,
    /// Geometric mean over the rounds of the comparisons if all have the same rounds, otherwise
    /// over all valid trials.
    pub(crate) baseline_mean: Option<f64>,
    /// The baseline first.
    pub(crate) rows: Vec<RowView<'a>>,
}

pub(crate) struct RowView<'a> {
    pub(crate) variant: &'a str,
    /// `None` if no trial was valid.
    pub(crate) summary: Option<&'a Summary>,
    /// `None` for the baseline.
    pub(crate) comparison: Option<&'a Comparison>,
    /// Set if the scheduler is not confirmed in its source.
    pub(crate) mark: Option<&'a str>,
}

/// `rg-scan [R]`.
pub(crate) fn marked(variant: &str, mark: Option<&str>) -> String {
    mark.map_or_else(|| clean(variant), |mark| format!("{} [{}]", clean(variant), clean(mark)))
}

pub(crate) fn mark<'a>(evidence: Option<&Evidence<'a>>, variant: &str) -> Option<&'a str> {
    evidence?.unconfirmed(variant).map(|(mark, _)| mark)
}

impl RowView<'_> {
    pub(crate) fn marked(&self) -> String {
        marked(self.variant, self.mark)
    }

    /// `none (baseline)`, or only the name.
    pub(crate) fn name(&self, metric: &MetricView<'_>) -> String {
        let name = self.marked();
        if metric.baseline == Some(self.variant) { format!("{name} (baseline)") } else { name }
    }

    /// `14`, or `13 of 14` if some are invalid; valid trials for the baseline.
    pub(crate) fn rounds(&self) -> String {
        match (self.comparison, self.summary) {
            (Some(comparison), _) if comparison.invalid_rounds > 0 => {
                format!(
                    "{} of {}",
                    comparison.rounds,
                    comparison.rounds + comparison.invalid_rounds
                )
            }
            (Some(comparison), _) => comparison.rounds.to_string(),
            (None, Some(summary)) => summary.n.to_string(),
            (None, None) => "0".into(),
        }
    }

    /// The value from which the change is computed: the geometric mean over the valid rounds, or
    /// the median of a metric that is not compared and may be 0.
    fn centre(&self, metric: &MetricView<'_>) -> Option<f64> {
        match self.comparison {
            _ if !metric.is_compared() => self.summary.map(|summary| summary.median),
            Some(comparison) => comparison.variant_mean,
            None => metric.baseline_mean,
        }
    }

    /// `-` without evidence.
    pub(crate) fn bare_centre(&self, metric: &MetricView<'_>) -> String {
        self.centre(metric).map_or_else(|| "-".into(), |value| metric.scale.bare(value))
    }

    pub(crate) fn centre_with_unit(&self, metric: &MetricView<'_>) -> String {
        self.centre(metric).map_or_else(|| "-".into(), |value| metric.scale.with_unit(value))
    }

    /// The baseline's geometric mean in the rounds of this comparison, if it differs from the
    /// baseline's row: the variant was not measured in every round.
    pub(crate) fn own_baseline(&self, metric: &MetricView<'_>) -> Option<String> {
        let shown = |mean: f64| metric.scale.bare(mean);
        let own = self.comparison.and_then(|comparison| comparison.baseline_mean).map(shown)?;
        (metric.baseline_mean.map(shown) != Some(own.clone())).then_some(own)
    }
}

impl MetricView<'_> {
    pub(crate) fn is_compared(&self) -> bool {
        self.rows.iter().any(|row| row.comparison.is_some())
    }

    pub(crate) fn centre_head(&self) -> &'static str {
        if self.is_compared() { "geom. mean" } else { "median" }
    }

    pub(crate) fn good(&self) -> &'static str {
        match self.direction {
            Direction::HigherIsBetter => "higher is better",
            Direction::LowerIsBetter => "lower is better",
            Direction::Descriptive => "descriptive, not compared",
        }
    }
}

/// In the plan's order if there is a plan.
pub(crate) fn workloads<'a>(
    analysis: &'a Analysis,
    evidence: Option<&Evidence<'a>>,
) -> Vec<WorkloadView<'a>> {
    let planned = analysis.workloads.iter().map(|workload| workload.name.as_str());
    let compared = analysis.comparisons.iter().map(|j| j.workload.as_str());
    let seen = analysis.summaries.iter().map(|s| s.workload.as_str());
    let variants: Vec<(&str, Option<&str>)> = variants(analysis, evidence)
        .into_iter()
        .map(|variant| (variant, mark(evidence, variant)))
        .collect();
    unique(planned.chain(compared).chain(seen))
        .into_iter()
        .map(|name| WorkloadView {
            name,
            advice: analysis.recommendation.workloads.iter().find(|advice| advice.workload == name),
            metrics: metrics(analysis, name, &variants),
        })
        .filter(|workload| !workload.metrics.is_empty())
        .collect()
}

fn metrics<'a>(
    analysis: &'a Analysis,
    workload: &str,
    variants: &[(&'a str, Option<&'a str>)],
) -> Vec<MetricView<'a>> {
    let of_workload = |j: &&Comparison| j.workload == workload;
    let primary = analysis
        .comparisons
        .iter()
        .filter(of_workload)
        .filter(|j| j.primary)
        .map(|j| j.metric.as_str());
    let compared = analysis.comparisons.iter().filter(of_workload).map(|j| j.metric.as_str());
    let seen =
        analysis.summaries.iter().filter(|s| s.workload == workload).map(|s| s.metric.as_str());
    unique(primary.chain(compared).chain(seen))
        .into_iter()
        .map(|name| metric_view(analysis, workload, name, variants))
        .collect()
}

fn metric_view<'a>(
    analysis: &'a Analysis,
    workload: &str,
    name: &'a str,
    variants: &[(&'a str, Option<&'a str>)],
) -> MetricView<'a> {
    let comparisons: Vec<&Comparison> = analysis
        .comparisons
        .iter()
        .filter(|j| j.workload == workload && j.metric == name)
        .collect();
    let summaries: Vec<&Summary> =
        analysis.summaries.iter().filter(|s| s.workload == workload && s.metric == name).collect();
    let rows: Vec<RowView<'a>> = variants
        .iter()
        .map(|&(variant, mark)| RowView {
            variant,
            mark,
            summary: summaries.iter().copied().find(|s| s.variant == variant),
            comparison: comparisons.iter().copied().find(|j| j.variant == variant),
        })
        .filter(|row| row.summary.is_some() || row.comparison.is_some())
        .collect();
    let scale = Scale::of(name, summaries.iter().map(|s| s.median));
    let baseline = comparisons.first().map(|j| j.baseline.as_str());
    let means: Vec<f64> = comparisons.iter().filter_map(|j| j.baseline_mean).collect();
    let shared = means.first().copied().filter(|first| means.iter().all(|mean| mean == first));
    let own = || summaries.iter().find(|s| Some(s.variant.as_str()) == baseline)?.geometric_mean;
    let baseline_mean = shared.or_else(own);
    MetricView {
        name,
        label: label(name),
        primary: comparisons.iter().any(|j| j.primary),
        direction: summaries.first().map_or(Direction::Descriptive, |s| s.direction),
        baseline,
        baseline_mean,
        scale,
        rows,
    }
}

/// The baseline first, then in the plan's order.
pub(crate) fn variants<'a>(
    analysis: &'a Analysis,
    evidence: Option<&Evidence<'a>>,
) -> Vec<&'a str> {
    let baseline = analysis.comparisons.iter().map(|j| j.baseline.as_str());
    let planned = evidence
        .into_iter()
        .flat_map(|e| e.header.plan.variants.iter().map(|variant| variant.name.as_str()));
    let compared = analysis.comparisons.iter().map(|j| j.variant.as_str());
    let seen = analysis.summaries.iter().map(|s| s.variant.as_str());
    unique(baseline.chain(planned).chain(compared).chain(seen))
}

fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

/// External names are unchanged.
pub(crate) fn label(name: &str) -> String {
    metric::label_of(name).unwrap_or_else(|| clean(name))
}

/// Empty for a metric that is not compared.
pub(crate) fn beside_change(metric: &MetricView<'_>, row: &RowView<'_>) -> String {
    match (metric.is_compared(), row.own_baseline(metric)) {
        (false, _) => String::new(),
        (true, Some(own)) => format!("{} (baseline {own})", row.bare_centre(metric)),
        (true, None) => row.bare_centre(metric),
    }
}

pub(crate) fn more_rounds(comparison: &Comparison) -> Option<u32> {
    comparison.more_rounds.filter(|_| comparison.verdict == Verdict::Inconclusive)
}

pub(crate) fn more_rounds_clause(comparison: &Comparison) -> Option<String> {
    let open = Some(comparison).filter(|comparison| comparison.verdict == Verdict::Inconclusive);
    let anew = || open?.new_plan_rounds;
    more_rounds(comparison)
        .map(|more| {
            format!("about {} would probably decide it", counted(more.into(), "more round"))
        })
        .or_else(|| {
            Some(format!(
                "a new run of about {} would probably decide it",
                counted(anew()?.into(), "round")
            ))
        })
}

pub(crate) fn title(analysis: &Analysis) -> String {
    let name = clean(&analysis.name);
    if name.trim().is_empty() {
        "Which scheduler for this disk and this workload?".into()
    } else {
        name
    }
}

/// Device, time, trials, arena.
pub(crate) fn facts(
    analysis: &Analysis,
    evidence: Option<&Evidence<'_>>,
) -> Vec<(&'static str, String)> {
    if let (Some(pooled), None) = (&analysis.pooled, evidence) {
        let names: Vec<String> = pooled.repeats.iter().map(|name| clean(name)).collect();
        return vec![("Arena", arena(analysis, "")), ("Repeats", names.join(", "))];
    }
    let Some(evidence) = evidence else {
        return vec![
            ("Arena", arena(analysis, "")),
            ("Record", "none: this is the analysis of a table".into()),
        ];
    };
    let header = evidence.header;
    let few = |reason: &InvalidReason| matches!(reason, InvalidReason::TooFewIos { .. });
    let invalid = evidence
        .trials
        .iter()
        .filter(|trial| trial.observation.invalid.iter().any(|r| !few(r)))
        .count();
    let thin =
        evidence.trials.iter().filter(|trial| trial.observation.invalid.iter().any(few)).count();
    let mut trials = number::count(evidence.trials.len() as u64);
    if invalid > 0 {
        trials += &format!(", {invalid} of them invalid");
    }
    if thin > 0 {
        trials += &format!("; {thin} with too few requests for a percentile");
    }
    let last_ms =
        evidence.trials.last().map_or(0, |t| t.started_ms + t.observation.duration_ns / 1_000_000);
    let ended = match evidence.end {
        Some(end) => {
            format!(
                "{} after {}: {}",
                clean(end.reason.word()).replace('-', " "),
                evidence.span(end.at_ms),
                clean(&end.reason.to_string())
            )
        }
        None => {
            format!("incomplete: cut off after {}; --resume continues it", evidence.span(last_ms))
        }
    };
    vec![
        ("Device", clean(&header.plan.device)),
        ("Arena", arena(analysis, &header.plan.device)),
        (
            "Started",
            if header.started_unix_ms == 0 {
                "in virtual time".into()
            } else {
                number::utc(header.started_unix_ms)
            },
        ),
        ("Ended", ended),
        ("Trials", trials),
        ("Seed", header.plan.seed.to_string()),
        ("schedlab", clean(&header.schedlab)),
    ]
}

/// Date, host, drive and kernel as far as known.
pub(crate) fn about(evidence: &Evidence<'_>) -> Vec<String> {
    let header = evidence.header;
    let fact = |section: &str, name: &str| {
        let value = header.environment.get(section)?.get(name)?;
        Some(clean(value)).filter(|value| !value.trim().is_empty() && value != "not exposed")
    };
    let drive = || {
        let model = fact("device", "model")
            .or_else(|| fact("device", "description"))
            .or_else(|| fact("device", "identity"));
        let bytes = fact("device", "size_bytes")
            .and_then(|text| text.parse::<f64>().ok())
            .map(number::bytes);
        let device =
            Some(clean(&header.plan.device)).filter(|device| model.as_ref() != Some(device));
        let inside: Vec<String> = device.into_iter().chain(bytes).collect();
        match (model, inside.is_empty()) {
            (Some(model), true) => model,
            (Some(model), false) => format!("{model} ({})", inside.join(", ")),
            (None, _) => inside.join(", "),
        }
    };
    let at = Some(header.started_unix_ms).filter(|at| *at > 0).map(number::utc);
    let what = if header.plan.arena.is_cpu() { fact("cpu", "model") } else { Some(drive()) };
    let kernel = fact("kernel", "release").map(|release| format!("Linux {release}"));
    let all = [
        Some(at.unwrap_or_else(|| "virtual time".into())),
        fact("machine", "hostname"),
        what,
        kernel,
    ];
    all.into_iter().flatten().filter(|text| !text.is_empty()).collect()
}

fn arena(analysis: &Analysis, device: &str) -> String {
    match ArenaFacts::find(&analysis.arena) {
        Some(arena) if arena.has_disk() && device.starts_with("loop:") => {
            "disk: this machine's own kernel, and a loop device over a file: requests are scheduled a second time below it".into()
        }
        Some(arena) => format!("{}: {}", arena.name, arena.about),
        None if analysis.arena == "foreign" => "foreign: a table that was measured elsewhere".into(),
        None => clean(&analysis.arena),
    }
}

#[cfg(test)]
mod property;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Lab;

    #[test]
    fn metrics_of_the_table_get_words_and_foreign_ones_stay() {
        let labels = [
            "throughput_mb_per_s",
            "read_mb_per_s",
            "iops",
            "read_latency_p99_us",
            "latency_p999_us",
        ]
        .map(label);
        assert_eq!(
            labels,
            ["throughput", "read throughput", "IOPS", "read latency p99", "latency p99.9"]
        );
        assert_eq!(label("read_latency_mean_us"), "mean read latency");
        assert_eq!(label("cpu_us_per_io"), "CPU time per I/O");
        assert_eq!([label("wall_s"), label("wall_synced_s")], ["wall time", "wall time synced"]);
        assert_eq!(label("their_own_ms"), "their_own_ms");
    }

    #[test]
    fn the_baseline_comes_first_and_the_primary_metric_too() {
        let lab = Lab::typical();
        let views = workloads(&lab.analysis, Some(&lab.evidence()));
        assert_eq!(views.iter().map(|w| w.name).collect::<Vec<_>>(), ["oltp", "seqread", "mixed"]);
        for view in &views {
            assert!(view.metrics[0].primary && !view.metrics[1].primary);
            assert_eq!(view.metrics[0].rows[0].variant, "none");
            assert!(view.metrics[0].rows[0].comparison.is_none());
        }
    }
}
