//! `fio` with a job file of the user's: the program by which administrators measure disks.
//!
//! The job file says what is read and written and how; schedlab says where, and nothing else may. So the file is read and judged here
//! ([`job`], [`allow`]), and fio gets a copy, on standard input, in which the device or a directory on it is named. Where no job writes, fio is
//! started with `--readonly` besides.
//!
//! Latency is fio's `lat`: from the call to the result, as everywhere in schedlab. fio's percentiles are of `clat` by default, the part from the
//! submission on; `lat_percentiles=1` makes them those of `lat`, at the same cost (fio fills one histogram instead of the other). They are the
//! middles of bins that are 1/64 of a power of two wide: within 0.8 %.
//!
//! fio makes its files in [`Runner::prepare`], outside of any window. If a job writes, they are made anew before each trial: a trial that
//! extends a file and one that overwrites it are not the same work.

mod allow;
mod job;
mod output;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::session::{Ended, Launch};

use self::job::{JobFile, Target};
use crate::error::{RunnerError, tail};
use crate::kind::{Bench, Needs, Runner, RunnerKind, Seen, Trial};
use crate::options::{Form, Opt, Options};

const PROGRAM: &str = "fio";
const PACKAGE: &str = "fio";
/// The first with latencies in nanoseconds, whose names we read.
const FIRST_MAJOR: u32 = 3;
/// Where the files are made on a file system.
const FILES: &str = "fio";

/// The row.
pub(crate) static FIO: RunnerKind = RunnerKind {
    name: "fio",
    help: "a job file of fio: file=JOB.fio",
    program: Some((PROGRAM, PACKAGE)),
    needs: Needs::Either,
    reaches_device: |_| true,
    writes: |options| open(options).is_ok_and(|file| file.writes()),
    primary: |options| {
        let sequential = open(options).is_ok_and(|file| file.is_sequential());
        if sequential { "throughput_mb_per_s" } else { "iops" }.to_string()
    },
    own_metrics: |_| Vec::new(),
    options: &[
        Opt { name: "file", default: "", form: Form::File, help: "the job file" },
        Opt {
            name: "runtime",
            default: "trial",
            form: Form::Text,
            help: "trial: a job file without any length gets that of the trial; file: never",
        },
        Opt {
            name: "fresh",
            default: "true",
            form: Form::Flag,
            help: "jobs that write get new files before each trial",
        },
    ],
    check: |options| {
        if !matches!(options.text("runtime"), Some("trial" | "file")) {
            return Err("runtime is trial or file".to_string());
        }
        open(options).map(drop)
    },
    make: |options| {
        Box::new(Fio {
            file: open(options),
            offers_length: options.text("runtime") == Some("trial"),
            fresh: options.flag("fresh"),
            deadline: options.deadline(),
            program: PathBuf::from(PROGRAM),
        })
    },
};

fn open(options: &Options) -> Result<JobFile, String> {
    match options.text("file") {
        Some(path) => JobFile::open(path),
        None => Err("name a job file, e.g. fio:random.fio".to_string()),
    }
}

#[derive(Debug)]
struct Fio {
    /// Read once, so that all trials are of one file.
    file: Result<JobFile, String>,
    offers_length: bool,
    fresh: bool,
    deadline: Duration,
    program: PathBuf,
}

impl Runner for Fio {
    fn version(&mut self, bench: &Bench<'_>) -> Result<String, RunnerError> {
        self.program = bench.program(PROGRAM, PACKAGE)?;
        let launch = Launch {
            program: self.program.clone(),
            args: vec!["--version".into()],
            dir: "/".into(),
            ..Launch::default()
        };
        let ended = bench.run(&launch, self.deadline)?;
        let found = ended.stdout.trim().to_string();
        let major = found
            .strip_prefix("fio-")
            .and_then(|rest| rest.split('.').next())
            .and_then(|text| text.parse::<u32>().ok());
        match major {
            // What the file and the environment make together is part of what was measured: a record does not go on with another job.
            Some(major) if major >= FIRST_MAJOR => Ok(format!("{found}, job file {}", self.file()?.digest())),
            Some(_) => Err(RunnerError::Version { program: PROGRAM.into(), found, needed: "3.0 or later".into() }),
            None => Err(unreadable("version", &ended)),
        }
    }

