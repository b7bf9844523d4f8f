//! `schedlab gate`: measures a plan and compares it with earlier results.

use std::path::{Path, PathBuf};

use anyhow::Result;
use experiment::analysis::Verdict;
use experiment::environment::{differences, relevant_facts};
use experiment::gate::{Choice, GateComparison, compare, is_green};
use experiment::outcome::Condition;
use experiment::plan::{MAX_TIME_S, Plan};
use experiment::results::{Environment, Results};
use lab::gate::{LAST_GOOD, LastGood, same_machine, same_plan};
use lab::length;
use lab::resolve::Resolved;
use machine::Root;
use report::gate::Gate;
use serde_json::json;
use text::did_you_mean;

use super::experiment::{Beside, Measured, files_of, measure, plan_of_file};
use super::plan::resolve;
use crate::cli::GateArgs;
use crate::failure::{self, REACHED, usage};
use crate::out;
use crate::report_files;
use crate::rights;

struct Reference {
    results: Results,
    from: PathBuf,
}

pub(crate) fn gate(root: &Root, args: &GateArgs) -> Result<u8> {
    let plan = plan_of_file(&args.plan)?;
    let state = args.state.clone().unwrap_or_else(|| root.state("gate"));
    let (kept, reference) = reference(args, &state)?;
    let writes: Vec<&Path> =
        kept.as_ref().map(|_| state.as_path()).into_iter().chain(parent(args)).collect();
    // An unwritable result must be found before measuring.
    writes.iter().try_for_each(|dir| machine::files::Dir::make(dir).map(drop))?;
    if plan.arena.is_in_process() {
        let out = args.conduct.out.as_deref().unwrap_or(Path::new(lab::output::PARENT));
        let results: Vec<&Path> = [out].into_iter().chain(writes.iter().copied()).collect();
        rights::give_up_but(&files_of(&plan), &results)?;
    }
    let asked = plan.trial.clone();
    let resolved = designed(plan, args, reference.as_ref())?;
    // Trials as long as the reference's are never extended.
    let asked = if reference.is_some() { resolved.plan.trial.clone() } else { asked };
    let check = |now: &Environment| match &reference {
        Some(Reference { results, from }) if !args.other_machine => {
            same_machine(&results.header.plan, now, &results.header.environment, from)
        }
        _ => Ok(()),
    };
    let beside = Beside { check: Some(&check), writes: &writes };
    let agreement = args.consent.agreement();
    let one =
        Measured { root, resolved, asked: &asked, args: &args.conduct, agreement, beside: &beside };
    let (dir, end) = measure(one)?;
    let results = lab::store::read(&dir)?;
    report_files::write_all(
        &dir,
        &experiment::analyze(&results, None),
        Some(&report_files::evidence(&results)),
    )?;
    if end.reason.ending().is_early() {
        out::note(format_args!(
            "{}: {}; the gate compares whole experiments only",
            end.reason.word(),
            end.reason
        ));
        return Ok(failure::cut_short());
    }
    match reference {
        Some(reference) => concluded(args, &results, &reference, &dir, kept.as_ref()),
        None => first(args, &results, &dir, &kept.expect("only last-good may be missing")),
    }
}

fn parent(args: &GateArgs) -> Option<&Path> {
    let parent = args.junit.as_deref()?.parent()?;
    Some(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })
}

/// None before the first good run.
fn reference(args: &GateArgs, state: &Path) -> Result<(Option<LastGood>, Option<Reference>)> {
    if args.against == LAST_GOOD {
        let kept = LastGood::of(state, &args.plan)?;
        let from = kept.path();
        let found = kept.read()?.map(|results| Reference { results, from });
        return Ok((Some(kept), found));
    }
    if args.state.is_some() {
        return Err(usage(format!(
            "--state: only with --against {LAST_GOOD}; leave it out, or compare with the last good"
        )));
    }
    let from = PathBuf::from(&args.against);
    let results = lab::store::read(&from)?;
    Ok((None, Some(Reference { results, from })))
}

