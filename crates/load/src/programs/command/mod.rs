//! Any program as a workload, with metrics from its output.
//!
//! /bin/sh runs the command line. A program with buffered writes exits before its data is on the
//! device; the time until then is a separate metric, `wall_synced_s`.

mod extract;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use machine::placement::Placement;
use machine::session::{Ended, Launch, Share};

use crate::programs::cache;
use crate::programs::error::{RunnerError, tail, tail_of};
use crate::programs::kind::{Bench, Measurement, Needs, Runner, RunnerKind, Trial};
use crate::programs::options::Options;
use extract::Extract;
use text::{Field, Form, field};

pub(crate) static COMMAND: RunnerKind = RunnerKind {
    name: "command",
    help: "any program: the time that it takes, or figures from what it prints",
    program: None,
    needs: Needs::Either,
    reaches_device: |_| true,
    // Whether a command writes to a bare device is unknown.
    writes: |options| options.text("on") == Some("device"),
    primary: |options| {
        let extract = Extract::of(options).ok();
        let first =
            extract.as_ref().and_then(|extract| extract.metrics().first().map(ToString::to_string));
        first.unwrap_or_else(|| "wall_s".to_string())
    },
    own_metrics: |options| directions(options).unwrap_or_default(),
    options: OPTIONS,
    check,
    starts: |options| options.words_of(&["version", "setup", "reset", "run", "file"]),
    make: |options| Box::new(Command::of(options)),
};

/// What a variant's own command line stands for.
pub const RUN_OF_VARIANT: &str = "{run}";

const OPTIONS: &[Field] = &[
    text(
        "run",
        "the command line, for /bin/sh; {dir} on the device, {device}'s node, the trial's {seed} and {seconds} (also SCHEDLAB_DIR …), {run}: the variant's command line",
    ),
    field("file", "", Form::File, "a program or a script to run instead, e.g. command:./bench.sh"),
    text("setup", "a command line that runs once, before the first trial"),
    text("reset", "a command line that runs before each trial, not timed"),
    text("metric", "the name of the figure that regex or json finds; it should end with its unit"),
    text(
        "regex",
        "finds the figure: the first group of the last match, or each group (?<NAME>…) as the metric NAME",
    ),
    text(
        "json",
        "finds figures in JSON: a pointer as /results/tps for metric, or NAME=/results/tps, several with blanks between",
    ),
    field("scale", "1", Form::Text, "the figures found are multiplied by this, for their units"),
    text(
        "better",
        "which way the figures improve: higher or lower, or NAME=higher, several with blanks between",
    ),
    field("stream", "stdout", Form::Text, "where the figures are printed: stdout or stderr"),
    field(
        "on",
        "files",
        Form::Text,
        "files: it works in {dir}, on a file system on the device; device: on the bare device; cpu: on no device (with --arena cpu)",
    ),
    text(
        "version",
        "a command line whose first line is recorded as the version, e.g. tar --version",
    ),
];

const fn text(name: &'static str, help: &'static str) -> Field {
    field(name, "", Form::Text, help)
}

fn check(options: &Options) -> Result<(), String> {
    match (options.text("run"), options.text("file")) {
        (None, None) => {
            return Err(
                "give the program to run, e.g. run = \"tar xf /srv/x.tar -C {dir}\", or command:./bench.sh"
                    .into(),
            );
        }
        (Some(_), Some(_)) => {
            return Err("run and file are both given: one of them is the program".into());
        }
        _ => {}
    }
    scale(options)?;
    if let Some(stream) =
        options.text("stream").filter(|stream| !["stdout", "stderr"].contains(stream))
    {
        return Err(format!("stream={stream} is invalid (expected stdout or stderr)"));
    }
    if let Some(on) = options.text("on").filter(|on| !["files", "device", "cpu"].contains(on)) {
        return Err(format!("on={on} is invalid (expected files, device or cpu)"));
    }
    Extract::of(options)?;
    directions(options).map(drop)
}

fn scale(options: &Options) -> Result<f64, String> {
    let text = options.text("scale").unwrap_or("1");
    let possible = text.parse().ok().filter(|scale: &f64| scale.is_finite() && *scale > 0.0);
    possible.ok_or_else(|| {
        format!("scale={text} is invalid (expected a number above 0, e.g. scale=0.001)")
    })
}

