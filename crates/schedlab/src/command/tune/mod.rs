//! `schedlab tune`: search, then confirm.

mod answer;
mod design;
mod page;

use anyhow::Result;
use experiment::analysis::Verdict;
use experiment::notation;
use machine::Root;
use machine::files::Dir;

use crate::cli::TuneArgs;
use crate::command::experiment::{Along, Beside, give_up_rights, repeat_command};
use crate::failure::{self, INVALID, REACHED};
use crate::out;
use crate::progress::Progress;
use answer::{show_space, tuned, write};
use design::{conduct_args, design};
use lab::console::Console;
use lab::output::Output;
use lab::resolve::programs::Agreement;
use lab::signals::Stop;
use lab::tune::course::{Done, Order, run};
use lab::tune::design::Design;
use lab::tune::outcome::SearchEnd;

pub(crate) fn tune(root: &Root, args: &TuneArgs) -> Result<u8> {
    give_up_rights(args.arena, &[], args.out.as_deref(), &args.monitor)?;
    let design = design(root, args)?;
    if args.dry_run {
        return show_space(&design, args);
    }
    let conduct = conduct_args(args);
    let (stop, progress) =
        (Stop::install()?, Progress::watched(conduct.quiet || conduct.json, &args.monitor)?);
    let order = Order {
        root,
        opening: &conduct.opening(Agreement::Given),
        output: &Output::of(args.out.clone(), "tune-"),
        resume: args.resume,
        command: &repeat_command(),
        hooks: &Along { beside: &Beside::default(), progress: &progress },
    };
    let (dir, done) = run(&design, &order, Console::new(&stop, &progress))?;
    if let Some(monitor) = progress.monitor() {
        monitor.ended(if done.course.why == SearchEnd::Interrupted {
            "interrupted"
        } else {
            "searched"
        });
    }
    stop.end_at_once(out::report_cut);
    conclude(&dir, &design, &done, args.json)
}

fn conclude(out: &Dir, design: &Design, done: &Done, json: bool) -> Result<u8> {
    let Done { search, course, confirmation, .. } = done;
    let dir = out.path();
    let resume = format!("continue with the same command, --out {} --resume", dir.display());
    if course.why == SearchEnd::Interrupted {
        let best = match search.incumbent() {
            experiment::search::BASELINE => "no setting looked better than the default".to_owned(),
            best => format!(
                "best so far {} ({} in {}, not confirmed)",
                search.key(best),
                notation::change(search.candidates()[best].effect().exp()),
                text::counted(search.candidates()[best].rounds() as u64, "round")
            ),
        };
        out::note(format_args!(
            "interrupted after {}: {best}; {resume}",
            text::counted(course.trials.into(), "trial")
        ));
        return Ok(failure::cut_short());
    }
    if let Some(confirmed) = confirmation {
        let pruning = confirmed.pruning.as_ref().and_then(|pruned| pruned.early.as_ref());
        let early = Some(&confirmed.end).filter(|end| end.reason.ending().is_early());
        for (what, end) in [("confirmation", early), ("pruning", pruning)] {
            if let Some(end) = end {
                out::note(format_args!(
                    "the {what} ended early ({}): {}; {resume}",
                    end.reason.word(),
                    end.reason
                ));
                return Ok(failure::cut_short());
            }
        }
    }
    let tuned = tuned(design, done, dir);
    let written = write(out, &tuned)?;
    if json {
        out::line(serde_json::to_string_pretty(&tuned)?)?;
    } else {
        out::print(&tuned)?;
        out::line(format!(
            "written: {}",
            written.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")
        ))?;
    }
    let invalid = tuned.confirmation.as_ref().is_some_and(|c| c.verdict == Verdict::Invalid);
    Ok(if invalid { INVALID } else { REACHED })
}
