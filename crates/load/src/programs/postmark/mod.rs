//! Debian's `postmark`: many small files on a file system.
//!
//! No current file system writes small files that are deleted within seconds, and new files are
//! read from the page cache. Unless `flush=false`, the program is therefore stopped between phases
//! ([`gate`]): writes are flushed, within the phase's time, and after creation the files are
//! dropped from the cache.
//!
//! Its clock counts whole seconds, at least 1; ours detects phases from its output, to a
//! millisecond.

mod expected;
mod gate;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use machine::session::{Ended, Launch};
use sim::workload::PostmarkParams;

use crate::programs::cache;
use crate::programs::error::{RunnerError, tail};
use crate::programs::kind::{Bench, Measurement, Moved, Needs, Runner, RunnerKind, Trial};
use crate::programs::options::Options;
use expected::Expected;
use gate::Gate;
use report::Report;
use text::{Field, Form, field};

pub(crate) static POSTMARK: RunnerKind = RunnerKind {
    name: "postmark-program",
    help: "Debian's PostMark: many small files as web, mail and news servers have them",
    program: Some((PROGRAM, PROGRAM)),
    needs: Needs::Files,
    reaches_device: |_| true,
    writes: |_| true,
    primary: |_| "tps".to_string(),
    own_metrics: |_| Vec::new(),
    options: OPTIONS,
    check: |options| setup(options).map(drop),
    starts: |_| Vec::new(),
    make: |options| Box::new(Postmark::of(options)),
};

const PROGRAM: &str = "postmark";

const OPTIONS: &[Field] = &[
    field("number", "500", Form::NUMBER, "files that are created first"),
    field("transactions", "500", Form::NUMBER, "transactions, at least 10"),
    field("size_min", "500", Form::SIZE, "bytes of the smallest file"),
    field("size_max", "10000", Form::SIZE, "bytes of the largest file"),
    field("subdirectories", "0", Form::NUMBER, "directories that files are spread over (0: one)"),
    field("read_block", "512", Form::SIZE, "bytes of a read of a file"),
    field("write_block", "512", Form::SIZE, "bytes of a write to a file"),
    field(
        "bias_read",
        "5",
        Form::Text,
        "of ten transactions, how many read a file; the others append to one (off: neither)",
    ),
    field(
        "bias_create",
        "5",
        Form::Text,
        "of ten transactions, how many create a file; the others delete one (off: neither)",
    ),
    field("seed", "42", Form::Text, "seed of each run (trial: the trial's own)"),
    field(
        "buffering",
        "true",
        Form::Flag,
        "use the C library's buffer, as PostMark does by default",
    ),
    field(
        "flush",
        "true",
        Form::Flag,
        "written out between its phases, and dropped from memory before its transactions; false: the program as it is",
    ),
];

/// Validated by our own workload's table.
fn setup(options: &Options) -> Result<PostmarkParams, String> {
    let row = sim::workload::find("postmark").map_err(|e| e.to_string())?;
    let own = ["deadline", "buffering", "flush"];
    let shared = options.pairs().filter(|(key, _)| !own.contains(key));
    let shared = shared.map(|(key, text)| -> (&str, &str) { (key, text) });
    let setup = row.params(shared).map_err(|e| e.to_string())?.postmark;
    if setup.transactions < 10 {
        return Err(
            "transactions: the program crashes with fewer than 10 (it divides by a tenth of them)"
                .into(),
        );
    }
    if setup.seed.is_some_and(|seed| !(1..=MAX_SEED).contains(&seed)) {
        return Err(format!("seed: the program accepts 1 to {MAX_SEED}"));
    }
    let expected = Expected::of(&setup, setup.seed.unwrap_or(42))?;
    if expected.breaks_off {
        return Err(
            "all files are deleted before the transactions end; use more files, fewer transactions, or a larger bias_create"
                .into(),
        );
    }
    Ok(setup)
}

const MAX_SEED: u32 = i32::MAX as u32;

fn commands(setup: &PostmarkParams, seed: u32, buffering: bool, location: &Path) -> String {
    let bias = |bias: Option<u8>| bias.map_or(-1, i32::from);
    // No directories is the default; the command refuses 0.
    let subdirectories = match setup.subdirectories {
        0 => String::new(),
        some => format!("set subdirectories {some}\n"),
    };
    format!(
        "set location {}\nset number {}\nset transactions {}\nset size {} {}\n{subdirectories}set read {}\nset write {}\n\
         set bias read {}\nset bias create {}\nset seed {seed}\nset buffering {buffering}\nset report verbose\nrun\nquit\n",
        location.display(),
        setup.number,
        setup.transactions,
        setup.size_min,
        setup.size_max,
        setup.read_block,
        setup.write_block,
        bias(setup.bias_read),
        bias(setup.bias_create),
    )
}

#[derive(Debug)]
struct Postmark {
    setup: PostmarkParams,
    buffering: bool,
    flush: bool,
}

