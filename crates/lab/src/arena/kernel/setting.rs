//! Converts a variant into a kernel, a scheduler with tunables, and the settings around it.

use anyhow::{Context, Result};
use elevator::{Geometry, Named};
use experiment::plan::Variant;
use machine::settings::leaves_stale_depth;
use serde::{Deserialize, Serialize};
use sim::{DeviceModel, Host};

use super::choice::KernelChoice;
use super::files::Files;
use super::order::Scheduler;
use crate::arena::sim::{TURNAROUND_NS, cpu_percent};
use crate::arena::tunables::{attribute, tunable};
use crate::controllers::{self, Control, Location};
use crate::failure::usage;
use text::{Field, Form, expected_one_of, field};

/// Schedulers that schedlab adds as modules.
pub const MODULES: &[&str] = &["anticipatory", "wpcas", "occupancy"];

/// Who issues the I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clients {
    /// Kernel threads if they support the workload, otherwise system calls.
    #[default]
    Auto,
    /// Kernel threads, without system calls.
    Kernel,
    /// A program's threads.
    Syscalls,
}

/// Selects a variant's kernel.
pub const KERNEL: &str = "kernel";

/// The attribute that was mq-deadline's tunable before Linux 7.0.
pub(super) const DEPTH: &str = "async_depth";
/// Values of `after`.
const BEFORE: &[&str] = &["none", "mq-deadline", "kyber", "bfq"];

/// Settings of the queue and the clients.
pub static ATTRIBUTES: &[Field] = &[
    field(
        "nr_requests",
        "",
        Form::Whole(1, 65_536),
        "request limit [default: twice the adapter's tags, at most 256]",
    ),
    field("queue_depth", "", Form::Whole(1, 65_536), "queue depth limit [the device's]"),
    field(
        "turnaround_us",
        "",
        Form::Whole(0, 1_000_000),
        "µs from a completion to the same client's next request, ±50 % [10]",
    ),
    field(
        "cpu_percent",
        "",
        Form::Whole(0, 10_000),
        "CPU time of a request in percent of the scheduler's published cost, which keeps the guest's CPU busy; 0: none [100 on flash, 0 on other devices]",
    ),
    field(
        "clients",
        "",
        Form::Words(&["auto", "kernel", "syscalls"]),
        "issuer of the I/O: threads of the kernel (fast), or threads of a program by system calls [auto]",
    ),
    field(
        "fs",
        "",
        Form::Words(&["none", "ext4"]),
        "files on that file system instead of the bare device; by system calls [none]",
    ),
    field(
        DEPTH,
        "",
        Form::Whole(1, 65_536),
        "requests of nr_requests for all but synchronous reads; before Linux 7.0 of mq-deadline only [the scheduler's choice]",
    ),
    field(
        "after",
        "",
        Form::Words(BEFORE),
        "scheduler of the disk before this one; bfq's limits then stay as the switch leaves them [mq-deadline]",
    ),
    field(
        KERNEL,
        "",
        Form::Text,
        "kernel of this variant alone, named as for `kernel build --source`; debian/6.12 is debian:6.12 [the plan's]",
    ),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub scheduler: String,
    pub kernel: KernelChoice,
    pub tunables: Vec<(String, String)>,
    /// Settings outside the scheduler, in the order of writing.
    pub controls: Vec<Control>,
    pub nr_requests: Option<u32>,
    /// Requests for all but synchronous reads, where the variant names them.
    pub async_depth: Option<u32>,
    /// The scheduler before this one, where the variant names it.
    pub after: Option<&'static str>,
    pub queue_depth: Option<u32>,
    /// From a completion to the same client's next request.
    pub turnaround_ns: u64,
    /// Percent of the measured CPU time.
    pub cpu_percent: Option<u32>,
    pub clients: Clients,
    /// None: clients use the device directly.
    pub files: Option<Files>,
    /// A note for the user about an old scheduler name.
    pub renamed: Option<String>,
}

