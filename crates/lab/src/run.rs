//! Runs one experiment, from a resolved plan to its results: open the arena, pilot run, open the
//! results, measure, restore the machine.

use std::path::{Path, PathBuf};

use anyhow::Result;
use experiment::plan::{Plan, TrialLength};
use experiment::results::{End, Note, Results};
use machine::Root;

use crate::arena::open::{OpenOptions, within};
use crate::arena::{Arena, VariantIndex};
use crate::conduct::conduct;
use crate::console::Console;
use crate::driver::ResultsLog;
use crate::pilot::{PilotRun, run_pilots};
use crate::resolve::Resolved;
use crate::session::{self, ResultsOptions};
use crate::store::{Memory, Store, TRACES};
use crate::trace_file::{Format, TraceFile};

pub struct Experiment<'a> {
    pub place: Place<'a>,
    pub pilot: Pilot<'a>,
    pub results: Destination<'a>,
    pub hooks: &'a dyn Hooks,
}

pub enum Place<'a> {
    /// Opens an arena for this plan and always closes it.
    New { resolved: Resolved, root: &'a Root, opening: &'a OpenOptions },
    /// Uses an open arena, which stays open.
    Open { plan: Plan, arena: &'a mut dyn Arena },
}

/// How the trial length is fixed before the first round; see [`crate::pilot`].
pub enum Pilot<'a> {
    /// Run the pilots, unless results are resumed. `asked` is the trial length set by the user.
    Run { asked: &'a TrialLength },
    /// Run elsewhere: the plan has the final lengths, and these are the notes.
    Done(Vec<Note>),
    /// Not run, for this reason; the plan's lengths apply.
    Skipped(&'static str),
}

pub enum Destination<'a> {
    /// A new directory, or one to resume.
    Directory(ResultsOptions),
    /// `command` repeats the experiment.
    Memory { command: &'a str },
    /// A log that already holds the beginning of this results file.
    Begun { results: Box<Results>, log: &'a mut dyn ResultsLog },
}

pub trait Hooks {
    /// Called before anything is measured or written. An error refuses the arena.
    fn check(&self, _arena: &mut dyn Arena) -> Result<()> {
        Ok(())
    }

    /// Called when the plan has its final trial length.
    fn planned(&self, _plan: &Plan) {}

    /// Called when measuring begins, with the results directory if there is one.
    fn begin(&self, _plan: &Plan, _dir: Option<&Path>) -> Result<()> {
        Ok(())
    }

    /// Called after one of several comparisons of a larger operation.
    fn concluded(&self, _dir: &Path, _results: &Results) -> Result<()> {
        Ok(())
    }
}

impl Hooks for () {}

#[derive(Debug)]
pub struct Outcome {
    pub end: End,
    pub kept: Kept,
}

#[derive(Debug)]
pub enum Kept {
    Directory(PathBuf),
    Memory(Vec<u8>),
    Log,
}

impl Kept {
    pub fn directory(self) -> PathBuf {
        match self {
            Kept::Directory(dir) => dir,
            Kept::Memory(_) | Kept::Log => unreachable!("the results go into a directory"),
        }
    }
}

/// Runs an experiment to its end. Measured results are kept on errors too.
pub fn run(experiment: Experiment<'_>, console: Console<'_>) -> Result<Outcome> {
    let Experiment { place, pilot, results, hooks } = experiment;
    match place {
        Place::New { resolved, root, opening } => {
            // An arena opened for a plan has its variants in the same order.
            let variants = (0..resolved.plan.variants.len()).map(VariantIndex).collect();
            let steps = Steps { variants, pilot, results, hooks, traces: opening.trace };
            let work = |plan: &Plan, arena: &mut dyn Arena| measure(plan, arena, steps, console);
            within(root, resolved, opening, console, work)
        }
        Place::Open { plan, arena } => {
            let variants =
                plan.variants.iter().map(|variant| arena.admit(variant)).collect::<Result<_>>()?;
            let steps = Steps { variants, pilot, results, hooks, traces: None };
            measure(&plan, arena, steps, console)
        }
    }
}

struct Steps<'a> {
    variants: Vec<VariantIndex>,
    pilot: Pilot<'a>,
    results: Destination<'a>,
    hooks: &'a dyn Hooks,
    traces: Option<Format>,
}

enum OpenLog<'a> {
    Directory(Store),
    Memory(Memory),
    Caller(&'a mut dyn ResultsLog),
}

fn measure(
    plan: &Plan,
    arena: &mut dyn Arena,
    steps: Steps<'_>,
    console: Console<'_>,
) -> Result<Outcome> {
    let Steps { variants, pilot, results, hooks, traces } = steps;
    hooks.check(arena)?;
    let is_resumed = matches!(&results, Destination::Directory(options) if options.resume);
    let PilotRun { plan, notes } = match pilot {
        Pilot::Run { asked } if !is_resumed => run_pilots(plan, asked, &variants, arena, console)?,
        Pilot::Done(notes) if !is_resumed => PilotRun { plan: plan.clone(), notes },
        _ => PilotRun { plan: plan.clone(), notes: Vec::new() },
    };
    hooks.planned(&plan);
    let (results, mut log) = match results {
        Destination::Directory(options) => {
            let (mut store, mut results) = session::open(&plan, &options, arena, console.stop)?;
            session::append_notes(&mut store, &mut results, notes)?;
            (results, OpenLog::Directory(store))
        }
        Destination::Memory { command } => {
            let (mut memory, mut results) = session::in_memory(&plan, command, arena)?;
            session::append_notes(&mut memory, &mut results, notes)?;
            (results, OpenLog::Memory(memory))
        }
        Destination::Begun { results, log } => (*results, OpenLog::Caller(log)),
    };
    let store = if let OpenLog::Directory(store) = &log { Some(store) } else { None };
    hooks.begin(&plan, store.map(Store::dir))?;
    if let (Some(format), Some(store)) = (traces, store) {
        let files = TraceFile::new(format, store.subdir(TRACES)?)?;
        arena.trace(files.keep_earlier(&results));
    }
    let kept: &mut dyn ResultsLog = match &mut log {
        OpenLog::Directory(store) => store,
        OpenLog::Memory(memory) => memory,
        OpenLog::Caller(log) => *log,
    };
    let end = conduct(&plan, &results, &variants, arena, kept, console)?;
    let kept = match log {
        OpenLog::Directory(store) => Kept::Directory(store.dir().to_path_buf()),
        OpenLog::Memory(memory) => Kept::Memory(memory.into_bytes()),
        OpenLog::Caller(_) => Kept::Log,
    };
    Ok(Outcome { end, kept })
}
