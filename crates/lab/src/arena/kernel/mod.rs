//! The kernel arena: real Linux schedulers on a modelled disk, in virtual time.
//!
//! Each trial boots a User-mode Linux (crate `guest`) with this program as init (`inside`). Trials
//! share no state, and repeating one reproduces its figures bit for bit.

mod built;
mod choice;
mod disk;
pub mod exec;
mod figures;
pub mod files;
mod flows;
pub mod inside;
pub mod order;
mod setting;
mod trace;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use elevator::Limits;
use experiment::plan::{Plan, Variant, WorkloadSpec};
use experiment::results::{CPU_TIME_OMITTED, Environment, Observation};
use guest::{Boot, BootError, Source, TimeTravel};
use machine::settings::DEPTH_NOTE;

pub(super) use built::Built;
pub use built::{build, cache};
pub use choice::{KernelChoice, path_of, series, source, usual_source};
pub(super) use disk::Modelled;
pub(super) use order::DiskRequest;
use setting::Clients;
pub use setting::{ATTRIBUTES, KERNEL, MODULES, Setting};

use super::ahead::Job;
use super::defaults::{self, Defaults};
use super::invalid::interrupted;
use super::model::Model;
use super::parallel::Key;
use super::streams::{schedulable, streams_of, with_clients};
use super::tasks::check_tasks;
use super::traced::{TraceTo, Traces};
use super::virtual_time::{Progression, Virtual, facts_of};
use super::{TrialSpec, VariantIndex, Variants};
use crate::console::Console;
use crate::failure::usage;
use crate::signals::Stop;
use crate::trace_file::TraceFile;
use crate::workloads::{Work, Workloads};
use files::Files;
use order::{Answer, Disk, TrialRequest};

/// Guest memory, excluding traces, flows and files.
const MEMORY_MIB: u32 = 256;
const FLOW_MIB: u32 = 24;
/// Bytes per traced request, for reading and replaying it.
const REQUEST_BYTES: u64 = 160;
/// Upper bound, excluding files.
const MOST_MEMORY_MIB: u32 = 8 << 10;
/// A guest's files reside in its memory.
const MOST_FILES: u64 = 2 << 30;

const MOST_OF_A_LOG: u64 = 1 << 30;
/// The workload parameter for a file.
const TRACE: &str = "file";

pub struct KernelArena {
    guests: Guests,
    defaults: Defaults,
    course: Progression,
    opened: Instant,
    traces: Traces,
}

/// Inputs of a trial, cloned into each job.
#[derive(Debug, Clone)]
struct Guests {
    variants: Arc<Variants<Setting>>,
    fixed: Arc<Fixed>,
}

#[derive(Debug)]
struct Fixed {
    model: Model,
    cache: PathBuf,
    /// Keyed by [`KernelChoice::label`].
    kernels: BTreeMap<String, Built>,
    workloads: Workloads,
    /// As sent to the guests.
    specs: Vec<WorkloadSpec>,
    limits: experiment::plan::Limits,
    stop: Stop,
    flag: Arc<AtomicBool>,
    here: PathBuf,
    exe: PathBuf,
    /// Totals over all guests.
    virtual_ns: AtomicU64,
    ios: AtomicU64,
    boots: AtomicU64,
}

#[derive(Debug)]
struct Wanted {
    duration: Duration,
    warmup: Duration,
    /// Number of disk commands to log.
    log: u32,
    /// None: as in the workload.
    clients: Option<u32>,
    /// Where to write a trace, which takes an additional run.
    trace: Option<TraceTo>,
}

#[derive(Debug)]
struct Booted {
    observation: Observation,
    log: Vec<u8>,
}

