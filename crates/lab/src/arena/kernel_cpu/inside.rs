//! The first program of a guest for CPU experiments, and the programs that it starts.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use experiment::results::Observation;
use guest::inside::{CONTROL_GROUPS, Inside};
use load::cpu::{Report, Spec};
use machine::files::programs;
use rustix::process::{Pid, Signal, kill_process};

use super::LOG;
use super::request::{Program, TrialRequest};
use crate::arena::kernel::{Modelled, order};
use crate::arena::processes::BEGUN;
use crate::arena::program::too_few;
use crate::role::{DONE, line};
use crate::signals::Stop;

/// The role of a program in a guest.
pub(crate) const PROGRAM: &str = "guest-cpu-program";
/// The control group of the measured program.
const GROUP: &str = "measured";
const DEVICE: &str = "/dev/modelcpu";
/// The module's files.
const DEBUG: &str = "/sys/kernel/debug/modelcpu";

/// Runs the request in `workdir`; returns only outside of a guest.
pub(crate) fn run(workdir: &Path) -> Result<u8> {
    order::answer(&Inside::begin(workdir)?, trial)
}

fn trial(inside: &Inside) -> Result<Observation> {
    let request: TrialRequest = order::read(inside.workdir(), order::ORDER)?;
    inside.load(&request.module, &format!("log={}", request.log))?;
    for (key, value) in &request.attributes {
        set_attribute(key, value)?;
    }
    let disk = request.disk.map(|disk| Modelled::of(inside, &disk)).transpose()?;
    let group = (!request.group.is_empty()).then(|| make_group(&request.group)).transpose()?;
    let loads = request.loads.iter().map(|(name, spec)| {
        let (spec, placement) = (spec.clone(), BTreeMap::new());
        Running::start(name, &Program { spec, placement, group: None, is_measured: false })
    });
    let loads = loads.collect::<Result<Vec<Running>>>()?;
    std::thread::sleep(Duration::from_nanos(request.warmup_ns));
    let program = Program { group: group.clone(), ..request.program };
    let report = Running::start("program", &program)?.finish()?;
    let mut observation = Observation {
        duration_ns: report.window_ns,
        metrics: report.metrics,
        counters: report.counters,
        invalid: too_few(&report.counts),
        ..Observation::default()
    };
    observation.counters.extend(run_queue(group.is_some())?);
    if let Some(group) = group {
        observation.counters.extend(throttling(&group)?);
    }
    if let Some(disk) = disk {
        let done = disk.stats()?;
        let counters = [
            ("device_transfers", done.transfers),
            ("device_bytes", done.bytes),
            ("device_busy_ns", done.busy_ns),
        ];
        observation.counters.extend(counters.map(|(name, value)| (name.to_owned(), value as f64)));
    }
    for load in loads {
        let name = load.name.clone();
        let counters = load.stop()?.counters.into_iter();
        observation
            .counters
            .extend(counters.map(|(what, value)| (format!("background_{name}_{what}"), value)));
    }
    if request.log > 0 {
        fs::copy(Path::new(DEBUG).join("log"), inside.workdir().join(LOG))
            .context("trace: too many events; choose a shorter --trial-time")?;
    }
    Ok(observation)
}

/// What the scheduler decided about the program's tasks (`kernel/modelcpu-runqueue.c`). Weights do
/// not give the share of a task that is in a control group.
fn run_queue(is_grouped: bool) -> Result<Vec<(String, f64)>> {
    let path = Path::new(DEBUG).join("stats");
    let text =
        fs::read_to_string(&path).with_context(|| format!("{}: cannot read", path.display()))?;
    let figure = |line: &str| -> Option<(String, f64)> {
        let (name, value) = line.split_once(' ')?;
        let value: f64 = value.parse().ok()?;
        Some(match name.strip_suffix("_ns") {
            Some(stem) => (format!("{stem}_us"), value / 1e3),
            None => (name.to_owned(), value),
        })
    };
    let figures = text.lines().filter(|line| !(is_grouped && line.starts_with("share")));
    Ok(figures.filter_map(figure).collect())
}

/// Writes an attribute of the scheduler and reads it back.
fn set_attribute(key: &str, value: &str) -> Result<()> {
    let (kind, name) = key.split_once(':').unwrap_or((key, ""));
    if name.is_empty() || name.contains("..") || name.starts_with('/') {
        bail!("{key}: not a setting of a guest");
    }
    let features = Path::new("/sys/kernel/debug/sched/features");
    let (path, text) = match kind {
        "sysctl" => (Path::new("/proc/sys").join(name.replace('.', "/")), value.to_owned()),
        "debug" => (Path::new("/sys/kernel/debug/sched").join(name), value.to_owned()),
        "feature" if value == "off" => (features.to_owned(), format!("NO_{name}")),
        "feature" if value == "on" => (features.to_owned(), name.to_owned()),
        _ => {
            bail!("{key}={value}: expected sysctl:NAME, debug:NAME, or feature:NAME with on or off")
        }
    };
    fs::write(&path, &text)
        .with_context(|| format!("{key}={value}: this kernel refuses it ({})", path.display()))?;
    let found = fs::read_to_string(&path)
        .with_context(|| format!("{key}: cannot read {}", path.display()))?;
    match found.split_whitespace().any(|word| word == text) {
        true => Ok(()),
        false => bail!("{key}={value}: not in effect (found {:?})", found.trim()),
    }
}

