//! Background loads: without competition, a CPU scheduler has nothing to decide.

use std::path::{Path, PathBuf};

use crate::cpu::{Spec, forks, io, memory, spin};

use super::{WORK, nanoseconds, number};
use crate::programs::options::{Options, OptionsError};
use text::{Field, Form, field};

#[derive(Debug)]
pub struct LoadKind {
    pub name: &'static str,
    /// For `schedlab list workloads`.
    pub help: &'static str,
    pub options: &'static [Field],
    /// Checks across options; `Err` has problem and remedy.
    pub check: fn(&Options) -> Result<(), String>,
    pub order: fn(&Options) -> Spec,
}

pub static LOADS: &[LoadKind] = &[
    LoadKind {
        name: "spin",
        help: "threads that compute without end",
        options: &[THREADS],
        check: |_| Ok(()),
        order: |options| Spec::Spin(spin::Spec { threads: number(options, "threads") }),
    },
    LoadKind {
        name: "memory",
        help: "threads that read and write memory from one end to the other, past the caches",
        options: &[
            THREADS,
            field("size", "64M", Form::Size(64 << 10, 64 << 30), "memory of each thread"),
        ],
        check: |_| Ok(()),
        order: |options| {
            let size = options.size("size").unwrap_or(64 << 20);
            Spec::Memory(memory::Spec { threads: number(options, "threads"), size })
        },
    },
    LoadKind {
        name: "forks",
        help: "a storm of processes that compute shortly and end",
        options: &[
            field(
                "processes",
                "0",
                Form::Whole(0, 1024),
                "at the same time; 0 is one for each CPU",
            ),
            field(
                "rate",
                "0",
                Form::Whole(0, 1_000_000),
                "begun in a second, all together; 0 is as many as can be",
            ),
            field("work", "100us", WORK, "how long each computes"),
        ],
        check: |_| Ok(()),
        order: |options| {
            Spec::Forks(forks::Spec {
                processes: number(options, "processes"),
                rate: number(options, "rate"),
                work_ns: nanoseconds(options, "work"),
            })
        },
    },
    LoadKind {
        name: "io",
        help: "threads that write files without a name and wait for the device",
        options: &[
            field("threads", "1", Form::Whole(1, 1024), "how many"),
            DIR,
            field("size", "64M", Form::Size(4 << 10, 64 << 30), "maximum size of a thread's file"),
            field("block", "64k", Form::Size(512, 1 << 20), "bytes of a write, at most the size"),
            field("sync", "16", Form::Whole(1, 10_000), "writes before each fdatasync"),
        ],
        check: |options| {
            if options.size("block") > options.size("size") {
                return Err("block is at most size".to_string());
            }
            check_dir(options)
        },
        order: |options| {
            Spec::Io(io::Spec {
                threads: number(options, "threads"),
                dir: dir(options),
                size: options.size("size").unwrap_or(64 << 20),
                block: options.size("block").unwrap_or(64 << 10),
                sync_every: number(options, "sync"),
            })
        },
    },
];

const THREADS: Field =
    field("threads", "0", Form::Whole(0, 1024), "how many; 0 is one for each CPU");

pub(super) const DIR: Field = field(
    "dir",
    "/var/tmp",
    Form::Text,
    "a directory on the file system that is used; in virtual time, the guest's disk is",
);

pub(super) fn check_dir(options: &Options) -> Result<(), String> {
    match options.text("dir") {
        Some(dir) if Path::new(dir).is_absolute() => Ok(()),
        _ => Err("dir is a directory's path from the root, e.g. /var/tmp".to_string()),
    }
}

pub(super) fn dir(options: &Options) -> PathBuf {
    options.text("dir").unwrap_or("/var/tmp").into()
}

impl LoadKind {
    /// Applies options to the row's defaults.
    pub fn read<'a>(
        &'static self,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Options, OptionsError> {
        let options = Options::read(self.name, || self.options.iter(), pairs)?;
        (self.check)(&options)
            .map_err(|problem| OptionsError::Impossible { runner: self.name, problem })?;
        Ok(options)
    }
}

pub fn find(name: &str) -> Option<&'static LoadKind> {
    LOADS.iter().find(|row| row.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_accepts_its_own_defaults_and_makes_an_order() {
        for row in LOADS {
            let options = row.read([]).unwrap_or_else(|e| panic!("{e}"));
            let order = serde_json::to_value((row.order)(&options)).unwrap();
            assert_eq!(order["work"], row.name);
        }
    }

    #[test]
    fn an_invalid_value_is_refused_with_the_valid_range() {
        let refused = |name: &str, key: &str, value: &str| {
            find(name).unwrap().read([(key, value)]).unwrap_err().to_string()
        };
        for (name, key, value, right) in [
            ("spin", "threads", "1025", "0 to 1024"),
            ("io", "threads", "0", "1 to 1024"),
            ("memory", "size", "1k", "64k to 64G"),
            ("forks", "processes", "1025", "0 to 1024"),
            ("forks", "work", "1s", "50ms"),
            ("io", "dir", "var/tmp", "/var/tmp"),
            ("io", "block", "2M", "512 to 1M"),
            ("io", "sync", "0", "1 to 10000"),
        ] {
            let error = refused(name, key, value);
            assert!(error.contains(name) && error.contains(right), "{name}:{key}={value}: {error}");
        }
        let larger =
            find("io").unwrap().read([("size", "8k"), ("block", "16k")]).unwrap_err().to_string();
        assert!(larger.contains("block is at most size"), "{larger}");
    }
}