impl KernelArena {
    /// Opens the arena for a resolved plan and builds its kernels.
    pub fn open(
        plan: &Plan,
        model: Model,
        source: Source,
        variants: Variants<Setting>,
        workloads: Workloads,
        cache_dir: Option<&Path>,
        console: Console<'_>,
    ) -> Result<KernelArena> {
        let Console { stop, progress } = console;
        check_tasks(&model, &workloads)?;
        check_files(&variants, &workloads)?;
        check_clients(&variants, &workloads)?;
        check_reach(&workloads)?;
        let cache = cache(cache_dir)?;
        let mut kernels = BTreeMap::new();
        for (_, _, setting) in variants.iter() {
            if let Entry::Vacant(vacant) = kernels.entry(setting.kernel.label()) {
                let request = setting.kernel.request(&source);
                vacant.insert(Built::of(&cache, &request, stop, progress)?);
            }
        }
        let fixed = Fixed {
            model,
            cache: cache.dir().to_owned(),
            kernels,
            workloads,
            specs: plan.workloads.clone(),
            limits: plan.limits.clone(),
            stop: stop.clone(),
            flag: stop.flag(),
            here: std::env::current_dir().context("current directory: gone")?,
            exe: std::env::current_exe().context("schedlab: cannot find its own executable")?,
            virtual_ns: AtomicU64::new(0),
            ios: AtomicU64::new(0),
            boots: AtomicU64::new(0),
        };
        Ok(KernelArena {
            guests: Guests { variants: Arc::new(variants), fixed: Arc::new(fixed) },
            defaults: defaults::tabled(plan),
            course: Progression::default(),
            opened: Instant::now(),
            traces: Traces::default(),
        })
    }

    /// Replaces this executable as the guests' init.
    pub fn started_by(mut self, program: PathBuf) -> KernelArena {
        let fixed = Arc::get_mut(&mut self.guests.fixed).expect("no trial has begun");
        fixed.exe = program;
        self
    }

    /// Limits concurrent guests; the default is one per CPU. Does not affect results.
    pub fn with_threads(mut self, nr_threads: usize) -> KernelArena {
        self.course = Progression::on(nr_threads);
        self
    }

    /// `uname -r` of each kernel.
    pub fn releases(&self) -> Vec<String> {
        self.guests.fixed.kernels.values().map(|built| built.kernel.release.clone()).collect()
    }

    pub fn model(&self) -> &Model {
        &self.guests.fixed.model
    }

    /// Runs one trial and logs its first `log` disk commands.
    pub fn logged(
        &self,
        variant: VariantIndex,
        trial: &TrialSpec,
        log: u32,
    ) -> Result<(Observation, Vec<u8>)> {
        let TrialSpec { workload, seed, duration, warmup } = *trial;
        let Booted { observation, log } = self.guests.boot(
            &Key { variant, workload, seed },
            &Wanted { duration, warmup, log, clients: None, trace: None },
        )?;
        Ok((observation, log))
    }
}

