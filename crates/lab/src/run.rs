//! One experiment, from a resolved plan to its results: the only place that conducts one.
//!
//! open the arena → pilot run → open the results → measure → restore the machine.
//! Every command that measures a comparison comes through here, and says what is particular about
//! its own in [`Experiment`].

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

/// An experiment to be run.
pub struct Experiment<'a> {
    pub place: Place<'a>,
    pub pilot: Pilot<'a>,
    pub results: Destination<'a>,
    pub hooks: &'a dyn Hooks,
}

/// What is measured, and where.
pub enum Place<'a> {
    /// In an arena that is opened for this plan, and closed whatever happens.
    New { resolved: Resolved, root: &'a Root, opening: &'a OpenOptions },
    /// In an arena that is open, and stays so.
    Open { plan: Plan, arena: &'a mut dyn Arena },
}

/// The trial of each workload before the first round, which can make all trials longer (see
/// [`crate::pilot`]).
pub enum Pilot<'a> {
    /// It is made, unless results are resumed. `asked` is the length of trials that the user has
    /// set.
    Run { asked: &'a TrialLength },
    /// It was made elsewhere: the plan has its lengths, and these are its notes.
    Done(Vec<Note>),
    /// The plan's lengths stand, for this reason.
    Skipped(&'static str),
}

/// Where the results go.
pub enum Destination<'a> {
    /// Into a directory, or on with those that are there.
    Directory(ResultsOptions),
    /// Into memory. `command` is what repeats the experiment.
    Memory { command: &'a str },
    /// Into a log that has the beginning of this results file.
    Begun { results: Box<Results>, log: &'a mut dyn ResultsLog },
}

/// What a caller does along the way.
pub trait Hooks {
    /// Looks at the arena, and may refuse it, before anything is measured or written.
    ///
    /// # Errors
    /// The refusal.
    fn check(&self, _arena: &mut dyn Arena) -> Result<()> {
        Ok(())
    }

    /// The plan has the length of its trials.
    fn planned(&self, _plan: &Plan) {}

    /// The results are open, in this directory if they have one, and measuring begins.
    ///
    /// # Errors
    /// Whatever the caller cannot do without.
    fn begin(&self, _plan: &Plan, _dir: Option<&Path>) -> Result<()> {
        Ok(())
    }

    /// One of several comparisons of a larger operation is over, and its results are in this
    /// directory.
    ///
    /// # Errors
    /// The caller cannot report it.
    fn concluded(&self, _dir: &Path, _results: &Results) -> Result<()> {
        Ok(())
    }
}

/// Nothing along the way.
impl Hooks for () {}

/// How an experiment ended.
#[derive(Debug)]
pub struct Outcome {
    pub end: End,
    pub kept: Kept,
}

/// Where the results are.
#[derive(Debug)]
pub enum Kept {
    Directory(PathBuf),
    Memory(Vec<u8>),
    /// In the log of [`Destination::Begun`].
    Log,
}

impl Kept {
    /// The directory of [`Destination::Directory`].
    ///
    /// # Panics
    /// If the results went elsewhere.
    pub fn directory(self) -> PathBuf {
        match self {
            Kept::Directory(dir) => dir,
            Kept::Memory(_) | Kept::Log => unreachable!("the results go into a directory"),
        }
    }
}

/// Runs an experiment to its end.
///
/// # Errors
/// Those of opening the arena, of measuring, of the results, of the hooks, and of restoring the
/// machine. What was measured is kept.
pub fn run(experiment: Experiment<'_>, console: Console<'_>) -> Result<Outcome> {
    let Experiment { place, pilot, results, hooks } = experiment;
    match place {
        Place::New { resolved, root, opening } => {
            // An arena that is opened for a plan has its variants, in their order.
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

/// What is left of an experiment when its arena is open.
struct Steps<'a> {
    /// The plan's variants in the arena.
    variants: Vec<VariantIndex>,
    pilot: Pilot<'a>,
    results: Destination<'a>,
    hooks: &'a dyn Hooks,
    traces: Option<Format>,
}

/// Where the results go while they grow.
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
