//! From verdicts to a recommendation, per workload and overall.
//!
//! Per workload: the better variant with the largest estimate, otherwise the baseline. Overall: the
//! common recommendation, or a variant that is better somewhere and no risk elsewhere (better,
//! equivalent, or inconclusive with an estimate within the margin), preferring more workloads, then
//! the mean log gain; otherwise one variant per workload. Its costs are all metrics on which it is
//! worse.

use crate::analysis::{Analysis, Comparison, Cost, Recommendation, Verdict, WorkloadAdvice};
use crate::metric::Direction;
use crate::plan::{Criteria, Method};

mod words;

use words::Words;

/// `direction` returns a metric's direction.
pub fn recommend(
    comparisons: &[Comparison],
    workloads: &[String],
    criteria: &Criteria,
    direction: &dyn Fn(&str) -> Direction,
) -> Recommendation {
    let cases: Vec<Case> = workloads
        .iter()
        .map(|workload| {
            let primary =
                comparisons.iter().filter(|j| j.primary && j.workload == *workload).collect();
            Case { workload, comparisons: primary, words: Words { criteria, direction } }
        })
        .collect();
    let advice: Vec<WorkloadAdvice> = cases.iter().map(Case::advice).collect();
    let (variant, sentence) = overall(&cases, &advice, criteria);
    let costs = variant
        .as_deref()
        .map(|variant| costs(comparisons, variant).into_iter().map(Cost::from).collect());
    Recommendation { variant, sentence, costs: costs.unwrap_or_default(), workloads: advice }
}

/// What is worse under the variant.
pub fn costs<'a>(
    comparisons: impl IntoIterator<Item = &'a Comparison>,
    variant: &str,
) -> Vec<&'a Comparison> {
    losses(comparisons.into_iter().filter(|comparison| comparison.variant == variant))
}

/// What is worse: the largest factor first, those without an estimate before all.
pub fn losses<'a>(comparisons: impl IntoIterator<Item = &'a Comparison>) -> Vec<&'a Comparison> {
    let is_worse = |comparison: &&Comparison| comparison.verdict == Verdict::Worse;
    let mut found: Vec<&Comparison> = comparisons.into_iter().filter(is_worse).collect();
    let factor =
        |comparison: &Comparison| comparison.ratio.map_or(f64::INFINITY, |ratio| ratio.ln().abs());
    found.sort_by(|a, b| factor(b).total_cmp(&factor(a)));
    found
}

impl Analysis {
    /// Keeps the baseline and the variants that `keep` accepts, with new advice.
    pub fn restricted_to(&self, keep: impl Fn(&str) -> bool) -> Analysis {
        let mut analysis = self.clone();
        analysis.comparisons.retain(|comparison| keep(&comparison.variant));
        let mut workloads: Vec<String> = Vec::new();
        for comparison in &analysis.comparisons {
            if !workloads.contains(&comparison.workload) {
                workloads.push(comparison.workload.clone());
            }
        }
        let direction = |metric: &str| {
            let of = self.summaries.iter().find(|summary| summary.metric == metric);
            of.map_or(Direction::Descriptive, |summary| summary.direction)
        };
        analysis.recommendation =
            recommend(&analysis.comparisons, &workloads, &self.criteria, &direction);
        analysis
    }
}

impl From<&Comparison> for Cost {
    fn from(comparison: &Comparison) -> Cost {
        let Comparison { ratio, low, high, baseline_mean, variant_mean, .. } = *comparison;
        let (workload, metric) = (comparison.workload.clone(), comparison.metric.clone());
        Cost { workload, metric, ratio, low, high, baseline_mean, variant_mean }
    }
}

struct Case<'a> {
    workload: &'a str,
    comparisons: Vec<&'a Comparison>,
    words: Words<'a>,
}

impl<'a> Case<'a> {
    fn better(&self) -> Vec<&'a Comparison> {
        let mut better: Vec<&Comparison> = self
            .comparisons
            .iter()
            .copied()
            .filter(|comparison| comparison.verdict == Verdict::Better)
            .collect();
        better.sort_by(|a, b| self.words.gain(b).total_cmp(&self.words.gain(a)));
        better
    }

    fn of(&self, variant: &str) -> Option<&'a Comparison> {
        self.comparisons.iter().copied().find(|comparison| comparison.variant == variant)
    }

    fn advice(&self) -> WorkloadAdvice {
        let metric = self
            .comparisons
            .first()
            .map(|comparison| comparison.metric.clone())
            .unwrap_or_default();
        let (variant, why) = self.choice();
        WorkloadAdvice { workload: self.workload.to_string(), metric, variant, why }
    }

    fn choice(&self) -> (Option<String>, String) {
        let Some(any) = self.comparisons.first() else {
            return (
                None,
                format!("No advice for {}: there is nothing to compare.", self.workload),
            );
        };
        let better = self.better();
        if let Some(best) = better.first() {
            let mut why = format!(
                "Use {} for {}: {}.",
                best.variant,
                self.workload,
                self.words.gain_phrase(best)
            );
            for other in &better[1..] {
                why += &format!(
                    " {} is better too: {}.",
                    other.variant,
                    self.words.gain_phrase(other)
                );
            }
            let undecided = self.comparisons.iter().filter(|j| j.verdict == Verdict::Inconclusive);
            for other in undecided.filter(|other| self.words.gain(other) > self.words.gain(best)) {
                why += &format!(" {} {}.", other.variant, self.words.state(other));
            }
            return (Some(best.variant.clone()), why);
        }
        if self.comparisons.iter().all(|comparison| comparison.verdict == Verdict::Invalid) {
            let reason = self.comparisons.iter().find_map(|comparison| comparison.reasons.first());
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            return (
                None,
                format!("No advice for {}: the evidence is invalid{reason}.", self.workload),
            );
        }
        let margin = self.words.by_more_than_margin();
        let (stay, workload, states) = (&any.baseline, self.workload, self.states());
        let why = format!(
            "Keep {stay} for {workload}: nothing was shown to be better{margin}; {states}."
        );
        (Some(any.baseline.clone()), why)
    }

    /// Three or more variants of one verdict are represented by the most promising.
    fn states(&self) -> String {
        let mut told: Vec<Verdict> = Vec::new();
        let mut states = Vec::new();
        for comparison in &self.comparisons {
            let verdict = comparison.verdict;
            let mut same: Vec<&Comparison> =
                self.comparisons.iter().copied().filter(|j| j.verdict == verdict).collect();
            if same.len() < 3 {
                states.push(format!("{} {}", comparison.variant, self.words.state(comparison)));
            } else if !told.contains(&verdict) {
                told.push(verdict);
                same.sort_by(|a, b| self.words.gain(b).total_cmp(&self.words.gain(a)));
                states.push(format!(
                    "of {} others {} {}",
                    same.len(),
                    same[0].variant,
                    self.words.group_state(same[0])
                ));
            }
        }
        states.join(", ")
    }

    /// Whether `variant` has no indicated loss here.
    fn no_risk(&self, variant: &str, margin: f64) -> bool {
        self.of(variant).is_some_and(|comparison| match comparison.verdict {
            Verdict::Better | Verdict::Equivalent => true,
            Verdict::Inconclusive => self.words.gain(comparison) >= -margin,
            Verdict::Worse | Verdict::Invalid => false,
        })
    }
}