impl Guests {
    fn boot(&self, key: &Key, wanted: &Wanted) -> Result<Booted> {
        let setting = self.variants.setting(key.variant);
        let interrupted = || {
            let observation = Observation {
                invalid: vec![interrupted(&self.fixed.stop)],
                ..Observation::default()
            };
            Ok(Booted { observation, log: Vec::new() })
        };
        if self.fixed.flag.load(Ordering::Relaxed) {
            return interrupted();
        }
        let built = &self.fixed.kernels[&setting.kernel.label()];
        let dir = guest::workdir(&self.fixed.cache).with_context(|| {
            format!("{}: cannot create a guest's working directory", self.fixed.cache.display())
        })?;
        let files = setting.files.map(Files::found).transpose()?;
        if files.is_some() {
            std::fs::create_dir(dir.path().join(order::FILES))
                .context("directory for the guest's files: cannot create")?;
        }
        let more = wanted.trace.as_ref().map_or(0, |_| trace::MEMORY_MIB);
        let memory_mib = more
            + memory_mib(setting.files, self.fixed.workloads.work(key.workload))?
            + model_mib(&self.fixed.model, files.is_some());
        let request = TrialRequest { files, ..self.order(built, key, wanted) };
        order::write(dir.path(), order::ORDER, &request)?;
        let traces =
            traces(&request.workload).flat_map(|file| recorder::file::parts(Path::new(file)));
        let readable: Vec<PathBuf> = traces.chain([built.modules.dir().to_owned()]).collect();
        // Depends on the seed: service times may be random.
        std::fs::write(dir.path().join(order::TABLES), tables(&self.fixed.model, key.seed)?)
            .context("tables of the disk: cannot write")?;
        let boot = Boot {
            kernel: &built.image,
            init: &self.fixed.exe,
            role: "guest-init",
            readable: &readable,
            reachable: &reachable(&request.here),
            memory_mib,
            cpus: 1,
            seed: 0,
            time_travel: TimeTravel::InfiniteCpu,
            patience: guest::PATIENCE,
        };
        let named = || {
            format!(
                "variant {}, workload {}",
                self.variants.name(key.variant),
                self.fixed.workloads.get(key.workload).name
            )
        };
        match boot.run(dir.path(), &self.fixed.flag) {
            Ok(_) => {}
            Err(BootError::Interrupted) => return interrupted(),
            Err(error) => return Err(error).with_context(named),
        }
        let Answer { result, virtual_ns, .. } =
            order::answered::<Observation>(dir.path()).with_context(named)?;
        let observation = result.map_err(|error| anyhow!("{}: {error}", named()))?;
        self.fixed.boots.fetch_add(1, Ordering::Relaxed);
        self.fixed.virtual_ns.fetch_add(virtual_ns, Ordering::Relaxed);
        let transfers = observation.counters.get("device_transfers").copied().unwrap_or(0.0);
        self.fixed.ios.fetch_add(transfers as u64, Ordering::Relaxed);
        let log = match wanted.log {
            0 => Vec::new(),
            _ => guest::read_result(dir.path(), order::LOG, MOST_OF_A_LOG).with_context(named)?,
        };
        wanted
            .trace
            .as_ref()
            .map_or(Ok(()), |to| trace::pass_on(dir.path(), to))
            .with_context(named)?;
        Ok(Booted { observation, log })
    }

    fn order(&self, built: &Built, key: &Key, wanted: &Wanted) -> TrialRequest {
        let Wanted { duration, warmup, log, clients, trace } = wanted;
        let setting = self.variants.setting(key.variant);
        let mut workload =
            with_whole_path(self.fixed.specs[key.workload].clone(), &self.fixed.here);
        if trace.is_some() {
            // Trace the flows together, not their solo runs.
            workload.params.remove("alone");
        }
        let ns = |time: &Duration| {
            u64::try_from(time.as_nanos()).expect("a trial is shorter than 584 years")
        };
        TrialRequest {
            here: where_others_may_be(&self.fixed.here),
            modules: modules(built, setting, &self.fixed.model),
            disk: Disk { log: *log, ..disk(setting, &self.fixed.model) },
            scheduler: setting.scheduler(&built.kernel),
            controls: setting.controls.clone(),
            workload: with_clients(workload, *clients),
            clients: setting.clients,
            limits: self.fixed.limits.clone(),
            files: None,
            seed: key.seed,
            duration_ns: ns(duration),
            warmup_ns: ns(warmup),
            turnaround_ns: setting.turnaround_ns,
            turnaround_spread_ns: setting.turnaround_ns / 2,
            traced: trace.is_some(),
        }
    }

