//! A real device, measured with timed direct reads.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use ::sim::fit::{Drive, Facts, FitError, Read, Timed, bytes};
use anyhow::{Context, Result};
use load::{TimedReads, monotonic_ns};
use machine::probe::DeviceCounters;
use machine::{Device, Root};
use rustix::fs::OFlags;

use crate::failure::usage;
use crate::signals::Stop;

const MOST_DEPTH: u32 = 32;
const MOST_SECTORS: u32 = 1024;
/// How long before the chosen time the thread starts to spin.
const SPIN_NS: u64 = 200_000;
/// Maximum sleep between checks of the stop flag.
const NAP_NS: u64 = 20_000_000;
/// Other I/O beyond this share of the bytes read causes a warning.
const FOREIGN: f64 = 0.01;

#[derive(Debug)]
pub(super) struct RealDrive {
    facts: Facts,
    reads: TimedReads,
    /// Prevents reuse of the device number.
    _held: File,
    stop: Stop,
    flag: Arc<AtomicBool>,
    /// The device's sysfs directory, its initial counters, and the bytes read since.
    directory: PathBuf,
    before: Option<DeviceCounters>,
    read_bytes: u64,
}

impl RealDrive {
    pub(super) fn open(root: &Root, device: &Device, stop: &Stop) -> Result<RealDrive> {
        let shown = device.path.display();
        if device.size_bytes == 0 {
            return Err(usage(format!(
                "{shown}: no medium or file to measure (found 0 bytes); name another device"
            )));
        }
        let held = device.hold(root)?;
        let path = root.path(&device.path);
        let flags = (OFlags::DIRECT | OFlags::CLOEXEC).bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&path).with_context(|| {
            format!("{shown}: cannot open for direct reads; run as root, and give a device that can do them")
        })?;
        device.check_is(root, &file)?;
        let unit = device.logical_block_size.unwrap_or(512).clamp(512, 65_536);
        let number = |name: &str| {
            device.queue.get(name).and_then(|attribute| attribute.value.parse::<u64>().ok())
        };
        let largest = number("max_sectors_kb")
            .map_or(MOST_SECTORS, |kb| (kb * 2).min(MOST_SECTORS.into()) as u32);
        let tags = machine::device::tags(root, &device.name).or(device.nr_requests).unwrap_or(1);
        let facts = Facts {
            name: device.name.clone(),
            sectors: device.size_bytes / unit * (unit / 512),
            unit: (unit / 512) as u32,
            largest,
            queue_depth: tags.clamp(1, 4096) as u32,
            rotational: device.kind == machine::device::Kind::Rotational
                || number("rotational") == Some(1),
        };
        let reads = TimedReads::new(file, &device.path, MOST_DEPTH, largest * 512)?;
        let directory = root.sys("block").join(&device.name);
        let before = DeviceCounters::read(&directory).ok();
        let flag = stop.flag();
        Ok(RealDrive {
            facts,
            reads,
            _held: held,
            stop: stop.clone(),
            flag,
            directory,
            before,
            read_bytes: 0,
        })
    }

    fn stopped(&self) -> FitError {
        FitError::Stopped(format!("by {}", self.stop.signal().unwrap_or("a signal")))
    }

    fn wait_until(&self, at: u64) -> Result<(), FitError> {
        loop {
            let left = at.saturating_sub(monotonic_ns());
            if left == 0 {
                return Ok(());
            }
            if self.stop.signal().is_some() {
                return Err(self.stopped());
            }
            if left > SPIN_NS {
                thread::sleep(Duration::from_nanos((left - SPIN_NS).min(NAP_NS)));
            }
        }
    }

    /// Conditions of the machine that cast doubt on the results.
    pub(super) fn warnings(&self, device: &Device) -> Vec<String> {
        let mut warnings = Vec::new();
        let shown = device.path.display();
        if let (Some(before), Ok(after)) = (&self.before, DeviceCounters::read(&self.directory)) {
            let moved = after.since(before);
            let all = moved.read_bytes + moved.written_bytes;
            let foreign = all.saturating_sub(self.read_bytes);
            if foreign as f64 > FOREIGN * self.read_bytes as f64 {
                let percent = 100.0 * foreign as f64 / all.max(1) as f64;
                warnings.push(format!(
                    "{shown}: other programs caused {percent:.0} % of the I/O; fit it again when it is idle"
                ));
            }
            if moved.read_bytes * 2 < self.read_bytes {
                warnings.push(format!(
                    "{shown}: counted {} of {} bytes read; something in between answers reads",
                    moved.read_bytes, self.read_bytes
                ));
            }
        }
        if let Some(scheduler) = device.scheduler.as_deref().filter(|name| *name != "none") {
            warnings.push(format!(
                "{shown}: scheduler {scheduler} was in effect, so that its order and its waits are in the figures; for the device \
                 alone: schedlab set {} none",
                device.name
            ));
        }
        warnings
    }
}

impl Drive for RealDrive {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn now(&self) -> u64 {
        monotonic_ns()
    }

    fn read(&mut self, read: Read, not_before: u64) -> Result<Timed, FitError> {
        self.wait_until(not_before)?;
        Ok(self.read_many(1, &[read])?[0])
    }

    fn read_many(&mut self, depth: u32, reads: &[Read]) -> Result<Vec<Timed>, FitError> {
        let of = |read: &Read| (read.sector * 512, bytes(*read) as u32);
        let ranges: Vec<(u64, u32)> = reads.iter().map(of).collect();
        let times = self.reads.read_many(depth, &ranges, &self.flag);
        let times = times.map_err(|error| FitError::Device(error.to_string()))?;
        if times.len() < reads.len() {
            return Err(self.stopped());
        }
        self.read_bytes += reads.iter().map(|read| bytes(*read)).sum::<u64>();
        Ok(times.into_iter().map(|(began, ended)| Timed { began, ended }).collect())
    }
}
