//! A row of the table of runners, a runner's input, and its result.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use machine::placement::{Placement, TaskCounters};
use machine::session::{Ended, Launch, Running, Share};
use machine::{Device, Session};

use crate::programs::error::{RunnerError, tail};
use crate::programs::options::{DEADLINE, Options, OptionsError};
use text::Field;

/// A runner's target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Device,
    Files,
    /// A file system if the plan has one, else the bare device.
    Either,
    /// CPUs only.
    Cpus,
}

#[derive(Debug)]
pub struct RunnerKind {
    pub name: &'static str,
    /// A line of `schedlab list workloads`.
    pub help: &'static str,
    /// The program and its Debian package; `None` if the user names the program.
    pub program: Option<(&'static str, &'static str)>,
    pub needs: Needs,
    /// False if memory serves its I/O by design, so that it reaches no scheduler.
    pub reaches_device: fn(&Options) -> bool,
    /// Whether it writes to the bare device; on a file system created for it, it may always write.
    pub writes: fn(&Options) -> bool,
    /// Decides, unless the plan names another.
    pub primary: fn(&Options) -> String,
    /// Metrics in no table, each with whether higher is better.
    pub own_metrics: fn(&Options) -> Vec<(String, bool)>,
    pub options: &'static [Field],
    /// Checks across options; `Err` contains the problem and the remedy.
    pub check: fn(&Options) -> Result<(), String>,
    /// What the options start in addition to the program itself: option and words, e.g. `run
    /// "./bench.sh"`. Such options are code: as root, a plan of other origin needs the user's
    /// consent for them.
    pub starts: fn(&Options) -> Vec<String>,
    pub make: fn(&Options) -> Box<dyn Runner>,
}

impl RunnerKind {
    /// For a program with a choice of targets, `on=files`, `on=device` or `on=cpu` decides.
    pub fn needs_with(&self, options: &Options) -> Needs {
        match (self.needs, options.text("on")) {
            (Needs::Either, Some("files")) => Needs::Files,
            (Needs::Either, Some("device")) => Needs::Device,
            (Needs::Either, Some("cpu")) => Needs::Cpus,
            (needs, _) => needs,
        }
    }

    /// Its own options, and those of all runners.
    pub fn all_options(&self) -> impl Iterator<Item = &'static Field> + use<> {
        self.options.iter().chain([&DEADLINE])
    }

    /// Applies options to the row's defaults, and validates them.
    pub fn read<'a>(
        &'static self,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Options, OptionsError> {
        let options = Options::read(self.name, || self.all_options(), pairs)?;
        (self.check)(&options)
            .map_err(|problem| OptionsError::Impossible { runner: self.name, problem })?;
        Ok(options)
    }
}

#[derive(Clone, Copy)]
pub struct Bench<'a> {
    /// Starts and ends every program.
    pub session: &'a Session,
    /// The device under test; `None` in the CPU arena.
    pub device: Option<&'a Device>,
    /// The mount point of the device's file system, if any.
    pub directory: Option<&'a Path>,
    /// Whether the device may be written to.
    pub may_write: bool,
    /// Set when the experiment is interrupted.
    pub stop: &'a AtomicBool,
    pub say: &'a dyn Fn(&str),
    /// Updated while waiting for programs.
    pub stats: &'a ProcessStats,
}

/// A trial's programs, measured from outside.
#[derive(Debug, Default)]
pub struct ProcessStats {
    /// CPU time of schedlab itself while it waited.
    pub own_cpu: Cell<Duration>,
    /// Of the last program that exited.
    pub wall: Cell<Duration>,
    /// The kernel's counters of that program.
    pub task: RefCell<TaskCounters>,
    /// Parts of its placement not in effect at its end: name, requested and found value.
    pub displaced: RefCell<Vec<(&'static str, String, String)>>,
}

impl Bench<'_> {
    /// The device under test, which the arena provides to runners that [`Needs`] one.
    pub fn device(&self) -> &Device {
        self.device.expect("a runner that needs a device gets one")
    }

    /// The mount point, which the arena provides to runners with [`Needs::Files`].
    pub fn files(&self) -> &Path {
        self.directory.expect("a runner that needs files gets a file system")
    }

    /// Runs a program until it exits.
    ///
    /// # Errors
    /// [`RunnerError`] if it cannot be started, exceeds `deadline`, or fails.
    pub fn run(&self, launch: &Launch, deadline: Duration) -> Result<Ended, RunnerError> {
        let running = self.session.start(launch)?;
        self.finish(running, &launch.program.display().to_string(), deadline)
    }

    /// Waits for a started program to exit; `name` is its name in messages.
    pub fn finish(
        &self,
        running: Running,
        name: &str,
        deadline: Duration,
    ) -> Result<Ended, RunnerError> {
        let ended = running.wait(deadline, self.stop)?;
        self.stats.own_cpu.set(self.stats.own_cpu.get() + ended.own_cpu);
        self.stats.wall.set(ended.wall);
        self.stats.task.replace(ended.task.clone());
        self.stats.displaced.replace(ended.displaced.clone());
        let program = name.to_string();
        if ended.stopped {
            return Err(RunnerError::Interrupted);
        }
        if ended.too_long {
            return Err(RunnerError::TooLong {
                program,
                seconds: deadline.as_secs(),
                tail: tail(&ended),
            });
        }
        if !ended.status.success() {
            return Err(RunnerError::Failed {
                program,
                status: ended.status.to_string(),
                tail: tail(&ended),
            });
        }
        Ok(ended)
    }

    /// The error names the Debian package.
    pub fn program(&self, name: &str, package: &str) -> Result<PathBuf, RunnerError> {
        Ok(self.session.program(name, package, "as a workload")?)
    }
}

#[derive(Debug, Clone, Default)]
pub struct Trial {
    /// For programs that take a seed.
    pub seed: u64,
    /// The measured window, for programs that take one.
    pub duration: Duration,
    /// Work before the window.
    pub warmup: Duration,
    /// Total time limit of the program.
    pub deadline: Duration,
    pub share: Share,
    pub placement: Placement,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measurement {
    /// Length of the measurement.
    pub window: Duration,
    /// In the unit of its name.
    pub metrics: BTreeMap<String, f64>,
    /// Number of requests or transactions per percentile in `metrics`.
    pub counts: BTreeMap<String, u64>,
    pub counters: BTreeMap<String, f64>,
    /// The program's own count of its I/O on the device, if it has one.
    pub moved: Option<Moved>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// The device must have counted exactly this: more is another process's I/O.
    pub exact: bool,
}

pub trait Runner: Debug {
    /// The program's version, for the results; fails if it is missing or not supported.
    fn version(&mut self, bench: &Bench<'_>) -> Result<String, RunnerError>;

    /// Prepares for all trials, once; after an error, the experiment is impossible.
    fn prepare(&mut self, _bench: &Bench<'_>) -> Result<(), RunnerError> {
        Ok(())
    }

    /// Restores the state before the first trial; no process of the program remains. After an
    /// error, the next trial is impossible.
    fn reset(&mut self, _bench: &Bench<'_>) -> Result<(), RunnerError> {
        Ok(())
    }

    /// Measures one trial; after an error, it is invalid.
    fn measure(&mut self, bench: &Bench<'_>, trial: &Trial) -> Result<Measurement, RunnerError>;

    /// Remarks for the results after [`Runner::prepare`], e.g. its duration.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}
