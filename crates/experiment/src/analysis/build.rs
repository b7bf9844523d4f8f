//! From samples to an analysis: compares and summarises every metric, then derives the advice.
//! Results files and foreign tables differ only in their cautions from here on.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Analysis, Comparison, MetricMeaning, Origin, SCHEMA, Summary, VariantSettings, Verdict,
    WorkloadSettings,
};
use crate::advice::recommend;
use crate::compare::{Looks, Question, compare, truncate_to_stops};
use crate::metric::{Direction, METRICS, direction_of, direction_of_column, find};
use crate::plan::{ArenaFacts, Criteria, Method, Variant};
use crate::reason::Reason;
use crate::resolution;
use crate::results::{CPU_TIME_OMITTED, Results};
use crate::samples::{Sample, of_trials};
use crate::stats::Moments;
use crate::stats::describe::describe;
use crate::sweep::responses;

/// The limit of a single experiment's interval.
const ONE_REPEAT: &str = "one repeat: this interval excludes day-to-day variation (--repeat N)";

/// Information in addition to the samples. Empty fields are derived, with a caution if that is a
/// guess.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Options {
    /// `host`, `sim`, or `foreign` (or empty) for a table from elsewhere.
    pub arena: String,
    /// Default: the first variant.
    pub baseline: Option<String>,
    /// Variants in report order; if empty, those of the samples.
    pub variants: Vec<String>,
    /// Primary metrics by workload; default: its first metric.
    pub primary: BTreeMap<String, String>,
    /// Directions by metric; others follow from the name, or are not compared.
    pub directions: BTreeMap<String, Direction>,
    /// Criteria.
    pub criteria: Criteria,
    /// `None`: all values existed before the first look, and sequential rules are applied as if
    /// looked at after every round.
    pub looks: Option<Looks>,
    /// Variants that cannot be equivalent: CPU time is omitted on flash, and the schedulers differ.
    pub without_cpu_time: BTreeSet<String>,
    /// Initial cautions.
    pub cautions: Vec<String>,
}

/// Analyzes by the plan's criteria, or others.
pub fn analyze(results: &Results, criteria: Option<&Criteria>) -> Analysis {
    let plan = &results.header.plan;
    let options = of_results(results, criteria);
    let samples = of_trials(&results.trials, &options.primary);
    let name = if plan.name.is_empty() { &plan.device } else { &plan.name };
    let mut analysis = analyze_samples(name, &samples, &options);
    analysis.origin = Some(Origin::of(results));
    analysis.variants = plan.variants.iter().map(VariantSettings::from).collect();
    analysis.workloads = plan.workloads.iter().map(WorkloadSettings::from).collect();
    analysis.responses =
        responses(plan, &results.header.environment, &analysis.comparisons, &|metric| {
            options.direction(metric)
        });
    // Workloads that were never reached must appear in the report.
    for workload in &plan.workloads {
        if !results.trials.iter().any(|trial| trial.workload == workload.name) {
            analysis.cautions.push(format!(
                "no trial of {} was made: the experiment ended before it",
                workload.name
            ));
        }
    }
    let is_decided = |comparison: &Comparison| {
        !matches!(comparison.verdict, Verdict::Invalid | Verdict::Inconclusive)
    };
    if !plan.arena.is_virtual() && analysis.comparisons.iter().any(is_decided) {
        analysis.cautions.push(ONE_REPEAT.to_string());
    }
    analysis
}

/// Beginnings of metrics that no two different trials in virtual time share.
const FINE: [&str; 3] = ["latency_mean", "wall", "kflops"];

