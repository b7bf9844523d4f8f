//! A trace: requests, and the tables that their numbers point into.

use serde::{Deserialize, Serialize};

use crate::io::Io;

/// A disk of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Device {
    /// As the kernel or the format names it.
    pub name: String,
    pub major: u32,
    pub minor: u32,
    /// Its size in sectors of 512 bytes; 0 is unknown.
    pub sectors: u64,
    /// Bytes; 0 is unknown.
    pub logical_block: u32,
    pub physical_block: u32,
    pub rotational: Option<bool>,
    /// The disks below it, where it is a volume over others (device-mapper, md).
    pub below: Vec<String>,
}

/// Who asked: a thread of a process, in one control group. A number that the kernel gave again to
/// another is another process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// The process; 0 where the format does not say.
    pub pid: u32,
    /// The thread; 0 where the format does not say.
    pub tid: u32,
    /// Its name, as the kernel has it.
    pub name: String,
    /// Nanoseconds after boot at which it began; 0 where the format does not say.
    pub began: u64,
    /// Threads with the same I/O context have the same number; 0 is none or unknown.
    pub io_context: u64,
    /// Its control group's path below the hierarchy; empty where the format does not say.
    pub cgroup: String,
}

/// How a trace came to be.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// By what: `bpf`, `tracefs`, or the format that it was read from.
    pub source: String,
    /// The kernel's release where it was recorded; empty if unknown.
    pub kernel: String,
    /// Wall clock at time 0, in nanoseconds since 1970; 0 if unknown.
    pub began: u64,
    /// How long was recorded, in nanoseconds.
    pub length: u64,
    /// Events that the kernel could not hand over, and requests that are missing or incomplete for
    /// it.
    pub lost: u64,
    /// Requests that were not completed when the trace ended; they are not among the requests.
    pub unfinished: u64,
    /// Lines or records of another format that were passed over: broken ones.
    pub bad: u64,
    /// What the reader left out because it is no request of this disk.
    pub left_out: u64,
    /// Why the trace ended before its time: the disk was removed, no space was left; empty if
    /// it did not.
    pub cut_short: String,
    /// What was asked for beside a device: `pid 17`, `cgroup /db`; empty for everything.
    pub filter: String,
}

/// Requests of one or several disks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    pub about: About,
    pub devices: Vec<Device>,
    pub processes: Vec<Process>,
    /// Schedulers that were in effect; empty names are unknown.
    pub schedulers: Vec<String>,
    /// In the order of `queued`.
    pub ios: Vec<Io>,
}

impl Trace {
    /// Puts the requests into the order of the time at which they were queued; those of the same
    /// time stay as they are.
    pub fn sort(&mut self) {
        self.ios.sort_by_key(|io| io.queued);
    }

    /// What is wrong with numbers that point into tables, in a trace from outside.
    ///
    /// # Errors
    /// The first request whose process, device or scheduler is not in its table, or whose stages
    /// are out of order.
    pub fn check(&self) -> Result<(), String> {
        let (processes, devices, schedulers) =
            (self.processes.len(), self.devices.len(), self.schedulers.len());
        for (number, io) in self.ios.iter().enumerate() {
            for (what, index, of) in [
                ("process", io.process as usize, processes),
                ("device", usize::from(io.device), devices),
                ("scheduler", usize::from(io.scheduler), schedulers),
            ] {
                if index >= of {
                    return Err(format!(
                        "request {number}: {what} {index} is not in the table of {of}"
                    ));
                }
            }
            let stages = [
                Some(io.queued),
                io.entered.get(),
                io.tagged.get(),
                io.inserted.get(),
                io.issued.get(),
                io.completed.get(),
            ];
            if !stages.into_iter().flatten().is_sorted() {
                return Err(format!("request {number}: its stages are out of order"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{At, Kind};

    fn one(io: Io) -> Trace {
        Trace {
            devices: vec![Device::default()],
            processes: vec![Process::default()],
            schedulers: vec![String::new()],
            ios: vec![io],
            ..Trace::default()
        }
    }

    #[test]
    fn a_number_beside_its_table_and_stages_out_of_order_are_named() {
        let io = Io::asked(10, Kind::Read, 8, 8, 0);
        assert_eq!(one(io).check(), Ok(()));
        let wrong = one(Io { process: 1, ..io }).check().expect_err("no such process");
        assert!(wrong.contains("process 1 is not in the table of 1"), "{wrong}");
        let wrong =
            one(Io { issued: At::ns(9), ..io }).check().expect_err("issued before it was queued");
        assert!(wrong.contains("out of order"), "{wrong}");
    }
}
