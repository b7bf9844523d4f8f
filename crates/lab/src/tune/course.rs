//! The stages of a search: search, confirmation, pruning.

use std::time::Duration;

use anyhow::Result;
use experiment::plan::{Plan, Variant};
use experiment::results::{End, Environment, Results};
use experiment::search::Search;
use machine::Root;
use machine::files::Dir;

use super::design::{CONFIRM_SHARE, Design};
use super::log::{Log, LoggedSearch};
use super::outcome::{SearchEnd, SearchSummary};
use super::pruning::{Remaining, prune};
use super::result::{Confirmation, Pruning, confirmed};
use super::scored::Scored;
use super::session::Session;
use crate::arena::Arena;
use crate::arena::open::{OpenOptions, within};
use crate::console::Console;
use crate::output::Output;
use crate::run::{Destination, Experiment, Hooks, Pilot, Place};
use crate::session::ResultsOptions;
use crate::store::{self, RESULTS};

/// Subdirectory of the confirmation.
pub const CONFIRM: &str = "confirm";

pub struct Order<'a> {
    pub root: &'a Root,
    pub opening: &'a OpenOptions,
    pub output: &'a Output,
    pub resume: bool,
    /// The command line, for repeating the search.
    pub command: &'a str,
    pub hooks: &'a dyn Hooks,
}

pub struct Done {
    pub search: Search,
    pub course: SearchSummary,
    pub environment: Environment,
    /// None: nothing looked better, or interrupted.
    pub confirmation: Option<Confirmed>,
}

pub struct Confirmed {
    /// Index among the candidates.
    pub winner: usize,
    pub plan: Plan,
    pub end: End,
    /// None if the comparison ended early.
    pub shown: Option<Confirmation>,
    /// None unless the winner was confirmed.
    pub pruning: Option<Pruned>,
}

pub struct Pruned {
    pub shown: Pruning,
    pub variant: Variant,
    /// How the last comparison ended, if early.
    pub early: Option<End>,
}

/// Searches, confirms and prunes; also returns the directory of the results.
pub fn run(design: &Design, order: &Order<'_>, console: Console<'_>) -> Result<(Dir, Done)> {
    within(order.root, design.resolved.clone(), order.opening, console, |_, arena| {
        let mut scored = Scored { inner: arena, objective: &design.objective };
        let environment = scored.capture()?;
        let dir = order.output.open()?;
        let (mut log, seen) = if order.resume {
            Log::resume(&dir, &design.header(), &environment)?
        } else {
            (Log::create(&dir, &design.header(), &environment)?, LoggedSearch::default())
        };
        order.hooks.begin(&design.resolved.plan, Some(dir.path()))?;
        let mut search =
            Search::new(design.field.space.clone(), design.baseline_point(), design.options());
        let course = Session {
            field: &design.field,
            constraints: &design.constraints,
            log: &mut log,
            seen,
            time: design.time_s.map(|s| Duration::from_secs_f64(s * (1.0 - CONFIRM_SHARE))),
        }
        .run(&mut search, &design.resolved.plan, &mut scored, console)?;
        let winner = search.chosen().filter(|_| course.why != SearchEnd::Interrupted);
        let mut done = Done { search, course, environment, confirmation: None };
        if let Some(winner) = winner {
            let bench = Bench { design, order, dir: &dir, console };
            done.confirmation = Some(bench.confirm(&done, winner, &mut scored)?);
        }
        Ok((dir, done))
    })
}

/// Runs the comparisons after a search.
pub(super) struct Bench<'a> {
    pub(super) design: &'a Design,
    order: &'a Order<'a>,
    dir: &'a Dir,
    console: Console<'a>,
}

impl Bench<'_> {
    fn confirm(&self, done: &Done, winner: usize, arena: &mut Scored<'_>) -> Result<Confirmed> {
        let Done { search, course, .. } = done;
        let plan = self.design.confirmation_plan(search, course, winner)?;
        let end = self.compare(&plan, CONFIRM, arena)?;
        let mut confirmation = Confirmed { winner, plan, end, shown: None, pruning: None };
        if confirmation.end.reason.ending().is_early() {
            return Ok(confirmation);
        }
        let results = self.conclude(CONFIRM)?;
        let analysis = experiment::analyze(&results, None);
        let Design { alpha, constraints, .. } = self.design;
        let shown = confirmed(
            &confirmation.plan,
            search,
            winner,
            &results.trials,
            &analysis,
            *alpha,
            constraints,
        );
        if shown.holds() {
            let remaining = Remaining {
                trials: self
                    .design
                    .trials
                    .saturating_sub(course.trials)
                    .saturating_sub(results.trials.len() as u32),
                time_s: self
                    .design
                    .time_s
                    .map(|s| s - course.spent.as_secs_f64() - confirmation.end.at_ms as f64 / 1e3),
            };
            confirmation.pruning = Some(prune(self, search, winner, &shown, remaining, arena)?);
        }
        confirmation.shown = Some(shown);
        Ok(confirmation)
    }

    /// Starts or resumes a comparison.
    pub(super) fn compare(&self, plan: &Plan, name: &str, arena: &mut dyn Arena) -> Result<End> {
        let below = self.dir.file(name);
        let resume = below.join(RESULTS).metadata().is_ok_and(|meta| meta.len() > 0);
        let command = self.order.command.to_owned();
        let experiment = Experiment {
            place: Place::Open { plan: plan.clone(), arena },
            pilot: Pilot::Skipped("the search was made of trials of this length"),
            results: Destination::Directory(ResultsOptions {
                output: Output::Named(below),
                resume,
                command,
            }),
            hooks: &(),
        };
        Ok(crate::run::run(experiment, self.console)?.end)
    }

    /// Reads a comparison's results and calls the hooks.
    pub(super) fn conclude(&self, name: &str) -> Result<Results> {
        let below = self.dir.file(name);
        let results = store::read(&below)?;
        self.order.hooks.concluded(&below, &results)?;
        Ok(results)
    }
}