impl Setting {
    /// The kernel validates values only when the trial runs.
    pub fn of(variant: &Variant) -> Result<Setting> {
        let (name, patches) = match variant.scheduler.split_once('@') {
            Some((name, patches)) => (name, Some(patches)),
            None => (variant.scheduler.as_str(), None),
        };
        let (scheduler, renamed) = scheduler(name)?;
        let source = variant.tunables.get(KERNEL).map(|word| word.trim());
        let kernel = KernelChoice::of(patches, source)
            .with_context(|| format!("variant {}", variant.name))?;
        let mut setting = Setting {
            scheduler,
            kernel,
            tunables: Vec::new(),
            controls: Vec::new(),
            nr_requests: None,
            async_depth: None,
            after: None,
            queue_depth: None,
            turnaround_ns: TURNAROUND_NS,
            cpu_percent: None,
            clients: Clients::Auto,
            files: None,
            renamed,
        };
        for (name, text) in variant.tunables.iter().filter(|(name, _)| *name != KERNEL) {
            setting.take(&variant.name, name, text.trim())?;
        }
        controllers::sort(&mut setting.controls);
        if setting.files.is_some() && setting.clients == Clients::Kernel {
            return Err(usage(format!(
                "variant {}: clients=kernel works on the bare device; files (fs) need system calls: leave one of them out",
                variant.name
            )));
        }
        Ok(setting)
    }

    /// Rejects an unknown scheduler unless a patch or source tree may add it.
    pub fn check_known(&self, kernel: Option<&str>) -> Result<()> {
        let of_plan = kernel.is_none_or(|word| word.starts_with("debian:"));
        let plain = self
            .kernel
            .source
            .as_ref()
            .map_or(of_plan, |source| !matches!(source, guest::Source::Directory(_)));
        let mut known = elevator::LINUX.iter().map(|row| row.name).chain(MODULES.iter().copied());
        if self.kernel.word.is_none() && plain && known.all(|name| name != self.scheduler) {
            return Err(unknown(&self.scheduler));
        }
        Ok(())
    }

    /// The guest has one CPU.
    pub(super) fn host(&self, device: &dyn DeviceModel) -> Host {
        Host { cpus: 1, cpu_percent: cpu_percent(self.cpu_percent, device) }
    }

    /// Whether requests cost no CPU time on flash, where it matters.
    pub(super) fn omits_cpu_time(&self, device: &dyn DeviceModel) -> bool {
        device.is_flash() && self.host(device).cpu_percent == 0
    }

    /// Its scheduler as sent to a guest with this kernel. `nr_requests` goes first, because
    /// it resets `async_depth`.
    pub(super) fn scheduler(&self, kernel: &guest::Kernel) -> Scheduler {
        let of_queue = |name: &str, value: Option<u32>| {
            value.map(|value| (name.to_owned(), value.to_string()))
        };
        let tunables =
            self.tunables.iter().map(|(name, value)| (format!("iosched/{name}"), value.clone()));
        Scheduler {
            name: self.scheduler.clone(),
            after: self.after.map(str::to_owned),
            renews_depth: self.renews_depth(kernel),
            attributes: of_queue("nr_requests", self.nr_requests)
                .into_iter()
                .chain(tunables)
                .chain(of_queue(DEPTH, self.async_depth))
                .collect(),
        }
    }

    /// Whether bfq's limits are made its own. The variant decides if it names a depth, or the
    /// scheduler that leaves one.
    pub(super) fn renews_depth(&self, kernel: &guest::Kernel) -> bool {
        let is_named = self.after.is_some() || self.async_depth.is_some();
        !is_named && leaves_stale_depth(&self.scheduler, kernel.linux())
    }

    fn take(&mut self, variant: &str, name: &str, text: &str) -> Result<()> {
        if let Some(row) = ATTRIBUTES.iter().find(|row| row.name == name) {
            let value = attribute(variant, row, text)?;
            let small = u32::try_from(value).expect("the ranges of attributes are small");
            match name {
                "nr_requests" => self.nr_requests = Some(small),
                DEPTH => self.async_depth = Some(small),
                "after" => self.after = Some(BEFORE[value as usize]),
                "queue_depth" => self.queue_depth = Some(small),
                "turnaround_us" => self.turnaround_ns = value * 1000,
                "cpu_percent" => self.cpu_percent = Some(small),
                "fs" => self.files = [None, Some(Files::Ext4)][value as usize],
                _ => {
                    let all = [Clients::Auto, Clients::Kernel, Clients::Syscalls];
                    self.clients = all[value as usize];
                }
            }
            return Ok(());
        }
        if let Some(control) = controllers::read(variant, name, text)? {
            if let Location::Device(file) = control.row().location
                && file.starts_with("device/")
            {
                return Err(usage(format!(
                    "variant {variant}: the modelled disk does not support {name} (no {file}); remove it or use --arena disk"
                )));
            }
            self.controls.push(control);
            return Ok(());
        }
        self.check_tunable(variant, name, text)?;
        let text = match text {
            "true" => "1",
            "false" => "0",
            text => text,
        };
        self.tunables.push((name.to_owned(), text.to_owned()));
        Ok(())
    }

