//! `selfbench record`: the overhead of trace recording, compared with other recorders.
//!
//! fio reads randomly from a loop device in memory with 32 open requests, so a recorder takes its
//! CPU time from fio. The ratio is the median over pairs with and without a recorder. On a shared
//! virtual machine CPU time per request, without steal, is more reliable. biosnoop needs kprobes or
//! kernel headers; otherwise a bpftrace program with its events replaces it.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use load::prepare_files;
use serde::Serialize;

use super::engine::{Loop, quantile, sorted};
use super::fio;

#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) rounds: u32,
    pub(crate) seconds: f64,
    pub(crate) schedlab: PathBuf,
    /// A directory on a tmpfs.
    pub(crate) dir: PathBuf,
}

/// The program and its arguments for a device and a new output path.
struct Recorder {
    name: &'static str,
    command: fn(&Options, &Path, &Path) -> Command,
    is_ours: bool,
}

const RECORDERS: [Recorder; 4] = [
    Recorder {
        name: "schedlab trace record (BPF)",
        command: |of, device, out| ours(of, device, out, "bpf"),
        is_ours: true,
    },
    Recorder {
        name: "schedlab trace record (tracefs)",
        command: |of, device, out| ours(of, device, out, "tracefs"),
        is_ours: true,
    },
    Recorder { name: "blktrace", command: |_, device, out| blktrace(device, out), is_ours: false },
    Recorder {
        name: "bpftrace, as biosnoop",
        command: |_, device, out| snoop(device, out),
        is_ours: false,
    },
];

/// biosnoop's output, from the events that it uses without kprobes.
const SNOOP: &str = "tracepoint:block:block_io_start { @at[args->dev, args->sector] = nsecs; @pid[args->dev, args->sector] = pid; }
tracepoint:block:block_io_done /@at[args->dev, args->sector]/ {
  printf(\"%-8d %-16s %-7d %-10d %-7s %-10d %7d\\n\", elapsed, comm, @pid[args->dev, args->sector], args->dev, args->rwbs, args->sector,
    (nsecs - @at[args->dev, args->sector]) / 1000);
  delete(@at[args->dev, args->sector]); delete(@pid[args->dev, args->sector]); }";

fn ours(options: &Options, device: &Path, out: &Path, source: &str) -> Command {
    let mut command = Command::new(&options.schedlab);
    command
        .arg("record")
        .arg(device)
        .args(["--json", "--source", source, "--out"])
        .arg(out.join("trace.parquet"));
    command
}

fn blktrace(device: &Path, out: &Path) -> Command {
    let mut command = Command::new("blktrace");
    command.arg("-d").arg(device).arg("-D").arg(out).args(["-o", "trace"]);
    command
}

fn snoop(_device: &Path, out: &Path) -> Command {
    let mut command = Command::new("bpftrace");
    command.arg("-e").arg(SNOOP).arg("-o").arg(out.join("lines"));
    command
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    recorder: String,
    /// Requests per second without and with it, by pair.
    pairs: Vec<[f64; 2]>,
    /// Median, and at 10 and 90 % of the pairs.
    ratio: f64,
    ratio_range: [f64; 2],
    /// CPU time over all CPUs per request, without and with the recorder, by pair.
    cpu_us: Vec<[f64; 2]>,
    /// Requests recorded by our recorder, events lost, bytes written.
    requests: u64,
    lost: u64,
    bytes: u64,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    fio_version: String,
    rows: Vec<Row>,
    notes: Vec<String>,
}

/// # Errors
/// fio or a loop device is missing, or our own recorder fails.
pub(crate) fn run(options: &Options) -> Result<Report> {
    ensure!(options.rounds > 0, "rounds = 0: at least 1 is needed");
    let fio_version = fio::version()?;
    let dir = tempfile::Builder::new().prefix("schedlab-bench-").tempdir_in(&options.dir)?;
    let file = prepare_files(dir.path(), &[256 << 20])?.remove(0);
    let device = Loop::over(&file)?;
    let mut report = Report { fio_version, rows: Vec::new(), notes: Vec::new() };
    for recorder in &RECORDERS {
        match measure(recorder, options, &device.0, dir.path()) {
            Ok(row) => report.rows.push(row),
            Err(error) if recorder.is_ours => return Err(error),
            Err(error) => report.notes.push(format!("{}: left out: {error:#}", recorder.name)),
        }
    }
    Ok(report)
}

