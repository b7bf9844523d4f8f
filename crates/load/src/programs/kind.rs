//! A row of the table of runners, what a runner receives, and what it returns.

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

/// What a runner works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Device,
    Files,
    /// A file system if the plan has one, else the bare device.
    Either,
    /// CPUs alone, and no device.
    Cpus,
}

#[derive(Debug)]
pub struct RunnerKind {
    pub name: &'static str,
    /// One line of `schedlab list workloads`.
    pub help: &'static str,
    /// The program and its Debian package; None where the user names it.
    pub program: Option<(&'static str, &'static str)>,
    pub needs: Needs,
    /// False if its I/O is served from memory by design, so that no scheduler ever sees it.
    pub reaches_device: fn(&Options) -> bool,
    /// Whether it writes to the bare device; on a file system that is made for it everything may be
    /// written anyway.
    pub writes: fn(&Options) -> bool,
    /// The metric that decides, unless the plan names another.
    pub primary: fn(&Options) -> String,
    /// Metrics of its own that no table knows, each with whether more is better.
    pub own_metrics: fn(&Options) -> Vec<(String, bool)>,
    pub options: &'static [Field],
    /// Checks across options; Err holds what is wrong and what to do.
    pub check: fn(&Options) -> Result<(), String>,
    /// What the options make it start beside its own program with schedlab's arguments: option and
    /// words, e.g. `run "./bench.sh"`. Options with such words are code: in a plan from elsewhere
    /// they need the user's consent as root.
    pub starts: fn(&Options) -> Vec<String>,
    pub make: fn(&Options) -> Box<dyn Runner>,
}

impl RunnerKind {
    /// What it works on with these options: for a program that can work on either, `on=files`,
    /// `on=device` or `on=cpu` decides.
    pub fn needs_with(&self, options: &Options) -> Needs {
        match (self.needs, options.text("on")) {
            (Needs::Either, Some("files")) => Needs::Files,
            (Needs::Either, Some("device")) => Needs::Device,
            (Needs::Either, Some("cpu")) => Needs::Cpus,
            (needs, _) => needs,
        }
    }

    /// Its own options, and those that all runners accept.
    pub fn all_options(&self) -> impl Iterator<Item = &'static Field> + use<> {
        self.options.iter().chain([&DEADLINE])
    }

    /// Reads options on top of the row's defaults and checks them.
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
    /// Starts every program, and ends it.
    pub session: &'a Session,
    /// The device under test; None in the CPU arena.
    pub device: Option<&'a Device>,
    /// The mount point of the file system on it, if there is one.
    pub directory: Option<&'a Path>,
    /// Whether the device may be written to.
    pub may_write: bool,
    /// Set when the experiment is interrupted.
    pub stop: &'a AtomicBool,
    pub say: &'a dyn Fn(&str),
    /// Filled in while programs are waited for.
    pub stats: &'a ProcessStats,
}

/// What was measured of the programs of a trial from outside.
#[derive(Debug, Default)]
pub struct ProcessStats {
    /// CPU time that schedlab itself used while it waited.
    pub own_cpu: Cell<Duration>,
    /// How long the program that ended last ran.
    pub wall: Cell<Duration>,
    /// What the kernel counted for it.
    pub task: RefCell<TaskCounters>,
    /// Parts of the placement that it did not have at its end: name, requested, found.
    pub displaced: RefCell<Vec<(&'static str, String, String)>>,
}

impl Bench<'_> {
    /// The device under test.
    ///
    /// # Panics
    /// For a runner that [`Needs`] one the arena has one.
    pub fn device(&self) -> &Device {
        self.device.expect("a runner that needs a device gets one")
    }

    /// The directory of the file system.
    ///
    /// # Panics
    /// For a runner that [`Needs::Files`] the arena has made one.
    pub fn files(&self) -> &Path {
        self.directory.expect("a runner that needs files gets a file system")
    }

    /// Runs a program to its end.
    ///
    /// # Errors
    /// [`RunnerError`] when it cannot be started, takes longer than `deadline`, or ends with
    /// another status than 0.
    pub fn run(&self, launch: &Launch, deadline: Duration) -> Result<Ended, RunnerError> {
        let running = self.session.start(launch)?;
        self.finish(running, &launch.program.display().to_string(), deadline)
    }

    /// Waits for the end of a program that was started; `name` is what messages call it.
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

    /// Where a program is.
    ///
    /// # Errors
    /// With the Debian package that has it.
    pub fn program(&self, name: &str, package: &str) -> Result<PathBuf, RunnerError> {
        Ok(self.session.program(name, package, "as a workload")?)
    }
}

#[derive(Debug, Clone, Default)]
pub struct Trial {
    /// Seed of random choices, for programs that take one.
    pub seed: u64,
    /// The measured window, for programs that take one.
    pub duration: Duration,
    /// Work before the window.
    pub warmup: Duration,
    /// How long the program may take in all.
    pub deadline: Duration,
    pub share: Share,
    /// Its nice value, policy, affinity and so on.
    pub placement: Placement,
    /// The variant's own command line, which `{run}` stands for.
    pub run: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measurement {
    /// Length of what was measured.
    pub window: Duration,
    /// Value of each metric, in the unit of its name.
    pub metrics: BTreeMap<String, f64>,
    /// How many requests or transactions each percentile of `metrics` rests on.
    pub counts: BTreeMap<String, u64>,
    pub counters: BTreeMap<String, f64>,
    /// What the program reports to have read from and written to the device, if it counts.
    pub moved: Option<Moved>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// The device must have counted exactly these: more is I/O of another process.
    pub exact: bool,
}

pub trait Runner: Debug {
    /// The version of the program, for the record.
    ///
    /// # Errors
    /// The program is missing, or of a version that cannot be used.
    fn version(&mut self, bench: &Bench<'_>) -> Result<String, RunnerError>;

    /// Makes what every trial needs; once, before the first.
    ///
    /// # Errors
    /// The experiment is impossible.
    fn prepare(&mut self, _bench: &Bench<'_>) -> Result<(), RunnerError> {
        Ok(())
    }

    /// Restores the state before the first trial; no process of the program runs afterwards.
    ///
    /// # Errors
    /// The next trial is impossible.
    fn reset(&mut self, _bench: &Bench<'_>) -> Result<(), RunnerError> {
        Ok(())
    }

    /// Measures one trial.
    ///
    /// # Errors
    /// The program failed; the trial is invalid.
    fn measure(&mut self, bench: &Bench<'_>, trial: &Trial) -> Result<Measurement, RunnerError>;

    /// Remarks for the record after [`Runner::prepare`], e.g. how long it took.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}