/// In virtual time such variants did the same work in the same order, so no metric is too coarse.
/// CPU time is charged per scheduler and differs even then.
fn drop_remarks_on_identical_variants(comparisons: &mut [Comparison]) {
    let same = |one: &Comparison| {
        one.log_ratios.iter().all(|ratio| *ratio == 0.0) || one.metric.starts_with("cpu_")
    };
    let is_fine = |one: &Comparison| FINE.iter().any(|name| one.metric.starts_with(name));
    let mut variants: BTreeMap<(String, String), (bool, bool)> = BTreeMap::new();
    for one in comparisons.iter() {
        let (identical, fine) =
            variants.entry((one.workload.clone(), one.variant.clone())).or_insert((true, false));
        *identical &= same(one);
        *fine |= is_fine(one) && !one.log_ratios.is_empty();
    }
    for one in comparisons {
        if variants.get(&(one.workload.clone(), one.variant.clone())) == Some(&(true, true)) {
            one.reasons.retain(|reason| !matches!(reason, Reason::SameRatio { .. }));
        }
    }
}

pub(crate) fn of_results(results: &Results, criteria: Option<&Criteria>) -> Options {
    let plan = &results.header.plan;
    let own = criteria.is_none_or(|criteria| criteria.method == plan.criteria.method);
    let criteria_used = criteria.unwrap_or(&plan.criteria);
    let looks = Looks::of(results, criteria_used);
    let named = |workload: &crate::plan::WorkloadSpec| {
        Some((workload.name.clone(), workload.primary.clone()?))
    };
    Options {
        arena: plan.arena.name.to_string(),
        baseline: Some(plan.baseline().to_string()),
        variants: plan.variants.iter().map(|variant| variant.name.clone()).collect(),
        primary: plan.workloads.iter().filter_map(named).collect(),
        directions: plan.metrics.iter().map(|own| (own.name.clone(), own.better.into())).collect(),
        criteria: with_planned(criteria_used, looks),
        looks: own.then_some(looks),
        without_cpu_time: without_cpu_time(results),
        cautions: results_cautions(results, criteria),
    }
}

/// The same scheduler twice costs the same.
fn without_cpu_time(results: &Results) -> BTreeSet<String> {
    let plan = &results.header.plan;
    let Some(omitted) = results.header.environment.get(CPU_TIME_OMITTED) else {
        return BTreeSet::new();
    };
    let Some(baseline) = plan.variants.iter().find(|variant| variant.name == plan.baseline())
    else {
        return BTreeSet::new();
    };
    let is_without = |variant: &&Variant| {
        (omitted.contains_key(&variant.name) || omitted.contains_key(&baseline.name))
            && variant.scheduler != baseline.scheduler
    };
    plan.variants.iter().filter(is_without).map(|variant| variant.name.clone()).collect()
}

/// Analyzes samples of any origin.
pub fn analyze_samples(name: &str, samples: &[Sample], options: &Options) -> Analysis {
    let mut builder = Builder::new(samples, options);
    let groups = Groups::of(samples);
    let workloads = in_order(samples, |sample| &sample.workload);
    for workload in &workloads {
        let metrics = groups.metrics(workload);
        let primary = builder.primary(workload, &metrics);
        for metric in &metrics {
            builder.add(workload, metric, *metric == primary, groups.get(workload, metric));
        }
    }
    let Builder { mut comparisons, summaries, cautions, variants, .. } = builder;
    let metrics = groups
        .all_metrics()
        .into_iter()
        .map(|name| MetricMeaning::of(&name, options.direction(&name)));
    comparisons.sort_by_key(|comparison| !comparison.primary);
    if ArenaFacts::find(&options.arena).is_some_and(ArenaFacts::is_virtual) {
        drop_remarks_on_identical_variants(&mut comparisons);
    }
    let recommendation =
        recommend(&comparisons, &workloads, &options.criteria, &|metric| options.direction(metric));
    let arena = if options.arena.is_empty() { "foreign" } else { &options.arena };
    Analysis {
        schema: SCHEMA,
        arena: arena.to_string(),
        name: name.to_string(),
        origin: Some(Origin::of_table(samples.len())),
        variants: variants.iter().map(|variant| VariantSettings::named(variant)).collect(),
        workloads: workloads.iter().map(|workload| WorkloadSettings::named(workload)).collect(),
        metrics: metrics.collect(),
        comparisons,
        recommendation,
        summaries,
        responses: Vec::new(),
        cautions,
        criteria: options.criteria.clone(),
        pooled: None,
    }
}

