//! From a variant of a plan to a kernel and what is set in it: `nice=5+hz=250`, `default@my.patch`,
//! `kernel=debian/6.12+cpu.weight=50`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use experiment::plan::Variant;
use guest::{MAX_CPUS, Request, Source, TICK_RATES};
use machine::cpu::{Attribute, KEYS};
use text::{Field, Form, expected_one_of, field};

use crate::arena::kernel::{self, KERNEL, KernelChoice};
use crate::failure::usage;

/// Ticks a second, if the variant does not say.
const DEFAULT_HZ: u32 = TICK_RATES[0];
/// Range of `cpu.weight`.
const WEIGHTS: std::ops::RangeInclusive<u32> = 1..=10_000;
/// Of `cpu.max`: the kernel's range of a period, and its smallest quota.
const PERIODS_US: std::ops::RangeInclusive<u64> = 1_000..=1_000_000;
const MIN_QUOTA_US: u64 = 1_000;

/// Settings that the CPU arena does not have.
pub static ATTRIBUTES: &[Field] = &[
    field("hz", "1000", Form::Text, "ticks a second of the kernel: 1000, 300, 250 or 100"),
    field(
        "cpus",
        "1",
        Form::Whole(1, MAX_CPUS as u64),
        "CPUs of the guest, 1 to 8; more than one need Linux 6.19 or later",
    ),
    field(
        "cpu.weight",
        "",
        Form::Whole(1, 10_000),
        "weight of the measured program's control group; the background has 100",
    ),
    field(
        "cpu.max",
        "",
        Form::Text,
        "most that the program's control group gets: 50%, or 5ms/10ms for 5 ms in every 10 ms",
    ),
    field(
        KERNEL,
        "",
        Form::Text,
        "kernel of this variant alone, named as for `kernel build --source`; debian/6.12 is debian:6.12 [the plan's]",
    ),
    field(
        IO,
        "",
        Form::Text,
        "a setting of the disk that build and io use, as in the kernel arena: io:scheduler=bfq [mq-deadline], io:low_latency=0, io:cpu_percent=100",
    ),
];

/// Begins the names of the disk's settings.
const IO: &str = "io:";
const DEFAULT_IO_SCHEDULER: &str = "mq-deadline";
/// Settings of the kernel arena for its clients, which are not those of a CPU experiment.
const OF_CLIENTS: [&str; 5] = [KERNEL, "clients", "fs", "turnaround_us", "run"];

/// Settings of the machine's CPUs that a guest does not have.
const OF_MACHINES: [&str; 5] = ["isolate", "governor", "boost", "autogroup", "run"];

/// Time that a control group gets in each period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bandwidth {
    pub quota_us: u64,
    pub period_us: u64,
}

/// One variant, ready to be tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub kernel: KernelChoice,
    pub hz: u32,
    pub cpus: u32,
    pub weight: Option<u32>,
    pub max: Option<Bandwidth>,
    /// Of the disk, if the work has one.
    pub io: kernel::Setting,
    /// Of the scheduler, written before the program starts.
    pub attributes: Vec<Attribute>,
    /// Of the program, as the variant writes them: nice, policy, affinity, slice.
    pub placement: BTreeMap<String, String>,
}

impl Setting {
    /// Reads a variant. Whether the kernel accepts it is seen when it is tried.
    pub fn of(variant: &Variant) -> Result<Setting> {
        Setting::read(variant).with_context(|| format!("variant {}", variant.name))
    }

