//! A fleet's verdicts by question and kind of drive, and comparisons of two kinds.
//!
//! A question is a workload with its background, a metric, its unit and a baseline; different
//! questions are never pooled, nor are different units.

use std::collections::{BTreeMap, BTreeSet};

use experiment::analysis::Verdict;
use experiment::fleet::identity::Finding;
use experiment::fleet::levels::{LevelComparison, VariantLevels, compare_levels};
use experiment::fleet::{Effect, FleetComparison, VariantEffects, compare_fleet};
use experiment::plan::Criteria;
use serde::Serialize;

use crate::result::{Header, Series};
use crate::summary::{Damaged, Loaded, Summary, VariantSummary};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Key {
    Model,
    Firmware,
    /// The kernel series, e.g. 6.12.
    Kernel,
    Kind,
    Cpu,
    System,
}

impl Key {
    pub const ALL: [(Key, &'static str); 6] = [
        (Key::Model, "model"),
        (Key::Firmware, "firmware"),
        (Key::Kernel, "kernel"),
        (Key::Kind, "kind"),
        (Key::Cpu, "cpu"),
        (Key::System, "system"),
    ];

    pub fn word(self) -> &'static str {
        Key::ALL.iter().find(|(key, _)| *key == self).map_or("", |(_, word)| word)
    }

    pub fn of(self, header: &Header) -> String {
        match self {
            Key::Model => header.model.clone(),
            Key::Firmware => header.firmware.clone(),
            Key::Kernel => series_of_kernel(&header.kernel),
            Key::Kind => header.kind.clone(),
            Key::Cpu => header.cpu.clone(),
            Key::System => header.system.clone(),
        }
    }
}