impl Options {
    fn looks(&self) -> Looks {
        self.looks.unwrap_or(Looks { planned: self.criteria.planned, ..Looks::default() })
    }

    fn is_foreign(&self) -> bool {
        self.arena.is_empty() || self.arena == "foreign"
    }

    /// Withdraws "equivalent" where omitted CPU time would decide.
    pub(crate) fn withhold_equivalence(&self, comparisons: &mut [Comparison]) {
        let omitted = comparisons
            .iter_mut()
            .filter(|comparison| self.without_cpu_time.contains(&comparison.variant));
        omitted.for_each(Comparison::withhold_equivalence);
    }

    pub(crate) fn direction(&self, metric: &str) -> Direction {
        let told =
            || if self.is_foreign() { direction_of_column(metric) } else { direction_of(metric) };
        self.directions.get(metric).copied().or_else(told).unwrap_or(Direction::Descriptive)
    }
}

struct Builder<'a> {
    options: &'a Options,
    variants: Vec<String>,
    others: Vec<String>,
    baseline: String,
    comparisons: Vec<Comparison>,
    summaries: Vec<Summary>,
    cautions: Vec<String>,
}

impl<'a> Builder<'a> {
    fn new(samples: &[Sample], options: &'a Options) -> Builder<'a> {
        let mut cautions = options.cautions.clone();
        let variants = if options.variants.is_empty() {
            in_order(samples, |sample| &sample.variant)
        } else {
            options.variants.clone()
        };
        let baseline =
            options.baseline.clone().or_else(|| variants.first().cloned()).unwrap_or_default();
        if options.baseline.is_none() && variants.len() > 1 {
            cautions.push(format!("no baseline was named: using the first, {baseline}"));
        }
        let others = variants.iter().filter(|variant| **variant != baseline).cloned().collect();
        Builder {
            options,
            variants,
            others,
            baseline,
            comparisons: Vec::new(),
            summaries: Vec::new(),
            cautions,
        }
    }

    fn primary(&mut self, workload: &str, metrics: &[String]) -> String {
        if let Some(named) = self.options.primary.get(workload) {
            return named.clone();
        }
        let first = metrics.first().cloned().unwrap_or_default();
        if metrics.len() > 1 {
            self.caution(format!("no deciding metric was named for {workload}: using {first}"));
        }
        first
    }

    fn add(&mut self, workload: &str, metric: &str, primary: bool, group: &[&Sample]) {
        if group.iter().any(|sample| sample.round.is_none()) {
            self.caution(
                "there are no rounds: drift and the order of measuring cannot be separated from the effect".to_string(),
            );
        }
        if !self.options.directions.contains_key(metric) && direction_of(metric).is_none() {
            self.caution(format!("{metric} is not compared: its better direction is unknown"));
        }
        let question = Question {
            workload,
            metric,
            primary,
            baseline: &self.baseline,
            variants: &self.others,
            direction: self.options.direction(metric),
            criteria: &self.options.criteria,
            looks: self.options.looks(),
            projects: true,
        };
        if question.direction != Direction::Descriptive {
            let mut compared = match self.options.looks {
                Some(_) => compare(&question, group),
                None => compare(&question, &truncate_to_stops(&question, group)),
            };
            self.options.withhold_equivalence(&mut compared);
            self.comparisons.extend(compared);
        }
        let mut by_variant: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        // A trial without completions has rate 0 and unknown latency.
        let is_value = |sample: &&&Sample| {
            sample.invalid.is_empty()
                && sample.value.is_finite()
                && (!sample.is_starved() || sample.value == 0.0)
        };
        for sample in group.iter().filter(is_value) {
            by_variant.entry(&sample.variant).or_default().push(sample.value);
        }
        let summary =
            |variant: &String| summary(&question, variant, by_variant.get(variant.as_str())?);
        self.summaries.extend(self.variants.iter().filter_map(summary));
    }

    fn caution(&mut self, caution: String) {
        if !self.cautions.contains(&caution) {
            self.cautions.push(caution);
        }
    }
}

struct Groups<'a>(BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a Sample>>>);

impl<'a> Groups<'a> {
    fn of(samples: &'a [Sample]) -> Groups<'a> {
        let mut groups: BTreeMap<&str, BTreeMap<&str, Vec<&Sample>>> = BTreeMap::new();
        for sample in samples {
            groups
                .entry(&sample.workload)
                .or_default()
                .entry(&sample.metric)
                .or_default()
                .push(sample);
        }
        Groups(groups)
    }

    /// Ours in table order, then others by name.
    fn metrics(&self, workload: &str) -> Vec<String> {
        Self::ordered(self.0[workload].keys().map(|metric| metric.to_string()).collect())
    }

    fn all_metrics(&self) -> Vec<String> {
        let all: BTreeSet<&str> = self.0.values().flat_map(|of| of.keys().copied()).collect();
        Self::ordered(all.into_iter().map(str::to_string).collect())
    }

    fn ordered(mut metrics: Vec<String>) -> Vec<String> {
        let place = |name: &str| {
            METRICS.iter().position(|metric| metric.name == name).unwrap_or(METRICS.len())
        };
        metrics.sort_by_key(|name| place(name));
        metrics
    }

    fn get(&self, workload: &str, metric: &str) -> &[&'a Sample] {
        &self.0[workload][metric]
    }
}

fn summary(question: &Question<'_>, variant: &str, values: &[f64]) -> Option<Summary> {
    let description = describe(values)?;
    let logs: Vec<f64> =
        values.iter().filter(|value| **value > 0.0).map(|value| value.ln()).collect();
    let cv = |sd: f64| Some(100.0 * sd / description.mean).filter(|percent| percent.is_finite());
    Some(Summary {
        workload: question.workload.to_string(),
        metric: question.metric.to_string(),
        direction: question.direction,
        variant: variant.to_string(),
        n: description.n as u32,
        mean: description.mean,
        sd: description.sd,
        cv_percent: description.sd.and_then(cv),
        median: description.median,
        geometric_mean: (!logs.is_empty()).then(|| Moments::of(&logs).mean.exp()),
        min: description.min,
        max: description.max,
        outliers: description.outliers as u32,
    })
}

/// Adds the planned number of rounds, for the report.
fn with_planned(criteria: &Criteria, looks: Looks) -> Criteria {
    match (criteria.method, looks.planned) {
        // Without a number there are no bounds, and the confidence sequence was used.
        (Method::Spending, None) => {
            Criteria { method: Method::Anytime, planned: None, ..criteria.clone() }
        }
        (Method::Spending, planned) => Criteria { planned, ..criteria.clone() },
        _ => criteria.clone(),
    }
}

fn results_cautions(results: &Results, criteria: Option<&Criteria>) -> Vec<String> {
    // First, because every figure depends on it.
    let mut cautions = resolution::cautions(&results.header.plan, &results.trials);
    if results.cut.is_some() {
        cautions.push("the last line of the results file was cut off and is left out".to_string());
    }
    match &results.end {
        None => cautions
            .push("the experiment was cut off before its end; it can be resumed".to_string()),
        Some(end) if end.reason.ending().is_early() => {
            cautions.push(format!(
                "the experiment ended early ({}): {}",
                end.reason.word(),
                end.reason
            ));
        }
        Some(_) => {}
    }
    let planned = &results.header.plan;
    if let Some(criteria) = criteria.filter(|criteria| **criteria != planned.criteria) {
        cautions.push(
            "the criteria differ from the plan's: they were chosen after measuring".to_string(),
        );
        let looks_each_round =
            |method: Method| matches!(method, Method::Anytime | Method::Spending);
        let stopped_early =
            looks_each_round(planned.criteria.method) && !planned.budget.no_early_stop;
        if !looks_each_round(criteria.method) && stopped_early {
            let caution = "variants stopped when their verdict was reached: an interval for a number of rounds fixed \
                           beforehand does not hold here";
            cautions.push(caution.to_string());
        }
    }
    if planned.criteria.method == Method::Spending && Looks::is_changed(results) {
        let caution = "the budget was changed after the first round: verdicts are those of a confidence sequence, and with those that were \
                       read before, the error may be twice the plan's";
        cautions.push(caution.to_string());
    }
    for workload in &planned.workloads {
        if let Some(primary) = workload.primary.as_deref().filter(|primary| find(primary).is_none())
        {
            cautions.push(format!(
                "{primary}, which decides for {}, is not a metric of schedlab",
                workload.name
            ));
        }
    }
    cautions
}

fn in_order(samples: &[Sample], word: impl Fn(&Sample) -> &String) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for sample in samples {
        let word = word(sample);
        if !seen.contains(word) {
            seen.push(word.clone());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five rounds of two variants with one value each; the second's latency is `ratio` times the
    /// first's.
    fn reasons(arena: &str, ratio: f64) -> Vec<Reason> {
        let sample = |metric: &str, variant: &str, round: u32, value: f64| Sample {
            workload: "w".into(),
            metric: metric.into(),
            variant: variant.into(),
            round: Some(round),
            sequence: u64::from(round),
            value,
            requests: None,
            invalid: Vec::new(),
        };
        let of_round = |round: u32| {
            let latency = 100.0 + f64::from(round);
            [
                sample("iops", "none", round, 7.0),
                sample("iops", "kyber", round, 7.0),
                sample("latency_mean_us", "none", round, latency),
                sample(
                    "latency_mean_us",
                    "kyber",
                    round,
                    latency * (1.0 + (ratio - 1.0) * f64::from(round)),
                ),
            ]
        };
        let samples: Vec<Sample> = (0..5).flat_map(of_round).collect();
        let options = Options { arena: arena.into(), ..Options::default() };
        let analysis = analyze_samples("x", &samples, &options);
        analysis
            .comparisons
            .into_iter()
            .filter(|one| one.metric == "iops")
            .flat_map(|one| one.reasons)
            .collect()
    }

    #[test]
    fn identical_variants_in_virtual_time_blame_no_metric() {
        let is_blamed = |reasons: &[Reason]| {
            reasons.iter().any(|reason| matches!(reason, Reason::SameRatio { .. }))
        };
        assert!(!is_blamed(&reasons("sim", 1.0)) && !is_blamed(&reasons("kernel", 1.0)));
        assert!(
            is_blamed(&reasons("disk", 1.0)),
            "a machine never repeats itself to the nanosecond"
        );
        assert!(is_blamed(&reasons("sim", 1.1)), "the latencies differ, so the rate is too coarse");
    }

    #[test]
    fn work_in_virtual_time_is_never_too_coarse() {
        let of = |variant: &str, round: u32| Sample {
            workload: "w".into(),
            metric: "kflops".into(),
            variant: variant.into(),
            round: Some(round),
            sequence: u64::from(round),
            value: 250_007.0,
            requests: None,
            invalid: Vec::new(),
        };
        let samples: Vec<Sample> = (0..5)
            .flat_map(|round| ["default", "policy=batch"].map(|name| of(name, round)))
            .collect();
        let is_blamed = |arena: &str| {
            let options = Options { arena: arena.into(), ..Options::default() };
            let reasons = &analyze_samples("x", &samples, &options).comparisons[0].reasons;
            reasons.iter().any(|reason| matches!(reason, Reason::SameRatio { .. }))
        };
        assert!(!is_blamed("kernel-cpu"));
        assert!(is_blamed("cpu"), "a machine never repeats itself");
    }
}