/// Times by our clock.
#[derive(Debug, Clone, Copy, Default)]
struct Times {
    creation: Duration,
    transactions: Duration,
    /// Flushing within the phases.
    flush: Duration,
    /// For dropping the cache; counts for no phase.
    pause: Duration,
}

impl Postmark {
    fn of(options: &Options) -> Postmark {
        let setup = setup(options).expect("checked: these parameters can be");
        Postmark { setup, buffering: options.flag("buffering"), flush: options.flag("flush") }
    }

    fn location(bench: &Bench<'_>) -> PathBuf {
        bench.files().join("postmark")
    }

    fn seed(&self, trial: &Trial) -> u32 {
        self.setup.seed.unwrap_or(((trial.seed ^ (trial.seed >> 32)) as u32 & MAX_SEED).max(1))
    }

    /// Follows the phases. After unexpected output, the program runs freely, and its report will
    /// show the reason.
    fn follow(&self, bench: &Bench<'_>, pid: u32, gate: &mut Gate) -> Result<Times, RunnerError> {
        let mut times = Times::default();
        let files = Postmark::location(bench);
        let began = Instant::now();
        loop {
            match gate.peek(bench) {
                Some(piece) if piece.ends_with(CREATION_BEGINS) => break,
                Some(_) => drop(gate.take(bench)),
                None => return Ok(times),
            }
        }
        if !gate.wait_until_blocked(bench, pid) {
            return Ok(times);
        }
        times.creation = began.elapsed();
        if self.flush {
            let written = cache::sync(&files)?;
            let dropping = Instant::now();
            cache::forget(&cache::files_below(&files)?)?;
            times.pause = dropping.elapsed();
            times.creation += written;
            times.flush += written;
        }
        gate.take(bench);
        let resumed = Instant::now();
        if gate.take(bench).is_none_or(|piece| !piece.ends_with(TRANSACTIONS_BEGIN)) {
            return Ok(times);
        }
        for _ in 1..self.dots() {
            if gate.take(bench).as_deref() != Some(DOT) {
                return Ok(times);
            }
        }
        if gate.peek(bench).as_deref() != Some(DOT) || !gate.wait_until_blocked(bench, pid) {
            return Ok(times);
        }
        times.transactions = resumed.elapsed();
        if self.flush {
            let written = cache::sync(&files)?;
            times.transactions += written;
            times.flush += written;
        }
        gate.take(bench);
        if gate.take(bench).is_none_or(|piece| !piece.contains(DELETION_BEGINS)) {
            times.transactions = Duration::ZERO;
        }
        Ok(times)
    }

    /// One whenever a tenth, rounded down, is done.
    fn dots(&self) -> u32 {
        let tenth = (self.setup.transactions / 10).max(1);
        self.setup.transactions / tenth
    }

    /// Fails if the work differs from our generator's.
    fn compare(
        &self,
        expected: &Expected,
        report: &Report,
        ended: &Ended,
    ) -> Result<(), RunnerError> {
        let counts = [
            ("created", report.created, expected.created),
            ("read", report.read, expected.read),
            ("appended", report.appended, expected.appended),
            ("deleted", report.deleted, expected.deleted),
        ];
        let wrong = |problem| {
            Err(RunnerError::Wrong { program: PROGRAM.into(), problem, tail: tail(ended) })
        };
        if let Some((what, found, right)) =
            counts.into_iter().find(|(_, found, right)| found != right)
        {
            return wrong(format!(
                "it reports {found} files {what}, but these parameters require {right}"
            ));
        }
        if !report.bytes_read.prints_as(expected.read_bytes)
            || !report.bytes_written.prints_as(expected.written_bytes)
        {
            return wrong(format!(
                "it reports {} bytes read and {} written, but these parameters require {} and {}",
                report.bytes_read.bytes,
                report.bytes_written.bytes,
                expected.read_bytes,
                expected.written_bytes
            ));
        }
        Ok(())
    }

    fn measurement(
        &self,
        expected: &Expected,
        report: &Report,
        times: Times,
        wall: Duration,
        last_sync: Duration,
    ) -> Measurement {
        let worked = wall.saturating_sub(times.pause + times.flush).as_secs_f64();
        let synced = wall.saturating_sub(times.pause) + last_sync;
        let in_transactions = times.transactions.as_secs_f64();
        let rate = |count: f64| count / in_transactions;
        let (read, written) = (
            expected.transaction_read_bytes as f64 / 1e6,
            expected.transaction_written_bytes as f64 / 1e6,
        );
        let metrics = [
            ("tps", rate(self.setup.transactions.into())),
            ("reported_tps", report.tps),
            ("wall_s", worked),
            ("wall_synced_s", synced.as_secs_f64()),
            ("read_mb_per_s", rate(read)),
            ("write_mb_per_s", rate(written)),
            ("throughput_mb_per_s", rate(read + written)),
        ];
        let counters = [
            ("created", report.created as f64),
            ("read", report.read as f64),
            ("appended", report.appended as f64),
            ("deleted", report.deleted as f64),
            ("reported_total_s", report.total_s),
            ("reported_transactions_s", report.transactions_s),
            ("reported_read_mb", report.bytes_read.bytes / 1e6),
            ("reported_written_mb", report.bytes_written.bytes / 1e6),
            ("creation_s", times.creation.as_secs_f64()),
            ("transactions_s", in_transactions),
            ("flush_s", (times.flush + last_sync).as_secs_f64()),
        ];
        let (read_bytes, written_bytes) = (expected.read_bytes, expected.written_bytes);
        let moved = if self.flush {
            expected.flushed
        } else {
            Moved { read_bytes, written_bytes, exact: false }
        };
        let named = |(name, value): (&str, f64)| (name.to_string(), value);
        Measurement {
            window: synced,
            metrics: metrics.into_iter().map(named).collect(),
            counters: counters.into_iter().map(named).collect(),
            moved: Some(moved),
            ..Measurement::default()
        }
    }
}