    fn one(&self, key: &Key, wanted: &Wanted) -> Result<Observation> {
        let params = &self.fixed.workloads.work(key.workload).params;
        let Wanted { duration, warmup, .. } = *wanted;
        let one = |clients, trace| Wanted { duration, warmup, log: 0, clients, trace };
        let measured = |wanted: Wanted| Ok(self.boot(key, &wanted)?.observation);
        let (found, clients) = if params.timed.find_streams {
            let found = schedulable(params.clients, |clients| measured(one(Some(clients), None)))?;
            let clients = Some(streams_of(&found));
            (found, clients)
        } else {
            (measured(one(None, None))?, None)
        };
        // Tracing takes guest time, so the traced trial is an additional run.
        if wanted.trace.is_some() {
            measured(one(clients, wanted.trace.clone()))?;
        }
        Ok(found)
    }
}

/// `dir`, or `/` if others cannot access it: root's guests run as another user.
fn where_others_may_be(dir: &Path) -> PathBuf {
    let allowed = std::fs::metadata(dir).is_ok_and(|found| found.mode() & 0o005 == 0o005);
    let root = rustix::process::geteuid().is_root();
    if allowed || !root { dir.to_owned() } else { PathBuf::from("/") }
}

/// Host directories that a guest must see.
fn reachable(here: &Path) -> Vec<PathBuf> {
    if here == Path::new("/") { Vec::new() } else { vec![here.to_owned()] }
}

fn with_whole_path(mut workload: WorkloadSpec, here: &Path) -> WorkloadSpec {
    let of_flows = workload.flows.iter_mut().map(|flow| &mut flow.params);
    for file in of_flows.chain([&mut workload.params]).filter_map(|params| params.get_mut(TRACE)) {
        let whole = here.join(&*file);
        *file = whole.canonicalize().unwrap_or(whole).display().to_string();
    }
    workload
}

fn traces(workload: &WorkloadSpec) -> impl Iterator<Item = &String> {
    let of_flows = workload.flows.iter().map(|flow| &flow.params);
    of_flows.chain([&workload.params]).filter_map(|params| params.get(TRACE))
}

/// What a guest for CPU experiments makes its disk of; the model is in a file next to the request.
pub(super) fn disk_of(
    dir: &Path,
    built: &Built,
    setting: &Setting,
    model: &Model,
    seed: u64,
) -> Result<DiskRequest> {
    std::fs::write(dir.join(order::TABLES), tables(model, seed)?)
        .context("tables of the disk: cannot write")?;
    Ok(DiskRequest {
        modules: modules(built, setting, model),
        disk: Disk { is_charged_all: true, ..disk(setting, model) },
        scheduler: setting.scheduler(&built.kernel),
    })
}

/// The device model for the guest's driver.
fn tables(model: &Model, seed: u64) -> Result<Vec<u8>> {
    Ok(model.make(seed)?.tables())
}

fn modules(built: &Built, setting: &Setting, model: &Model) -> Vec<(PathBuf, String)> {
    let mut modules =
        vec![("modeldisk".to_owned(), String::new()), ("modelload".to_owned(), String::new())];
    if MODULES.contains(&setting.scheduler.as_str()) {
        let parameters =
            model.look(|device| setting::parameters(&setting.scheduler, &device.geometry()));
        modules.push((format!("{}-iosched", setting.scheduler), parameters));
    }
    let found =
        modules.into_iter().map(|(name, parameters)| (built.modules.get(&name), parameters));
    found.filter_map(|(file, parameters)| Some((file?.to_owned(), parameters))).collect()
}

fn disk(setting: &Setting, model: &Model) -> Disk {
    let (takes, cost) =
        model.look(|device| (device.queue_depth(), setting.host(device).cost(&setting.scheduler)));
    let queue_depth = setting.queue_depth.unwrap_or(u32::MAX).clamp(1, takes);
    Disk {
        tags: Limits::adapter_tags(queue_depth),
        queue_depth,
        log: 0,
        memory_backed: setting.files.is_some(),
        cpu_ns: [cost.submission, cost.completion].map(|phase| phase.free_ns + phase.held_ns),
        is_charged_all: false,
    }
}