/// The plan with the gate's number of rounds and the reference's trial length.
fn designed(mut plan: Plan, args: &GateArgs, reference: Option<&Reference>) -> Result<Resolved> {
    if args.kernel.is_some() {
        plan.kernel.clone_from(&args.kernel);
    }
    let then = reference.map(|reference| &reference.results);
    let measured =
        then.and_then(|results| results.trials.iter().map(|trial| trial.round + 1).max());
    plan.budget.rounds = args.rounds.or(plan.budget.rounds).or(measured);
    plan.budget.no_early_stop = true;
    if let Some(results) = then {
        let trial = &results.header.plan.trial;
        plan.trial.duration_ms = plan.trial.duration_ms.or(trial.duration_ms);
        plan.trial.warmup_ms = plan.trial.warmup_ms.or(trial.warmup_ms);
    }
    let mut resolved = resolve(plan)?;
    let plan = &mut resolved.plan;
    if plan.budget.rounds.is_some() {
        // All rounds are measured, however long they take.
        plan.budget.time_s = plan.budget.time_s.max(4.0 * length::expected_s(plan)).min(MAX_TIME_S);
    }
    if let Some(name) = args
        .variant
        .as_ref()
        .filter(|name| plan.variants.iter().all(|variant| variant.name != **name))
    {
        let nearest = did_you_mean(name, plan.variants.iter().map(|variant| variant.name.as_str()));
        return Err(usage(format!(
            "--variant {name:?}: not a variant of the plan; name one of its variants{nearest}"
        )));
    }
    if args.ratios && args.variant.as_deref() == Some(plan.baseline()) {
        return Err(usage(format!(
            "--ratios: {} is the baseline itself; name another --variant",
            plan.baseline()
        )));
    }
    if let Some(Reference { results, from }) = reference {
        same_plan(plan, results, from)?;
        if !results.header.plan.budget.no_early_stop {
            out::note(format_args!(
                "note: {}: ended when its own verdicts were reached, so its rounds were not fixed beforehand; a results file of `schedlab gate` \
                 or with --rounds N is a better reference",
                from.display()
            ));
        }
    }
    Ok(resolved)
}

fn first(args: &GateArgs, results: &Results, dir: &Path, kept: &LastGood) -> Result<u8> {
    let analysis = experiment::analyze(results, None);
    let status = failure::of_verdicts(&experiment::outcome::deciding_verdicts(&analysis), &[]);
    let title = title(results);
    if status != REACHED {
        print(
            args,
            "gate: invalid: no earlier results file, and this one does not count; not kept as last good",
            &json!([]),
        )?;
        return Ok(status);
    }
    kept.keep(dir)?;
    let line = format!(
        "gate: no earlier results file of {title}; this one is the last good now: {}",
        kept.path().display()
    );
    write_junit(
        args,
        &Gate { plan: title, against: "", comparisons: &[], differences: &[], conditions: &[] },
    )?;
    print(args, &line, &json!({"line": line, "comparisons": [], "kept": true}))?;
    Ok(REACHED)
}

fn concluded(
    args: &GateArgs,
    results: &Results,
    reference: &Reference,
    dir: &Path,
    kept: Option<&LastGood>,
) -> Result<u8> {
    let choice = Choice { variant: args.variant.clone(), ratios: args.ratios };
    let comparisons = compare(results, &reference.results, &choice);
    let [now, then] =
        [results, &reference.results].map(|results| relevant_facts(&results.header.environment));
    let differences = differences(&now, &then);
    let mut conditions = args.conduct.fail_if.conditions();
    conditions.push(Condition::Worse);
    let against = reference.from.display().to_string();
    let gate = Gate {
        plan: title(results),
        against: &against,
        comparisons: &comparisons,
        differences: &differences,
        conditions: &conditions,
    };
    let line = report::gate::line(&gate);
    let keeps = kept.filter(|_| is_green(&comparisons));
    if let Some(kept) = keeps {
        kept.keep(dir)?;
    }
    write_junit(args, &gate)?;
    if args.github || out::is_github() {
        report::gate::annotations(&gate)
            .iter()
            .for_each(|annotation| out::workflow_command(annotation));
    }
    let verdicts: Vec<Verdict> = comparisons.iter().map(|one| one.verdict).collect();
    let status = failure::of_verdicts(&verdicts, &conditions);
    let all = json!({
        "line": line, "status": status, "against": against, "results": dir, "kept": keeps.is_some(),
        "comparisons": comparisons, "differences": differences,
    });
    print(args, &line, &all)?;
    remark(&comparisons, dir);
    Ok(status)
}

fn remark(comparisons: &[GateComparison], dir: &Path) {
    if comparisons.iter().any(|one| one.verdict == Verdict::Inconclusive) {
        out::note(format_args!(
            "the intervals are wider than the margin allows: measure more rounds (--rounds); the results file is in {}",
            dir.display()
        ));
    }
}

fn title(results: &Results) -> &str {
    let plan = &results.header.plan;
    if plan.name.is_empty() { &plan.device } else { &plan.name }
}

fn print(args: &GateArgs, line: &str, all: &serde_json::Value) -> Result<()> {
    if args.conduct.json {
        out::line(serde_json::to_string_pretty(all)?)
    } else {
        out::line(line.replace('\n', " "))
    }
}

fn write_junit(args: &GateArgs, gate: &Gate<'_>) -> Result<()> {
    if let Some(path) = &args.junit {
        machine::files::replace_at(path, report::gate::junit(gate)?.as_bytes())?;
    }
    Ok(())
}