/// The direction of each metric, if given.
fn directions(options: &Options) -> Result<Vec<(String, bool)>, String> {
    let extract = Extract::of(options)?;
    let metrics = extract.metrics();
    let Some(text) = options.text("better") else { return Ok(Vec::new()) };
    if metrics.is_empty() {
        return Err(
            "better is given without a metric: a program's time is better when lower".into()
        );
    }
    let way = |word: &str| match word {
        "higher" => Ok(true),
        "lower" => Ok(false),
        _ => Err(format!(
            "better={word} is invalid (expected higher or lower, or e.g. tps=higher p99_ms=lower)"
        )),
    };
    if !text.contains('=') {
        let higher = way(text.trim())?;
        return Ok(metrics.iter().map(|metric| (metric.to_string(), higher)).collect());
    }
    let pair = |word: &str| {
        let (name, word) = word.split_once('=').unwrap_or(("", word));
        if !metrics.contains(&name) {
            return Err(format!("better={name}=…: the metrics are {}", metrics.join(", ")));
        }
        Ok((name.to_string(), way(word)?))
    };
    text.split_whitespace().map(pair).collect()
}

#[derive(Debug)]
struct Command {
    options: Options,
    extract: Extract,
    scale: f64,
    /// In the user's directory when the experiment started.
    file: Option<PathBuf>,
}

impl Command {
    fn of(options: &Options) -> Command {
        let extract = Extract::of(options).expect("checked: the options say how figures are found");
        let scale = scale(options).expect("checked: the scale is a number");
        Command { options: options.clone(), extract, scale, file: None }
    }

    fn find(&mut self) -> Result<(), RunnerError> {
        if let Some(file) = self.options.text("file") {
            let found = std::fs::canonicalize(file)
                .map_err(RunnerError::file("find the program", Path::new(file)))?;
            self.file = Some(found);
        }
        Ok(())
    }

    /// Refuses options that do not suit the device.
    fn look(&self, bench: &Bench<'_>) -> Result<(), RunnerError> {
        let problem = match (self.options.text("on"), bench.directory) {
            (Some("files"), None) => "it needs a file system on the device; add --fs ext4",
            (Some("device"), Some(_)) => {
                "it needs the bare device (on=device): remove the file system from the plan"
            }
            _ => return Ok(()),
        };
        Err(RunnerError::Wrong {
            program: "command".into(),
            problem: problem.into(),
            tail: String::new(),
        })
    }

    /// The program's name in messages.
    fn name(&self, trial: &Trial) -> String {
        let named = self.options.text("run").or_else(|| self.options.text("file"));
        let run = trial.run.as_deref().unwrap_or(RUN_OF_VARIANT);
        format!("`{}`", named.unwrap_or_default().replace(RUN_OF_VARIANT, run))
    }

    fn launch(&self, bench: &Bench<'_>, trial: Option<&Trial>, line: Option<&str>) -> Launch {
        let own = trial.and_then(|trial| trial.run.as_deref());
        let (here, env) = surroundings(bench, own.is_some());
        let mut values = vec![
            ("dir", bench.directory.map(|dir| dir.display().to_string()).unwrap_or_default()),
            (
                "device",
                bench.device.map(|device| device.path.display().to_string()).unwrap_or_default(),
            ),
        ];
        if let Some(trial) = trial {
            // 31 bits, for shells and C programs.
            values.push(("seed", (trial.seed & 0x7fff_ffff).to_string()));
            values.push(("seconds", trial.duration.as_secs_f64().to_string()));
            values.extend(own.map(|run| ("run", run.to_string())));
        }
        let (program, args) = match (line, &self.file) {
            (Some(line), _) => {
                let filled = values.iter().fold(line.to_string(), |line, (key, value)| {
                    line.replace(&format!("{{{key}}}"), value)
                });
                ("/bin/sh".into(), vec!["-c".into(), filled.into()])
            }
            (None, Some(file)) if is_executable(file) => (file.clone(), Vec::new()),
            (None, file) => ("/bin/sh".into(), file.iter().map(Into::into).collect()),
        };
        let env = env.into_iter().chain(
            values
                .iter()
                .map(|(key, value)| (format!("SCHEDLAB_{}", key.to_uppercase()), value.into())),
        );
        Launch {
            program,
            args,
            env: env.collect(),
            dir: here,
            user: bench.session.user(),
            share: trial.map_or(Share::default(), |trial| trial.share.clone()),
            placement: trial.map_or(Placement::default(), |trial| trial.placement.clone()),
            ..Launch::default()
        }
    }

