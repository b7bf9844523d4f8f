//! Device attributes outside of the queue: the io controller's cost model, and switches of a drive.
//!
//! `io.cost.qos` and `io.cost.model` are root files of control groups v2 with a line per device,
//! which starts with its number. The number is never part of a value, so no plan or forged journal
//! can name another device. A device without a line is restored to the default `enable=0 ctrl=auto`
//! ([`Row::unset`]). With `ctrl=auto` the kernel chooses the other numbers, and writing one ends
//! `ctrl=auto`, so only `enable` and `ctrl` are saved.
//!
//! Source: Documentation/admin-guide/cgroup-v2.rst and block/blk-iocost.c of Linux 6.1;
//! Documentation/ABI/testing/sysfs-block-device (`cdl_enable`, `ncq_prio_enable`).

use std::io;
use std::path::PathBuf;

use text::{Field, Form, hundredths};

use crate::hierarchies::Hierarchies;
use crate::root::Root;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A line of `key=value` per device, in the root of v2.
    Cost(&'static [Field]),
    /// 0 or 1, in `device/`; `supported` shows whether the drive supports it.
    Switch { supported: &'static str },
}

#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    pub name: &'static str,
    pub help: &'static str,
    pub example: &'static str,
    kind: Kind,
    /// The value before anyone has set it.
    pub unset: &'static str,
}

const CTRL: Field = key("ctrl", Form::Words(&["auto", "user"]));
const PERCENTILE: Form = Form::Hundredths(0, 10_000);
const SPEED: Form = Form::Hundredths(100, 1_000_000);
const LATENCY_US: Form = Form::Whole(0, u32::MAX as u64);
/// The kernel calculates with 2^37 units per second.
const RATE: Form = Form::Whole(1, 1 << 50);

const QOS: [Field; 8] = [
    key("enable", Form::Words(&["0", "1"])),
    CTRL,
    key("rpct", PERCENTILE),
    key("rlat", LATENCY_US),
    key("wpct", PERCENTILE),
    key("wlat", LATENCY_US),
    key("min", SPEED),
    key("max", SPEED),
];

const MODEL: [Field; 8] = [
    CTRL,
    key("model", Form::Words(&["linear"])),
    key("rbps", RATE),
    key("rseqiops", RATE),
    key("rrandiops", RATE),
    key("wbps", RATE),
    key("wseqiops", RATE),
    key("wrandiops", RATE),
];

const fn key(name: &'static str, form: Form) -> Field {
    text::field(name, "", form, "")
}

pub static ROWS: [Row; 4] = [
    Row {
        name: "io.cost.model",
        help: "the device time of a request, for io.weight: bytes and requests a second, measured by `schedlab iocost`",
        example: "rbps=174019176 rseqiops=41708 rrandiops=370 wbps=178075866 wseqiops=42705 wrandiops=378",
        kind: Kind::Cost(&MODEL),
        unset: "ctrl=auto",
    },
    Row {
        name: "io.cost.qos",
        help: "switches the cost model on, and keeps latencies (µs) by slowing down within min and max (%)",
        example: "enable=1 rpct=95 rlat=5000 wpct=95 wlat=10000 min=50 max=150",
        kind: Kind::Cost(&QOS),
        unset: "enable=0 ctrl=auto",
    },
    Row {
        name: "cdl_enable",
        help: "1: the drive keeps command duration limits; 0: it does not",
        example: "1",
        kind: Kind::Switch { supported: "cdl_supported" },
        unset: "0",
    },
    Row {
        name: "ncq_prio_enable",
        help: "1: realtime requests have a high priority in the drive's queue (SATA); 0: they have not",
        example: "1",
        kind: Kind::Switch { supported: "ncq_prio_supported" },
        unset: "0",
    },
];

/// `None` for an attribute of the queue or of a scheduler.
pub fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

pub fn has_cost_model(root: &Root) -> bool {
    Hierarchies::of(root).io().is_some_and(|v2| v2.join("io.cost.qos").exists())
}

