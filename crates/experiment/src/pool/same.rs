//! Checks that several results files or tables ask one question. Differences are errors; what may
//! vary from day to day is a caution.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::plan::{Plan, WorkloadSpec};
use crate::pooled::RepeatSamples;
use crate::results::{Event, Results};
use crate::samples::Sample;

/// Why a repeat belongs to another question.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Difference {
    /// Plan, device or table differ.
    #[error(
        "{repeat}: {what} differs from {first} (found {found}, expected {expected}); pool repeats of the same comparison only"
    )]
    Another {
        /// The repeat.
        repeat: String,
        /// The reference.
        first: String,
        /// What differs.
        what: String,
        /// Its value in the repeat.
        found: String,
        /// Its value in the reference.
        expected: String,
    },
    /// Margin or alpha differ, and neither was given.
    #[error(
        "{repeat}: {what} differs from {first} (found {found}, expected {expected}); set one for all with --{what}"
    )]
    Criteria {
        /// The repeat.
        repeat: String,
        /// The reference.
        first: String,
        /// `margin` or `alpha`.
        what: &'static str,
        /// Its value in the repeat.
        found: String,
        /// Its value in the reference.
        expected: String,
    },
    /// The same results file twice, or a simulation with the same seed.
    #[error("{repeat}: {why} as {first}, and evidence counts once; omit one of them")]
    Same {
        /// The repeat.
        repeat: String,
        /// The reference.
        first: String,
        /// `the same results`, `the same seed`.
        why: &'static str,
    },
    /// Fewer than two.
    #[error("one repeat: nothing to pool; name two or more results files, or remove --pool")]
    One,
}

pub(super) fn all_results(
    all_results: &[(String, &Results)],
    has_criteria: bool,
) -> Result<(), Difference> {
    let Some(((first, base), others)) = all_results.split_first() else {
        return Err(Difference::One);
    };
    for (at, (name, results)) in others.iter().enumerate() {
        for ((what, found), (_, expected)) in facts(results).into_iter().zip(facts(base)) {
            if found != expected {
                return Err(another(name, first, &what, found, expected));
            }
        }
        let (own, its) = (&results.header.plan.criteria, &base.header.plan.criteria);
        let rules = [("margin", own.margin, its.margin), ("alpha", own.alpha, its.alpha)];
        if let Some((what, found, expected)) =
            rules.into_iter().find(|(_, own, its)| own != its && !has_criteria)
        {
            let percent = |share: f64| format!("{} %", (share * 1e8).round() / 1e6);
            let (repeat, first) = (name.clone(), first.clone());
            return Err(Difference::Criteria {
                repeat,
                first,
                what,
                found: percent(found),
                expected: percent(expected),
            });
        }
        for (earlier, before) in &all_results[..=at] {
            let same = |why| Difference::Same { repeat: name.clone(), first: earlier.clone(), why };
            let (own, its) = (&results.header, &before.header);
            if own.plan.arena.is_virtual() && own.plan.seed == its.plan.seed {
                return Err(same("simulated from the same seed"));
            }
            if own.started_unix_ms == its.started_unix_ms
                && results.trials.first() == before.trials.first()
            {
                return Err(same("the same results file"));
            }
        }
    }
    Ok(())
}

fn another(repeat: &str, first: &str, what: &str, found: String, expected: String) -> Difference {
    let (repeat, first, what) = (repeat.to_owned(), first.to_owned(), what.to_owned());
    Difference::Another { repeat, first, what, found, expected }
}

