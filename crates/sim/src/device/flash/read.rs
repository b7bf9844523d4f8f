//! Parses a flash device's description.

use flash_model::{
    Condition, Config, Flash, MAX_UNITS, Priority, Settings, Shape, Times, UNIT_BYTES, least_blocks,
};

use super::{FlashDevice, origin};
use crate::device::description::Description;
use crate::device::error::DeviceError;

const SECOND_NS: u64 = 1_000_000_000;
/// Maximum I/O queues of an NVMe controller.
const MAX_QUEUES: u64 = 65_535;

pub(in crate::device) fn read(
    from: &mut Description,
    seed: u64,
) -> Result<FlashDevice, DeviceError> {
    let trial_ms = from.number_or("trial_ms", 1000, 1, 86_400_000)?;
    let queue_depth = from.number_or("queue_depth", 32, 1, 65_535)? as u32;
    let queues = from.number_or("queues", 1, 1, MAX_QUEUES)? as u32;
    let command_slots =
        from.number_or("command_slots", u32::MAX.into(), 1, u32::MAX.into())? as u32;
    let priority = priority(from)?;
    let shape = shape(from)?;
    let read_ns =
        from.number("read_ns", "nanoseconds from the cells to the page register", 0, SECOND_NS)?;
    let read_overhead_ns = from.number_or("read_overhead_ns", 0, 0, SECOND_NS)?;
    let rate = |from: &mut Description, key| from.number(key, "bytes a second", 1000, 1 << 40);
    let times = Times {
        read_ns,
        read_msb_ns: from.number_or("read_msb_ns", read_ns, 0, SECOND_NS)?,
        program_ns: from.number("program_ns", "nanoseconds to program a page", 0, SECOND_NS)?,
        erase_ns: from.number("erase_ns", "nanoseconds to erase a block", 0, SECOND_NS)?,
        channel_bytes_per_s: rate(from, "channel_bytes_per_s")?,
        link_bytes_per_s: rate(from, "link_bytes_per_s")?,
        read_overhead_ns,
        read_overhead_4k_ns: from.number_or(
            "read_overhead_4k_ns",
            read_overhead_ns,
            0,
            SECOND_NS,
        )?,
        write_overhead_ns: from.number_or("write_overhead_ns", read_overhead_ns, 0, SECOND_NS)?,
        write_unit_ns: from.number_or("write_unit_ns", 0, 0, SECOND_NS)?,
    };
    let page_kib = u64::from(shape.units_per_page) * UNIT_BYTES / 1024;
    let buffer_kib = from.number_or("buffer_kib", 4 * page_kib, 2 * page_kib, 1 << 24)?;
    let early_completion = from.switch_or("early_completion", true)?;
    let conditions = [Condition::Full, Condition::Fresh, Condition::Steady];
    let condition = conditions[from.word_or_first("precondition", &["full", "fresh", "steady"])?];
    let buffer_units = buffer_kib * 1024 / UNIT_BYTES;
    let settings =
        Settings { queue_depth, queues, command_slots, early_completion, buffer_units, priority };
    let config = Config { shape, times, settings, condition };
    Ok(FlashDevice { flash: Flash::new(config, origin(seed)), trial_ms })
}

fn priority(from: &mut Description) -> Result<Option<Priority>, DeviceError> {
    let passes = from.number_or("read_priority", 0, 0, 65_535)? as u32;
    let mut suspends = |key| -> Result<u32, DeviceError> {
        let suspends = from.number_or(key, 0, 0, 65_535)?;
        if suspends > 0 && passes == 0 {
            return Err(
                from.inconsistent(key, "needs a read_priority, the number of reads that go first")
            );
        }
        Ok(suspends as u32)
    };
    let priority = Priority {
        passes,
        program_suspends: suspends("program_suspends")?,
        erase_suspends: suspends("erase_suspends")?,
        program_suspend_ns: from.number_or("program_suspend_ns", 0, 0, SECOND_NS)?,
        erase_suspend_ns: from.number_or("erase_suspend_ns", 0, 0, SECOND_NS)?,
        resume_ns: from.number_or("resume_ns", 0, 0, SECOND_NS)?,
    };
    Ok((passes > 0).then_some(priority))
}

fn shape(from: &mut Description) -> Result<Shape, DeviceError> {
    let capacity_mib = from.number_or("capacity_mib", 8192, 16, 65_536)?;
    let channels = from.number("channels", "flash channels", 1, 256)? as u32;
    let dies_per_channel =
        from.number("dies_per_channel", "dies (LUNs) of a channel", 1, 256)? as u32;
    let planes_per_die = from.number_or("planes_per_die", 1, 1, 16)? as u32;
    let page_bytes =
        from.number_or("page_bytes", UNIT_BYTES, UNIT_BYTES, MAX_UNITS as u64 * UNIT_BYTES)?;
    if !page_bytes.is_multiple_of(UNIT_BYTES) {
        return Err(from.inconsistent(
            "page_bytes",
            format!("{page_bytes} is not a multiple of {UNIT_BYTES}"),
        ));
    }
    let pages_per_block = from.number_or("pages_per_block", 256, 2, 65_536)? as u32;
    let spare_percent = from.number_or("over_provisioning_percent", 7, 0, 400)?;
    let threshold_percent = from.number_or("gc_threshold_percent", 5, 0, 50)?;
    let draws_victims = from.word_or_first("gc", &["greedy", "rga"])? == 1;
    let units = capacity_mib * 1024 * 1024 / UNIT_BYTES;
    let units_per_page = (page_bytes / UNIT_BYTES) as u32;
    let planes = u64::from(channels) * u64::from(dies_per_channel) * u64::from(planes_per_die);
    let block = planes * u64::from(pages_per_block) * u64::from(units_per_page);
    let logical = units.div_ceil(block);
    let least = least_blocks(logical, pages_per_block.into());
    let blocks_per_plane = (units * (100 + spare_percent)).div_ceil(100 * block).max(least);
    if blocks_per_plane * block > 1 << 27 {
        let why = format!(
            "{planes} planes with blocks of {pages_per_block} pages are too much flash for {capacity_mib} MiB"
        );
        return Err(from.inconsistent("pages_per_block", why));
    }
    Ok(Shape {
        channels,
        dies_per_channel,
        planes_per_die,
        units_per_page,
        pages_per_block,
        blocks_per_plane: blocks_per_plane as u32,
        units: units as u32,
        threshold: (blocks_per_plane * threshold_percent).div_ceil(100).max(2) as u32,
        draws_victims,
    })
}
