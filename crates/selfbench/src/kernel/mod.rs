//! `selfbench kernel`: the speed of the kernel arena, relative to real time and to the plain
//! approach.
//!
//! The case: 40 clients with 500 direct 4 KiB reads and 1 ms of think time, on a `null_blk` that
//! takes one request at a time for 8 ms, under none, mq-deadline, kyber and bfq, in one boot: 640 s
//! of virtual time. The plain approach is Debian's 6.1 with ptrace and a process per client; ours
//! has clients as guest kernel threads. Sides alternate; results are medians.

mod inside;

use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use experiment::plan::Plan;
use experiment::stats::describe;
use guest::{Boot, Cache, Kernel, ModuleSet, Request, Source, TimeTravel};
use serde::Serialize;

use inside::{CLIENTS, Case, Outcome, Readers, SERVICE_NS};
use lab::arena::kernel::order;
use lab::arena::{Arena, TrialSpec, VariantIndex};
use lab::progress::{BuildProgress, Progress};
use lab::signals::Stop;

pub(crate) use inside::run as run_inside;

pub(crate) const ROLE: &str = "guest-bench";

const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
/// MiB, as in the arena.
const MEMORY_MIB: u32 = 256;
/// Also the kernel of our first side.
const PLAIN: &str = "debian:6.1";
const COMPARE: [&str; 14] = [
    "compare",
    "--arena",
    "kernel",
    "--kernel",
    PLAIN,
    "--device",
    "hp97560",
    "--schedulers",
    "none,mq-deadline,kyber,bfq",
    "--workload",
    "iozone",
    "--clients",
    "40",
    "--quiet",
];

/// Name, bound, whether it is a minimum.
const GUARANTEES: [(&str, f64, bool); 4] = [
    ("times as fast as real time", 100.0, true),
    ("I/O rate against the plain way", 2.0, true),
    ("from boot to the result of an almost empty trial, s", 2.0, false),
    ("four schedulers to a verdict, s", 15.0, false),
];

