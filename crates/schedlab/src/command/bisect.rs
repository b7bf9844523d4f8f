//! `schedlab bisect`: finds the patch, commit or version that made a workload worse.

use anyhow::Result;
use lab::arena::open::OpenOptions;
use lab::bisect::{BisectResult, BisectSpec, Conclusion, Evidence, Step, bisect, in_words};
use lab::console::Console;
use lab::resolve::programs::ProgramOptions;
use lab::signals::Stop;
use machine::Root;

use crate::cli::BisectArgs;
use crate::command::experiment::{plan_of_file, repeat_command};
use crate::failure::{self, INVALID, REACHED};
use crate::out;
use crate::progress::Progress;

pub(crate) fn run(root: &Root, args: &BisectArgs) -> Result<u8> {
    let spec = BisectSpec {
        plan: plan_of_file(&args.plan)?,
        variant: args.variant.as_deref(),
        workload: args.workload.as_deref(),
        source: &args.source,
        good: args.good.as_deref(),
        bad: args.bad.as_deref(),
        output: args.output(),
        resume: args.resume,
        command: repeat_command(),
        keep_kernels: args.keep_kernels,
    };
    let opening = OpenOptions {
        cache_dir: args.cache_dir.clone(),
        programs: ProgramOptions { agreement: args.consent.agreement(), user: None },
        ..OpenOptions::default()
    };
    let (stop, progress) = (Stop::install()?, Progress::new(args.quiet || args.json));
    let result = bisect(root, &spec, &opening, Console::new(&stop, &progress))?;
    stop.end_at_once(out::report_cut);
    if args.json {
        out::line(serde_json::to_string_pretty(&result)?)?;
    } else {
        out::line(as_text(&result))?;
    }
    Ok(match result.conclusion {
        Conclusion::Found { .. } | Conclusion::Range { .. } => REACHED,
        Conclusion::NotConfirmed { .. } | Conclusion::EndsDoNotDiffer | Conclusion::EndsUnclear => {
            INVALID
        }
        Conclusion::Interrupted { .. } => failure::cut_short(),
    })
}

fn as_text(result: &BisectResult) -> String {
    let mut lines = vec![headline(result)];
    let mut row = |name: &str, evidence: &Option<Evidence>| {
        if let Some(evidence) = evidence {
            let confidence = evidence.confidence * 100.0;
            let rounds = if evidence.rounds == 1 { "round" } else { "rounds" };
            lines.push(format!(
                "  {name:<38} {} ({} {rounds}, confidence {confidence:.2} %)",
                in_words(evidence),
                evidence.rounds
            ));
        }
    };
    row("the bad end against the good end", &result.ends);
    row("the last good step against it", &result.last_good);
    row("the first bad step against it", &result.first_bad);
    row("the first bad against the last good", &result.neighbours);
    lines.push(String::new());
    if let Some(share) = result.share_of_difference.filter(|share| *share < 0.9) {
        lines.push(format!(
            "This is {:.0} % of the difference between the ends: other steps made things worse as well. Bisect the rest: --good with the \
             step that was found.",
            share * 100.0
        ));
    }
    for skipped in &result.skipped {
        lines
            .push(format!("Step {} ({}) was skipped: {}", skipped.step, skipped.name, skipped.why));
    }
    let count = result.answers.len();
    let seconds: f64 = result.answers.iter().map(|answer| answer.seconds).sum();
    lines.push(format!(
        "{} of {}, {} on {}, margin {:.1} %; all verdicts together err with a probability of {:.1} % at most.",
        result.metric,
        result.workload,
        result.scheduler,
        result.plan,
        result.margin * 100.0,
        result.alpha * 100.0
    ));
    lines.push(format!(
        "{} in {}; log and records: {}",
        text::counted(count as u64, "experiment"),
        duration(seconds),
        result.directory.display()
    ));
    if result.conclusion.bracket().is_some() {
        lines.push(format!("Compare the two kernels again: {}", result.command));
    }
    lines.join("\n")
}

fn headline(result: &BisectResult) -> String {
    let (good, bad) = (title(&result.good_end), title(&result.bad_end));
    let blamed = |at: Option<&Step>| at.map_or_else(String::new, title);
    match &result.conclusion {
        Conclusion::Found { bad, .. } => {
            format!(
                "Step {bad} of {} made it worse: {}",
                result.nr_steps,
                blamed(result.blamed.first())
            )
        }
        Conclusion::Range { good, bad } => format!(
            "One of the steps {} to {bad} of {} made it worse, from {} to {}; those between could not be compared",
            good + 1,
            result.nr_steps,
            blamed(result.blamed.first()),
            blamed(result.blamed.last())
        ),
        Conclusion::NotConfirmed { bad, .. } => format!(
            "Not confirmed: step {bad} of {} ({}) is the first that is worse than the good end, but not worse than the step before it; \
             the change comes in small steps (a larger margin finds the main one) or is not monotonous",
            result.nr_steps,
            blamed(result.blamed.last())
        ),
        Conclusion::EndsDoNotDiffer => format!(
            "No step to find: the bad end ({bad}) is not worse than the good end ({good}). Either the good end is bad as well, then name an \
             earlier one with --good, or this plan does not show the difference"
        ),
        Conclusion::EndsUnclear => format!(
            "No step to find: the ends ({good}, {bad}) could not be distinguished; give the plan more rounds, longer trials or a larger margin"
        ),
        Conclusion::Interrupted { by } => {
            format!(
                "interrupted by {by}; repeat the command with --out {} --resume",
                result.directory.display()
            )
        }
    }
}

fn title(step: &Step) -> String {
    if step.subject.is_empty() {
        step.name.clone()
    } else {
        format!("{} ({})", step.name, step.subject)
    }
}

fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    if whole < 60 { format!("{whole} s") } else { format!("{} min {} s", whole / 60, whole % 60) }
}
