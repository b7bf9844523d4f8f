//! A trace: requests, and the tables they refer to.

use serde::{Deserialize, Serialize};

use crate::io::Io;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Device {
    pub name: String,
    pub major: u32,
    pub minor: u32,
    /// Size in sectors of 512 bytes; 0 if unknown.
    pub sectors: u64,
    /// Size in bytes; 0 if unknown.
    pub logical_block: u32,
    pub physical_block: u32,
    pub rotational: Option<bool>,
    /// The underlying disks of a volume (device-mapper, md).
    pub below: Vec<String>,
}

/// A thread of a process in one control group. A reused number is another process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Process {
    /// 0 if unknown.
    pub pid: u32,
    /// 0 if unknown.
    pub tid: u32,
    pub name: String,
    /// Start in nanoseconds after boot; 0 if unknown.
    pub began: u64,
    /// Equal for threads that share an I/O context; 0 if none or unknown.
    pub io_context: u64,
    /// Control group path below the hierarchy; empty if unknown.
    pub cgroup: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// `bpf`, `tracefs`, or the format it was read from.
    pub source: String,
    /// Kernel release of the recording; empty if unknown.
    pub kernel: String,
    /// Wall clock at time 0, in nanoseconds since 1970; 0 if unknown.
    pub began: u64,
    pub length: u64,
    /// Events lost by the kernel, and requests incomplete because of it.
    pub lost: u64,
    /// Open at the end of the trace, and not included.
    pub unfinished: u64,
    /// Malformed lines or records skipped.
    pub bad: u64,
    /// Not requests of this disk.
    pub left_out: u64,
    /// Why the trace ended early (disk removed, no space); empty if it did not.
    pub cut_short: String,
    /// Apart from the device: `pid 17`, `cgroup /db`; empty for everything.
    pub filter: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    pub about: About,
    pub devices: Vec<Device>,
    pub processes: Vec<Process>,
    /// Schedulers in effect; an empty name is unknown.
    pub schedulers: Vec<String>,
    /// In order of `queued`.
    pub ios: Vec<Io>,
}

impl Trace {
    pub fn sort(&mut self) {
        self.ios.sort_by_key(|io| io.queued);
    }

    /// Checks the indices and stages of a trace from outside.
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
        let io = Io::new(10, Kind::Read, 8, 8, 0);
        assert_eq!(one(io).check(), Ok(()));
        let wrong = one(Io { process: 1, ..io }).check().expect_err("no such process");
        assert!(wrong.contains("process 1 is not in the table of 1"), "{wrong}");
        let wrong =
            one(Io { issued: At::ns(9), ..io }).check().expect_err("issued before it was queued");
        assert!(wrong.contains("out of order"), "{wrong}");
    }
}
