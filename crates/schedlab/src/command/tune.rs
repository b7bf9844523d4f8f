//! `schedlab tune`: search, then confirm.

mod answer;
mod design;
mod done;
mod page;
mod pruning;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use experiment::plan::ArenaKind;
use experiment::record::Record;
use experiment::study::Verdict;
use files::Dir;
use host::Root;
use tuner::Search;

use crate::cli::{ConductArgs, TuneArgs};
use crate::command::experiment::{give_up_rights, record_options};
use crate::failure::{self, REACHED, VOID};
use crate::out;
use crate::progress::Progress;
use crate::report_files;
use crate::rights;
use answer::{CONFIRM, show_space, tuned, write};
use design::{CONFIRM_SHARE, Design, baseline_point, conduct_args, confirmation_plan, design, header, options};
use done::{Confirmed, Done};
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
use pruning::prune;

/// Searches, confirms, reports.
pub(crate) fn tune(root: &Root, args: &TuneArgs) -> Result<u8> {
    give_up_rights(args.arena_kind(), &[], (args.out.as_deref(), &args.monitor))?;
    let design = design(root, args)?;
    if args.space {
        return show_space(&design, args);
    }
    let output = Output::of(args.out.clone(), "tune-");
    let conduct = conduct_args(args);
    let (stop, progress) = (Stop::install()?, Progress::watched(conduct.quiet || conduct.json, &args.monitor)?);
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
            let all: Vec<&Path> = [dir.path()].into_iter().chain(args.monitor.directory()).collect();
            rights::write_only_below(&all)?;
        }
        progress.monitor().map_or(Ok(()), |monitor| monitor.serve(&design.plan))?;
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
        let conduct = ConductArgs { out: Some(confirm), resume, ..conduct_args(args) };
        let arms = [ArmIndex(0), scored.admit(&plan.arms[1])?];
        let (mut store, record) = session::open(&plan, &record_options(&conduct), &mut scored, &stop)?;
        let end = lab::conduct::conduct(&plan, &record, &arms, &mut scored, &mut store, (&stop, &progress))?;
        let mut confirmed = Confirmed { winner, plan, end, shown: None, pruning: None };
        if !confirmed.end.reason.ending().is_early() {
            let record = lab::store::read(&dir.file(CONFIRM))?;
            confirmed.look(&design, &search, &record, &dir)?;
            if let Some(shown) = confirmed.shown.as_ref().filter(|shown| shown.holds()) {
                let spent = (record.trials.len() as u32, confirmed.end.at_ms as f64 / 1e3);
                let seen = (winner, shown, spent);
                let ends = (&stop, &progress);
                confirmed.pruning = Some(prune(&design, (&search, &course), seen, (&dir, args), &mut scored, ends)?);
            }
        }
        Ok((dir, Done { search, course, environment, confirmation: Some(confirmed) }))
    })?;
    if let Some(monitor) = progress.monitor() {
        monitor.ended(if done.course.why == SearchEnd::Interrupted { "interrupted" } else { "searched" });
    }
    stop.end_at_once(out::report_cut);
    conclude(&dir, &design, &done, args.json)
}

impl Confirmed {
    /// Studies the comparison, and writes its reports.
    fn look(&mut self, design: &Design, search: &Search, record: &Record, dir: &Dir) -> Result<()> {
        let study = experiment::study(record, None);
        report_files::write_all(&dir.file(CONFIRM), &study, Some(&report_files::evidence(record)))?;
        let (alpha, constraints) = (design.alpha, &design.constraints);
        self.shown = Some(confirmed(&self.plan, search, self.winner, &record.trials, &study, alpha, constraints));
        Ok(())
    }
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
        return Ok(failure::cut_short());
    }
    if let Some(confirmed) = confirmation {
        let pruning = confirmed.pruning.as_ref().and_then(|pruned| pruned.early.as_ref());
        let early = Some(&confirmed.end).filter(|end| end.reason.ending().is_early());
        for (what, end) in [("confirmation", early), ("pruning", pruning)] {
            if let Some(end) = end {
                out::note(format_args!("the {what} ended early ({}): {}; {resume}", end.reason.word(), end.reason));
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
    let void = tuned.confirmation.as_ref().is_some_and(|c| c.verdict == Verdict::Void);
    Ok(if void { VOID } else { REACHED })
}