#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) rounds: u32,
    /// Reads per client; guarantees are for 500.
    pub(crate) reads: u32,
    pub(crate) kernels: Vec<Source>,
    pub(crate) cache: PathBuf,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Side {
    kernel: String,
    /// `processes` (plain) or `threads` (ours).
    clients: &'static str,
    /// Real time including boot.
    real_s: Vec<f64>,
    /// Its virtual seconds.
    virtual_s: Vec<f64>,
    ios: u64,
    /// Time from boot to the result of a nearly empty trial; empty for the plain approach.
    empty_s: Vec<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    reads: u32,
    /// The plain approach first, then ours with the same kernel.
    sides: Vec<Side>,
    verdict_s: Vec<f64>,
    marks: Vec<Mark>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Mark {
    guarantee: &'static str,
    bound: f64,
    /// Whether the bound is a minimum.
    at_least: bool,
    measured: f64,
    met: bool,
}

struct Ready {
    kernel: Kernel,
    modules: ModuleSet,
    source: Source,
    readers: Readers,
    side: Side,
}

pub(crate) fn run(options: &Options) -> Result<Report> {
    ensure!(options.rounds > 0, "rounds = 0: at least 1 is needed");
    let stop = Stop::install()?;
    let progress = crate::progress::Progress::default();
    let mut ready = sides(options, &stop, &progress)?;
    let mut verdict_s = Vec::new();
    for round in 0..options.rounds {
        let mut order: Vec<usize> = (0..ready.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for which in order {
            progress.phase(&format!(
                "round {} of {}, side {}",
                round + 1,
                options.rounds,
                which + 1
            ));
            measure(&mut ready[which], options, &stop, &progress)?;
        }
        verdict_s.push(verdict(options, &stop.flag())?);
    }
    progress.clear();
    let sides: Vec<Side> = ready.into_iter().map(|ready| ready.side).collect();
    let marks = marks(&sides, &verdict_s);
    Ok(Report { reads: options.reads, sides, verdict_s, marks })
}

fn sides(options: &Options, stop: &Stop, progress: &dyn Progress) -> Result<Vec<Ready>> {
    let cache = Cache::open(&options.cache)?;
    let plain: Source = PLAIN.parse().expect("it is a source's name");
    let mut sources = vec![plain.clone()];
    sources.extend(options.kernels.iter().filter(|source| **source != plain).cloned());
    let mut ready: Vec<Ready> = Vec::new();
    for source in sources {
        let mut shown = BuildProgress::new(progress);
        let kernel = cache.build(
            &Request { source: source.clone(), ..Request::default() },
            &mut shown,
            &stop.flag(),
        )?;
        let modules = kernel.modules(&mut shown, &stop.flag())?;
        let ways = if ready.is_empty() {
            &[Readers::Processes, Readers::Threads][..]
        } else {
            &[Readers::Threads]
        };
        for &readers in ways {
            let clients = if readers == Readers::Processes { "processes" } else { "threads" };
            let (real_s, virtual_s, empty_s) = <(Vec<f64>, Vec<f64>, Vec<f64>)>::default();
            let side = Side {
                kernel: kernel.release.clone(),
                clients,
                real_s,
                virtual_s,
                ios: 0,
                empty_s,
            };
            ready.push(Ready {
                kernel: kernel.clone(),
                modules: modules.clone(),
                source: source.clone(),
                readers,
                side,
            });
        }
    }
    Ok(ready)
}

fn measure(
    ready: &mut Ready,
    options: &Options,
    stop: &Stop,
    progress: &dyn Progress,
) -> Result<()> {
    let dir = guest::workdir(&options.cache).context("cannot make a guest's working directory")?;
    let module = |name| {
        ready
            .modules
            .get(name)
            .with_context(|| format!("{} has no module {name}", ready.kernel.key))
    };
    let case = Case {
        null_blk: module("null_blk")?,
        modelload: module("modelload")?,
        readers: ready.readers,
        reads: options.reads,
        schedulers: SCHEDULERS.map(str::to_owned).to_vec(),
    };
    order::write(dir.path(), order::ORDER, &case)?;
    let exe = std::env::current_exe().context("cannot find this program's own file")?;
    let boot = Boot {
        kernel: &ready.kernel.load()?,
        init: &exe,
        role: ROLE,
        readable: &[ready.modules.dir().to_owned()],
        reachable: &[],
        memory_mib: MEMORY_MIB,
        cpus: 1,
        seed: 0,
        time_travel: TimeTravel::InfiniteCpu,
        patience: guest::PATIENCE,
    };
    let ended = boot.run(dir.path(), &stop.flag())?;
    let side = &mut ready.side;
    let answer = order::answered::<Outcome>(dir.path())?.result;
    let answer =
        answer.map_err(|error| anyhow!("{} with {}: {error}", side.kernel, side.clients))?;
    let elapsed_ns: u64 = answer.elapsed_ns.iter().sum();
    check(&answer, options.reads)?;
    side.ios = answer.reads;
    side.real_s.push(ended.real.as_secs_f64());
    side.virtual_s.push(elapsed_ns as f64 / 1e9);
    if ready.readers == Readers::Threads {
        side.empty_s.push(almost_empty(&ready.source, options, stop, progress)?);
    }
    Ok(())
}

/// All reads, none faster than the disk.
fn check(answer: &Outcome, of_each: u32) -> Result<()> {
    let per_scheduler = u64::from(CLIENTS) * u64::from(of_each);
    let reads = per_scheduler * SCHEDULERS.len() as u64;
    ensure!(answer.reads == reads, "{} reads were done instead of {reads}", answer.reads);
    for (scheduler, &ns) in SCHEDULERS.iter().zip(&answer.elapsed_ns) {
        let least = per_scheduler * SERVICE_NS;
        ensure!(
            (least..2 * least).contains(&ns),
            "{scheduler} took {ns} ns for what takes {least} ns of service"
        );
    }
    Ok(())
}

/// Measures from boot to the result of one read, in the arena itself.
fn almost_empty(
    source: &Source,
    options: &Options,
    stop: &Stop,
    progress: &dyn Progress,
) -> Result<f64> {
    let plan = Plan::from_toml(&format!(
        "arena = \"kernel\"\nkernel = \"{source}\"\ndevice = \"hp97560\"\n[[variant]]\nname = \"none\"\nscheduler = \"none\"\n\
         [[variant]]\nname = \"bfq\"\nscheduler = \"bfq\"\n[[workload]]\nname = \"w\"\nkind = \"randread\"\nprimary = \"iops\"\n\
         params = {{ amount = \"4k\" }}\n"
    ))?;
    let mut arena = crate::arenas::kernel(&plan, Some(&options.cache), stop, progress)?;
    let start = Instant::now();
    arena.apply(VariantIndex(1))?;
    let second = Duration::from_secs(1);
    arena.measure(&TrialSpec { workload: 0, seed: 1, duration: second, warmup: Duration::ZERO })?;
    Ok(start.elapsed().as_secs_f64())
}

/// `schedlab` is built next to this program.
fn verdict(options: &Options, stop: &AtomicBool) -> Result<f64> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let exe = own.with_file_name("schedlab");
    ensure!(exe.exists(), "{}: no such program; build it: cargo build -p schedlab", exe.display());
    let out = tempfile::tempdir().context("there is no place for a comparison's results file")?;
    let start = Instant::now();
    let done = Command::new(exe)
        .args(COMPARE)
        .arg("--cache-dir")
        .arg(&options.cache)
        .arg("--out")
        .arg(out.path().join("out"))
        .output()
        .context("cannot start the comparison")?;
    ensure!(!stop.load(Ordering::Relaxed), "interrupted");
    ensure!(
        done.status.success(),
        "the comparison failed: {}",
        String::from_utf8_lossy(&done.stderr).trim()
    );
    Ok(start.elapsed().as_secs_f64())
}

fn marks(sides: &[Side], verdict_s: &[f64]) -> Vec<Mark> {
    let (plain, ours) = (&sides[0], &sides[1]);
    let measured =
        [ours.times_real(), ours.ratio_to(plain), median(&ours.empty_s), median(verdict_s)];
    let mark = |(&(guarantee, bound, at_least), measured): (&(&'static str, f64, bool), f64)| {
        let met = if at_least { measured >= bound } else { measured <= bound };
        Mark { guarantee, bound, at_least, measured, met }
    };
    GUARANTEES.iter().zip(measured).map(mark).collect()
}

impl Side {
    fn times_real(&self) -> f64 {
        median(
            &self
                .virtual_s
                .iter()
                .zip(&self.real_s)
                .map(|(moved, took)| moved / took)
                .collect::<Vec<_>>(),
        )
    }

    fn rate(&self) -> f64 {
        self.ios as f64 / median(&self.real_s)
    }

    /// Returns the median of per-round ratios.
    fn ratio_to(&self, other: &Side) -> f64 {
        let share =
            |(mine, theirs): (&f64, &f64)| self.ios as f64 / mine / (other.ios as f64 / theirs);
        median(&self.real_s.iter().zip(&other.real_s).map(share).collect::<Vec<_>>())
    }
}

fn median(values: &[f64]) -> f64 {
    describe::median(values).unwrap_or(f64::NAN)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = comfy_table::Table::new();
        table.load_preset(comfy_table::presets::UTF8_FULL_CONDENSED);
        table.set_header([
            "kernel",
            "clients",
            "real s",
            "virtual s",
            "x real time",
            "I/Os a second",
            "x plain",
            "boot to result s",
        ]);
        for side in &self.sides {
            table.add_row([
                side.kernel.clone(),
                side.clients.to_owned(),
                format!("{:.2}", median(&side.real_s)),
                format!("{:.2}", median(&side.virtual_s)),
                format!("{:.0}", side.times_real()),
                format!("{:.0}", side.rate()),
                format!("{:.2}", side.ratio_to(&self.sides[0])),
                if side.empty_s.is_empty() {
                    "-".to_owned()
                } else {
                    format!("{:.2}", median(&side.empty_s))
                },
            ]);
        }
        writeln!(
            f,
            "{CLIENTS} clients, {} direct reads of 4 KiB each, 1 ms think time, null_blk with one request of 8 ms at a time, under \
             {}:",
            self.reads,
            SCHEDULERS.join(", ")
        )?;
        writeln!(
            f,
            "medians of {} rounds in turn; processes: the plain way, traced, a process a client.",
            self.verdict_s.len()
        )?;
        writeln!(f, "{table}")?;
        writeln!(f, "schedlab {}: {:.1} s", COMPARE.join(" "), median(&self.verdict_s))?;
        for Mark { guarantee, bound, at_least, measured, met } in &self.marks {
            let met = if *met { "met" } else { "MISSED" };
            let side = if *at_least { "at least" } else { "at most" };
            writeln!(f, "{met}: {guarantee}: {measured:.2} ({side} {bound})")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(real_s: &[f64], virtual_s: f64) -> Side {
        let virtual_s = vec![virtual_s; real_s.len()];
        Side {
            kernel: String::new(),
            clients: "threads",
            real_s: real_s.to_vec(),
            virtual_s,
            ios: 80_000,
            empty_s: vec![0.3],
        }
    }

    #[test]
    fn a_ratio_is_the_median_of_the_rounds_own_ratios() {
        // The machine was slow in the last round, for both.
        let (plain, ours) = (side(&[10.0, 10.0, 40.0], 640.0), side(&[2.0, 2.5, 8.0], 640.0));
        assert_eq!(ours.ratio_to(&plain), 5.0);
        assert_eq!((ours.times_real(), ours.rate()), (256.0, 32_000.0));
        assert_eq!(plain.ratio_to(&plain), 1.0);
    }

    #[test]
    fn a_guarantee_is_met_at_its_bound_and_missed_beyond_it() {
        let marked = |ours: &[f64], verdict: f64| -> Vec<bool> {
            marks(&[side(&[8.0], 640.0), side(ours, 640.0)], &[verdict])
                .iter()
                .map(|mark| mark.met)
                .collect()
        };
        assert_eq!(marked(&[4.0], 15.0), [true, true, true, true]);
        assert_eq!(marked(&[4.1], 15.1), [true, false, true, false]);
        assert_eq!(marked(&[6.5], 1.0), [false, false, true, true]);
    }

    #[test]
    fn a_case_that_was_not_done_whole_or_faster_than_its_disk_is_no_case() {
        let ns = u64::from(CLIENTS) * 5 * SERVICE_NS;
        let answer = Outcome { elapsed_ns: vec![ns; 4], reads: 800 };
        check(&answer, 5).unwrap();
        assert!(check(&answer, 4).is_err());
        assert!(check(&Outcome { elapsed_ns: vec![ns, ns, ns - 1, ns], ..answer }, 5).is_err());
    }
}