/// The control group of the measured program, with these values in its files.
fn make_group(files: &[(String, String)]) -> Result<PathBuf> {
    let root = Path::new(CONTROL_GROUPS);
    fs::write(root.join("cgroup.subtree_control"), "+cpu")
        .context("control groups: this kernel has none for CPUs")?;
    let group = root.join(GROUP);
    fs::create_dir(&group).with_context(|| format!("{}: cannot create", group.display()))?;
    for (name, value) in files {
        fs::write(group.join(name), value)
            .with_context(|| format!("{name}={value}: this kernel refuses it"))?;
    }
    Ok(group)
}

/// How often and how long a control group was throttled.
fn throttling(group: &Path) -> Result<Vec<(String, f64)>> {
    let text = fs::read_to_string(group.join("cpu.stat")).context("cpu.stat: cannot read")?;
    let figure = |name: &str| -> Option<f64> {
        text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
    };
    let named = [
        ("nr_throttled ", "group_throttled", 1.0),
        ("throttled_usec ", "group_throttled_ms", 1e-3),
    ];
    let found =
        named.iter().filter_map(|(from, to, unit)| Some(((*to).to_owned(), figure(from)? * unit)));
    Ok(found.collect())
}

/// A program on its way.
struct Running {
    name: String,
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// Starts a program, and waits until it has begun.
    fn start(name: &str, program: &Program) -> Result<Running> {
        let exe = std::env::current_exe().context("schedlab: cannot find its own executable")?;
        let mut child = programs::self_command(&exe)
            .arg(PROGRAM)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("{name}: cannot start"))?;
        let mut input = child.stdin.take().expect("it was requested");
        input.write_all(&serde_json::to_vec(program)?).with_context(|| format!("{name}: ended"))?;
        drop(input);
        let output = BufReader::new(child.stdout.take().expect("it was requested"));
        let mut running = Running { name: name.to_owned(), child, output };
        match running.next_line()?.as_deref() {
            Some(BEGUN) => Ok(running),
            _ => Err(running.failure()),
        }
    }

    fn next_line(&mut self) -> Result<Option<String>> {
        let mut text = String::new();
        let bytes =
            self.output.read_line(&mut text).with_context(|| format!("{}: ended", self.name))?;
        Ok((bytes > 0).then(|| text.trim_end().to_owned()))
    }

    /// Waits for the report of a program that ends on its own.
    ///
    /// It does not wait for the program's end. In Linux 6.12, a parent that does removes the
    /// program's entries from the cache of /proc, and spins while one of its threads is preempted in
    /// doing the same: a deadlock in virtual time, which a spin does not advance.
    fn finish(mut self) -> Result<Report> {
        let Some(text) = self.next_line()? else { return Err(self.failure()) };
        serde_json::from_str(&text).with_context(|| format!("{}: not a report", self.name))
    }

    /// Ends a background load.
    fn stop(self) -> Result<Report> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).with_context(|| format!("{}: ended early", self.name))?;
        self.finish()
    }

    fn failure(&mut self) -> anyhow::Error {
        let mut said = String::new();
        if let Some(errors) = &mut self.child.stderr {
            let _ = errors.read_to_string(&mut said);
        }
        let status = self.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
        let said: Vec<&str> = said.lines().filter(|line| !line.starts_with("note: ")).collect();
        let said = if said.is_empty() { status } else { said.join("; ") };
        anyhow!("{}: {}", self.name, said.trim_start_matches("schedlab: "))
    }
}

/// The role of a program: places itself, computes in virtual time, and reports.
pub(crate) fn program() -> Result<u8> {
    let stop = Stop::install()?;
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .context("standard input: cannot read the request")?;
    let Program { spec, placement, group, is_measured } =
        serde_json::from_str(&text).context("standard input: not a request")?;
    load::cpu::compute_in_virtual_time().with_context(|| format!("{DEVICE}: cannot open"))?;
    if let Some(group) = group {
        fs::write(group.join("cgroup.procs"), "0")
            .with_context(|| format!("{}: cannot join", group.display()))?;
    }
    let pairs = placement.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let setting = machine::cpu::Setting::read("default", pairs).map_err(|e| anyhow!(e))?;
    setting.placement.apply_to_self().map_err(|e| anyhow!(e))?;
    let deviations = setting.placement.deviations(rustix::process::getpid());
    if let Some((what, wanted, found)) = deviations.first() {
        bail!("{what}={wanted}: not in effect (found {found})");
    }
    // Its children are in its process group, too.
    let tell = |word: &str| match is_measured {
        true => fs::write(DEVICE, word).with_context(|| format!("{DEVICE}: refuses {word}")),
        false => Ok(()),
    };
    rustix::process::setpgid(None, None).context("process group: cannot be made")?;
    tell("begin")?;
    let mut begun = Ok(());
    let report = load::cpu::run(&spec, &stop.flag(), || begun = line(BEGUN))?;
    begun?;
    tell("end")?;
    line(serde_json::to_string(&report)?)?;
    Ok(DONE)
}

/// Whether a guest can do this work: what computes natively takes no virtual time.
pub(super) fn runs_in_virtual_time(spec: &Spec) -> Result<(), &'static str> {
    match spec {
        Spec::Memory(_) => Err("virtual time has neither caches nor memory bandwidth"),
        Spec::Messaging(spec) if !spec.pipes => Err("the guest has no sockets; give it pipes=true"),
        _ => Ok(()),
    }
}
