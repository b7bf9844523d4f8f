//! Cold start time of a program: what users notice when a disk is busy.
//!
//! Program, libraries and data are copied to the file system under test and started by chroot, so
//! that every page comes from the device. Before each start, the tree's pages are dropped, and none
//! may remain. Pages in memory afterwards were read by the start, and the device must have moved at
//! least these. A trial's first start is not counted, because it also reads directory entries and
//! inodes.

mod tree;

use std::path::{Component, Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use machine::capability;
use machine::session::{Ended, Launch, Running};
use regex::Regex;
use rustix::process::Signal;

use crate::programs::cache;
use crate::programs::error::{RunnerError, tail};
use crate::programs::kind::{Bench, Measurement, Moved, Needs, Runner, RunnerKind, Trial};
use crate::programs::options::Options;
use text::{Field, Form, field};
use tree::Tree;

pub(crate) static STARTUP: RunnerKind = RunnerKind {
    name: "startup",
    help: "the cold start of a program, again and again: what users feel when a disk is busy",
    program: None,
    needs: Needs::Files,
    reaches_device: |_| true,
    writes: |_| true,
    primary: |_| "startup_ms".to_string(),
    own_metrics: |_| Vec::new(),
    options: OPTIONS,
    check,
    starts,
    make: |options| Box::new(Startup::of(options)),
};

/// The same everywhere, unlike the first one in PATH.
const PYTHON: &str = "/usr/bin/python3";

/// Some hundred files, as in a medium-sized script.
const DEFAULT_ARGS: &str = "-B -S -c 'import argparse, asyncio, csv, ctypes, decimal, email.message, http.server, json, logging.handlers, \
                            multiprocessing.pool, pydoc, sqlite3, ssl, subprocess, tarfile, unittest, urllib.request, xml.dom.minidom, zipfile'";

const OPTIONS: &[Field] = &[
    field("program", PYTHON, Form::Text, "program to start: a path, or a name in PATH"),
    field(
        "args",
        "",
        Form::Text,
        "its arguments, quoted as in a shell; by default Python imports 20 of its modules",
    ),
    field(
        "copy",
        "",
        Form::Text,
        "files and directories that it reads, separated by blanks; by default Python's library",
    ),
    field(
        "starts",
        "5",
        Form::NUMBER,
        "cold starts in a trial; 0: as many as fit into the trial's duration",
    ),
    field("pause", "100ms", Form::TIME, "time between two starts"),
    field(
        "ready",
        "",
        Form::Text,
        "a regular expression: it is ready when it prints this, and is ended; else when it ends",
    ),
];

/// Another program, arguments or copied files are the plan's choice.
fn starts(options: &Options) -> Vec<String> {
    let named = options.words_of(&["program", "args", "copy"]);
    let is_default = options.text("program") == Some(PYTHON) && named.len() == 1;
    if is_default { Vec::new() } else { named }
}

fn check(options: &Options) -> Result<(), String> {
    if let Some(ready) = options.text("ready") {
        Regex::new(ready).map_err(|e| format!("ready cannot be read: {e}"))?;
    }
    let readable = |key| options.text(key).is_none_or(|text| shlex::split(text).is_some());
    for key in ["args", "copy"] {
        if !readable(key) {
            return Err(format!("{key}: a quote is not closed"));
        }
    }
    let climbs = |path: &str| Path::new(path).components().any(|part| part == Component::ParentDir);
    if shlex::split(options.text("copy").unwrap_or_default())
        .is_some_and(|paths| paths.iter().any(|path| climbs(path)))
        || climbs(options.text("program").unwrap_or_default())
    {
        return Err(
            "program, copy: a path with `..` leads out of the tree that is copied to; name it without".to_string()
        );
    }
    if options.number("starts").is_some_and(|starts| starts > MAX_STARTS) {
        return Err(format!("starts: too many (expected at most {MAX_STARTS} in a trial)"));
    }
    Ok(())
}

const MAX_STARTS: u64 = 10_000;

#[derive(Debug)]
struct Startup {
    program: String,
    args: Vec<String>,
    copy: Vec<PathBuf>,
    starts: u64,
    pause: Duration,
    ready: Option<Regex>,
    tree: Option<Tree>,
}

#[derive(Debug, Clone, Copy)]
struct Start {
    took: Duration,
    /// In memory now, but not before.
    read: u64,
}

impl Startup {
    fn of(options: &Options) -> Startup {
        let words = |key: &str| {
            options.text(key).map(|text| shlex::split(text).expect("checked: quotes are closed"))
        };
        let program = options.text("program").unwrap_or_default().to_string();
        let ours = program == PYTHON;
        let args = words("args").or_else(|| shlex::split(DEFAULT_ARGS).filter(|_| ours));
        let ready =
            options.text("ready").map(|ready| Regex::new(ready).expect("checked: it can be read"));
        Startup {
            program,
            args: args.unwrap_or_default(),
            copy: words("copy").unwrap_or_default().into_iter().map(PathBuf::from).collect(),
            starts: options.number("starts").unwrap_or(5),
            pause: options.time("pause").unwrap_or_default(),
            ready,
            tree: None,
        }
    }

    fn find(&self, bench: &Bench<'_>) -> Result<PathBuf, RunnerError> {
        let given = Path::new(&self.program);
        if given.is_absolute() {
            if self.program == PYTHON && !given.exists() {
                let (tool, package, purpose) =
                    (PYTHON.into(), "python3".into(), "to be started".into());
                return Err(machine::Error::ToolMissing { tool, package, purpose }.into());
            }
            return given
                .metadata()
                .map(|_| given.to_path_buf())
                .map_err(RunnerError::file("find the program", given));
        }
        bench.program(&self.program, &self.program)
    }

    fn wrong(&self, problem: String, ended: Option<&Ended>) -> RunnerError {
        RunnerError::Wrong {
            program: self.program.clone(),
            problem,
            tail: ended.map(tail).unwrap_or_default(),
        }
    }

    /// Starts cold, and waits until the program is ready.
    fn start(
        &self,
        bench: &Bench<'_>,
        trial: &Trial,
        until: Instant,
    ) -> Result<Start, RunnerError> {
        let tree = self.tree.as_ref().expect("the tree was made when the experiment was prepared");
        cache::forget(&tree.files)?;
        let warm = cache::resident_bytes(&tree.files)?;
        if warm > 0 {
            let problem = format!(
                "{warm} bytes of it were still in memory before its start: the start would not be cold"
            );
            return Err(self.wrong(problem, None));
        }
        let launch = Launch {
            program: bench.program("chroot", "coreutils")?,
            args: bench
                .session
                .chroot_options()?
                .into_iter()
                .map(Into::into)
                .chain([tree.root.clone().into(), tree.program.clone().into()])
                .chain(self.args.iter().map(Into::into))
                .collect(),
            // Only root can chroot, so chroot changes the user.
            apart: bench.session.user().is_some(),
            env: vec![("PYTHONHASHSEED".into(), "0".into())],
            dir: "/".into(),
            share: trial.share.clone(),
            ..Launch::default()
        };
        let running = bench.session.start(&launch)?;
        let left = until.saturating_duration_since(Instant::now());
        let took = match &self.ready {
            None => bench.finish(running, &self.program, left)?.wall,
            Some(ready) => self.until_ready(bench, running, ready, left)?,
        };
        let read = cache::resident_bytes(&tree.files)?;
        if read == 0 {
            let problem =
                "nothing of it is in memory after its start: it did not come from the device"
                    .to_string();
            return Err(self.wrong(problem, None));
        }
        Ok(Start { took, read })
    }

    /// Waits for its output, and ends it.
    fn until_ready(
        &self,
        bench: &Bench<'_>,
        mut running: Running,
        ready: &Regex,
        deadline: Duration,
    ) -> Result<Duration, RunnerError> {
        let began = Instant::now();
        loop {
            let alive = running.is_alive();
            if ready.is_match(&running.stdout()) {
                let took = began.elapsed();
                running.signal(Signal::TERM);
                running.wait(Duration::ZERO, bench.stop)?;
                return Ok(took);
            }
            let over = began.elapsed() > deadline || bench.stop.load(Ordering::Relaxed);
            if !alive || over {
                let ended = bench.finish(
                    running,
                    &self.program,
                    Duration::ZERO.max(deadline.saturating_sub(began.elapsed())),
                )?;
                return Err(self.wrong(
                    format!("it ended before it printed {}", ready.as_str()),
                    Some(&ended),
                ));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Runner for Startup {
    fn version(&mut self, bench: &Bench<'_>) -> Result<String, RunnerError> {
        let program = self.find(bench)?;
        bench.program("chroot", "coreutils")?;
        bench.session.require(
            "a cold start in a tree of its own",
            &[capability::SYS_CHROOT, capability::MKNOD],
        )?;
        let launch = Launch {
            program,
            args: vec!["--version".into()],
            dir: "/".into(),
            user: bench.session.user(),
            ..Launch::default()
        };
        // Not every program supports --version.
        let ended = bench.session.start(&launch)?.wait(Duration::from_secs(10), bench.stop)?;
        let first = ended
            .stdout
            .lines()
            .next()
            .filter(|_| ended.status.success())
            .map(|line| line.trim().to_string());
        Ok(first.filter(|line| !line.is_empty()).unwrap_or_else(|| "unknown".to_string()))
    }

    fn prepare(&mut self, bench: &Bench<'_>) -> Result<(), RunnerError> {
        let program = self.find(bench)?;
        let mut copy = self.copy.clone();
        let of_python = copy.is_empty() && self.program == PYTHON;
        if of_python {
            copy.push(tree::python_library(bench, &program)?);
        }
        (bench.say)(&format!("copying {} with what it reads", self.program));
        // For each startup workload of a plan.
        let free =
            (0..).map(|at| bench.files().join(format!("startup-{at}"))).find(|root| !root.exists());
        let root = free.expect("there is always a higher number");
        let leave_out = if of_python { tree::NO_LIBRARY } else { &[] };
        self.tree = Some(Tree::make(bench, &root, &program, &copy, leave_out)?);
        cache::sync(bench.files()).map(drop)
    }

    fn measure(&mut self, bench: &Bench<'_>, trial: &Trial) -> Result<Measurement, RunnerError> {
        let until = Instant::now() + trial.deadline;
        let first = self.start(bench, trial, until)?;
        let began = Instant::now();
        let mut starts: Vec<Start> = Vec::new();
        loop {
            thread::sleep(self.pause);
            starts.push(self.start(bench, trial, until)?);
            let enough = match self.starts {
                0 => began.elapsed() >= trial.duration,
                wanted => starts.len() as u64 >= wanted,
            };
            if enough || starts.len() as u64 >= MAX_STARTS {
                break;
            }
        }
        let window = began.elapsed();
        let in_ms = |start: &Start| start.took.as_secs_f64() * 1e3;
        let mean = starts.iter().map(in_ms).sum::<f64>() / starts.len() as f64;
        let longest = starts.iter().map(in_ms).fold(0.0, f64::max);
        let read_bytes = first.read + starts.iter().map(|start| start.read).sum::<u64>();
        let named = |(name, value): (&str, f64)| (name.to_string(), value);
        let counters = [
            ("starts", starts.len() as f64),
            ("first_start_ms", in_ms(&first)),
            ("read_mb_per_start", read_bytes as f64 / 1e6 / (starts.len() + 1) as f64),
        ];
        Ok(Measurement {
            window,
            metrics: [("startup_ms", mean), ("startup_max_ms", longest)].map(named).into(),
            counters: counters.map(named).into(),
            moved: Some(Moved { read_bytes, written_bytes: 0, exact: false }),
            ..Measurement::default()
        })
    }

    fn remarks(&self) -> Vec<String> {
        let tree = self.tree.iter();
        tree.map(|tree| {
            format!(
                "{}: {} files, {} MB on the device",
                self.program,
                tree.files.len(),
                tree.bytes / 1_000_000
            )
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::find;

    #[test]
    fn options_that_cannot_be_are_refused() {
        let row = find("startup").expect("a row");
        for (pair, part) in [
            (("ready", "("), "ready cannot be read"),
            (("args", "-c 'import"), "a quote is not closed"),
            (("starts", "10001"), "at most 10000"),
            (("copy", "/srv /tmp/x/../../etc"), "leads out of the tree"),
        ] {
            let error = row.read([pair]).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn only_the_default_program_with_its_default_arguments_is_not_the_plans_code() {
        let row = find("startup").expect("a row");
        let of = |pairs: &[(&str, &str)]| (row.starts)(&row.read(pairs.iter().copied()).unwrap());
        assert_eq!(of(&[("starts", "3")]), [""; 0]);
        assert_eq!(of(&[("program", "git")]), ["program \"git\""]);
        assert_eq!(of(&[("args", "-c 'x\x1b'")])[1], "args \"-c 'x\\u{1b}'\"");
        assert_eq!(of(&[("copy", "/srv")]).len(), 2);
    }

    #[test]
    fn what_python_imports_is_not_what_another_program_gets() {
        let row = find("startup").expect("a row");
        let of = |pairs: &[(&str, &str)]| Startup::of(&row.read(pairs.iter().copied()).unwrap());
        assert!(of(&[]).args.iter().any(|word| word.contains("asyncio")));
        assert_eq!(of(&[("program", "git")]).args, Vec::<String>::new());
        assert_eq!(
            of(&[("program", "git"), ("args", "-C '/a b' log")]).args,
            ["-C", "/a b", "log"]
        );
    }
}