/// The facts in a fixed order.
fn facts(results: &Results) -> Vec<(String, String)> {
    let plan = &results.header.plan;
    let of = |section: &str, name: &str| {
        results
            .header
            .environment
            .get(section)
            .and_then(|facts| facts.get(name))
            .cloned()
            .unwrap_or("unknown".to_owned())
    };
    let temporary = plan.has_temporary_device();
    let identity = if plan.arena.has_disk() && !temporary {
        of("device", "identity")
    } else {
        plan.device.clone()
    };
    let listed = |names: Vec<String>| names.join(", ");
    let json = |value: Result<String, serde_json::Error>| value.unwrap_or_default();
    let mut facts: Vec<(String, String)> = [
        ("build of schedlab", results.header.schedlab.clone()),
        ("arena", plan.arena.name.to_owned()),
        ("device", identity),
        ("device size", if temporary { String::new() } else { of("device", "size_bytes") }),
        ("device model", of("device", "description")),
        ("trace", of("traces", "replayed")),
        ("baseline", plan.baseline().to_owned()),
        (
            "list of variants",
            listed(plan.variants.iter().map(|variant| variant.name.clone()).collect()),
        ),
        (
            "list of workloads",
            listed(plan.workloads.iter().map(|workload| workload.name.clone()).collect()),
        ),
        ("file system", json(serde_json::to_string(&plan.files))),
        ("metric of the plan", json(serde_json::to_string(&plan.metrics))),
    ]
    .map(|(what, value)| (what.to_owned(), value))
    .to_vec();
    facts.extend(plan.variants.iter().map(|variant| {
        (format!("setting of variant {}", variant.name), json(serde_json::to_string(variant)))
    }));
    let described = |spec: &WorkloadSpec| {
        (format!("workload {}", spec.name), json(serde_json::to_string(spec)))
    };
    facts.extend(plan.workloads.iter().map(described));
    if plan.arena.chooses_kernel() {
        facts
            .push(("kernel".to_owned(), format!("{:?}", results.header.environment.get("kernel"))));
    }
    facts
}

/// Cautions about differences other than the day.
pub(super) fn cautions(all_results: &[(String, &Results)]) -> Vec<String> {
    let mut cautions = Vec::new();
    let plans = || all_results.iter().map(|(_, results)| &results.header.plan);
    if plans().any(|plan| plan.arena.is_virtual()) {
        cautions.push(
            "repeats in virtual time use other seeds: they do not replace other days on a real machine"
                .to_owned(),
        );
    }
    let mut differs = |what: &str, words: Vec<String>| {
        let unique: BTreeSet<&String> = words.iter().collect();
        if unique.len() > 1 {
            cautions.push(format!("the {what} differs between repeats: {}", words.join(", ")));
        }
    };
    let release = |results: &Results| {
        let of =
            |section: &str, name: &str| results.header.environment.get(section)?.get(name).cloned();
        of("kernel", "release").unwrap_or_else(|| "unknown".to_owned())
    };
    differs("kernel", all_results.iter().map(|(_, results)| release(results)).collect());
    let length = |plan: &Plan| {
        plan.trial.duration_ms.map_or_else(|| "unknown".to_owned(), |ms| format!("{ms} ms"))
    };
    differs("length of a trial", plans().map(length).collect());
    let programs = |results: &Results| format!("{:?}", results.header.environment.get("programs"));
    let versions: BTreeSet<String> =
        all_results.iter().map(|(_, results)| programs(results)).collect();
    if versions.len() > 1 {
        cautions.push("the versions of the programs differ between repeats".to_owned());
    }
    let stopped = |(_, results): &&(String, &Results)| {
        let at_verdicts = !results.header.plan.budget.no_early_stop;
        at_verdicts
            && results.notes.iter().any(|note| matches!(note.event, Event::StoppedVariant { .. }))
    };
    let stopped = all_results.iter().filter(stopped).count();
    if stopped > 0 {
        cautions.push(format!(
            "{stopped} of {} repeats stopped at a verdict, which overstates an effect: measure with --repeat or --rounds N",
            all_results.len()
        ));
    }
    cautions
}

type Word = fn(&Sample) -> &String;

pub(super) fn samples(repeats: &[RepeatSamples]) -> Result<(), Difference> {
    let Some((first, others)) = repeats.split_first().filter(|(_, others)| !others.is_empty())
    else {
        return Err(Difference::One);
    };
    let names = |samples: &[Sample], of: Word| -> BTreeSet<String> {
        samples.iter().map(|sample| of(sample).clone()).collect()
    };
    let kinds: [(&str, Word); 2] = [
        ("list of workloads", |sample| &sample.workload),
        ("list of variants", |sample| &sample.variant),
    ];
    for repeat in others {
        for (what, of) in kinds {
            let (found, expected) = (names(&repeat.samples, of), names(&first.samples, of));
            if found != expected {
                let listed =
                    |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
                return Err(another(
                    &repeat.name,
                    &first.name,
                    what,
                    listed(found),
                    listed(expected),
                ));
            }
        }
    }
    Ok(())
}
