//! Background loads: competition for the CPUs, without which a CPU scheduler has nothing to decide.

use std::path::Path;

use crate::cpu::{Spec, forks, io, memory, spin};

use super::{nanoseconds, number, within, within_size, within_time};
use crate::programs::options::{Form, Opt, Options, OptionsError, opt};

#[derive(Debug)]
pub struct LoadKind {
    pub name: &'static str,
    /// One line of `schedlab list workloads`.
    pub help: &'static str,
    pub options: &'static [Opt],
    /// Checks across options; Err holds what is wrong and what to do.
    pub check: fn(&Options) -> Result<(), String>,
    pub order: fn(&Options) -> Spec,
}

pub static LOADS: &[LoadKind] = &[
    LoadKind {
        name: "spin",
        help: "threads that compute without end",
        options: &[THREADS],
        check: threads,
        order: |options| Spec::Spin(spin::Spec { threads: number(options, "threads") }),
    },
    LoadKind {
        name: "memory",
        help: "threads that read and write memory from one end to the other, past the caches",
        options: &[THREADS, opt("size", "64M", Form::Size, "memory of each thread, 64k to 64G")],
        check: |options| {
            threads(options)?;
            within_size(options, "size", "64k", "64G")
        },
        order: |options| {
            let size = options.size("size").unwrap_or(64 << 20);
            Spec::Memory(memory::Spec { threads: number(options, "threads"), size })
        },
    },
    LoadKind {
        name: "forks",
        help: "a storm of processes that compute shortly and end",
        options: &[
            opt("processes", "0", Form::Number, "at the same time, to 1024; 0 is one for each CPU"),
            opt(
                "rate",
                "0",
                Form::Number,
                "begun in a second, all together; 0 is as many as can be",
            ),
            opt("work", "100us", Form::Time, "how long each computes, at most 50ms"),
        ],
        check: |options| {
            within(options, "processes", 0, 1024)?;
            within(options, "rate", 0, 1_000_000)?;
            within_time(options, "work", "0s", "50ms")
        },
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
            opt("threads", "1", Form::Number, "how many, 1 to 1024"),
            opt("dir", "/var/tmp", Form::Text, "a directory on the file system that is written to"),
            opt("size", "64M", Form::Size, "the most that a thread's file takes, 4k to 64G"),
            opt("block", "64k", Form::Size, "bytes of a write, 512 to 1M and at most the size"),
            opt("sync", "16", Form::Number, "writes before each fdatasync, 1 to 10000"),
        ],
        check: |options| {
            within(options, "threads", 1, 1024)?;
            within_size(options, "size", "4k", "64G")?;
            within_size(options, "block", "512", "1M")?;
            within(options, "sync", 1, 10_000)?;
            if options.size("block") > options.size("size") {
                return Err("block is at most size".to_string());
            }
            match options.text("dir") {
                Some(dir) if Path::new(dir).is_absolute() => Ok(()),
                _ => Err("dir is a directory's path from the root, e.g. /var/tmp".to_string()),
            }
        },
        order: |options| {
            Spec::Io(io::Spec {
                threads: number(options, "threads"),
                dir: options.text("dir").unwrap_or("/var/tmp").into(),
                size: options.size("size").unwrap_or(64 << 20),
                block: options.size("block").unwrap_or(64 << 10),
                sync_every: number(options, "sync"),
            })
        },
    },
];

const THREADS: Opt = opt("threads", "0", Form::Number, "how many, to 1024; 0 is one for each CPU");

fn threads(options: &Options) -> Result<(), String> {
    within(options, "threads", 0, 1024)
}

impl LoadKind {
    /// Reads options on top of the row's defaults and checks them.
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