    /// Checks tunables of unpatched schedulers before booting.
    fn check_tunable(&self, variant: &str, name: &str, text: &str) -> Result<()> {
        if self.kernel.word.is_some()
            || name == "max_inflight" && MODULES.contains(&self.scheduler.as_str())
        {
            return Ok(());
        }
        let Some(kind) = elevator::find(&self.scheduler) else { return Ok(()) };
        tunable(variant, kind, |_| true, ATTRIBUTES, name, text).map(drop)
    }
}

/// Module parameters: wpcas requires the disk's geometry and seek curve; occupancy has switches.
pub(super) fn parameters(scheduler: &str, geometry: &Geometry) -> String {
    if scheduler == "occupancy" {
        return "internal=1".to_owned();
    }
    if scheduler != "wpcas" || geometry.cylinders == 0 {
        return String::new();
    }
    let seek = &geometry.seek;
    let first: Vec<String> = seek.first.iter().map(u64::to_string).collect();
    let mut words = vec![
        format!("cylinders={}", geometry.cylinders),
        format!("cylinder_sectors={}", geometry.sectors_per_cylinder),
        format!("seek_knee={}", seek.knee),
        format!("seek_a_ns={}", seek.a_ns),
        format!("seek_b_ns={}", seek.b_ns),
        format!("seek_c_ns={}", seek.c_ns),
        format!("seek_e_ps={}", seek.e_ps),
    ];
    if !first.is_empty() {
        words.push(format!("seek_first={}", first.join(",")));
    }
    words.join(" ")
}

