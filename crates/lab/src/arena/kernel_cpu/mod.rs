//! The kernel-cpu arena: the CPU scheduler of a real Linux that runs as a process, on CPUs whose
//! time is virtual.
//!
//! A trial is one boot of a User-mode Linux (crate `guest`) in which the workloads of the CPU arena
//! run as they do on a machine: the same threads, futexes and pipes, placed by the same settings.
//! Only their computing differs: it takes virtual time (`kernel/modelcpu-main.c`), during which the
//! kernel's ticks, timers and wake-ups preempt them. The kernel's own code takes no time, so that
//! what differs between variants is what the scheduler decided.

pub(crate) mod inside;
mod request;
mod setting;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use experiment::plan::Variant;
use experiment::results::{Environment, Observation};
use guest::{Boot, BootError, Source, TimeTravel};
use load::cpu::Spec;

pub use setting::{ATTRIBUTES, Setting, names};

use self::request::{Program, TrialRequest};
use super::ahead::Job;
use super::cpu::background::BackgroundLoads;
use super::invalid::interrupted;
use super::kernel::{self, Built, cache, order};
use super::model::Model;
use super::open::OpenOptions;
use super::parallel::Key;
use super::traced::{TraceTo, Traces};
use super::virtual_time::{Progression, Virtual, facts_of};
use super::{TrialSpec, VariantIndex, Variants};
use crate::console::Console;
use crate::failure::usage;
use crate::signals::Stop;
use crate::trace_file::TraceFile;
use crate::workloads::Workloads;

/// Memory of a guest.
const MEMORY_MIB: u32 = 256;
/// In addition for the log of a trace, whose events have 56 bytes.
const TRACE_MEMORY_MIB: u32 = 128;
const MAX_EVENTS: u32 = 2_000_000;
const MAX_LOG_BYTES: u64 = 56 * MAX_EVENTS as u64;
/// The log, in a guest's working directory.
const LOG: &str = "run-queue";
/// The module of the kernel arena that programs compute with.
const MODULE: &str = "modelcpu";
/// The program starts within this time after its warm-up, at a moment that is the round's: what it
/// meets depends on where the background is in its ticks and slices.
const PHASE_NS: u64 = 20_000_000;

/// The kernel-cpu arena.
pub struct KernelCpuArena {
    guests: Guests,
    traces: Traces,
    progression: Progression,
    opened: Instant,
}

/// What a trial needs; each trial that is measured on another thread has a copy.
#[derive(Debug, Clone)]
struct Guests {
    variants: Arc<Variants<Setting>>,
    fixed: Arc<Fixed>,
}

/// What is the same for all trials.
#[derive(Debug)]
struct Fixed {
    cache: PathBuf,
    /// By [`Setting::kernel_label`].
    kernels: BTreeMap<String, Built>,
    workloads: Workloads,
    loads: BackgroundLoads,
    /// Of the disk; None: nothing does I/O.
    model: Option<Model>,
    stop: Stop,
    flag: Arc<AtomicBool>,
    exe: PathBuf,
    virtual_ns: AtomicU64,
    boots: AtomicU64,
}

impl KernelCpuArena {
    /// Opens the arena for a resolved plan, and builds the kernels that its variants need.
    ///
    /// # Errors
    /// A workload that a guest cannot run, or a kernel that cannot be built.
    pub fn open(
        source: &Source,
        variants: Variants<Setting>,
        workloads: Workloads,
        loads: BackgroundLoads,
        model: Option<Model>,
        options: &OpenOptions,
        console: Console<'_>,
    ) -> Result<KernelCpuArena> {
        let Console { stop, progress } = console;
        check_work(&workloads, &loads)?;
        let cache = cache(options.cache_dir.as_deref())?;
        variants.iter().try_for_each(|(_, name, setting)| {
            setting.request(source).check().map_err(|why| usage(format!("variant {name}: {why}")))
        })?;
        let mut kernels = BTreeMap::new();
        for (_, _, setting) in variants.iter() {
            if let Entry::Vacant(vacant) = kernels.entry(setting.kernel_label()) {
                vacant.insert(Built::of(&cache, &setting.request(source), stop, progress)?);
            }
        }
        let fixed = Fixed {
            cache: cache.dir().to_owned(),
            kernels,
            workloads,
            loads,
            model,
            stop: stop.clone(),
            flag: stop.flag(),
            exe: match &options.program {
                Some(program) => program.clone(),
                None => {
                    std::env::current_exe().context("schedlab: cannot find its own executable")?
                }
            },
            virtual_ns: AtomicU64::new(0),
            boots: AtomicU64::new(0),
        };
        Ok(KernelCpuArena {
            guests: Guests { variants: Arc::new(variants), fixed: Arc::new(fixed) },
            traces: Traces::default(),
            progression: options
                .threads
                .map_or_else(Progression::default, |threads| Progression::on(threads.get())),
            opened: Instant::now(),
        })
    }
}