    fn prepare(&mut self, bench: &Bench<'_>) -> Result<(), RunnerError> {
        let file = self.file()?;
        if let (None, Some(line)) = (bench.directory, file.file_name()) {
            let problem = format!(
                "line {line}: filename= has no meaning on a bare device; remove the line, or add a file system (--fs ext4)"
            );
            return Err(refused(&problem));
        }
        self.create(bench)
    }

    fn reset(&mut self, bench: &Bench<'_>) -> Result<(), RunnerError> {
        if self.fresh && self.file()?.writes() { self.create(bench) } else { Ok(()) }
    }

    fn measure(&mut self, bench: &Bench<'_>, trial: &Trial) -> Result<Seen, RunnerError> {
        let file = self.file()?;
        let mut offered = vec![("randseed", seed(trial.seed))];
        let is_trial_long = self.offers_length && !file.has_length();
        if is_trial_long {
            let in_us = |time: Duration| format!("{}us", time.as_micros());
            offered.extend([("runtime", in_us(trial.duration)), ("time_based", "1".into())]);
            if !trial.warmup.is_zero() {
                offered.push(("ramp_time", in_us(trial.warmup)));
            }
        }
        let exact = file.is_exact() && bench.directory.is_none() && !(is_trial_long && !trial.warmup.is_zero());
        let launch = Launch { share: trial.share.clone(), ..self.launch(bench, file, &[], &offered) };
        let ended = bench.run(&launch, trial.deadline)?;
        let jobs = output::read(&ended.stdout).map_err(|missing| unreadable(&missing, &ended))?;
        output::seen(&jobs, &file.wanted(), exact).map_err(|missing| unreadable(&missing, &ended))
    }
}

impl Fio {
    fn file(&self) -> Result<&JobFile, RunnerError> {
        self.file.as_ref().map_err(|problem| refused(problem))
    }

    /// Makes the files that the jobs read, in an empty directory. On a bare device fio only reads the job file: it says early what is wrong in it.
    fn create(&self, bench: &Bench<'_>) -> Result<(), RunnerError> {
        let file = self.file()?;
        let Some(files) = bench.directory else {
            let mut launch = self.launch(bench, file, &[], &[]);
            launch.args.insert(0, "--parse-only".into());
            return bench.run(&launch, self.deadline).map(drop);
        };
        let own = files.join(FILES);
        let failed = |doing: &str| {
            let doing = format!("{doing} {}", own.display());
            move |cause| RunnerError::File { doing, cause }
        };
        match fs::remove_dir_all(&own) {
            Err(cause) if cause.kind() != ErrorKind::NotFound => return Err(failed("remove")(cause)),
            _ => {}
        }
        fs::create_dir(&own).map_err(failed("create"))?;
        let launch = self.launch(bench, file, &[("create_only", "1".into())], &[]);
        bench.run(&launch, self.deadline).map(drop)
    }

    fn launch(&self, bench: &Bench<'_>, file: &JobFile, more: &[(&str, String)], offered: &[(&str, String)]) -> Launch {
        let own = bench.directory.map(|files| files.join(FILES));
        let target = own.as_deref().map_or(Target::Device(&bench.device.path), Target::Directory);
        let mut forced: Vec<(&str, String)> = vec![
            ("lat_percentiles", "1".into()),
            ("clat_percentiles", "0".into()),
            ("percentile_list", "50:99:99.9".into()),
        ];
        forced.extend(more.iter().cloned());
        let mut args = vec!["--output-format=json+".into(), "--eta=never".into()];
        // On a file system the files have to be made.
        if bench.directory.is_none() && !file.writes() {
            args.push("--readonly".into());
        }
        args.push("-".into());
        Launch {
            program: self.program.clone(),
            args,
            dir: own.as_deref().unwrap_or(Path::new("/")).to_path_buf(),
            input: file.text(target, &forced, offered).into_bytes(),
            ..Launch::default()
        }
    }
}

/// A seed of fio's: it computes with it, so that zero would make all generators alike.
fn seed(seed: u64) -> String {
    (seed % (1 << 62) + 1).to_string()
}

fn refused(problem: &str) -> RunnerError {
    RunnerError::Refused { program: PROGRAM.into(), problem: problem.to_string() }
}

fn unreadable(missing: &str, ended: &Ended) -> RunnerError {
    RunnerError::Unreadable { program: PROGRAM.into(), missing: missing.to_string(), tail: tail(ended) }
}
