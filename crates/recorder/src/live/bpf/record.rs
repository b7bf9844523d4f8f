//! The records of kernel/bpf/record.h in the ring buffer.
//!
//! Both are compiled together; a record of unexpected length is an error.

use trace::{At, Flags, Io, Kind};

use crate::live::tables::{Asker, Context, Tables};

/// The first word of a record.
const IO: u32 = 1;
const PROCESS: u32 = 2;
const SCHEDULER: u32 = 3;

/// Also the number of any further scheduler.
pub(super) const MAX_SCHEDULERS: usize = 8;

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_ne_bytes)
    }

    fn name(&mut self) -> Option<String> {
        let bytes = self.take::<16>()?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

/// Returns the request if the record is one.
pub(super) fn take(
    bytes: &[u8],
    tables: &mut Tables,
    schedulers: &mut [u8; MAX_SCHEDULERS + 1],
) -> Result<Option<Io>, &'static str> {
    let mut fields = Fields(bytes);
    let cut = "it is cut short";
    match fields.u32().ok_or(cut)? {
        IO => io(&mut fields, tables, schedulers).map(Some).ok_or(cut),
        PROCESS => {
            let (number, asker) = asker(&mut fields).ok_or(cut)?;
            tables.assign_number(number, &asker);
            Ok(None)
        }
        SCHEDULER => {
            let number = fields.u32().ok_or(cut)? as usize;
            let name = fields.name().ok_or(cut)?;
            if let Some(scheduler) = schedulers.get_mut(number) {
                *scheduler = tables.scheduler(&name);
            }
            Ok(None)
        }
        _ => Err("its kind is unknown"),
    }
}

fn io(fields: &mut Fields<'_>, tables: &mut Tables, schedulers: &[u8]) -> Option<Io> {
    let process = tables.by_number(fields.u32()?);
    let (sector, sectors, flags) = (fields.u64()?, fields.u32()?, fields.u16()?);
    let kind = Kind::ALL.get(usize::from(fields.u8()?)).copied().unwrap_or(Kind::Other);
    let scheduler = match schedulers.get(usize::from(fields.u8()?)) {
        Some(index) => *index,
        None => tables.scheduler(""),
    };
    let (priority, bios, target) = (fields.u16()?, fields.u16()?, fields.u32()?);
    let device =
        u16::try_from(target).ok().filter(|at| usize::from(*at) < tables.trace().devices.len())?;
    let times =
        [fields.u64()?, fields.u64()?, fields.u64()?, fields.u64()?, fields.u64()?, fields.u64()?];
    let [queued, entered, tagged, inserted, issued, completed] = in_order(times);
    let at = |time: u64| if time == 0 { At::UNKNOWN } else { At::ns(tables.since_began(time)) };
    Some(Io {
        queued: tables.since_began(queued),
        entered: at(entered),
        tagged: at(tagged),
        inserted: at(inserted),
        issued: at(issued),
        completed: at(completed),
        sector,
        sectors,
        process,
        device,
        scheduler,
        kind,
        flags: Flags(flags),
        priority,
        bios: bios.max(1),
    })
}

/// The kernel's own timestamps are read once for all requests that a thread submits together, so
/// they can be slightly early. A request is tagged before its first bio is queued if that bio was
/// front-merged.
fn in_order(times: [u64; 6]) -> [u64; 6] {
    let mut times = times;
    let mut latest = times[0];
    for time in times.iter_mut().skip(1).filter(|time| **time != 0) {
        *time = (*time).max(latest);
        latest = *time;
    }
    // No later than the next event.
    let mut earliest = u64::MAX;
    for time in times.iter_mut().rev().filter(|time| **time != 0) {
        *time = (*time).min(earliest);
        earliest = *time;
    }
    times
}

fn asker(fields: &mut Fields<'_>) -> Option<(u32, Asker)> {
    let (number, pid, tid) = (fields.u32()?, fields.u32()?, fields.u32()?);
    let (began, cgroup, context, users) =
        (fields.u64()?, fields.u64()?, fields.u64()?, fields.u32()?);
    fields.u32()?;
    let io_context = (context != 0).then_some(Context { number: context, users });
    Some((number, Asker { pid, tid, began, cgroup, io_context, name: fields.name()? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_come_in_order_whatever_the_kernel_keeps() {
        // The thread read the tag's time before it queued this one.
        assert_eq!(in_order([100, 0, 90, 0, 120, 200]), [100, 0, 100, 0, 120, 200]);
        assert_eq!(in_order([100, 0, 130, 120, 140, 200]), [100, 0, 130, 130, 140, 200]);
        assert_eq!(in_order([100, 0, 0, 0, 0, 200]), [100, 0, 0, 0, 0, 200]);
    }
}