    fn run_line(
        &self,
        bench: &Bench<'_>,
        key: &str,
        line: &str,
        deadline: Duration,
    ) -> Result<Ended, RunnerError> {
        let running = bench.session.start(&self.launch(bench, None, Some(line)))?;
        bench.finish(running, &format!("{key} `{line}`"), deadline)
    }
}

impl Runner for Command {
    fn version(&mut self, bench: &Bench<'_>) -> Result<String, RunnerError> {
        self.find()?;
        let Some(line) = self.options.text("version") else { return Ok("unknown".to_string()) };
        let ended = self.run_line(
            bench,
            "version",
            line,
            self.options.deadline().min(Duration::from_secs(60)),
        )?;
        let printed = if ended.stdout.trim().is_empty() { &ended.stderr } else { &ended.stdout };
        let first =
            printed.lines().map(str::trim).find(|line| !line.is_empty()).map(ToString::to_string);
        first.ok_or_else(|| RunnerError::Unreadable {
            program: format!("version `{line}`"),
            missing: "line at all".into(),
            tail: tail(&ended),
        })
    }

    fn prepare(&mut self, bench: &Bench<'_>) -> Result<(), RunnerError> {
        self.find()?;
        self.look(bench)?;
        match self.options.text("setup") {
            Some(line) => self.run_line(bench, "setup", line, self.options.deadline()).map(drop),
            None => Ok(()),
        }
    }

    fn reset(&mut self, bench: &Bench<'_>) -> Result<(), RunnerError> {
        match self.options.text("reset") {
            Some(line) => self.run_line(bench, "reset", line, self.options.deadline()).map(drop),
            None => Ok(()),
        }
    }

    fn measure(&mut self, bench: &Bench<'_>, trial: &Trial) -> Result<Measurement, RunnerError> {
        let running =
            bench.session.start(&self.launch(bench, Some(trial), self.options.text("run")))?;
        let ended = bench.finish(running, &self.name(trial), trial.deadline)?;
        let synced = match bench.directory {
            Some(directory) => cache::sync(directory)?,
            None => bench
                .device
                .map_or(Ok(Duration::ZERO), |device| cache::sync_device(&device.path))?,
        };
        let Ended { stdout, stderr, .. } = &ended;
        let (printed, other) = if self.options.text("stream") == Some("stderr") {
            (stderr, stdout)
        } else {
            (stdout, stderr)
        };
        let tail = tail_of(printed, other);
        let unreadable =
            |missing| RunnerError::Unreadable { program: self.name(trial), missing, tail };
        let mut metrics = self.extract.read(printed).map_err(unreadable)?;
        metrics.values_mut().for_each(|value| *value *= self.scale);
        let window = ended.wall + synced;
        metrics.entry("wall_s".to_string()).or_insert(ended.wall.as_secs_f64());
        if bench.directory.is_some() || bench.device.is_some() {
            metrics.entry("wall_synced_s".to_string()).or_insert(window.as_secs_f64());
        }
        if ended.usage.max_rss > 0 {
            metrics.entry("cpu_s".to_string()).or_insert(ended.usage.cpu.as_secs_f64());
            let mib = ended.usage.max_rss as f64 / f64::from(1 << 20);
            metrics.entry("memory_mib".to_string()).or_insert(mib);
        }
        Ok(Measurement { window, metrics, ..Measurement::default() })
    }
}

/// Directory and variables of a program. A variant's own command line is as its user would type it:
/// it runs where they are, with their variables, unless it runs as somebody else.
fn surroundings(bench: &Bench<'_>, is_own: bool) -> (PathBuf, Vec<(String, OsString)>) {
    let here = bench.directory.map(Path::to_path_buf);
    if !is_own {
        return (here.unwrap_or_else(|| "/".into()), Vec::new());
    }
    let here = here.or_else(|| std::env::current_dir().ok()).unwrap_or_else(|| "/".into());
    let of_user =
        || std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value)));
    let env = if bench.session.user().is_none() { of_user().collect() } else { Vec::new() };
    (here, env)
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests;