/// Rejects `clients=kernel` with flows: a flow is a process, and kernel threads have none.
fn check_clients(variants: &Variants<Setting>, workloads: &Workloads) -> Result<()> {
    let variant = variants.iter().find(|(_, _, setting)| setting.clients == Clients::Kernel);
    let flows = workloads.engine().find(|(_, work)| !work.params.flows.is_empty());
    match (variant, flows) {
        (Some((_, variant, _)), Some((label, _))) => Err(usage(format!(
            "variant {variant}: clients=kernel has no processes, and each flow of workload {label} is one; leave clients out"
        ))),
        _ => Ok(()),
    }
}

/// Rejects workloads served from the page cache. Copying takes no virtual time, so the trial would
/// never end.
fn check_reach(workloads: &Workloads) -> Result<()> {
    match workloads.engine().find(|(_, work)| !work.kind.reaches_device) {
        Some((label, _)) => Err(usage(format!(
            "workload {label}: served from the page cache, so no request reaches the device and schedulers cannot differ; \
             compare with buffered-read or another workload"
        ))),
        None => Ok(()),
    }
}

fn check_files(variants: &Variants<Setting>, workloads: &Workloads) -> Result<()> {
    for files in variants.iter().filter_map(|(_, _, setting)| setting.files) {
        files.found()?;
        for (_, work) in workloads.engine() {
            file_bytes(work)?;
        }
    }
    Ok(())
}

fn file_bytes(work: &Work) -> Result<u64> {
    let sizes = work
        .kind
        .file_sizes(&work.params, inside::LOGICAL_BLOCK)
        .map_err(|e| usage(e.to_string()))?;
    let bytes: u64 = sizes.iter().sum();
    if bytes > MOST_FILES {
        return Err(usage(format!(
            "workload {}: its files are {} MiB in all; with fs=ext4 they are kept in the guest's memory, at most {} MiB: give a \
             smaller file_size",
            work.kind.name,
            bytes >> 20,
            MOST_FILES >> 20
        )));
    }
    Ok(bytes)
}

/// Requests in the trace file, an upper bound on those replayed.
fn nr_replayed(params: &sim::workload::Params) -> u64 {
    params.replay.trace.as_ref().map_or(0, |replay| replay.summary.recorded)
}

/// Bytes of replayed requests in flight.
fn replay_buffers(kind: &sim::workload::WorkloadKind, params: &sim::workload::Params) -> u64 {
    if params.replay.trace.is_some() { kind.buffer_bytes(params) } else { 0 }
}

/// Memory of the modelled device. Where files are prepared on it, it is made again before the
/// trial.
pub(super) fn model_mib(model: &Model, is_prepared: bool) -> u32 {
    let bytes = model.look(|device| device.guest_bytes()) * (1 + u64::from(is_prepared));
    u32::try_from(bytes.div_ceil(1 << 20)).expect("the capacity of devices is bounded")
}

/// Guest memory. Files count once for the disk and once for the page cache.
fn memory_mib(files: Option<Files>, work: &Work) -> Result<u32> {
    let flows = u32::try_from(work.params.flows.len()).expect("flows are bounded");
    let replayed: u64 = work
        .params
        .flows
        .iter()
        .map(|flow| &flow.params)
        .chain([&work.params])
        .map(nr_replayed)
        .sum();
    let buffers: u64 =
        work.params.flows.iter().map(|flow| replay_buffers(flow.kind, &flow.params)).sum();
    let buffers = buffers + if flows == 0 { replay_buffers(work.kind, &work.params) } else { 0 };
    let replays = (replayed * REQUEST_BYTES).saturating_add(buffers) >> 20;
    let processes = MEMORY_MIB + flows * FLOW_MIB + u32::try_from(replays).unwrap_or(u32::MAX >> 1);
    if processes > MOST_MEMORY_MIB {
        return Err(usage(format!(
            "workload {}: its guest needs too much memory (found {processes} MiB, expected at most {MOST_MEMORY_MIB}); replay a part of it \
             (part=10s), or with a smaller iodepth",
            work.kind.name
        )));
    }
    if files.is_none() {
        return Ok(processes);
    }
    let mib = file_bytes(work)?.div_ceil(1 << 20);
    let copies = if work.params.direct { 1 } else { 2 };
    let more = u32::try_from(copies * mib + 2 * files::JOURNAL_MIB).expect("files are bounded");
    Ok(processes + more)
}

