//! Compares a disk outside the simulator with its model: replays the disk's log through the model
//! and requires identical times.
//!
//! The log is that of the kernel arena's block driver (layout in kernel/modeldisk.h). It must begin
//! with the disk's first command, because a model can only repeat a history from the start.

use elevator::{Op, Time};

use crate::device::{Command, DeviceModel};

const MAGIC: u32 = 0x474c_4c53;
const VERSION: u32 = 1;
const HEAD_BYTES: usize = 32;
const RECORD_BYTES: usize = 48;

/// A command and its outcome. Times are nanoseconds since the disk's epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// When the model received it.
    pub submit_ns: u64,
    /// When the model completed it; `None`: still inside when the log was read.
    pub done_ns: Option<u64>,
    /// When the model's driver saw that, at or after `done_ns`; meaningless without it.
    pub completed_ns: u64,
    /// The command.
    pub command: Command,
}

/// A log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    /// Records in order of submission.
    pub records: Vec<Record>,
    /// Later commands that did not fit.
    pub lost: u64,
}

/// Why a file is not a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The header is wrong.
    #[error("log: not one of modeldisk, version {VERSION}")]
    Head,
    /// The length contradicts the header.
    #[error("log: cut short (its header counts {said} records, found {bytes} bytes)")]
    Length {
        /// Records by its header.
        said: u64,
        /// Its length.
        bytes: usize,
    },
    /// An invalid record.
    #[error("log, record {record}: {why}")]
    Record {
        /// Record number from 0.
        record: usize,
        /// The reason.
        why: &'static str,
    },
}

/// The first difference between a log and the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// Completed at another time.
    #[error(
        "log, record {record}: {command:?} at {submit_ns} ns completes at {modelled:?} ns in the model (found {logged:?} ns in the log)"
    )]
    Time {
        /// Record number from 0.
        record: usize,
        /// The command.
        command: Command,
        /// Time of submission.
        submit_ns: u64,
        /// Completion time in the log; `None`: not yet.
        logged: Option<u64>,
        /// Completion time in the model; `None`: never.
        modelled: Option<u64>,
    },
    /// This model could not have been given the command.
    #[error("log, record {record}: {command:?} at {submit_ns} ns: {why}")]
    Command {
        /// Record number from 0.
        record: usize,
        /// The command.
        command: Command,
        /// Time of submission.
        submit_ns: u64,
        /// The reason.
        why: &'static str,
    },
}

impl Log {
    /// Parses a log; accepts any bytes without panicking.
    pub fn read(bytes: &[u8]) -> Result<Log, LogError> {
        let head = bytes.get(..HEAD_BYTES).ok_or(LogError::Head)?;
        let sizes = [word(head, 8), word(head, 12)];
        if [word(head, 0), word(head, 4)] != [MAGIC, VERSION]
            || sizes != [HEAD_BYTES as u32, RECORD_BYTES as u32]
        {
            return Err(LogError::Head);
        }
        let (said, body) = (number(head, 16), &bytes[HEAD_BYTES..]);
        if body.len() % RECORD_BYTES != 0 || said != (body.len() / RECORD_BYTES) as u64 {
            return Err(LogError::Length { said, bytes: bytes.len() });
        }
        let records = body.chunks_exact(RECORD_BYTES).enumerate();
        let records = records
            .map(|(at, bytes)| record(bytes).map_err(|why| LogError::Record { record: at, why }));
        Ok(Log { records: records.collect::<Result<_, _>>()?, lost: number(head, 24) })
    }
}

fn record(bytes: &[u8]) -> Result<Record, &'static str> {
    let (submit_ns, done_ns, completed_ns) =
        (number(bytes, 0), number(bytes, 8), number(bytes, 16));
    let (tag, sector, nr_sectors) = (word(bytes, 36), number(bytes, 24), word(bytes, 32));
    let command = match word(bytes, 40) {
        0 => Command::Transfer { tag, op: Op::Read, sector, nr_sectors },
        1 => Command::Transfer { tag, op: Op::Write, sector, nr_sectors },
        2 => Command::Flush { tag },
        _ => return Err("no such operation"),
    };
    let done = match word(bytes, 44) {
        0 => false,
        1 => true,
        _ => return Err("it is neither done nor not done"),
    };
    if done && (done_ns < submit_ns || completed_ns < done_ns) {
        return Err("it was done before it was given, or seen before it was done");
    }
    Ok(Record { submit_ns, done_ns: done.then_some(done_ns), completed_ns, command })
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes are four bytes"))
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes are eight bytes"))
}