/// Refuses work that takes no virtual time.
fn check_work(workloads: &Workloads, loads: &BackgroundLoads) -> Result<()> {
    for (number, workload) in workloads.iter().enumerate() {
        let program = workload.program().expect("the work of CPUs is programs");
        let spec = load::programs::cpu::spec_of(program.kind, &program.options, Duration::ZERO, 0);
        let Some(spec) = spec else {
            return Err(usage(format!(
                "workload {}: {} computes natively, which takes no virtual time; compare it with --arena cpu, or take wakeup, cyclic, request, frames, build, messaging or linpack",
                workload.name, program.kind.name
            )));
        };
        let own = [(workload.name.as_str(), &spec)].into_iter();
        let background = loads.of(number).iter().map(|(name, spec)| (name.as_str(), spec));
        for (name, spec) in own.chain(background) {
            inside::runs_in_virtual_time(spec)
                .map_err(|why| usage(format!("{name}: {why} (--arena kernel)")))?;
        }
    }
    Ok(())
}

impl Guests {
    fn measure(
        &self,
        key: &Key,
        trial: &TrialSpec,
        trace: Option<&TraceTo>,
    ) -> Result<Observation> {
        let fixed = &self.fixed;
        let stopped =
            || Observation { invalid: vec![interrupted(&fixed.stop)], ..Observation::default() };
        if fixed.flag.load(Ordering::Relaxed) {
            return Ok(stopped());
        }
        let named = || {
            format!(
                "variant {}, workload {}",
                self.variants.name(key.variant),
                fixed.workloads.get(key.workload).name
            )
        };
        let built = &fixed.kernels[&self.variants.setting(key.variant).kernel_label()];
        let dir = guest::workdir(&fixed.cache).with_context(|| {
            format!("{}: cannot create a guest's working directory", fixed.cache.display())
        })?;
        let log = if trace.is_some() { MAX_EVENTS } else { 0 };
        let disk = fixed.model.as_ref().map(|model| {
            let setting = &self.variants.setting(key.variant).io;
            kernel::disk_of(dir.path(), built, setting, model, key.seed)
        });
        let disk = disk.transpose()?;
        let request = TrialRequest { log, disk, ..self.request(built, key, trial)? };
        order::write(dir.path(), order::ORDER, &request)?;
        let boot = Boot {
            kernel: &built.image,
            init: &fixed.exe,
            role: "guest-cpu",
            readable: &[built.modules.dir().to_owned()],
            reachable: &[],
            memory_mib: MEMORY_MIB
                + if trace.is_some() { TRACE_MEMORY_MIB } else { 0 }
                + fixed.model.as_ref().map_or(0, |model| kernel::model_mib(model, false)),
            cpus: self.variants.setting(key.variant).cpus,
            seed: sim::stream(key.seed, "guest").bits(),
            time_travel: TimeTravel::InfiniteCpu,
            patience: guest::PATIENCE,
        };
        match boot.run(dir.path(), &fixed.flag) {
            Ok(_) => {}
            Err(BootError::Interrupted) => return Ok(stopped()),
            Err(error) => return Err(error).with_context(named),
        }
        let answer = order::answered::<Observation>(dir.path()).with_context(named)?;
        fixed.boots.fetch_add(1, Ordering::Relaxed);
        fixed.virtual_ns.fetch_add(answer.virtual_ns, Ordering::Relaxed);
        let observation = answer.result.map_err(|error| anyhow!("{}: {error}", named()))?;
        if let Some(trace) = trace {
            let log = guest::read_result(dir.path(), LOG, MAX_LOG_BYTES)
                .context("trace: missing in the guest's directory")?;
            trace.run_queue(&log)?;
        }
        Ok(observation)
    }