fn measure(recorder: &Recorder, options: &Options, device: &Path, dir: &Path) -> Result<Row> {
    let mut row = Row {
        recorder: recorder.name.to_owned(),
        pairs: Vec::new(),
        ratio: 0.0,
        ratio_range: [0.0; 2],
        cpu_us: Vec::new(),
        requests: 0,
        lost: 0,
        bytes: 0,
    };
    let load = || {
        let before = busy_us()?;
        let iops = fio::run(fio::IO_URING, device, 256 << 20, true, options.seconds)?.iops;
        Ok((iops, (busy_us()? - before) / (iops * options.seconds)))
    };
    for round in 0..options.rounds {
        // Removed in any case.
        let held = tempfile::tempdir_in(dir)?;
        let out = held.path().join("out");
        std::fs::create_dir(&out)?;
        let (mut pair, mut cpu_us) = ([0.0; 2], [0.0; 2]);
        for with in [round % 2 == 1, round % 2 == 0] {
            let at = usize::from(with);
            (pair[at], cpu_us[at]) = if with {
                recorded(recorder, options, device, &out, &load, &mut row)?
            } else {
                load()?
            };
        }
        row.pairs.push(pair);
        row.cpu_us.push(cpu_us);
        row.bytes += std::fs::read_dir(&out)?
            .flatten()
            .filter_map(|entry| Some(entry.metadata().ok()?.len()))
            .sum::<u64>();
    }
    let ratios = sorted(row.pairs.iter().map(|[without, with]| with / without));
    row.ratio = quantile(&ratios, 0.5);
    row.ratio_range = [quantile(&ratios, 0.1), quantile(&ratios, 0.9)];
    Ok(row)
}

fn recorded(
    recorder: &Recorder,
    options: &Options,
    device: &Path,
    out: &Path,
    load: &dyn Fn() -> Result<(f64, f64)>,
    row: &mut Row,
) -> Result<(f64, f64)> {
    let said = File::create(out.with_extension("said"))?;
    let mut command = (recorder.command)(options, device, out);
    // Old bpftrace programs set a limit that the kernel no longer has.
    command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
    let mut child =
        command.spawn().with_context(|| format!("{}: cannot be started", recorder.name))?;
    // Wait for it to attach.
    thread::sleep(Duration::from_secs(2));
    let measured = load();
    let ended = end(&mut child);
    let text = std::fs::read_to_string(out.with_extension("said"))?;
    ended.with_context(|| text.lines().next().unwrap_or_default().to_owned())?;
    if recorder.is_ours {
        let json = text.find('{').map_or("", |at| &text[at..]);
        let summary: serde_json::Value = serde_json::from_str(json)
            .with_context(|| format!("{}: {}", recorder.name, text.trim()))?;
        row.requests += summary["requests"].as_u64().unwrap_or(0);
        row.lost += summary["about"]["lost"].as_u64().unwrap_or(0);
    }
    measured
}

/// Returns the busy time of all CPUs in µs, without steal.
fn busy_us() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/stat").context("/proc/stat: cannot be read")?;
    let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    // user, nice, system, then idle and iowait, then irq and softirq.
    let [user, nice, system, _, _, irq, softirq, ..] = ticks[..] else {
        bail!("/proc/stat: its first line has other fields")
    };
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    Ok((user + nice + system + irq + softirq) as f64 / per_second * 1e6)
}

/// Interrupts a program, and waits for its end.
fn end(child: &mut Child) -> Result<()> {
    if let Some(status) = child.try_wait()? {
        bail!("it ended before the measurement did ({status})");
    }
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT)?;
    let began = Instant::now();
    while child.try_wait()?.is_none() {
        if began.elapsed() > Duration::from_secs(20) {
            child.kill()?;
            child.wait()?;
            bail!("it did not end");
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| recorder | without, IO/s | with, IO/s | ratio | 10–90 % of the pairs | CPU a request without, with | lost | bytes a request |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for row in &self.rows {
            let middle = |pairs: &[[f64; 2]], which: usize| {
                quantile(&sorted(pairs.iter().map(|pair| pair[which])), 0.5)
            };
            let ours = |text: String| if row.requests == 0 { "–".to_owned() } else { text };
            writeln!(
                f,
                "| {} | {:.0} | {:.0} | {:.3} | {:.3}–{:.3} | {:.2}, {:.2} µs | {} | {} |",
                row.recorder,
                middle(&row.pairs, 0),
                middle(&row.pairs, 1),
                row.ratio,
                row.ratio_range[0],
                row.ratio_range[1],
                middle(&row.cpu_us, 0),
                middle(&row.cpu_us, 1),
                ours(row.lost.to_string()),
                ours(format!("{:.1}", row.bytes as f64 / row.requests.max(1) as f64)),
            )?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "\n{note}"))
    }
}
