//! Measures, reads and merges the cells of an atlas.

use std::time::Instant;

use anyhow::{Context, Result, bail};
use experiment::atlas::Cell;
use experiment::plan::{Budget, Plan};
use experiment::results::{End, Ending, Results};
use machine::Root;
use machine::files::{Bounded, Dir};
use text::build;
use text::limits::RESULTS_BYTES;

use super::across::Across;
use super::{CELLS, Planned};
use crate::arena::open::OpenOptions;
use crate::console::Console;
use crate::output::Output;
use crate::resolve::Resolved;
use crate::run::{Destination, Experiment, Pilot, Place, run};
use crate::session::ResultsOptions;
use crate::store::{self, RESULTS};

/// The command that repeats a cell, run next to its plan.
const COMMAND: &str = "schedlab run plan.toml";

#[derive(Debug)]
pub enum Looked {
    Missing,
    /// Results without an end: the share of the rounds.
    Unfinished,
    Whole(Box<Cell>),
    /// Results of something else, and why.
    Foreign(String),
}

/// Reads a cell in the directory of an atlas. Follows no links and reads only regular files.
pub fn look(dir: &Dir, cell: &Planned) -> Looked {
    let results = match recorded(dir, cell) {
        Ok(None) => return Looked::Missing,
        Ok(Some(results)) => results,
        Err(error) => return Looked::Foreign(format!("{error:#}")),
    };
    let at = || dir.path().join(CELLS).join(&cell.dir);
    let remove = "remove the directory to measure the cell again";
    if let Some(why) = build::difference(&results.header.schedlab, build::identity()) {
        return Looked::Foreign(format!("{}: {why}; {remove}", at().display()));
    }
    if !is_of(&results, &cell.plan) {
        return Looked::Foreign(format!(
            "{}: the results file of another plan; {remove}",
            at().display()
        ));
    }
    if !is_whole(&results) {
        return Looked::Unfinished;
    }
    match Cell::of(&cell.about(), &results) {
        Some(of) => Looked::Whole(Box::new(of)),
        None => Looked::Foreign(format!("{}: its plan has no metric that decides", at().display())),
    }
}

fn recorded(dir: &Dir, cell: &Planned) -> Result<Option<Results>> {
    held(dir, cell)?.map_or(Ok(None), |at| store::read_in(&at))
}

fn held(dir: &Dir, cell: &Planned) -> Result<Option<Dir>> {
    let Some(cells) = dir.subdir_if_exists(CELLS)? else { return Ok(None) };
    Ok(cells.subdir_if_exists(&cell.dir)?)
}

fn is_whole(results: &Results) -> bool {
    results.end.as_ref().is_some_and(|end| !end.reason.ending().is_early())
}

/// Whether results belong to this plan, regardless of the time budget.
fn is_of(results: &Results, plan: &Plan) -> bool {
    let comparable = |plan: &Plan| Plan {
        budget: Budget { time_s: 0.0, ..plan.budget.clone() },
        ..plan.clone()
    };
    comparable(&results.header.plan) == comparable(plan)
}

/// Measures these cells one after another, each on all CPUs unless `opening` limits it. Continues
/// unfinished cells. Returns the signal that ended it, if any.
pub fn measure(
    dir: &Dir,
    cells: &[&Planned],
    opening: &OpenOptions,
    console: Console<'_>,
) -> Result<Option<End>> {
    let progress = console.progress;
    let (began, of) = (Instant::now(), cells.len());
    for (done, cell) in cells.iter().enumerate() {
        let name = format!("{} · {} · {}", cell.key.arena, cell.key.device, cell.key.workload);
        let across = Across { shown: progress, began, done, of, name };
        let end = one(dir, cell, opening, Console { progress: &across, ..console })
            .with_context(|| format!("cell {}", cell.dir))?;
        if matches!(end.reason.ending(), Ending::Interrupted | Ending::Failed) {
            return Ok(Some(end));
        }
    }
    progress.clear();
    Ok(None)
}

fn one(dir: &Dir, cell: &Planned, opening: &OpenOptions, console: Console<'_>) -> Result<End> {
    let at = dir.subdir(CELLS)?.subdir(&cell.dir)?;
    let begun = at.open_if_exists(RESULTS)?.map(|file| file.metadata()).transpose()?;
    let resume = begun.is_some_and(|found| found.len() > 0);
    let options = ResultsOptions {
        output: Output::Named(at.path().to_owned()),
        resume,
        command: COMMAND.to_owned(),
    };
    let experiment = Experiment {
        place: Place::New {
            resolved: Resolved::read(cell.plan.clone())?,
            root: &Root::real(),
            opening,
        },
        pilot: Pilot::Skipped(
            "a cell is one plan on every machine that measures a part of the atlas",
        ),
        results: Destination::Directory(options),
        hooks: &(),
    };
    Ok(run(experiment, console)?.end)
}

/// Copies the complete cells of `from` that are missing in `dir`, and counts them.
///
/// # Errors
/// Cells present in both differ, or one cannot be copied.
pub fn adopt(dir: &Dir, from: &Dir, cells: &[Planned]) -> Result<usize> {
    let mut adopted = 0;
    for cell in cells {
        let theirs = match look(from, cell) {
            Looked::Whole(theirs) => theirs,
            Looked::Missing | Looked::Unfinished => continue,
            Looked::Foreign(why) => bail!("{}: {why}", from.path().display()),
        };
        match look(dir, cell) {
            Looked::Whole(ours) if ours == theirs => continue,
            Looked::Whole(_) => bail!(
                "cell {}: the figures in {} and {} differ, although one build gives equal results on every machine; remove the wrong one",
                cell.dir,
                dir.path().display(),
                from.path().display()
            ),
            Looked::Foreign(why) => bail!("{}: {why}", dir.path().display()),
            Looked::Missing | Looked::Unfinished => {}
        }
        let Some(source) = held(from, cell)? else { continue };
        let at = dir.subdir(CELLS)?.subdir(&cell.dir)?;
        let missing = || format!("{}: cannot copy", source.file(RESULTS).display());
        let bytes = RESULTS_BYTES
            .read(source.open_if_exists(RESULTS)?.with_context(missing)?)
            .with_context(missing)?;
        // Use the design's plan; a part's own plan file may differ.
        at.replace("plan.toml", cell.plan.to_toml().as_bytes())?;
        at.replace(RESULTS, &bytes)?;
        adopted += 1;
    }
    Ok(adopted)
}