/// The first two numbers of a release.
pub(crate) fn series_of_kernel(release: &str) -> String {
    let numbers = release.split(|c: char| !c.is_ascii_digit()).take(2);
    numbers.collect::<Vec<_>>().join(".")
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QuestionAnalysis<J> {
    /// Hash of the workload with its background.
    pub question: String,
    pub workload: String,
    pub metric: String,
    pub unit: String,
    /// Empty in a comparison of two groups.
    pub baseline: String,
    pub comparisons: Vec<J>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupAnalysis {
    pub keys: Vec<(&'static str, String)>,
    pub machines: usize,
    /// Drives with a unique identity.
    pub drives: usize,
    pub results: usize,
    pub trials: u64,
    pub questions: Vec<QuestionAnalysis<FleetComparison>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetAnalysis {
    /// Results that count.
    pub results: usize,
    pub machines: usize,
    pub groups: Vec<GroupAnalysis>,
    pub findings: Vec<Finding>,
    /// Unusable files.
    pub damaged: Vec<Damaged>,
    pub others: usize,
    pub cautions: Vec<String>,
}

impl FleetAnalysis {
    /// Whether no comparison has valid evidence.
    pub fn is_invalid(&self) -> bool {
        let mut comparisons = self
            .groups
            .iter()
            .flat_map(|group| &group.questions)
            .flat_map(|question| &question.comparisons);
        comparisons.all(|comparison| comparison.verdict == Verdict::Invalid)
    }
}

pub fn analyze(loaded: &Loaded, by: &[Key], criteria: &Criteria) -> FleetAnalysis {
    let counting: Vec<(&Summary, &String)> =
        loaded.results.iter().filter_map(|(of, machine)| Some((of, machine.as_ref()?))).collect();
    let mut groups: BTreeMap<Vec<String>, Vec<(&Summary, &String)>> = BTreeMap::new();
    for (of, machine) in &counting {
        groups
            .entry(by.iter().map(|key| key.of(&of.header)).collect())
            .or_default()
            .push((of, machine));
    }
    let machines: BTreeSet<&String> = counting.iter().map(|(_, machine)| *machine).collect();
    let cautions = cautions(&counting);
    FleetAnalysis {
        results: counting.len(),
        machines: machines.len(),
        groups: groups.into_iter().map(|(values, of)| group(by, values, &of, criteria)).collect(),
        findings: loaded.checked.findings.clone(),
        damaged: loaded.damaged.clone(),
        others: loaded.foreign_files,
        cautions,
    }
}

fn group(
    by: &[Key],
    values: Vec<String>,
    of: &[(&Summary, &String)],
    criteria: &Criteria,
) -> GroupAnalysis {
    let machines: BTreeSet<&String> = of.iter().map(|(_, machine)| *machine).collect();
    let drives: BTreeSet<&String> =
        of.iter().map(|(of, _)| &of.header.drive).filter(|drive| !drive.is_empty()).collect();
    GroupAnalysis {
        keys: by.iter().map(|key| key.word()).zip(values).collect(),
        machines: machines.len(),
        drives: drives.len(),
        results: of.len(),
        trials: of.iter().map(|(of, _)| of.header.trials).sum(),
        questions: questions(of, criteria),
    }
}

type QuestionKey<'a> = (&'a str, &'a str, &'a str, &'a str);

/// A family with a representative series.
type Family<'a> = (&'a Series, BTreeMap<&'a str, VariantEffects>);

fn key_of(series: &Series) -> QuestionKey<'_> {
    (&series.workload, &series.question, &series.metric, &series.unit)
}

fn questions(
    of: &[(&Summary, &String)],
    criteria: &Criteria,
) -> Vec<QuestionAnalysis<FleetComparison>> {
    let mut all: BTreeMap<(QuestionKey<'_>, &str), Family<'_>> = BTreeMap::new();
    for (summary, machine) in of {
        for variant in &summary.variants {
            let (Some(baseline), false) = (&variant.baseline, variant.series.is_baseline) else {
                continue;
            };
            let (_, variants) = all
                .entry((key_of(&variant.series), baseline))
                .or_insert_with(|| (&variant.series, BTreeMap::new()));
            let known = variants.entry(&variant.series.variant).or_default();
            known.variant.clone_from(&variant.series.variant);
            let effect = |repeat| Effect { machine: (*machine).clone(), repeat };
            known.effects.extend(variant.effect.map(effect));
        }
    }
    let answer = |(((workload, question, metric, unit), baseline), (series, variants)): (
        _,
        (&Series, BTreeMap<_, VariantEffects>),
    )| {
        let direction = series.direction()?;
        let family: Vec<VariantEffects> = variants.into_values().collect();
        let comparisons = compare_fleet(&family, direction, criteria);
        Some(question_of([question, workload, metric, unit, baseline], comparisons))
    };
    all.into_iter().filter_map(answer).collect()
}

fn question_of<J>(
    [question, workload, metric, unit, baseline]: [&str; 5],
    comparisons: Vec<J>,
) -> QuestionAnalysis<J> {
    QuestionAnalysis {
        question: question.to_owned(),
        workload: workload.to_owned(),
        metric: metric.to_owned(),
        unit: unit.to_owned(),
        baseline: baseline.to_owned(),
        comparisons,
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sides {
    pub key: Key,
    pub first: String,
    pub second: String,
}

pub fn compare(
    loaded: &Loaded,
    sides: &Sides,
    criteria: &Criteria,
) -> Vec<QuestionAnalysis<LevelComparison>> {
    let mut all: BTreeMap<QuestionKey<'_>, (&Series, BTreeMap<&str, VariantLevels>)> =
        BTreeMap::new();
    let counting = loaded.results.iter().filter_map(|(of, machine)| Some((of, machine.as_ref()?)));
    for (summary, machine) in counting {
        let value = sides.key.of(&summary.header);
        let (is_first, is_second) = (value == sides.first, value == sides.second);
        for variant in summary.variants.iter().filter(|_| is_first || is_second) {
            let Some(level) = variant.level else { continue };
            let (_, variants) = all
                .entry(key_of(&variant.series))
                .or_insert_with(|| (&variant.series, BTreeMap::new()));
            let known = variants.entry(&variant.series.variant).or_default();
            known.variant.clone_from(&variant.series.variant);
            let side = if is_first { &mut known.first } else { &mut known.second };
            side.push((machine.clone(), level));
        }
    }
    let answer = |((workload, question, metric, unit), (series, variants)): (
        QuestionKey<'_>,
        (&Series, BTreeMap<_, VariantLevels>),
    )| {
        let direction = series.direction()?;
        let family: Vec<VariantLevels> = variants.into_values().collect();
        let comparisons = compare_levels(&family, direction, criteria);
        Some(question_of([question, workload, metric, unit, ""], comparisons))
    };
    all.into_iter().filter_map(answer).collect()
}

fn cautions(of: &[(&Summary, &String)]) -> Vec<String> {
    let mut found = Vec::new();
    let stopped = of.iter().filter(|(of, _)| of.header.stops_early).count();
    if stopped > 0 {
        found.push(format!(
            "{stopped} of {} results may have stopped at their verdict, so that their effects are somewhat too large (measure for a fleet \
             with no_early_stop = true in the plan's budget)",
            of.len()
        ));
    }
    let mut units: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    let variants = || of.iter().flat_map(|(of, _)| &of.variants);
    for VariantSummary { series, .. } in variants() {
        units.entry((&series.question, &series.metric)).or_default().insert(&series.unit);
    }
    for ((_, metric), units) in units.into_iter().filter(|(_, units)| units.len() > 1) {
        let units: Vec<&str> = units.into_iter().collect();
        found.push(format!(
            "{metric}: measured in several units ({}), which are compared apart",
            units.join(", ")
        ));
    }
    found
}
