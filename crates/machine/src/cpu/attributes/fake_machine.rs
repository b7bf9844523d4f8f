//! A fake machine whose CPU settings respond to writes as Linux 6.18 does, and that dies or loses
//! power at a chosen step (see `settings/fake_kernel.rs`).
//!
//! `sched_rt_runtime_us` above `sched_rt_period_us` is refused, whichever is written;
//! `sched_rr_timeslice_ms` = 0 restores the default; `tunable_scaling` recomputes the slice from
//! its default; `features` accepts one word.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use crate::crashpoints::FakeKernel;
use crate::files::{Files, RealFiles};
use crate::{Outcome, Root, restore_all};

use crate::cpu::UNDO;

pub(crate) struct FakeCpus {
    dir: tempfile::TempDir,
    pub(crate) kernel: Arc<FakeKernel>,
}

const FILES: [(&str, &str); 25] = [
    ("proc/sys/kernel/osrelease", "6.18.0-fake"),
    ("proc/sys/kernel/sched_autogroup_enabled", "1"),
    ("proc/sys/kernel/sched_cfs_bandwidth_slice_us", "5000"),
    ("proc/sys/kernel/sched_rr_timeslice_ms", "100"),
    ("proc/sys/kernel/sched_rt_period_us", "1000000"),
    ("proc/sys/kernel/sched_rt_runtime_us", "950000"),
    ("proc/sys/kernel/sched_energy_aware", ""),
    ("proc/sys/kernel/timer_migration", "1"),
    ("proc/sys/kernel/panic", "0"),
    ("sys/kernel/debug/sched/features", "PLACE_LAG NO_HRTICK WAKEUP_PREEMPTION"),
    ("sys/kernel/debug/sched/preempt", "none voluntary (full) lazy"),
    ("sys/kernel/debug/sched/base_slice_ns", "2800000"),
    ("sys/kernel/debug/sched/tunable_scaling", "1"),
    ("sys/kernel/debug/sched/nr_migrate", "32"),
    ("sys/kernel/debug/sched/verbose", "N"),
    ("sys/kernel/debug/sched/debug", "Sched Debug Version"),
    ("sys/kernel/debug/sched/fair_server/cpu0/runtime", "50000000"),
    ("sys/kernel/sched_ext/state", "disabled"),
    ("sys/devices/system/cpu/online", "0-1"),
    ("sys/devices/system/cpu/cpufreq/boost", "1"),
    ("sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "schedutil"),
    (
        "sys/devices/system/cpu/cpufreq/policy0/scaling_available_governors",
        "performance powersave schedutil",
    ),
    ("sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "schedutil"),
    (
        "sys/devices/system/cpu/cpufreq/policy1/scaling_available_governors",
        "performance powersave schedutil",
    ),
    ("proc/self/status", "Name:\tx"),
];

impl FakeCpus {
    pub(crate) fn booted() -> FakeCpus {
        let dir = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .expect("a temporary directory");
        let machine = FakeCpus { dir, kernel: Arc::new(FakeKernel::new(write)) };
        machine.boot("boot-1");
        machine
    }

    /// Its values differ from the kernel's defaults.
    pub(crate) fn tuned() -> FakeCpus {
        let machine = FakeCpus::booted();
        for (file, value) in [
            ("proc/sys/kernel/sched_rr_timeslice_ms", "30"),
            ("proc/sys/kernel/sched_rt_runtime_us", "900000"),
            ("sys/kernel/debug/sched/base_slice_ns", "3000000"),
            ("sys/kernel/debug/sched/features", "HRTICK"),
            ("sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "powersave"),
        ] {
            write(&machine.path(file), value).expect("the fake kernel takes it");
        }
        machine
    }

    /// Resets everything that a reboot resets.
    pub(crate) fn boot(&self, boot_id: &str) {
        let _ = fs::remove_dir_all(self.path("sys"));
        self.put("proc/sys/kernel/random/boot_id", boot_id);
        FILES.iter().for_each(|(file, text)| self.put(file, text));
    }

    pub(crate) fn put(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("fake directory");
        // A concurrent watch must not see an empty attribute.
        let new = self.dir.path().join("value");
        fs::write(&new, text).and_then(|()| fs::rename(new, path)).expect("fake file");
    }

    pub(crate) fn root(&self) -> Root {
        Root::at(self.dir.path()).with_tool_dirs(vec![]).with_files(self.kernel.clone())
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.dir.path().join(file)
    }

    pub(crate) fn shows(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap_or_default()
    }

    pub(crate) fn all(&self) -> Vec<(&'static str, String)> {
        FILES.iter().map(|(file, _)| (*file, self.shows(file))).collect()
    }

    pub(crate) fn journal(&self) -> Vec<String> {
        self.root().names(self.root().state("journal"))
    }
}

impl crate::crashpoints::Machine for FakeCpus {
    type State = Vec<(&'static str, String)>;

    fn kernel(&self) -> &FakeKernel {
        &self.kernel
    }

    fn state(&self) -> Self::State {
        self.all()
    }

    fn journal_dir(&self) -> PathBuf {
        self.root().state("journal")
    }

    fn boot(&self, boot_id: &str) {
        FakeCpus::boot(self, boot_id);
    }

    fn restore(&self) -> Result<bool, String> {
        let outcomes = restore_all(&self.root(), &UNDO).map_err(|error| error.to_string())?;
        match outcomes.iter().find(|outcome| matches!(outcome, Outcome::Failed { .. })) {
            Some(failed) => Err(failed.to_string()),
            None => Ok(outcomes.iter().any(|outcome| matches!(outcome, Outcome::Busy { .. }))),
        }
    }
}

pub(crate) fn write(path: &Path, value: &str) -> io::Result<()> {
    let name =
        path.file_name().and_then(|name| name.to_str()).expect("fake files have plain names");
    let dir = path.parent().expect("a file has a directory");
    let number = value.parse::<i64>().ok();
    let other = |name: &str| {
        fs::read_to_string(dir.join(name)).map(|text| text.trim().parse::<i64>().unwrap_or(0))
    };
    let refuse = || Err(Errno::INVAL.into());
    if !path.exists() {
        return Err(Errno::NOENT.into());
    }
    match name {
        "features" => {
            let text = fs::read_to_string(path)?;
            let bare = value.strip_prefix("NO_").unwrap_or(value);
            let is = |word: &str| word.strip_prefix("NO_").unwrap_or(word) == bare;
            if !text.split_whitespace().any(is) {
                return refuse();
            }
            let words: Vec<&str> =
                text.split_whitespace().map(|word| if is(word) { value } else { word }).collect();
            return fs::write(path, words.join(" "));
        }
        "preempt" => {
            let text = fs::read_to_string(path)?;
            let modes: Vec<&str> =
                text.split_whitespace().map(|word| word.trim_matches(['(', ')'])).collect();
            if !modes.contains(&value) {
                return refuse();
            }
            let mark = |mode: &&str| {
                if *mode == value { format!("({mode})") } else { (*mode).to_string() }
            };
            return fs::write(path, modes.iter().map(mark).collect::<Vec<_>>().join(" "));
        }
        "scaling_governor" => {
            let offered = fs::read_to_string(dir.join("scaling_available_governors"))?;
            if !offered.split_whitespace().any(|governor| governor == value) {
                return refuse();
            }
        }
        "verbose" => {}
        _ if number.is_none() => return refuse(),
        "sched_rt_runtime_us" if number > Some(other("sched_rt_period_us")?) => return refuse(),
        "sched_rt_period_us" if number < Some(other("sched_rt_runtime_us")?) => return refuse(),
        "sched_rr_timeslice_ms" if number < Some(1) => {
            return RealFiles.write_attribute(path, "100");
        }
        "tunable_scaling" => {
            let slice = if number == Some(0) { "700000" } else { "2800000" };
            fs::write(dir.join("base_slice_ns"), slice)?;
        }
        // Accepted without an effect.
        "nr_migrate" if number > Some(64) => return Ok(()),
        _ => {}
    }
    RealFiles.write_attribute(path, value)
}