impl Virtual for KernelArena {
    fn course(&mut self) -> &mut Progression {
        &mut self.course
    }

    fn elapsed(&self) -> Duration {
        self.course.elapsed()
    }

    fn job(&mut self, key: &Key, trial: &TrialSpec) -> Job {
        let TrialSpec { duration, warmup, .. } = *trial;
        let (workload, variant) = (
            &self.guests.fixed.workloads.get(key.workload).name,
            self.guests.variants.name(key.variant),
        );
        let trace = self.traces.next((key.workload, workload), (key.variant, variant));
        let wanted = Wanted { duration, warmup, log: 0, clients: None, trace };
        let (guests, key) = (self.guests.clone(), *key);
        Box::new(move |_| guests.one(&key, &wanted))
    }

    fn take_in(&mut self, variant: &Variant) -> Result<VariantIndex> {
        let setting = Setting::of(variant)?;
        if !self.guests.fixed.kernels.contains_key(&setting.kernel.label()) {
            return Err(usage(format!(
                "variant {}: its kernel was not built before the first trial; name it in the plan",
                variant.name
            )));
        }
        let index = Arc::make_mut(&mut self.guests.variants).admit(&variant.name, setting);
        check_files(&self.guests.variants, &self.guests.fixed.workloads)?;
        Ok(index)
    }

    fn write_events(&mut self, files: TraceFile) {
        self.traces = Traces::into(files);
    }

    fn facts(&self) -> Environment {
        let mut facts = facts_of(&self.guests.fixed.model, &self.guests.fixed.workloads);
        let about = facts.entry("kernel".to_owned()).or_default();
        for (label, Built { kernel, modules, .. }) in &self.guests.fixed.kernels {
            let set = modules
                .dir()
                .file_name()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            about.insert("modules".to_owned(), set);
            about.insert(label.replacen("release", "build", 1), kernel.key.clone());
            about.insert(label.clone(), kernel.release.clone());
        }
        for (_, variant, setting) in self.guests.variants.iter() {
            if self.guests.fixed.model.look(|device| setting.omits_cpu_time(device)) {
                facts
                    .entry(CPU_TIME_OMITTED.to_owned())
                    .or_default()
                    .insert(variant.to_owned(), "cpu_percent=0".to_owned());
            }
        }
        defaults::note(&mut facts, &self.defaults);
        facts
    }

    fn last_words(&mut self) -> Vec<String> {
        let mut words = self.guests.fixed.workloads.remarks();
        let (boots, ios) = (
            self.guests.fixed.boots.load(Ordering::Relaxed),
            self.guests.fixed.ios.load(Ordering::Relaxed),
        );
        let renews_depth = |setting: &Setting| {
            setting.renews_depth(&self.guests.fixed.kernels[&setting.kernel.label()].kernel)
        };
        if self.guests.variants.iter().any(|(_, _, setting)| renews_depth(setting)) {
            words.push(DEPTH_NOTE.to_owned());
        }
        if boots > 0 {
            let virtual_s = self.guests.fixed.virtual_ns.load(Ordering::Relaxed) as f64 / 1e9;
            let real_s = self.opened.elapsed().as_secs_f64();
            words.push(format!(
                "{boots} guests: {virtual_s:.1} s of virtual time and {ios} requests in {real_s:.1} s of real time: {:.0} times as fast, \
                 {:.0} requests a second",
                virtual_s / real_s,
                ios as f64 / real_s
            ));
        }
        words
    }
}