const CREATION_BEGINS: &str = "Creating files...";
const DOT: &str = ".";
const TRANSACTIONS_BEGIN: &str = "Performing transactions";
const DELETION_BEGINS: &str = "Deleting files";

impl Runner for Postmark {
    fn version(&mut self, bench: &Bench<'_>) -> Result<String, RunnerError> {
        let program = bench.program(PROGRAM, PROGRAM)?;
        let launch =
            Launch { program, dir: "/".into(), input: b"quit\n".to_vec(), ..Launch::default() };
        let ended = bench.run(&launch, Duration::from_secs(60))?;
        let first = ended.stdout.lines().next().unwrap_or_default();
        let version = first.strip_prefix("PostMark ").map(|rest| rest.trim().to_string());
        version.ok_or_else(|| RunnerError::Unreadable {
            program: PROGRAM.into(),
            missing: "version (PostMark v…)".into(),
            tail: tail(&ended),
        })
    }

    fn prepare(&mut self, bench: &Bench<'_>) -> Result<(), RunnerError> {
        bench.program(PROGRAM, PROGRAM)?;
        let expected = Expected::of(&self.setup, self.setup.seed.unwrap_or(42)).expect("checked");
        let files = bench.files();
        let space = rustix::fs::statvfs(files)
            .map_err(|e| RunnerError::file("find the free space", files)(e.into()))?;
        let free = space.f_bavail * space.f_frsize;
        // Without space, the program ignores failed writes and measures nothing.
        let needed = expected.peak_bytes + expected.peak_bytes / 8;
        if free < needed {
            let problem = format!(
                "its files need up to {} MB, but {} MB are free on the device; use a larger device, or fewer or smaller files",
                needed.div_ceil(1_000_000),
                free / 1_000_000
            );
            return Err(RunnerError::Wrong {
                program: PROGRAM.into(),
                problem,
                tail: String::new(),
            });
        }
        Ok(())
    }

    fn reset(&mut self, bench: &Bench<'_>) -> Result<(), RunnerError> {
        let location = Postmark::location(bench);
        if location.exists() {
            fs::remove_dir_all(&location).map_err(RunnerError::file("remove", &location))?;
        }
        fs::create_dir(&location).map_err(RunnerError::file("create", &location))
    }

    fn measure(&mut self, bench: &Bench<'_>, trial: &Trial) -> Result<Measurement, RunnerError> {
        let (seed, location) = (self.seed(trial), Postmark::location(bench));
        let expected = Expected::of(&self.setup, seed).expect("checked: these parameters can be");
        let began = Instant::now();
        let (mut gate, stdout) = Gate::new(began + trial.deadline)?;
        let launch = Launch {
            program: bench.program(PROGRAM, PROGRAM)?,
            dir: location.clone(),
            input: commands(&self.setup, seed, self.buffering, &location).into_bytes(),
            share: trial.share.clone(),
            stdout: Some(stdout),
            ..Launch::default()
        };
        let running = bench.session.start(&launch)?;
        // Only the program has the writing end now.
        drop(launch);
        // Dropping the stopped program ends it.
        let times = self.follow(bench, running.pid(), &mut gate)?;
        gate.drain(bench);
        let mut ended = bench.finish(running, PROGRAM, trial.deadline)?;
        ended.stdout = gate.text;
        let last_sync = cache::sync(bench.files())?;
        let program = || PROGRAM.to_string();
        if let Some(line) =
            ended.stdout.lines().chain(ended.stderr.lines()).find(|line| line.contains("Error"))
        {
            let problem = format!("it complained: {}", line.trim_start_matches("pm>"));
            return Err(RunnerError::Wrong { program: program(), problem, tail: tail(&ended) });
        }
        let unreadable =
            |missing| RunnerError::Unreadable { program: program(), missing, tail: tail(&ended) };
        let report = Report::read(&ended.stdout).map_err(unreadable)?;
        self.compare(&expected, &report, &ended)?;
        if times.transactions.is_zero() {
            let problem =
                "its transactions ended before they could be timed; use more transactions".into();
            return Err(RunnerError::Wrong { program: program(), problem, tail: String::new() });
        }
        Ok(self.measurement(&expected, &report, times, ended.wall, last_sync))
    }
}

#[cfg(test)]
mod tests;
