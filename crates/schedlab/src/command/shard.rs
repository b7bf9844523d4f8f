//! `schedlab shard` and `schedlab shard merge`: splits a virtual-time experiment over machines.

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lab::arena::open::OpenOptions as Opening;
use lab::console::Console;
use lab::progress::Progress as _;
use lab::resolve::programs::ProgramOptions;
use lab::shards::{Merged, Missing, Prepared, Shard, ShardRequest, Unit, merge, shard};
use lab::signals::Stop;
use lab::store::{self, RESULTS};
use machine::Root;
use machine::files::{Bounded, Dir, replace_at};
use serde_json::json;
use text::counted;
use text::limits::{SEGMENT_BYTES, SEGMENTS, SEGMENTS_BYTES};

use super::experiment::{Shown, conclude_results, files_of, plan_of_file, quoted};
use super::plan::resolve;
use crate::cli::{MergeArgs, ShardRunArgs};
use crate::failure::{INCOMPLETE, REACHED};
use crate::out;
use crate::progress::Progress;
use crate::rights;

const NAMED: usize = 4;

pub(crate) fn measure(args: &ShardRunArgs) -> Result<u8> {
    let plan = plan_of_file(&args.plan)?;
    if plan.arena.is_in_process() {
        rights::give_up(&files_of(&plan), args.out.as_deref())?;
    }
    let asked = plan.trial.clone();
    let resolved = resolve(plan)?;
    let command = format!("schedlab run {}", quoted(args.plan.display().to_string()));
    let opening = Opening {
        programs: ProgramOptions { agreement: args.consent.agreement(), user: None },
        cache_dir: args.cache_dir.clone(),
        threads: args.threads,
        ..Opening::default()
    };
    let (stop, progress) = (Stop::install()?, Progress::new(args.quiet || args.json));
    let console = Console::new(&stop, &progress);
    match (&args.rounds, &args.out) {
        (Some(rounds), Some(out)) => {
            let made = shard(
                ShardRequest { resolved, asked: &asked, command, rounds: rounds.clone() },
                &opening,
                console,
            )?;
            progress.clear();
            if made.trials == 0 {
                let most = made.prepared.most_rounds();
                let (start, end) = (rounds.start, rounds.end);
                out::note(format_args!(
                    "--rounds {start}..{end}: beyond the {most} rounds of the plan: a segment without trials"
                ));
            }
            keep(&made, out, args.json)
        }
        _ => count(
            &Prepared::of(resolved, &asked, command, &opening, console)?,
            &args.plan,
            args.json,
        ),
    }
}

fn keep(made: &Shard, file: &Path, as_json: bool) -> Result<u8> {
    // Atomically: a whole segment or none.
    replace_at(file, &made.segment)
        .with_context(|| format!("{}: cannot write the segment", file.display()))?;
    let identity = made.prepared.identity();
    if as_json {
        let rounds = [made.rounds.start, made.rounds.end];
        let all = json!({ "segment": file, "identity": identity, "rounds": rounds, "trials": made.trials });
        out::line(all)?;
    } else {
        let trials = counted(made.trials, "trial");
        out::line(format_args!(
            "{}: {trials} of rounds {}..{}; identity {}",
            file.display(),
            made.rounds.start,
            made.rounds.end,
            &identity[..12]
        ))?;
    }
    Ok(REACHED)
}

fn count(prepared: &Prepared, file: &Path, as_json: bool) -> Result<u8> {
    let plan = prepared.plan();
    let (most, fixed) = (prepared.most_rounds(), plan.budget.rounds.is_some());
    let per_round = plan.variants.len() * plan.workloads.len();
    if as_json {
        let all = json!({ "identity": prepared.identity(), "rounds": most, "fixed": fixed, "trials_per_round": per_round });
        out::line(all)?;
        return Ok(REACHED);
    }
    let about = if fixed { "" } else { "about " };
    let stops =
        if plan.budget.no_early_stop { "" } else { ", fewer if every verdict is reached before" };
    out::line(format_args!(
        "{}: {about}{most} rounds of {}{stops}; identity {}",
        file.display(),
        counted(per_round as u64, "trial"),
        &prepared.identity()[..12]
    ))?;
    Ok(REACHED)
}