/// Resolves old names, with a note for the user.
fn scheduler(name: &str) -> Result<(String, Option<String>)> {
    if MODULES.contains(&name) {
        return Ok((name.to_owned(), None));
    }
    let known = || elevator::LINUX.iter().map(|row| row.name).chain(MODULES.iter().copied());
    match elevator::resolve(name) {
        Named::Current(row) => Ok((row.name.to_owned(), None)),
        Named::Renamed { now, why } => {
            Ok((now.name.to_owned(), Some(format!("note: {name} runs as {}: {why}", now.name))))
        }
        Named::Gone { fate, .. } => Err(usage(format!(
            "scheduler {name}: not in the kernel arena: {fate} (expected one of {}); the simulator has it: --arena sim",
            known().collect::<Vec<_>>().join(", ")
        ))),
        // See `check_known`.
        Named::Unknown if !name.is_empty() && elevator::find(name).is_none() => {
            Ok((name.to_owned(), None))
        }
        Named::Unknown => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> anyhow::Error {
    let known = elevator::LINUX.iter().map(|row| row.name).chain(MODULES.iter().copied());
    usage(format!(
        "scheduler {name:?}: unknown {}; NAME@FILE adds a patch; see schedlab list schedulers",
        expected_one_of(name, known)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(word: &str) -> Result<Setting> {
        Setting::of(
            &experiment::plan::parse_variant(word).expect("the word has the form of a variant"),
        )
    }

    #[test]
    fn a_variant_names_a_scheduler_perhaps_a_patch_and_what_is_around_it() {
        let setting =
            read("kyber@my/delay.patch:read_lat_nsec=5:nr_requests=64:clients=syscalls").unwrap();
        assert_eq!(setting.scheduler, "kyber");
        assert_eq!(setting.kernel.patches, [std::path::Path::new("my/delay.patch")]);
        assert_eq!((setting.nr_requests, setting.clients), (Some(64), Clients::Syscalls));
        assert_eq!(setting.tunables, [("read_lat_nsec".to_owned(), "5".to_owned())]);
        assert_eq!((setting.files, read("none:fs=ext4").unwrap().files), (None, Some(Files::Ext4)));
    }

    fn kernel(release: &str) -> guest::Kernel {
        let text = format!(
            r#"{{"key": "k", "linux": "l", "tree": "t", "release": "{release}", "source": "s",
                "version": "1", "patches": [], "debug": false, "built": 1, "bytes": 1,
                "objects": 1, "asked": [], "recipe": "r", "sha256": "0"}}"#
        );
        guest::Kernel::from_json(text.as_bytes()).expect("a record")
    }

    #[test]
    fn bfq_gets_its_own_limits_unless_the_variant_decides() {
        let renews = |word: &str, release: &str| read(word).unwrap().renews_depth(&kernel(release));
        assert!(renews("bfq", "7.3.4-schedlab") && renews("bfq:slice_idle=0", "7.0.0"));
        for word in ["bfq:after=none", "bfq:async_depth=48", "mq-deadline", "none"] {
            assert!(!renews(word, "7.3.4-schedlab"), "{word}");
        }
        assert!(!renews("bfq", "6.18.1") && !renews("bfq", "6.1.192-schedlab"));
    }

    #[test]
    fn the_window_is_set_before_the_depth_that_it_resets() {
        let scheduler = read("mq-deadline:async_depth=4:fifo_batch=2:nr_requests=32:after=kyber")
            .unwrap()
            .scheduler(&kernel("6.1.1"));
        let names: Vec<&str> = scheduler.attributes.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["nr_requests", "iosched/fifo_batch", "async_depth"]);
        assert_eq!(
            (scheduler.name, scheduler.after.as_deref()),
            ("mq-deadline".into(), Some("kyber"))
        );
    }

    #[test]
    fn settings_of_flows_and_of_the_device_are_sorted_out_of_the_tunables() {
        let setting =
            read("bfq:slice_idle=0:io.bfq.weight@reader=400:io.cost.qos=enable=1+rpct=95").unwrap();
        assert_eq!(setting.tunables, [("slice_idle".to_owned(), "0".to_owned())]);
        let lines: Vec<String> =
            setting.controls.iter().map(|control| control.line("254:0")).collect();
        assert_eq!(lines, ["254:0 enable=1 rpct=95", "default 400"]);
    }

    #[test]
    fn our_own_modules_are_not_the_schedulers_that_are_gone() {
        assert_eq!(read("anticipatory").unwrap().scheduler, "anticipatory");
        let error = read("cfq").unwrap_err().to_string();
        assert!(error.contains("--arena sim"), "{error}");
    }

    #[test]
    fn an_unknown_name_needs_a_patch_or_a_kernel_tree() {
        let refused = read("kyver").unwrap().check_known(None).unwrap_err().to_string();
        assert!(refused.contains("did you mean \"kyber\"? expected one of "), "{refused}");
        assert!(read("kyver").unwrap().check_known(Some("debian:6.12")).is_err());
        for (word, kernel) in [
            ("kyver@my.patch", None),
            ("kyver", Some("/usr/src/linux")),
            ("bfq", None),
            ("wpcas", None),
            ("occupancy:fairness=0", None),
        ] {
            read(word).unwrap().check_known(kernel).expect(word);
        }
    }

    #[test]
    fn what_does_not_exist_or_is_out_of_range_is_refused_before_anything_is_booted() {
        for (word, says) in [
            ("mq-deadline:fifo_bach=4", "did you mean \"fifo_batch\""),
            ("none:queue_depth=0", "1 to 65536"),
            ("wpcas:gamma_percent=101", "from"),
            ("occupancy:overdue_ms=60001", "from 1 to 60000 (ms)"),
            ("occupancy:target_sync=5", "expected one of fairness, learning, anticipation"),
            ("bfq:clients=many", "auto, kernel, syscalls"),
            ("sptf", "scheduler \"sptf\": unknown"),
            ("none:fs=xfs", "none or ext4"),
            ("bfq:after=cfq", "none, mq-deadline, kyber, bfq"),
            ("bfq:async_depth=0", "1 to 65536"),
            ("none:fs=ext4:clients=kernel", "need system calls"),
            ("none:io.weight=400", "io.weight@FLOW"),
            ("none:io.wieght@reader=400", "did you mean \"io.weight\""),
            ("none:io.weight@../x=400", "invalid flow name"),
            ("none:kernel=debian/six", "debian:six"),
            ("none:cdl_enable=1", "(no device/cdl_enable)"),
        ] {
            let error = format!("{:#}", read(word).expect_err(word));
            assert!(error.contains(says), "{word}: {error}");
        }
    }
}
