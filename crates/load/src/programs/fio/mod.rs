//! `fio` with a user's job file.
//!
//! fio gets a validated copy of it ([`job`], [`allow`]) on standard input, with the device or a
//! directory on it, and `--readonly` unless a job writes. Its files are created in
//! [`Runner::prepare`]; if a job writes, before each trial, because extending a file and
//! overwriting it differ.
//!
//! Latency is `lat`, from call to result. fio's percentiles are by default of `clat`, from
//! submission on; `lat_percentiles=1` switches them at no cost. They are centres of bins 1/64 of a
//! power of two wide: within 0.8 %.

mod allow;
mod job;
mod output;

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use machine::session::{Ended, Launch};

use self::job::{JobFile, Target};
use crate::programs::error::{RunnerError, tail};
use crate::programs::kind::{Bench, Measurement, Needs, Runner, RunnerKind, Trial};
use crate::programs::options::Options;
use text::{Form, field};

const PROGRAM: &str = "fio";
const PACKAGE: &str = "fio";
/// Since then, latencies are in nanoseconds.
const FIRST_MAJOR: u32 = 3;
/// For printing the version and parsing a job file. A trial's deadline may be too short on a busy
/// machine.
const CHECK_LIMIT: Duration = Duration::from_secs(120);
/// The directory on a file system.
const FILES: &str = "fio";

pub(crate) static FIO: RunnerKind = RunnerKind {
    name: "fio",
    help: "a job file of fio: file=JOB.fio",
    program: Some((PROGRAM, PACKAGE)),
    needs: Needs::Either,
    reaches_device: |_| true,
    // An unreadable file may be written by the time fio gets it.
    writes: |options| open(options).map_or(true, |file| file.writes()),
    primary: |options| {
        let sequential = open(options).is_ok_and(|file| file.is_sequential());
        if sequential { "throughput_mb_per_s" } else { "iops" }.to_string()
    },
    own_metrics: |_| Vec::new(),
    options: &[
        field("file", "", Form::File, "the job file"),
        field(
            "runtime",
            "trial",
            Form::Text,
            "trial: a job file without any length gets that of the trial; file: never",
        ),
        field("fresh", "true", Form::Flag, "jobs that write get new files before each trial"),
    ],
    check: |options| {
        if !matches!(options.text("runtime"), Some("trial" | "file")) {
            return Err("runtime is trial or file".to_string());
        }
        open(options).map(drop)
    },
    // `allow` refuses options that start programs.
    starts: |_| Vec::new(),
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
    /// Read once, for all trials.
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
        let ended = bench.run(&launch, CHECK_LIMIT)?;
        let found = ended.stdout.trim().to_string();
        if !is_new_enough(&found).ok_or_else(|| unreadable("version", &ended))? {
            let (program, needed, remedy) =
                (PROGRAM.into(), "3.0 or later".into(), "install a newer fio".into());
            return Err(RunnerError::Version { program, found, needed, remedy });
        }
        // With the environment's values, the file is part of the measurement, which a resumed
        // experiment must repeat.
        Ok(format!("{found}, job file {}", self.file()?.digest()))
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

    fn measure(&mut self, bench: &Bench<'_>, trial: &Trial) -> Result<Measurement, RunnerError> {
        let file = self.file()?;
        let offered = self.default_options(file, trial);
        let has_ramp = offered.iter().any(|(key, _)| *key == "ramp_time");
        let exact = file.is_exact() && bench.directory.is_none() && !has_ramp;
        let launch =
            Launch { share: trial.share.clone(), ..self.launch(bench, file, &[], &offered) };
        let ended = bench.run(&launch, trial.deadline)?;
        let jobs = output::read(&ended.stdout).map_err(|missing| unreadable(&missing, &ended))?;
        output::measurement(&jobs, &file.job_kinds(), exact)
            .map_err(|missing| unreadable(&missing, &ended))
    }
}

impl Fio {
    fn file(&self) -> Result<&JobFile, RunnerError> {
        self.file.as_ref().map_err(|problem| refused(problem))
    }

    /// Seed, and the trial's length if nothing in the file determines the end.
    fn default_options(&self, file: &JobFile, trial: &Trial) -> Vec<(&'static str, String)> {
        // With seed zero, all generators would be equal.
        let mut offered = vec![("randseed", (trial.seed % (1 << 62) + 1).to_string())];
        if self.offers_length && !file.has_length() {
            let in_us = |time: Duration| format!("{}us", time.as_micros());
            offered.extend([("runtime", in_us(trial.duration)), ("time_based", "1".into())]);
            if !trial.warmup.is_zero() {
                offered.push(("ramp_time", in_us(trial.warmup)));
            }
        }
        offered
    }

    /// Creates files in an empty directory. On a bare device, fio only parses the job file, to
    /// report errors early.
    fn create(&self, bench: &Bench<'_>) -> Result<(), RunnerError> {
        let file = self.file()?;
        let Some(files) = bench.directory else {
            let mut launch = self.launch(bench, file, &[], &[]);
            launch.args.insert(0, "--parse-only".into());
            return bench.run(&launch, CHECK_LIMIT).map(drop);
        };
        let own = files.join(FILES);
        let failed = |doing| RunnerError::file(doing, &own);
        match fs::remove_dir_all(&own) {
            Err(cause) if cause.kind() != ErrorKind::NotFound => {
                return Err(failed("remove")(cause));
            }
            _ => {}
        }
        fs::create_dir(&own).map_err(failed("create"))?;
        let launch = self.launch(bench, file, &[("create_only", "1".into())], &[]);
        bench.run(&launch, self.deadline).map(drop)
    }

