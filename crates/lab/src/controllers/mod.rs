//! Linux's I/O controls for flows: cgroup attributes, I/O priorities and device throttles.
//!
//! A variant sets `ATTRIBUTE` of the device, or `ATTRIBUTE@FLOW` of a flow's control group or
//! processes. Names are the kernel's (Documentation/admin-guide/cgroup-v2.rst), so only io.cost
//! reads `io.weight`, and only bfq `io.bfq.weight`. Settings known to have no effect produce a
//! remark.

mod values;

use anyhow::Result;
use experiment::plan::is_flow_name;
use serde::{Deserialize, Serialize};
use text::{did_you_mean, expected_one_of};

use crate::failure::usage;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Device,
    Flow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// A file in the flow's control group; `v1` is its name in cgroup v1, if it exists there.
    Group { v1: Option<&'static str> },
    /// In the cgroup v2 root, one line per device.
    Root,
    /// An attribute of the flow's processes.
    Processes,
    /// Below the device's /sys/block directory.
    Device(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    /// `default N`.
    Weight,
    /// The device number, then pairs.
    Pairs,
}

#[derive(Debug)]
pub struct Controller {
    /// The cgroup v2 file name, if any.
    pub name: &'static str,
    pub scope: Scope,
    pub location: Location,
    /// Describes valid values.
    pub values: &'static str,
    pub help: &'static str,
    /// Required kernel option.
    pub config: &'static str,
    form: Form,
    read: fn(&str) -> Option<String>,
}

/// In order of writing: a cost model precedes its activation.
pub static CONTROLLERS: &[Controller] = &[
    Controller {
        name: "io.cost.model",
        scope: Scope::Device,
        location: Location::Root,
        values: "ctrl=auto, or ctrl=user with rbps, rseqiops, rrandiops, wbps, wseqiops, wrandiops",
        help: "cost model of io.cost: the device's bytes and requests per second in each direction",
        config: "CONFIG_BLK_CGROUP_IOCOST",
        form: Form::Pairs,
        read: values::cost_model,
    },
    Controller {
        name: "io.cost.qos",
        scope: Scope::Device,
        location: Location::Root,
        values: "enable=0 or 1, ctrl=auto or user, rpct, rlat, wpct, wlat, min, max",
        help: "io.cost: on or off, latency targets in µs, bounds of its rate in percent",
        config: "CONFIG_BLK_CGROUP_IOCOST",
        form: Form::Pairs,
        read: values::cost_qos,
    },
    Controller {
        name: "wbt_lat_usec",
        scope: Scope::Device,
        location: Location::Device("queue/wbt_lat_usec"),
        values: "0 (off) to 4294967295, or -1 for the kernel's choice",
        help: "target read latency in µs; writeback throttling delays buffered writes to meet it",
        config: "CONFIG_BLK_WBT",
        form: Form::Plain,
        read: values::wbt,
    },
    Controller {
        name: "cdl_enable",
        scope: Scope::Device,
        location: Location::Device("device/cdl_enable"),
        values: "0, 1",
        help: "command duration limits of the drive, which ioprio hints choose from (Linux 6.5, ATA and SCSI)",
        config: "CONFIG_BLK_DEV_SD",
        form: Form::Plain,
        read: values::switch,
    },
    Controller {
        name: "ncq_prio_enable",
        scope: Scope::Device,
        location: Location::Device("device/ncq_prio_enable"),
        values: "0, 1",
        help: "high-priority commands for requests of the realtime class (ATA)",
        config: "CONFIG_SATA_HOST",
        form: Form::Plain,
        read: values::switch,
    },
    Controller {
        name: "io.weight",
        scope: Scope::Flow,
        location: Location::Group { v1: None },
        values: "1 to 10000",
        help: "the flow's weight for io.cost; default 100",
        config: "CONFIG_BLK_CGROUP_IOCOST",
        form: Form::Weight,
        read: values::weight,
    },
    Controller {
        name: "io.bfq.weight",
        scope: Scope::Flow,
        location: Location::Group { v1: Some("blkio.bfq.weight") },
        values: "1 to 1000",
        help: "the flow's weight for bfq; default 100",
        config: "CONFIG_BFQ_GROUP_IOSCHED",
        form: Form::Weight,
        read: values::bfq_weight,
    },
    Controller {
        name: "io.max",
        scope: Scope::Flow,
        location: Location::Group { v1: Some("blkio.throttle.*_device") },
        values: "pairs of rbps, wbps, riops, wiops, e.g. wbps=10M wiops=100; max: no limit",
        help: "the flow's bounds in bytes and requests per second",
        config: "CONFIG_BLK_DEV_THROTTLING",
        form: Form::Pairs,
        read: values::bounds,
    },
    Controller {
        name: "io.latency",
        scope: Scope::Flow,
        location: Location::Group { v1: None },
        values: "a duration, e.g. 10ms; max: no limit",
        help: "latency target of the flow, for which its siblings are throttled",
        config: "CONFIG_BLK_CGROUP_IOLATENCY",
        form: Form::Pairs,
        read: values::latency,
    },
    Controller {
        name: "io.prio.class",
        scope: Scope::Flow,
        location: Location::Group { v1: Some("blkio.prio.class") },
        values: "no-change, none-to-rt, promote-to-rt, restrict-to-be, idle",
        help: "overrides the I/O priority class of the flow's requests",
        config: "CONFIG_BLK_CGROUP_IOPRIO",
        form: Form::Plain,
        read: values::class,
    },
    Controller {
        name: "ioprio",
        scope: Scope::Flow,
        location: Location::Processes,
        values: "idle, best-effort:0 to best-effort:7, realtime:0 to realtime:7",
        help: "I/O priority of the flow's processes, 0 being the highest",
        config: "CONFIG_BLOCK",
        form: Form::Plain,
        read: values::process_priority,
    },
];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Control {
    name: String,
    /// None: the device.
    pub flow: Option<String>,
    /// In the kernel's format, without the device number.
    pub value: String,
}

/// None if `word` may be a scheduler's tunable.
pub fn read(variant: &str, word: &str, text: &str) -> Result<Option<Control>> {
    let (name, flow) = word.split_once('@').map_or((word, None), |(name, flow)| (name, Some(flow)));
    let Some(row) = find(name) else {
        if flow.is_none() && !name.starts_with("io.") {
            return Ok(None);
        }
        let expected = expected_one_of(name, CONTROLLERS.iter().map(|row| row.name));
        return Err(usage(format!(
            "variant {variant}: unknown attribute {name} of a flow or device {expected}"
        )));
    };
    match (row.scope, flow) {
        (Scope::Flow, None) => {
            return Err(usage(format!(
                "variant {variant}: {name} is a setting of a flow; name the flow: {name}@FLOW ([[workload.flow]] in a plan)"
            )));
        }
        (Scope::Device, Some(flow)) => {
            return Err(usage(format!(
                "variant {variant}: {name} is a setting of the device; remove @{flow}"
            )));
        }
        (Scope::Flow, Some(flow)) => {
            check_name(flow).map_err(|why| usage(format!("variant {variant}: {word}: {why}")))?
        }
        (Scope::Device, None) => {}
    }
    let value = (row.read)(text.trim()).ok_or_else(|| {
        usage(format!(
            "variant {variant}: {word}: invalid value {text:?} (expected {})",
            row.values
        ))
    })?;
    Ok(Some(Control { name: name.to_owned(), flow: flow.map(str::to_owned), value }))
}

pub fn sort(controls: &mut [Control]) {
    controls.sort_by_key(|control| CONTROLLERS.iter().position(|row| row.name == control.name));
}

pub fn check_name(flow: &str) -> Result<(), String> {
    if is_flow_name(flow) {
        return Ok(());
    }
    Err(format!("invalid flow name {flow:?} (expected 1 to 64 letters, digits, _ and -)"))
}

/// Rejects settings for unknown flows.
pub fn check_flows(variant: &str, controls: &[Control], flows: &[&str]) -> Result<()> {
    let unknown = controls.iter().find_map(|control| {
        let flow = control.flow.as_deref()?;
        (!flows.contains(&flow)).then_some((control, flow))
    });
    let Some((Control { name, .. }, flow)) = unknown else { return Ok(()) };
    let known = match flows {
        [] => "no workload has flows: give one of kind flows".to_owned(),
        _ => format!("expected one of {}", flows.join(", ")),
    };
    let nearest = did_you_mean(flow, flows.iter().copied());
    Err(usage(format!(
        "variant {variant}: {name}@{flow}: no workload has this flow ({known}){nearest}"
    )))
}

/// Settings known to have no effect under a scheduler.
pub fn remarks(variant: &str, scheduler: &str, controls: &[Control]) -> Vec<String> {
    let in_linux = elevator::LINUX.iter().any(|row| row.name == scheduler);
    let has_cost = controls
        .iter()
        .any(|c| c.name == "io.cost.qos" && c.pair("enable").is_some_and(|on| on != "0"));
    let why = |control: &Control| match control.name.as_str() {
        "io.weight" if !has_cost => Some(match scheduler {
            "bfq" => "io.cost is off, and bfq reads io.bfq.weight",
            _ => "io.cost is off (io.cost.qos = \"enable=1\" switches it on)",
        }),
        "io.bfq.weight" if scheduler != "bfq" => Some("only bfq reads it"),
        "ioprio" | "io.prio.class" if in_linux && !matches!(scheduler, "bfq" | "mq-deadline") => {
            Some("only bfq and mq-deadline know priorities")
        }
        // bfq does not idle for processes of the idle class.
        "ioprio" | "io.prio.class" if scheduler == "bfq" && control.value != "idle" => {
            Some("bfq orders classes within a control group, and each flow has a group of its own")
        }
        _ => None,
    };
    let mut remarks: Vec<String> = controls
        .iter()
        .filter_map(|control| {
            Some(format!(
                "WARNING: variant {variant}: {} has no effect under {scheduler}: {}",
                control.word(),
                why(control)?
            ))
        })
        .collect();
    remarks.dedup();
    remarks
}

impl Control {
    pub fn row(&self) -> &'static Controller {
        find(&self.name).expect("a control is made from a row")
    }

    /// As in the variant: `io.weight@reader`.
    pub fn word(&self) -> String {
        self.flow.as_ref().map_or_else(|| self.name.clone(), |flow| format!("{}@{flow}", self.name))
    }

    /// The line to write; `device` is `MAJOR:MINOR`.
    pub fn line(&self, device: &str) -> String {
        match self.row().form {
            Form::Plain => self.value.clone(),
            Form::Weight => format!("default {}", self.value),
            Form::Pairs => format!("{device} {}", self.value),
        }
    }

    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.value.split_whitespace().filter_map(|word| word.split_once('='))
    }

    /// Whether the kernel's file contains the value.
    pub fn is_in(&self, device: &str, found: &str) -> bool {
        match self.row().form {
            Form::Plain if self.value == "-1" => found.trim().parse::<u64>().is_ok_and(|us| us > 0),
            Form::Plain => self.value == found.trim(),
            Form::Weight => {
                let weight =
                    found.lines().find_map(|line| match line.trim().strip_prefix("default ") {
                        Some(weight) => Some(weight),
                        None => {
                            line.trim().bytes().all(|b| b.is_ascii_digit()).then_some(line.trim())
                        }
                    });
                weight == Some(self.value.as_str())
            }
            Form::Pairs => {
                let line = found
                    .lines()
                    .find_map(|line| line.trim().strip_prefix(device)?.strip_prefix(' '));
                let shown = |key: &str| {
                    line?
                        .split_whitespace()
                        .filter_map(|word| word.split_once('='))
                        .find(|(k, _)| *k == key)
                };
                // No line means no limit.
                self.pairs().all(|(key, value)| match shown(key) {
                    Some((_, found)) => same(value, found),
                    None => value == "max" && line.is_none(),
                })
            }
        }
    }

    fn pair(&self, key: &str) -> Option<&str> {
        self.pairs().find(|(name, _)| *name == key).map(|(_, value)| value)
    }
}

/// The kernel shows `95` as `95.00`.
fn same(wanted: &str, found: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    wanted == found || number(wanted).is_some_and(|wanted| number(found) == Some(wanted))
}

fn find(name: &str) -> Option<&'static Controller> {
    CONTROLLERS.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests;