/// Disabling values first, since command duration limits and priorities exclude each other; the
/// model before its activation.
pub(super) fn order<'a>(name: &'a str, value: &str) -> (u8, &'a str) {
    (u8::from(value != "0"), name)
}

impl Row {
    /// The file, which may not exist.
    pub(super) fn path(&self, root: &Root, device: &str) -> PathBuf {
        match self.kind {
            Kind::Cost(_) => {
                let v2 = Hierarchies::of(root).v2.unwrap_or_else(|| root.sys("fs/cgroup"));
                v2.join(self.name)
            }
            Kind::Switch { .. } => root.sys("block").join(device).join("device").join(self.name),
        }
    }

    /// `None` if it can be set.
    pub(super) fn missing(&self, root: &Root, device: &str) -> Option<String> {
        match self.kind {
            Kind::Cost(_) => {
                let found = Hierarchies::of(root);
                let Some(v2) = found.io() else { return Some(found.why_no_io().to_string()) };
                (!v2.join(self.name).exists()).then(|| {
                    format!(
                        "{} does not exist; boot a kernel with CONFIG_BLK_CGROUP_IOCOST",
                        v2.join(self.name).display()
                    )
                })
            }
            Kind::Switch { supported } => {
                let path = self.path(root, device);
                let says = root.read_optional(path.with_file_name(supported));
                match (path.exists(), says.as_deref()) {
                    (true, Some("0")) => {
                        Some(format!("the drive does not support it ({supported} is 0)"))
                    }
                    (true, _) => None,
                    (false, _) => Some(format!(
                        "{} does not exist; the drive, its driver or this kernel does not support it",
                        path.display()
                    )),
                }
            }
        }
    }

    /// The value without the device's number; `None` if it cannot be set.
    pub(super) fn read(&self, root: &Root, device: &str) -> Option<String> {
        if self.missing(root, device).is_some() {
            return None;
        }
        let text = root.read_optional(self.path(root, device));
        match self.kind {
            Kind::Switch { .. } => text,
            Kind::Cost(_) => {
                let number = number(root, device)?;
                let text = text.unwrap_or_default();
                let own =
                    text.lines().find_map(|line| line.strip_prefix(&number)?.strip_prefix(' '));
                Some(without_the_kernels_numbers(own.unwrap_or(self.unset)))
            }
        }
    }

    pub(super) fn write(&self, root: &Root, device: &str, value: &str) -> io::Result<()> {
        let path = self.path(root, device);
        match self.kind {
            Kind::Switch { .. } => root.files().write_attribute(&path, value),
            Kind::Cost(_) => {
                let number = number(root, device).ok_or(io::ErrorKind::NotFound)?;
                root.files().write_attribute(&path, &format!("{number} {value}"))
            }
        }
    }

    pub fn key(&self, name: &str) -> Option<&'static Field> {
        let Kind::Cost(keys) = self.kind else { return None };
        keys.iter().find(|key| key.name == name)
    }

    /// The error describes the expected value.
    pub(super) fn check(&self, value: &str) -> Result<(), String> {
        let Kind::Cost(keys) = self.kind else {
            return if ["0", "1"].contains(&value) { Ok(()) } else { Err("0 or 1".to_string()) };
        };
        let mut words = value.split(' ').filter(|word| !word.is_empty()).peekable();
        if words.peek().is_none() {
            return Err(format!("words like {}", self.example));
        }
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let Some(key) = keys.iter().find(|key| key.name == name) else {
                let known: Vec<&str> = keys.iter().map(|key| key.name).collect();
                return Err(format!("only the keys {}, as in: {}", known.join(", "), self.example));
            };
            if !key.form.accepts(value) {
                return Err(format!("{name} to be {}", key.form.words()));
            }
        }
        let bound = |name: &str| field(value, name).and_then(hundredths);
        if field(value, "ctrl") == Some("auto")
            && without_the_kernels_numbers(value) != words_of(value)
        {
            return Err("no numbers with ctrl=auto, which leaves them to the kernel".to_string());
        }
        match (bound("min"), bound("max")) {
            (Some(min), Some(max)) if min > max => Err("min to be at most max".to_string()),
            _ => Ok(()),
        }
    }

    /// Compares values; in a line, only wanted keys count.
    pub(super) fn same(&self, wanted: &str, found: &str) -> bool {
        let Kind::Cost(_) = self.kind else { return wanted.trim() == found.trim() };
        let mut pairs = wanted.split_whitespace().filter_map(|word| word.split_once('='));
        pairs.all(|(name, value)| {
            field(found, name).is_some_and(|other| {
                other == value
                    || hundredths(value).is_some_and(|value| hundredths(other) == Some(value))
            })
        })
    }
}

