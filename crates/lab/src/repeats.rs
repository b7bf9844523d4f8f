//! The directory of an experiment measured in several repeats.
//!
//! OUT/plan.toml is their common plan, OUT/repeat-1, OUT/repeat-2, … are ordinary experiments, and
//! the reports in OUT pool them. The results files determine the next repeat.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use experiment::plan::{Budget, Criteria, Plan, TrialLength};
use experiment::results::Results;
use machine::files::Dir;
use text::build;
use text::limits::{PLAN_BYTES, REPEATS, RESULTS_BYTES};

use crate::failure::usage;
use crate::store::{RESULTS, read};

const PLAN: &str = "plan.toml";

/// Counted from 1.
pub fn name(number: u32) -> String {
    format!("repeat-{number}")
}

pub fn check(number: usize) -> Result<()> {
    REPEATS.check(number).map_err(|exceeded| usage(exceeded.to_string()))
}

/// The existing directories of repeats, in order.
pub fn below(dir: &Path) -> Vec<PathBuf> {
    let numbers = 1..=u32::try_from(REPEATS.most).unwrap_or(u32::MAX);
    numbers.map(|number| dir.join(name(number))).filter(|dir| has_results(dir)).collect()
}

fn has_results(dir: &Path) -> bool {
    dir.join(RESULTS).metadata().is_ok_and(|meta| meta.len() > 0)
}

/// Writes the common plan into the directory, or checks that it matches the existing one.
pub fn keep_plan(dir: &Dir, plan: &Plan) -> Result<()> {
    let path = dir.file(PLAN);
    if dir.has(RESULTS) {
        return Err(usage(format!(
            "{}: holds one experiment; name another --out for repeats",
            dir.path().display()
        )));
    }
    let Some(bytes) = dir.read(PLAN)? else {
        return Ok(dir.replace(PLAN, plan.to_toml().as_bytes())?);
    };
    PLAN_BYTES.check(bytes.len())?;
    let there = Plan::from_toml(&String::from_utf8_lossy(&bytes))
        .with_context(|| path.display().to_string())?;
    if comparable(&there) == comparable(plan) {
        return check_build(dir.path());
    }
    Err(usage(format!(
        "{}: holds repeats of another plan; continue that one (schedlab run {} --out {0} --repeat N), or name another --out",
        dir.path().display(),
        path.display()
    )))
}

/// Refuses results of another build, which cannot be pooled with new ones.
fn check_build(dir: &Path) -> Result<()> {
    for repeat in below(dir) {
        let found = read(&repeat)?.header.schedlab;
        if let Some(why) = build::difference(&found, build::identity()) {
            return Err(usage(format!(
                "{}: {why}; continue with that build, or name another --out",
                repeat.display()
            )));
        }
    }
    Ok(())
}

/// The parts of a plan that must be equal in every repeat. The number of rounds that fit into the
/// budget may differ.
fn comparable(plan: &Plan) -> Plan {
    let Criteria { margin, alpha, max_invalid_share, .. } = plan.criteria;
    let criteria = Criteria { margin, alpha, max_invalid_share, ..Criteria::default() };
    Plan { budget: Budget::default(), criteria, ..plan.clone() }
}

/// The plan of one repeat, with its own order and offsets. Early stopping is disabled: stopping at
/// a favourable look would bias the mean.
pub fn plan_of(plan: &Plan, number: u32) -> Plan {
    let mut plan = plan.clone();
    plan.seed = plan.seed.wrapping_add(u64::from(number - 1));
    plan.budget.no_early_stop = true;
    plan
}

#[derive(Debug, Clone, PartialEq)]
pub enum Repeat {
    Missing,
    Unfinished,
    Whole(Box<Results>),
}

pub fn look(dir: &Path, number: u32) -> Result<Repeat> {
    let dir = dir.join(name(number));
    if !has_results(&dir) {
        return Ok(Repeat::Missing);
    }
    let results = read(&dir)?;
    let whole = results.end.as_ref().is_some_and(|end| !end.reason.ending().is_early());
    Ok(if whole { Repeat::Whole(Box::new(results)) } else { Repeat::Unfinished })
}

pub fn trial_length(dir: &Path, number: u32) -> Result<Option<TrialLength>> {
    let dir = dir.join(name(number));
    if has_results(&dir) { Ok(Some(read(&dir)?.header.plan.trial)) } else { Ok(None) }
}

/// Reads the results of these repeats, with names that distinguish them.
pub fn all_results(sources: &[PathBuf]) -> Result<Vec<(String, Results)>> {
    check(sources.len())?;
    let (mut all_results, mut bytes) = (Vec::new(), 0_usize);
    for (source, name) in sources.iter().zip(names(sources)) {
        let file = if source.is_dir() { source.join(RESULTS) } else { source.clone() };
        bytes = bytes.saturating_add(
            file.metadata().map_or(0, |meta| usize::try_from(meta.len()).unwrap_or(usize::MAX)),
        );
        RESULTS_BYTES
            .check(bytes)
            .with_context(|| format!("{}: too much for one pool", source.display()))?;
        all_results.push((name, read(source)?));
    }
    Ok(all_results)
}

/// The last component of each path, or the full paths if two are equal.
pub fn names(sources: &[PathBuf]) -> Vec<String> {
    let of = |path: &PathBuf| {
        let last = if path.ends_with(RESULTS) { path.parent().unwrap_or(path) } else { path };
        last.file_name()
            .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
    };
    let short: Vec<String> = sources.iter().map(of).collect();
    let unique = short.iter().collect::<std::collections::BTreeSet<_>>().len() == short.len();
    if unique { short } else { sources.iter().map(|path| path.display().to_string()).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let text = "device = 'sdb'\nseed = 5\n[[variant]]\nname = 'none'\nscheduler = 'none'\n[[variant]]\nname = 'bfq'\nscheduler = 'bfq'\n\
                    [[workload]]\nname = 'r'\nkind = 'randread'\n";
        Plan::from_toml(text).expect("a plan")
    }

    #[test]
    fn repeats_share_everything_but_order_and_offsets_and_none_stops_at_a_verdict() {
        let second = plan_of(&plan(), 2);
        assert_eq!((second.seed, second.budget.no_early_stop), (6, true));
        assert_eq!(plan_of(&plan(), 1).seed, 5);
        assert_eq!(Plan { seed: 5, budget: plan().budget, ..second }, plan());
    }

    #[test]
    fn another_plan_is_not_joined_and_a_larger_budget_is() {
        let dir = tempfile::tempdir().expect("a directory");
        let dir = Dir::open(dir.path()).expect("ours");
        let mut other = plan();
        keep_plan(&dir, &other).expect("a new one");
        other.budget.time_s = 500.0;
        keep_plan(&dir, &other).expect("the same question");
        other.variants[1].scheduler = "kyber".to_owned();
        let error = keep_plan(&dir, &other).expect_err("another question").to_string();
        assert!(error.contains("another plan") && error.contains("--repeat"), "{error}");
    }

    #[test]
    fn a_repeat_is_named_after_its_directory_unless_two_have_that_name() {
        let paths = |paths: [&str; 2]| names(&paths.map(PathBuf::from));
        assert_eq!(paths(["out/repeat-1", "out/repeat-2/results.jsonl"]), ["repeat-1", "repeat-2"]);
        assert_eq!(paths(["monday/out", "friday/out"]), ["monday/out", "friday/out"]);
    }
}