/// Replays a log: completion times must be identical; tags that complete together may be in any
/// order. Returns the number of commands compared.
///
/// # Errors
/// The first [`Difference`], in the order of the model's completions.
pub fn replay(log: &Log, device: &mut dyn DeviceModel) -> Result<usize, Difference> {
    let seen = log
        .records
        .iter()
        .map(|record| record.submit_ns.max(record.done_ns.map_or(0, |_| record.completed_ns)));
    let until_ns = seen.max().unwrap_or(0);
    let mut replay = Replay { log, until_ns, inside: Vec::new(), done: Vec::new(), compared: 0 };
    for at in 0..log.records.len() {
        replay.submit(at, device)?;
    }
    replay.until_all_seen_by(u64::MAX, device)?;
    Ok(replay.compared)
}

struct Replay<'a> {
    log: &'a Log,
    until_ns: u64,
    inside: Vec<(u32, usize)>,
    done: Vec<u32>,
    compared: usize,
}

impl Replay<'_> {
    fn submit(&mut self, at: usize, device: &mut dyn DeviceModel) -> Result<(), Difference> {
        let Record { submit_ns, command, .. } = self.log.records[at];
        let wrong = |why| Err(Difference::Command { record: at, command, submit_ns, why });
        if at > 0 && submit_ns < self.log.records[at - 1].submit_ns {
            return wrong("the command before was given later");
        }
        while let Some(next) = device.next_event().filter(|next| next.as_ns() <= submit_ns) {
            self.advance(next, device)?;
        }
        self.until_all_seen_by(submit_ns, device)?;
        device.advance(Time::from_ns(submit_ns), &mut self.done);
        let (Command::Transfer { tag, .. } | Command::Flush { tag }) = command;
        if self.inside.iter().any(|(inside, _)| *inside == tag) {
            return wrong("the model has a command with this tag inside");
        }
        if let Command::Transfer { sector, nr_sectors, .. } = command {
            let beyond =
                sector.checked_add(nr_sectors.into()).is_none_or(|end| end > device.sectors());
            if beyond || !(1..=crate::device::MAX_SECTORS).contains(&nr_sectors) {
                return wrong("the model has no such sectors");
            }
            let of = |at: usize| matches!(self.log.records[at].command, Command::Transfer { .. });
            if self.inside.iter().filter(|(_, at)| of(*at)).count() >= device.queue_depth() as usize
            {
                return wrong("the model is full");
            }
        }
        self.inside.push((tag, at));
        device.submit(Time::from_ns(submit_ns), command);
        Ok(())
    }

    /// Requires that the model has completed everything that the log had by `by_ns`; otherwise runs
    /// on to find out when it would.
    fn until_all_seen_by(
        &mut self,
        by_ns: u64,
        device: &mut dyn DeviceModel,
    ) -> Result<(), Difference> {
        let seen = |at: usize| self.log.records[at].done_ns.is_some_and(|done| done <= by_ns);
        while let Some((_, at)) = self.inside.iter().find(|(_, at)| seen(*at)) {
            let Some(next) = device.next_event() else { return Err(self.time(*at, None)) };
            self.advance(next, device)?;
        }
        Ok(())
    }

    fn advance(&mut self, now: Time, device: &mut dyn DeviceModel) -> Result<(), Difference> {
        device.advance(now, &mut self.done);
        for tag in std::mem::take(&mut self.done) {
            let place = self.inside.iter().position(|(inside, _)| *inside == tag);
            let (_, at) = self.inside.swap_remove(place.expect("only what was given can be done"));
            match self.log.records[at].done_ns {
                Some(done) if done == now.as_ns() => self.compared += 1,
                None if now.as_ns() > self.until_ns => {}
                _ => return Err(self.time(at, Some(now.as_ns()))),
            }
        }
        Ok(())
    }

    fn time(&self, record: usize, modelled: Option<u64>) -> Difference {
        let Record { submit_ns, done_ns: logged, command, .. } = self.log.records[record];
        Difference::Time { record, command, submit_ns, logged, modelled }
    }
}

#[cfg(test)]
mod tests;