    fn launch(
        &self,
        bench: &Bench<'_>,
        file: &JobFile,
        more: &[(&str, String)],
        offered: &[(&str, String)],
    ) -> Launch {
        let own = bench.directory.map(|files| files.join(FILES));
        let target = own.as_deref().map_or(Target::Device(&bench.device().path), Target::Directory);
        let mut forced: Vec<(&str, String)> = vec![
            ("lat_percentiles", "1".into()),
            ("clat_percentiles", "0".into()),
            ("percentile_list", "50:99:99.9".into()),
        ];
        forced.extend(more.iter().cloned());
        Launch {
            program: self.program.clone(),
            args: arguments(file.writes() && bench.may_write, own.is_some()),
            dir: own.as_deref().unwrap_or(Path::new("/")).to_path_buf(),
            input: file.text(target, &forced, offered).into_bytes(),
            ..Launch::default()
        }
    }
}

/// `fio-3.33`, `fio-3.41-12-gabcdef`; `None` for other formats.
fn is_new_enough(found: &str) -> Option<bool> {
    let major: u32 = found.strip_prefix("fio-")?.split('.').next()?.parse().ok()?;
    Some(major >= FIRST_MAJOR)
}

/// On a file system, files must be created even for reading. On a bare device, `--readonly` refuses
/// jobs that write although consent was given for reading.
fn arguments(writes: bool, on_files: bool) -> Vec<OsString> {
    let readonly = (!writes && !on_files).then_some("--readonly");
    ["--output-format=json+", "--eta=never"]
        .into_iter()
        .chain(readonly)
        .chain(["-"])
        .map(OsString::from)
        .collect()
}

fn refused(problem: &str) -> RunnerError {
    RunnerError::Wrong {
        program: PROGRAM.into(),
        problem: problem.to_string(),
        tail: String::new(),
    }
}

fn unreadable(missing: &str, ended: &Ended) -> RunnerError {
    RunnerError::Unreadable {
        program: PROGRAM.into(),
        missing: missing.to_string(),
        tail: tail(ended),
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn fio(text: &str, offers_length: bool) -> (Fio, JobFile) {
        let file = JobFile::parse("a.fio", text, &|_| None).unwrap();
        let fio = Fio {
            file: Ok(file.clone()),
            offers_length,
            fresh: true,
            deadline: Duration::ZERO,
            program: PathBuf::new(),
        };
        (fio, file)
    }

    fn offered(text: &str, offers_length: bool, warmup_ms: u64) -> String {
        let (fio, file) = fio(text, offers_length);
        let warmup = Duration::from_millis(warmup_ms);
        let (duration, deadline) = (Duration::from_millis(1500), Duration::ZERO);
        let trial = Trial { seed: 6, duration, warmup, deadline, ..Trial::default() };
        let pairs: Vec<String> = fio
            .default_options(&file, &trial)
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        pairs.join(" ")
    }

    #[test]
    fn only_a_file_without_any_length_gets_that_of_the_trial() {
        let long = "randseed=7 runtime=1500000us time_based=1";
        assert_eq!(offered("[a]\n", true, 0), long);
        assert_eq!(offered("[a]\n", true, 200), format!("{long} ramp_time=200000us"));
        assert_eq!(offered("[a]\n", false, 200), "randseed=7");
        assert_eq!(offered("[a]\nsize=1M\n", true, 200), "randseed=7");
    }

    #[test]
    fn versions_before_3_are_too_old() {
        for (found, is_new) in [
            ("fio-3.33", Some(true)),
            ("fio-3.41-12-gabc", Some(true)),
            ("fio-2.99", Some(false)),
            ("3.33", None),
            ("fio-x", None),
        ] {
            assert_eq!(is_new_enough(found), is_new, "{found}");
        }
    }

    #[test]
    fn only_jobs_that_read_the_bare_device_are_read_only_for_fio() {
        let is_read_only =
            |writes, on_files| arguments(writes, on_files).contains(&"--readonly".into());
        assert!(
            is_read_only(false, false) && !is_read_only(true, false) && !is_read_only(false, true)
        );
    }

    #[test]
    fn the_metric_that_decides_and_consent_follow_from_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.fio");
        let options = |text: &str| {
            fs::write(&path, text).unwrap();
            FIO.read([("file", path.to_str().unwrap())])
        };
        let read = options("[a]\nrw=read\n").unwrap();
        assert_eq!(
            ((FIO.primary)(&read).as_str(), (FIO.writes)(&read)),
            ("throughput_mb_per_s", false)
        );
        let mixed = options("[a]\nrw=read\n[b]\nrw=randwrite\n").unwrap();
        assert_eq!(((FIO.primary)(&mixed).as_str(), (FIO.writes)(&mixed)), ("iops", true));
        assert!(options("[a]\ndirectory=/\n").unwrap_err().to_string().contains("a.fio:2:"));
        assert!(
            FIO.read([("file", "/nowhere/a.fio")])
                .unwrap_err()
                .to_string()
                .contains("/nowhere/a.fio cannot be read")
        );
        assert!(FIO.read([]).unwrap_err().to_string().contains("name a job file"));
        let runtime = [("file", path.to_str().unwrap()), ("runtime", "5s")];
        assert!(FIO.read(runtime).unwrap_err().to_string().contains("trial or file"));
    }
}