fn overall(
    cases: &[Case<'_>],
    advice: &[WorkloadAdvice],
    criteria: &Criteria,
) -> (Option<String>, String) {
    let (Some(first), Some(case)) = (advice.first(), cases.first()) else {
        return (None, "No advice: nothing was measured.".to_string());
    };
    if advice.len() == 1 {
        return (first.variant.clone(), first.why.clone());
    }
    let baseline = case.comparisons.first().map(|comparison| comparison.baseline.clone());
    if first.variant.is_some()
        && first.variant == baseline
        && advice.iter().all(|other| other.variant == first.variant)
    {
        let names: Vec<&str> = advice.iter().map(|advice| advice.workload.as_str()).collect();
        let margin = case.words.by_more_than_margin();
        let variant = baseline.unwrap_or_default();
        return (
            Some(variant.clone()),
            format!(
                "Keep {variant}: nothing was shown to be better{margin} for {}.",
                names.join(", ")
            ),
        );
    }
    match best_everywhere(cases, criteria.margin.ln_1p()) {
        Some(variant) => {
            // Gains precede losses.
            let gains = |case: &&Case<'_>| {
                case.of(&variant).is_some_and(|comparison| comparison.verdict == Verdict::Better)
            };
            let (gaining, others): (Vec<&Case<'_>>, Vec<_>) = cases.iter().partition(gains);
            let phrases: Vec<String> =
                gaining.into_iter().chain(others).map(|case| case.phrase(&variant)).collect();
            (Some(variant.clone()), format!("Use {variant}: {}.", phrases.join("; ")))
        }
        None => (None, disagreement(advice, baseline.as_deref())),
    }
}

impl Case<'_> {
    /// Describes the variant for the overall sentence.
    fn phrase(&self, variant: &str) -> String {
        let Some(comparison) = self.of(variant) else {
            return format!("not measured for {}", self.workload);
        };
        match comparison.verdict {
            Verdict::Better => {
                format!("for {} {}", self.workload, self.words.gain_phrase(comparison))
            }
            _ => format!("for {} it {}", self.workload, self.words.state(comparison)),
        }
    }
}

fn best_everywhere(cases: &[Case<'_>], margin: f64) -> Option<String> {
    let mut candidates: Vec<(usize, f64, &str)> = Vec::new();
    for comparison in cases.iter().flat_map(|case| case.better()) {
        let variant = comparison.variant.as_str();
        if candidates.iter().any(|(_, _, known)| *known == variant)
            || !cases.iter().all(|case| case.no_risk(variant, margin))
        {
            continue;
        }
        let here: Vec<(&Case, &Comparison)> =
            cases.iter().filter_map(|case| Some((case, case.of(variant)?))).collect();
        let better =
            here.iter().filter(|(_, comparison)| comparison.verdict == Verdict::Better).count();
        let gain: f64 = here.iter().map(|(case, comparison)| case.words.gain(comparison)).sum();
        candidates.push((better, gain, variant));
    }
    candidates.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| b.1.total_cmp(&a.1)));
    candidates.first().map(|(_, _, variant)| variant.to_string())
}

fn disagreement(advice: &[WorkloadAdvice], baseline: Option<&str>) -> String {
    let each: Vec<String> = advice
        .iter()
        .map(|advice| match advice.variant.as_deref() {
            Some(variant) if Some(variant) == baseline => {
                format!("keep {variant} for {}", advice.workload)
            }
            Some(variant) => format!("use {variant} for {}", advice.workload),
            None => format!("no advice for {} (its evidence is invalid)", advice.workload),
        })
        .collect();
    format!("No single choice suits all: {}.", each.join(", "))
}

impl Words<'_> {
    fn by_more_than_margin(&self) -> String {
        match self.criteria.method {
            Method::ThreeSigma => " by the three-sigma rule".to_string(),
            _ if self.criteria.margin == 0.0 => String::new(),
            _ => format!(" by more than {}", words::percent(self.criteria.margin)),
        }
    }
}

#[cfg(test)]
mod tests;
