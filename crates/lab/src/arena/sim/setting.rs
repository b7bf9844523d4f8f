//! Converts a variant into a modelled scheduler and settings.

use anyhow::Result;
use elevator::ElevatorKind;
use experiment::plan::Variant;
use sim::{DeviceModel, Host};

use super::own;
use crate::arena::tunables::{attribute, tunable};
use crate::failure::usage;
use text::{Field, Form, expected_one_of, field};

/// Settings of the simulated kernel.
pub static ATTRIBUTES: &[Field] = &[
    field(
        "hz",
        "",
        Form::Whole(100, 1000),
        "ticks a second, for schedulers that count in jiffies [1000, as the WPCAS study's kernel]",
    ),
    field(
        "one_cpu",
        "",
        Form::Whole(0, 1),
        "1: all clients share one CPU (cpus=1), as in the kernel arena; 0: see cpus; affects kyber and none [0]",
    ),
    field(
        "cpus",
        "",
        Form::Whole(0, 256),
        "CPUs over which the clients are spread in turn; of a device's queues at most one per CPU is used; 0: one CPU per client, and one queue [0]",
    ),
    field(
        "cpu_percent",
        "",
        Form::Whole(0, 10_000),
        "CPU time of a request in percent of the scheduler's published cost (ICPE 2024, Xeon of 10 cores); 0: none [100 on flash, 0 on other devices]",
    ),
    field(
        "nr_requests",
        "",
        Form::Whole(1, 65_536),
        "request limit [legacy Linux 128 in each direction, blk-mq twice the device's or adapter's tags, 64 to 256, literature 256]",
    ),
    field("queue_depth", "", Form::Whole(1, 65_536), "queue depth limit [the device's]"),
    field(
        "turnaround_us",
        "",
        Form::Whole(0, 1_000_000),
        "µs from a completion to the same client's next request at the earliest, ±50 %: interrupt, wake-up, system call [10]",
    ),
];

/// Interrupt, wake-up and system call between a completion and the client's next request, in ns.
/// Our estimate for a machine of the 2000s.
pub const TURNAROUND_NS: u64 = 10_000;

/// CPU time as measured for the scheduler.
const CPU_PERCENT_ON_FLASH: u32 = 100;

/// Of a variant that may name its own.
pub(crate) fn cpu_percent(own: Option<u32>, device: &dyn DeviceModel) -> u32 {
    own.unwrap_or(if device.is_flash() { CPU_PERCENT_ON_FLASH } else { 0 })
}

#[derive(Debug, Clone)]
pub struct Setting {
    pub kind: &'static ElevatorKind,
    pub tunables: Vec<(String, u64)>,
    pub hz: u32,
    /// 0: one CPU per client.
    pub cpus: u32,
    /// Percent of the measured CPU time.
    pub cpu_percent: Option<u32>,
    pub nr_requests: Option<u32>,
    pub queue_depth: Option<u32>,
    /// From a completion to the client's next request.
    pub turnaround_ns: u64,
}

impl Setting {
    pub fn of(variant: &Variant) -> Result<Setting> {
        let mut setting = Setting {
            kind: find(&variant.scheduler)?,
            tunables: Vec::new(),
            hz: 1000,
            cpus: 0,
            cpu_percent: None,
            nr_requests: None,
            queue_depth: None,
            turnaround_ns: TURNAROUND_NS,
        };
        for (name, text) in &variant.tunables {
            setting.take(&variant.name, name, text)?;
        }
        Ok(setting)
    }

    fn take(&mut self, variant: &str, name: &str, text: &str) -> Result<()> {
        let Some(row) = ATTRIBUTES.iter().find(|row| row.name == name) else {
            let value = tunable(variant, self.kind, |_| true, ATTRIBUTES, name, text)?;
            self.tunables.push((name.to_owned(), value));
            return Ok(());
        };
        let value = attribute(variant, row, text)?;
        let small = u32::try_from(value).expect("the ranges of attributes are small");
        match name {
            "hz" => self.hz = small,
            "one_cpu" if value == 1 => self.cpus = 1,
            "one_cpu" => {}
            "cpus" => self.cpus = small,
            "cpu_percent" => self.cpu_percent = Some(small),
            "nr_requests" => self.nr_requests = Some(small),
            "queue_depth" => self.queue_depth = Some(small),
            _ => self.turnaround_ns = value * 1000,
        }
        Ok(())
    }

    pub fn host(&self, device: &dyn DeviceModel) -> Host {
        Host { cpus: self.cpus, cpu_percent: cpu_percent(self.cpu_percent, device) }
    }

    /// Whether requests cost no CPU time on flash, where it matters.
    pub fn omits_cpu_time(&self, device: &dyn DeviceModel) -> bool {
        device.is_flash() && self.host(device).cpu_percent == 0
    }