pub(crate) fn join(root: &Root, args: &MergeArgs) -> Result<u8> {
    rights::give_up(&args.segments, Some(&args.out))?;
    store::check_free(Some(&args.out))?;
    let (stop, progress) = (Stop::install()?, Progress::new(args.quiet || args.json));
    progress.phase(&format!("reading {}", counted(args.segments.len() as u64, "segment")));
    let segments = read(&args.segments)?;
    let merged = merge(segments, &stop)?;
    progress.clear();
    let (text, results, unused) = match merged {
        Merged::Whole { text, results, unused } => (text, results, unused),
        Merged::Missing(missing) => return lacks(&missing, args),
    };
    if unused > 0 {
        progress.remark(&format!(
            "{} of the segments were not asked for: their variants were decided before",
            counted(unused, "trial")
        ));
    }
    let dir = Dir::make(&args.out)?;
    // Another merge may have been quicker.
    store::check_free(Some(&args.out))?;
    dir.replace("plan.toml", results.header.plan.to_toml().as_bytes())?;
    dir.replace(RESULTS, &text)?;
    drop(text);
    stop.end_at_once(out::report_cut);
    let shown = Shown { root, json: args.json, verbose: args.verbose, fail_if: &args.fail_if };
    conclude_results(dir.path(), &results, &shown)
}

fn read(files: &[PathBuf]) -> Result<Vec<(String, Vec<u8>)>> {
    SEGMENTS.check(files.len())?;
    let (mut all, mut total) = (Vec::new(), 0_usize);
    for path in files {
        let named = || path.display().to_string();
        let bytes = SEGMENT_BYTES.read_file(path).with_context(named)?;
        total = total.saturating_add(bytes.len());
        SEGMENTS_BYTES.check(total).with_context(named)?;
        all.push((named(), bytes));
    }
    Ok(all)
}

fn lacks(missing: &Missing, args: &MergeArgs) -> Result<u8> {
    let rounds = missing.rounds();
    let plan = plan_word(&missing.prepared.header().command);
    let near = args.segments.first().and_then(|path| path.parent()).unwrap_or(Path::new(""));
    let command = |range: &Range<u32>| {
        let file = near
            .join(format!("rounds-{}-{}.segment", range.start, range.end))
            .display()
            .to_string();
        format!(
            "schedlab shard run {plan} --rounds {}..{} --out {}",
            range.start,
            range.end,
            quoted(file)
        )
    };
    if args.json {
        let unit = |unit: &Unit| {
            let variants: Vec<&str> =
                unit.variants.iter().map(|variant| variant.name.as_str()).collect();
            json!({ "workload": unit.workload, "rounds": [unit.rounds.start, unit.rounds.end], "variants": variants })
        };
        let ranges: Vec<_> = rounds.iter().map(|range| [range.start, range.end]).collect();
        let units: Vec<_> = missing.units.iter().map(unit).collect();
        let commands: Vec<String> = rounds.iter().map(command).collect();
        let all = json!({ "found": missing.found, "rounds": ranges, "missing": units, "commands": commands });
        out::line(serde_json::to_string_pretty(&all)?)?;
        return Ok(INCOMPLETE);
    }
    let words = |range: &Range<u32>| format!("{}..{}", range.start, range.end);
    let mut named: Vec<String> = rounds.iter().take(NAMED).map(words).collect();
    if rounds.len() > NAMED {
        named.push(format!("{} more (--json)", counted((rounds.len() - NAMED) as u64, "range")));
    }
    let commands: Vec<String> =
        rounds.iter().take(NAMED).map(|range| format!("  {}", command(range))).collect();
    out::note(format_args!(
        "segments: incomplete (found {}, expected also rounds {}, or fewer if verdicts are reached before); nothing was written: measure these, \
         and merge all segments again:\n{}",
        counted(missing.found, "trial"),
        named.join(", "),
        commands.join("\n")
    ));
    Ok(INCOMPLETE)
}

/// A plain word only: the segment's command is untrusted, and the user may paste what is printed.
fn plan_word(command: &str) -> &str {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+@".contains(c);
    let word = command.strip_prefix("schedlab run ").unwrap_or_default();
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        word
    } else {
        "PLAN"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_of_a_segment_is_shown_only_if_a_shell_would_read_one_word() {
        assert_eq!(plan_word("schedlab run plans/two-readers.toml"), "plans/two-readers.toml");
        for hostile in [
            "schedlab run plan.toml; rm -rf /",
            "schedlab run $(x)",
            "rm -rf /",
            "",
            "schedlab run --help",
            "schedlab run 'a b'",
        ] {
            assert_eq!(plan_word(hostile), "PLAN", "{hostile}");
        }
    }
}
