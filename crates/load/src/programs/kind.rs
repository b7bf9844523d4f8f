//! A row of the table of runners, and a runner's input and result.

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Device,
    Files,
    /// A file system if the plan has one.
    Either,
    Cpus,
}

#[derive(Debug)]
pub struct RunnerKind {
    pub name: &'static str,
    /// For `schedlab list workloads`.
    pub help: &'static str,
    /// With its Debian package; `None` if the user names it.
    pub program: Option<(&'static str, &'static str)>,
    pub needs: Needs,
    /// False if memory serves its I/O by design.
    pub reaches_device: fn(&Options) -> bool,
    /// Whether it writes to a bare device.
    pub writes: fn(&Options) -> bool,
    /// The default of plans.
    pub primary: fn(&Options) -> String,
    /// Metrics in no table, each with whether higher is better.
    pub own_metrics: fn(&Options) -> Vec<(String, bool)>,
    pub options: &'static [Field],
    /// Checks across options; `Err` has problem and remedy.
    pub check: fn(&Options) -> Result<(), String>,
    /// Option and words, e.g. `run "./bench.sh"`. These options are code: as root, a plan of other
    /// origin needs the user's consent.
    pub starts: fn(&Options) -> Vec<String>,
    pub make: fn(&Options) -> Box<dyn Runner>,
}

impl RunnerKind {
    /// Evaluates `on=files`, `on=device` or `on=cpu`, if the program has a choice.
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

    /// Applies options to the row's defaults.
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
    pub session: &'a Session,
    /// `None` in the CPU arena.
    pub device: Option<&'a Device>,
    /// The mount point of the device's file system.
    pub directory: Option<&'a Path>,
    pub may_write: bool,
    pub stop: &'a AtomicBool,
    pub say: &'a dyn Fn(&str),
    pub stats: &'a ProcessStats,
}

/// A trial's programs, measured from outside.
#[derive(Debug, Default)]
pub struct ProcessStats {
    /// Of schedlab itself while it waited.
    pub own_cpu: Cell<Duration>,
    /// Run time of the last program.
    pub wall: Cell<Duration>,
    /// Counters of the last program.
    pub task: RefCell<TaskCounters>,
    /// Name, requested and found value of parts of the placement not in effect.
    pub displaced: RefCell<Vec<(&'static str, String, String)>>,
}

impl Bench<'_> {
    /// The arena provides it to runners that [`Needs`] one.
    pub fn device(&self) -> &Device {
        self.device.expect("a runner that needs a device gets one")
    }

    /// The arena provides it to runners with [`Needs::Files`].
    pub fn files(&self) -> &Path {
        self.directory.expect("a runner that needs files gets a file system")
    }

    /// [`RunnerError`] if it cannot be started, exceeds `deadline`, or fails.
    pub fn run(&self, launch: &Launch, deadline: Duration) -> Result<Ended, RunnerError> {
        let running = self.session.start(launch)?;
        self.finish(running, &launch.program.display().to_string(), deadline)
    }

    /// `name` is for messages.
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
        self.stats.displaced.replace(ended.placement_deviations.clone());
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
    /// The seed, for programs that take one.
    pub seed: u64,
    /// Of the window, for programs that take one.
    pub duration: Duration,
    pub warmup: Duration,
    /// Time limit of the whole program.
    pub deadline: Duration,
    pub share: Share,
    pub placement: Placement,
    /// The variant's own command line, which `{run}` stands for.
    pub run: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measurement {
    pub window: Duration,
    /// In the unit of its name.
    pub metrics: BTreeMap<String, f64>,
    /// Requests or transactions per percentile in `metrics`.
    pub counts: BTreeMap<String, u64>,
    pub counters: BTreeMap<String, f64>,
    /// The program's own count, if it has one.
    pub moved: Option<Moved>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// If true, more on the device is another process's I/O.
    pub exact: bool,
}

pub trait Runner: Debug {
    /// Fails if the program is missing or not supported.
    fn version(&mut self, bench: &Bench<'_>) -> Result<String, RunnerError>;

    /// Called once. After an error, the experiment is impossible.
    fn prepare(&mut self, _bench: &Bench<'_>) -> Result<(), RunnerError> {
        Ok(())
    }

    /// Restores the state before the first trial, without processes of the program. After an error,
    /// the next trial is impossible.
    fn reset(&mut self, _bench: &Bench<'_>) -> Result<(), RunnerError> {
        Ok(())
    }

    /// Measures a trial, which is invalid after an error.
    fn measure(&mut self, bench: &Bench<'_>, trial: &Trial) -> Result<Measurement, RunnerError>;

    /// E.g. the duration of [`Runner::prepare`].
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}