    fn read(variant: &Variant) -> Result<Setting> {
        let (scheduler, patches) = match variant.scheduler.split_once('@') {
            Some((name, patches)) => (name, Some(patches)),
            None => (variant.scheduler.as_str(), None),
        };
        if !matches!(scheduler, "" | "default") {
            return Err(usage(format!(
                "{scheduler:?} is not the kernel's own scheduler (expected default or default@PATCH); sched_ext needs --arena cpu on a machine that has it"
            )));
        }
        let tunables = &variant.tunables;
        let kernel = KernelChoice::of(patches, tunables.get(KERNEL).map(|word| word.trim()))?;
        let own = |name: &str| tunables.get(name).map(|word| word.trim());
        let mut setting = Setting {
            kernel,
            hz: own("hz").map_or(Ok(DEFAULT_HZ), read_hz)?,
            cpus: own("cpus").map_or(Ok(1), read_cpus)?,
            weight: own("cpu.weight").map(read_weight).transpose()?,
            max: own("cpu.max").map(read_max).transpose()?,
            io: read_io(variant)?,
            attributes: Vec::new(),
            placement: BTreeMap::new(),
        };
        let others: Vec<(&str, &str)> = tunables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .filter(|(name, _)| ATTRIBUTES.iter().all(|row| row.name != *name))
            .filter(|(name, _)| !name.starts_with(IO))
            .collect();
        if let Some((name, _)) = others.iter().find(|(name, _)| OF_MACHINES.contains(name)) {
            return Err(usage(format!(
                "{name}: a guest in virtual time does not have it; leave it out, or take --arena cpu"
            )));
        }
        if let Some((name, _)) = others.iter().find(|(name, _)| !is_known(name)) {
            return Err(usage(format!(
                "{name}: unknown setting {}",
                expected_one_of(name, names())
            )));
        }
        let read = machine::cpu::Setting::read("default", others.iter().copied()).map_err(usage)?;
        let last = read.placement.affinity.as_ref().and_then(|list| list.iter().last());
        if let Some(absent) = last.filter(|last| *last >= setting.cpus) {
            return Err(usage(format!(
                "affinity: the guest has no CPU {absent} (expected less than {}, its cpus=)",
                setting.cpus
            )));
        }
        setting.attributes = read.attributes;
        let is_attribute = |name: &str| name.contains(':');
        setting.placement = others
            .into_iter()
            .filter(|(name, _)| !is_attribute(name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Ok(setting)
    }

    /// What is to be built: of `source`, the plan's, unless it has its own.
    pub(crate) fn request(&self, source: &Source) -> Request {
        Request { hz: Some(self.hz), smp: self.cpus > 1, ..self.kernel.request(source) }
    }

    /// Distinguishes the kernels of a plan, and names them in the results.
    pub(super) fn kernel_label(&self) -> String {
        let cpus = if self.cpus > 1 { " with several CPUs" } else { "" };
        match self.hz {
            DEFAULT_HZ => format!("{}{cpus}", self.kernel.label()),
            hz => format!("{}{cpus} at {hz} Hz", self.kernel.label()),
        }
    }
}

/// The names of all settings.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    let own = ATTRIBUTES.iter().map(|row| row.name);
    own.chain(KEYS.iter().map(|row| row.name)).filter(|name| !OF_MACHINES.contains(name))
}

/// Some names end in a colon, after which one of the kernel's own follows.
fn is_known(name: &str) -> bool {
    names().any(|known| known == name || known.ends_with(':') && name.starts_with(known))
}

/// The settings of the disk, as a variant of the kernel arena.
fn read_io(variant: &Variant) -> Result<kernel::Setting> {
    let mut of_disk = Variant {
        scheduler: DEFAULT_IO_SCHEDULER.to_owned(),
        tunables: BTreeMap::new(),
        ..variant.clone()
    };
    for (name, value) in &variant.tunables {
        let Some(own) = name.strip_prefix(IO) else { continue };
        if OF_CLIENTS.contains(&own) || value.contains('@') {
            return Err(usage(format!("{name}={value}: not a setting of a disk")));
        }
        match own {
            "scheduler" => value.trim().clone_into(&mut of_disk.scheduler),
            _ => drop(of_disk.tunables.insert(own.to_owned(), value.clone())),
        }
    }
    let setting = kernel::Setting::of(&of_disk)?;
    setting.check_known(None)?;
    match setting.controls.first() {
        Some(control) => Err(usage(format!("{IO}{}: not a setting of a disk", control.word()))),
        None => Ok(setting),
    }
}

fn read_hz(word: &str) -> Result<u32> {
    let hz = word.parse().ok().filter(|hz| TICK_RATES.contains(hz));
    hz.ok_or_else(|| usage(format!("hz={word}: expected 1000, 300, 250 or 100")))
}

fn read_cpus(word: &str) -> Result<u32> {
    let cpus = word.parse().ok().filter(|cpus| (1..=MAX_CPUS).contains(cpus));
    cpus.ok_or_else(|| usage(format!("cpus={word}: expected a number from 1 to {MAX_CPUS}")))
}

fn read_weight(word: &str) -> Result<u32> {
    let weight = word.parse().ok().filter(|weight| WEIGHTS.contains(weight));
    weight.ok_or_else(|| usage(format!("cpu.weight={word}: expected a number from 1 to 10000")))
}

fn read_max(word: &str) -> Result<Bandwidth> {
    let us = |word: &str| text::parse_duration_ns(word.trim()).map(|ns| ns / 1000);
    let found = match (word.strip_suffix('%'), word.split_once('/')) {
        (Some(percent), _) => {
            percent.trim().parse().ok().filter(|p| (1.0..=100.0).contains(p)).map(|percent: f64| {
                Bandwidth { quota_us: (percent * 1e3).round() as u64, period_us: 100_000 }
            })
        }
        (None, Some((quota, period))) => {
            us(quota).zip(us(period)).map(|(quota_us, period_us)| Bandwidth { quota_us, period_us })
        }
        (None, None) => None,
    };
    let valid = |max: &Bandwidth| {
        PERIODS_US.contains(&max.period_us)
            && (MIN_QUOTA_US..=max.period_us).contains(&max.quota_us)
    };
    found.filter(valid).ok_or_else(|| {
        usage(format!(
            "cpu.max={word}: expected 1% to 100%, or QUOTA/PERIOD with a period of 1ms to 1s and a quota from 1ms, e.g. 5ms/10ms"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(word: &str) -> Result<Setting> {
        let known: Vec<&str> = names().collect();
        let variants = experiment::plan::parse_cpu_variants(&[word], &known).unwrap();
        Setting::of(&variants[0])
    }

    #[test]
    fn a_variant_is_a_kernel_a_control_group_and_a_placement() {
        let setting = read(
            "kernel=debian/6.12+hz=250+cpu.weight=50+cpu.max=5ms/10ms+nice=5+feature:RUN_TO_PARITY=off",
        )
        .unwrap();
        assert_eq!(setting.kernel.label(), "release of debian:6.12");
        assert_eq!(setting.kernel_label(), "release of debian:6.12 at 250 Hz");
        assert_eq!((setting.hz, setting.weight), (250, Some(50)));
        assert_eq!(setting.max, Some(Bandwidth { quota_us: 5_000, period_us: 10_000 }));
        assert_eq!(setting.placement, BTreeMap::from([("nice".to_owned(), "5".to_owned())]));
        assert_eq!(setting.attributes[0].key, "feature:RUN_TO_PARITY");
        assert_eq!(read("cpu.max=25%").unwrap().max.unwrap().quota_us, 25_000);
        let default = read("default").unwrap();
        assert_eq!((default.hz, default.cpus), (1000, 1));
        let several = read("cpus=4+affinity=2-3+hz=250").unwrap();
        let request = several.request(&Source::Newest);
        assert!(request.smp && !default.request(&Source::Newest).smp);
        assert_eq!(
            several.kernel_label(),
            format!("{} with several CPUs at 250 Hz", default.kernel_label())
        );
        let io = read("io:scheduler=bfq+io:low_latency=0+io:cpu_percent=200").unwrap().io;
        assert_eq!((io.scheduler.as_str(), io.cpu_percent), ("bfq", Some(200)));
        assert_eq!(io.tunables, [("low_latency".to_owned(), "0".to_owned())]);
    }

    #[test]
    fn what_a_guest_cannot_have_is_refused_with_what_it_can() {
        for (word, says) in [
            ("hz=999", "1000, 300, 250 or 100"),
            ("cpu.weight=0", "1 to 10000"),
            ("cpu.max=0", "5ms/10ms"),
            ("cpu.max=0%", "1% to 100%"),
            ("cpu.max=20ms/10ms", "5ms/10ms"),
            ("affinity=1", "no CPU 1"),
            ("cpus=2+affinity=0-2", "no CPU 2"),
            ("cpus=9", "1 to 8"),
            ("cpus=0", "1 to 8"),
            ("governor=performance", "virtual time"),
            ("nice=20", "-20 to 19"),
            ("io:scheduler=bfqq", "did you mean"),
            ("io:fs=ext4", "not a setting of a disk"),
            ("io:scheduler=bfq@x.patch", "not a setting of a disk"),
        ] {
            let error = format!("{:#}", read(word).unwrap_err());
            assert!(error.contains(says), "{word}: {error}");
        }
        let ext = Variant { scheduler: "sched_ext:/x".into(), ..crate::resolve::bare("x") };
        assert!(format!("{:#}", Setting::of(&ext).unwrap_err()).contains("default@PATCH"));
    }
}