    fn request(&self, built: &Built, key: &Key, trial: &TrialSpec) -> Result<TrialRequest> {
        let setting = self.variants.setting(key.variant);
        let module = built.modules.get(MODULE).with_context(|| {
            format!("{}: built without the module {MODULE}", built.kernel.release)
        })?;
        let mut group = Vec::new();
        group.extend(setting.weight.map(|weight| ("cpu.weight".to_owned(), weight.to_string())));
        group.extend(
            setting
                .max
                .map(|max| ("cpu.max".to_owned(), format!("{} {}", max.quota_us, max.period_us))),
        );
        let attributes = setting.attributes.iter();
        Ok(TrialRequest {
            module,
            log: 0,
            attributes: attributes.map(|it| (it.key.clone(), it.value.clone())).collect(),
            group,
            program: Program {
                spec: self.spec(key, trial.duration),
                placement: setting.placement.clone(),
                group: None,
                is_measured: true,
            },
            disk: None,
            loads: self.fixed.loads.of(key.workload).to_vec(),
            warmup_ns: u64::try_from(trial.warmup.as_nanos()).unwrap_or(u64::MAX)
                + sim::stream(key.seed, "phase").below(PHASE_NS),
        })
    }

    fn spec(&self, key: &Key, window: Duration) -> Spec {
        let workload = self.fixed.workloads.get(key.workload);
        let program = workload.program().expect("the work of CPUs is programs");
        load::programs::cpu::spec_of(program.kind, &program.options, window, key.seed)
            .expect("other programs were refused")
    }
}

impl KernelCpuArena {
    /// The machine's name in a report.
    fn cpus(&self) -> String {
        let most = self.guests.variants.iter().map(|(_, _, setting)| setting.cpus).max();
        match most.filter(|most| *most > 1) {
            Some(most) => format!("up to {most} CPUs in virtual time"),
            None => "one CPU in virtual time".to_owned(),
        }
    }
}

impl Virtual for KernelCpuArena {
    fn course(&mut self) -> &mut Progression {
        &mut self.progression
    }

    fn elapsed(&self) -> Duration {
        self.progression.elapsed()
    }

    fn job(&mut self, key: &Key, trial: &TrialSpec) -> Job {
        let (guests, key, trial) = (self.guests.clone(), *key, *trial);
        let workload = &guests.fixed.workloads.get(key.workload).name;
        let variant = guests.variants.name(key.variant);
        let trace = self.traces.next((key.workload, workload), (key.variant, variant));
        Box::new(move |_| guests.measure(&key, &trial, trace.as_ref()))
    }

    fn write_events(&mut self, files: TraceFile) {
        self.traces = Traces::into(files);
    }

    fn take_in(&mut self, variant: &Variant) -> Result<VariantIndex> {
        let setting = Setting::of(variant)?;
        if !self.guests.fixed.kernels.contains_key(&setting.kernel_label()) {
            return Err(usage(format!(
                "variant {}: its kernel was not built before the first trial; name it in the plan",
                variant.name
            )));
        }
        Ok(Arc::make_mut(&mut self.guests.variants).admit(&variant.name, setting))
    }

    fn facts(&self) -> Environment {
        let one = |name: &str, value: String| BTreeMap::from([(name.to_owned(), value)]);
        let mut facts = match &self.guests.fixed.model {
            Some(model) => facts_of(model, &self.guests.fixed.workloads),
            None => Environment::from([(
                "schedlab".to_owned(),
                one("build", text::build::identity().to_owned()),
            )]),
        };
        facts.insert("cpu".to_owned(), one("model", self.cpus()));
        let about = facts.entry("kernel".to_owned()).or_default();
        for (label, Built { kernel, .. }) in &self.guests.fixed.kernels {
            about.insert(label.replacen("release", "build", 1), kernel.key.clone());
            about.insert(label.clone(), kernel.release.clone());
        }
        facts
    }

    fn last_words(&mut self) -> Vec<String> {
        let fixed = &self.guests.fixed;
        let boots = fixed.boots.load(Ordering::Relaxed);
        if boots == 0 {
            return Vec::new();
        }
        let virtual_s = fixed.virtual_ns.load(Ordering::Relaxed) as f64 / 1e9;
        let real_s = self.opened.elapsed().as_secs_f64();
        vec![format!(
            "{boots} guests: {virtual_s:.1} s of virtual time in {real_s:.1} s: {:.0}× real time",
            virtual_s / real_s
        )]
    }
}