/// E.g. `8:0`.
fn number(root: &Root, device: &str) -> Option<String> {
    root.read_optional(root.sys("block").join(device).join("dev"))
}

/// A line without the numbers that the kernel chooses.
fn without_the_kernels_numbers(line: &str) -> String {
    if field(line, "ctrl") != Some("auto") {
        return words_of(line);
    }
    let kept = line
        .split_whitespace()
        .filter(|word| word.starts_with("enable=") || word.starts_with("ctrl="));
    kept.collect::<Vec<_>>().join(" ")
}

fn words_of(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_whitespace()
        .filter_map(|word| word.split_once('='))
        .find(|(of, _)| *of == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qos() -> &'static Row {
        row("io.cost.qos").expect("a row")
    }

    #[test]
    fn a_line_is_what_was_wanted_when_the_named_keys_are_whatever_the_others_are() {
        let shown =
            "enable=1 ctrl=user rpct=95.00 rlat=5000 wpct=95.50 wlat=5000 min=50.00 max=150.00";
        for wanted in ["enable=1", "rpct=95", "wpct=95.5 min=50.0", shown] {
            assert!(qos().same(wanted, shown), "{wanted}");
        }
        for wanted in ["enable=0", "rpct=95.01", "rlat=5001", "ctrl=auto"] {
            assert!(!qos().same(wanted, shown), "{wanted}");
        }
        let by_the_kernel =
            "enable=0 ctrl=auto rpct=0.00 rlat=25000 wpct=0.00 wlat=25000 min=1.00 max=10000.00";
        assert_eq!(
            without_the_kernels_numbers(by_the_kernel),
            qos().unset,
            "the kernel may move to another preset"
        );
        assert_eq!(without_the_kernels_numbers(shown), shown);
    }

    #[test]
    fn a_value_names_known_keys_within_their_ranges_and_never_a_device() {
        for value in [
            "8:16 enable=1",
            "enable=1\n8:16 enable=1",
            "enable=2",
            "enable",
            "rpct=100.01",
            "rpct=-1",
            "rlat=1e9",
            "rlat=+5",
            "min=0.5",
            "min=90 max=80",
            "max=10000.01",
            "ctrl=auto rlat=5",
            "rbps=1",
            "",
            " ",
        ] {
            assert!(qos().check(value).is_err(), "{value:?}");
        }
        assert_eq!(qos().check(qos().example), Ok(()));
        assert_eq!(qos().check("min=80 max=80.00 rpct=0"), Ok(()));
        let model = row("io.cost.model").expect("a row");
        assert_eq!((model.check(model.example), model.check("ctrl=auto")), (Ok(()), Ok(())));
        assert!(model.check("rbps=0").is_err() && model.check("model=bpf").is_err());
        assert!(
            row("cdl_enable").is_some_and(|row| row.check("1").is_ok() && row.check("2").is_err())
        );
        assert!(qos().check("rlta=5").is_err_and(|why| why.contains("rlat")));
    }

    #[test]
    fn what_the_kernel_shows_can_be_written_back() {
        for row in &ROWS {
            assert_eq!(
                (row.check(row.unset), row.check(row.example)),
                (Ok(()), Ok(())),
                "{}",
                row.name
            );
        }
        let shown =
            "enable=1 ctrl=user rpct=95.00 rlat=5000 wpct=95.50 wlat=5000 min=1.00 max=10000.00";
        assert_eq!(qos().check(shown), Ok(()));
    }
}
