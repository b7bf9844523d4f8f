//! `schedlab tune`: search, then confirm.

mod answer;
mod design;
mod done;
mod page;

use std::time::Duration;

use anyhow::Result;
use experiment::plan::ArenaKind;
use experiment::study::Verdict;
use files::Dir;
use host::Root;
use tuner::Search;

use crate::cli::{ConductArgs, TuneArgs};
use crate::command::experiment::{give_up_rights, record_options};
use crate::failure::{FAILED, REACHED, VOID};
use crate::out;
use crate::progress::Progress;
use crate::report_files;
use crate::rights;
use answer::{CONFIRM, show_space, tuned, write};
use design::{CONFIRM_SHARE, Design, baseline_point, conduct_args, confirmation_plan, design, header, options};
use done::Done;
use lab::arena::open::within;
use lab::arena::{Arena, ArmIndex};
use lab::output::Output;
use lab::resolve::Resolved;
use lab::resolve::programs::Agreement;
use lab::session;
use lab::signals::Stop;
use lab::tune::log::{Log, LoggedSearch};
use lab::tune::outcome::SearchEnd;
use lab::tune::result::confirmed;
use lab::tune::scored::Scored;
use lab::tune::session::Session;

/// Searches, confirms, reports.
pub(crate) fn tune(root: &Root, args: &TuneArgs) -> Result<u8> {
    give_up_rights(args.arena_kind(), &[], &conduct_args(args))?;
    let design = design(root, args)?;
    if args.space {
        return show_space(&design, args.json);
    }
    let output = Output::of(args.out.clone(), "tune-");
    let conduct = conduct_args(args);
    let (stop, progress) = (Stop::install()?, Progress::new(conduct.quiet || conduct.json));
    let resolved = Resolved::of(design.plan.clone())?;
    let (dir, done) = within(root, resolved, &conduct.opening(Agreement::Given), &stop, &progress, |_, arena| {
        let mut scored = Scored { inner: arena, objective: &design.objective };
        let environment = scored.capture()?;
        let header = header(&design);
        let dir = output.open()?;
        let (mut log, seen) = if args.resume {
            Log::resume(&dir, &header, &environment)?
        } else {
            (Log::create(&dir, &header, &environment)?, LoggedSearch::default())
        };
        if design.plan.arena == ArenaKind::Sim {
            rights::write_only_below(dir.path())?;
        }
        let mut search = Search::new(design.field.space.clone(), baseline_point(&design), options(&design));
        let course = Session {
            field: &design.field,
            constraints: &design.constraints,
            log: &mut log,
            seen,
            time: design.time_s.map(|s| Duration::from_secs_f64(s * (1.0 - CONFIRM_SHARE))),
        }
        .run(&mut search, &design.plan, &mut scored, (&stop, &progress))?;
        let winner = search.chosen().filter(|_| course.why != SearchEnd::Interrupted);
        let Some(winner) = winner else { return Ok((dir, Done { search, course, environment, confirmation: None })) };
        let plan = confirmation_plan(&design, &search, &course, winner)?;
        let confirm = dir.file(CONFIRM);
        let resume = confirm.join(lab::store::RECORD).metadata().is_ok_and(|meta| meta.len() > 0);
        let args = ConductArgs { out: Some(confirm), resume, ..conduct_args(args) };
        let arms = [ArmIndex(0), scored.admit(&plan.arms[1])?];
        let (mut store, record) = session::open(&plan, &record_options(&args), &mut scored, &stop)?;
        let end = lab::conduct::conduct(&plan, &record, &arms, &mut scored, &mut store, (&stop, &progress))?;
        Ok((dir, Done { search, course, environment, confirmation: Some((winner, plan, end)) }))
    })?;
    stop.end_at_once();
    conclude(&dir, &design, &done, args.json)
}

fn conclude(out: &Dir, design: &Design, done: &Done, json: bool) -> Result<u8> {
    let Done { search, course, confirmation, .. } = done;
    let dir = out.path();
    let resume = format!("continue with the same command, --out {} --resume", dir.display());
    if course.why == SearchEnd::Interrupted {
        let best = match search.incumbent() {
            tuner::BASELINE => "no setting looked better than the default".to_owned(),
            best => format!(
                "best so far {} ({:+.1} % in {}, not confirmed)",
                search.key(best),
                (search.candidates()[best].effect().exp() - 1.0) * 100.0,
                text::counted(search.candidates()[best].blocks() as u64, "block")
            ),
        };
        out::note(format_args!("interrupted after {}: {best}; {resume}", text::counted(course.trials.into(), "trial")));
        return Ok(FAILED);
    }
    let mut confirmed_as = None;
    if let Some((winner, plan, end)) = confirmation {
        if end.reason.ending().is_early() {
            out::note(format_args!("the confirmation ended early ({}): {}; {resume}", end.reason.word(), end.reason));
            return Ok(FAILED);
        }
        let below = dir.join(CONFIRM);
        let record = lab::store::read(&below)?;
        let study = experiment::study(&record, None);
        report_files::write_all(&below, &study, Some(&report_files::evidence(&record)))?;
        confirmed_as =
            Some(confirmed(plan, search, *winner, &record.trials, &study, design.alpha, &design.constraints));
    }
    let tuned = tuned(design, done, confirmed_as, dir);
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
    let void = tuned.confirmation.as_ref().is_some_and(|c| c.verdict == Verdict::Void);
    Ok(if void { VOID } else { REACHED })
}