    /// All values in effect on this device.
    pub fn values(&self, device: &dyn DeviceModel) -> Vec<(&'static str, u64)> {
        let host = self.host(device);
        let queue = sim::queue_for(
            self.kind,
            &self.tunables,
            self.hz,
            host,
            self.nr_requests,
            self.queue_depth,
            device,
        );
        let (elevator, limits) = (queue.elevator(), queue.limits());
        let own = self.kind.tunables.iter().map(|row| (row.name, elevator.get(row.name)));
        let hw_queues = queue.topology().hw_queues();
        // Omitted where irrelevant, as in older results files.
        let of_host = [
            ("cpus", u64::from(host.cpus), host.cpus > 1),
            ("hw_queues", hw_queues.into(), hw_queues > 1),
            ("cpu_percent", host.cpu_percent.into(), host.cpu_percent > 0 || device.is_flash()),
        ];
        let of_host = of_host
            .into_iter()
            .filter(|(_, _, is_on)| *is_on)
            .map(|(name, value, _)| (name, value));
        let around = [
            ("hz", self.hz.into()),
            ("one_cpu", u64::from(host.cpus == 1)),
            ("nr_requests", limits.nr_requests.into()),
            ("queue_depth", limits.queue_depth.into()),
            ("turnaround_us", self.turnaround_ns / 1000),
        ];
        own.chain(around).chain(of_host).collect()
    }

    /// Values on one line, for the results file.
    pub fn describe(&self, device: &dyn DeviceModel) -> String {
        let values =
            self.values(device).into_iter().map(|(name, value)| format!(" {name}={value}"));
        std::iter::once(self.kind.name.to_owned()).chain(values).collect()
    }
}

pub(crate) fn find(name: &str) -> Result<&'static ElevatorKind> {
    elevator::find(name).or_else(|| own::find(name)).ok_or_else(|| {
        let own = own::names();
        let known = elevator::ELEVATORS.iter().map(|row| row.name).chain(own.iter().copied());
        usage(format!(
            "scheduler {name:?}: not in the simulator {}; see schedlab list schedulers",
            expected_one_of(name, known)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(word: &str) -> Result<Setting> {
        Setting::of(
            &experiment::plan::parse_variant(word).expect("the word has the form of a variant"),
        )
    }

    fn refused(word: &str) -> String {
        read(word).expect_err(word).to_string()
    }

    #[test]
    fn a_variant_sets_the_scheduler_its_tunables_and_the_kernel_around_it() {
        let setting =
            read("deadline:fifo_batch=4:hz=250:nr_requests=64:queue_depth=2:turnaround_us=50")
                .unwrap();
        assert_eq!((setting.kind.name, setting.hz), ("deadline", 250));
        assert_eq!(setting.tunables, [("fifo_batch".to_owned(), 4)]);
        assert_eq!(
            (setting.nr_requests, setting.queue_depth, setting.turnaround_ns),
            (Some(64), Some(2), 50_000)
        );
    }

    #[test]
    fn a_device_with_more_queues_than_cpus_is_used_with_one_for_each_and_the_results_say_so() {
        let device = |queues: u32| {
            sim::device::device(&format!("nvme:capacity_mib=64:queues={queues}"), 1).unwrap()
        };
        let many = read("mq-deadline:cpus=10:cpu_percent=100").unwrap().describe(&*device(64));
        assert!(many.ends_with("cpus=10 hw_queues=10 cpu_percent=100"), "{many}");
        let few = read("none:cpus=10").unwrap().describe(&*device(4));
        assert!(few.ends_with("cpus=10 hw_queues=4 cpu_percent=100"), "{few}");
        let own = read("none").unwrap().describe(&*device(64));
        assert!(
            own.contains("one_cpu=0") && !own.contains("cpus=") && !own.contains("hw_queues"),
            "{own}"
        );
        let legacy = read("deadline:cpus=10").unwrap().describe(&*device(64));
        assert!(
            legacy.ends_with("cpus=10 cpu_percent=100"),
            "legacy Linux has one queue: {legacy}"
        );
        assert!(refused("none:cpus=257").contains("from 0 to 256"));
    }

    #[test]
    fn cpu_time_is_on_by_default_on_flash_only() {
        let percent = |variant: &str, device: &str| {
            let device = sim::device::device(device, 1).unwrap();
            let setting = read(variant).unwrap();
            (setting.host(&*device).cpu_percent, setting.omits_cpu_time(&*device))
        };
        for flash in ["nvme:capacity_mib=64", "sata-ssd:capacity_mib=64"] {
            assert_eq!(percent("bfq", flash), (100, false));
            assert_eq!(percent("bfq:cpu_percent=50", flash), (50, false));
            assert_eq!(percent("bfq:cpu_percent=0", flash), (0, true));
        }
        for other in ["hp97560", "null"] {
            assert_eq!(percent("bfq", other), (0, false));
            assert_eq!(percent("bfq:cpu_percent=100", other), (100, false));
        }
    }

    #[test]
    fn what_does_not_exist_is_answered_with_the_nearest() {
        assert!(refused("deadlin").contains("deadline"), "{}", refused("deadlin"));
        assert!(
            refused("deadline:fifo_bach=4").contains("did you mean \"fifo_batch\""),
            "{}",
            refused("deadline:fifo_bach=4")
        );
    }

    #[test]
    fn what_is_out_of_range_is_answered_with_the_range() {
        for word in [
            "wpcas:gamma_percent=101",
            "wpcas:gamma_percent=much",
            "none:hz=7",
            "none:queue_depth=0",
        ] {
            assert!(refused(word).contains("a whole number from"), "{}", refused(word));
        }
    }

    #[test]
    fn unknown_scheduler_suggestion_comes_before_the_list() {
        let error = find("mq-dedline").unwrap_err().to_string();
        let start = "scheduler \"mq-dedline\": not in the simulator (did you mean \"mq-deadline\"? expected one of ";
        assert!(error.starts_with(start), "{error}");
    }
}
