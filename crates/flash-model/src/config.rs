//! The figures of a device, and their form in the tables of the kernel arena's block driver: u64
//! numbers, little-endian, in the order of [`encode`].

use alloc::vec::Vec;

use crate::device::Flash;
use crate::dies::Priority;
use crate::ftl::{MAX_UNITS, Shape};
use crate::random::Origin;
use crate::servers::Times;
use crate::types::{Settings, UNIT_SECTORS};

const SECOND_NS: u64 = 1_000_000_000;
/// Maximum units of flash, and of a device: 512 GiB and 64 GiB.
const MAX_FLASH: u64 = 1 << 27;
const MAX_CAPACITY: u64 = 1 << 24;
/// Numbers of a configuration and two origins.
const NUMBERS: usize = 9 + 10 + 5 + 6 + 1 + 2 * ORIGIN + 1;
const ORIGIN: usize = 5;

/// What has been written before the first command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// All units once, in order.
    Full,
    /// Nothing.
    Fresh,
    /// All units once in order, and as many again at random.
    Steady,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    pub shape: Shape,
    pub times: Times,
    pub settings: Settings,
    pub condition: Condition,
}

impl Config {
    #[must_use]
    pub fn sectors(&self) -> u64 {
        u64::from(self.shape.units) * UNIT_SECTORS
    }

    /// Whether every figure is in its range and collection always finds room. No other
    /// configuration makes a device.
    #[must_use]
    pub fn check(&self) -> bool {
        self.check_shape() && self.check_times() && self.check_settings()
    }

    fn check_shape(&self) -> bool {
        let Shape { channels, dies_per_channel, planes_per_die, .. } = self.shape;
        let Shape { units_per_page, pages_per_block, blocks_per_plane, units, .. } = self.shape;
        let in_range = (1..=256).contains(&channels)
            && (1..=256).contains(&dies_per_channel)
            && (1..=16).contains(&planes_per_die)
            && (1..=MAX_UNITS as u32).contains(&units_per_page)
            && (2..=65_536).contains(&pages_per_block)
            && (1..=MAX_CAPACITY).contains(&units.into())
            && blocks_per_plane > 0
            && u64::from(self.shape.threshold) <= u64::from(blocks_per_plane) + 2;
        let (planes, pages) = (
            u64::from(channels * dies_per_channel) * u64::from(planes_per_die),
            u64::from(pages_per_block),
        );
        let block = planes * pages * u64::from(units_per_page);
        in_range
            && u64::from(blocks_per_plane).checked_mul(block).is_some_and(|all| all <= MAX_FLASH)
            && u64::from(blocks_per_plane) >= least_blocks(u64::from(units).div_ceil(block), pages)
    }

    fn check_times(&self) -> bool {
        let Times { read_ns, read_msb_ns, program_ns, erase_ns, .. } = self.times;
        let Times { read_overhead_ns, read_overhead_4k_ns, .. } = self.times;
        let Times { write_overhead_ns, write_unit_ns, .. } = self.times;
        let waits = [read_ns, read_msb_ns, program_ns, erase_ns, read_overhead_ns];
        let more = [read_overhead_4k_ns, write_overhead_ns, write_unit_ns];
        let rates = [self.times.channel_bytes_per_s, self.times.link_bytes_per_s];
        waits.into_iter().chain(more).all(|ns| ns <= SECOND_NS)
            && rates.into_iter().all(|rate| (1000..=1 << 40).contains(&rate))
    }

    fn check_settings(&self) -> bool {
        let Settings { queue_depth, queues, command_slots, buffer_units, priority, .. } =
            self.settings;
        let fits = |priority: Priority| {
            let waits =
                [priority.program_suspend_ns, priority.erase_suspend_ns, priority.resume_ns];
            let counts = [priority.program_suspends, priority.erase_suspends];
            (1..=65_535).contains(&priority.passes)
                && counts.into_iter().all(|count| count <= 65_535)
                && waits.into_iter().all(|ns| ns <= SECOND_NS)
        };
        (1..=65_535).contains(&queue_depth)
            && (1..=65_535).contains(&queues)
            && command_slots > 0
            && (2 * u64::from(self.shape.units_per_page)..=1 << 22).contains(&buffer_units)
            && priority.is_none_or(fits)
    }
}

/// The blocks of a plane with `logical` blocks of data: one being written, two for collection, and
/// enough that the others average one reclaimable page.
#[must_use]
pub fn least_blocks(logical: u64, pages_per_block: u64) -> u64 {
    (logical * pages_per_block).div_ceil(pages_per_block - 1) + 3
}

/// The numbers of a device to which nothing has happened.
#[must_use]
pub fn encode(device: &Flash) -> Vec<u64> {
    let Config { shape, times, settings, condition } = *device.config();
    let (origin, reseeded) = device.origins();
    let priority = settings.priority.unwrap_or(Priority {
        passes: 0,
        program_suspends: 0,
        erase_suspends: 0,
        program_suspend_ns: 0,
        erase_suspend_ns: 0,
        resume_ns: 0,
    });
    let mut numbers: Vec<u64> = [
        shape.channels,
        shape.dies_per_channel,
        shape.planes_per_die,
        shape.units_per_page,
        shape.pages_per_block,
        shape.blocks_per_plane,
        shape.units,
        shape.threshold,
        shape.draws_victims.into(),
    ]
    .map(u64::from)
    .to_vec();
    numbers.extend([
        times.read_ns,
        times.read_msb_ns,
        times.program_ns,
        times.erase_ns,
        times.channel_bytes_per_s,
        times.link_bytes_per_s,
        times.read_overhead_ns,
        times.read_overhead_4k_ns,
        times.write_overhead_ns,
        times.write_unit_ns,
        settings.queue_depth.into(),
        settings.queues.into(),
        settings.command_slots.into(),
        settings.early_completion.into(),
        settings.buffer_units,
        priority.passes.into(),
        priority.program_suspends.into(),
        priority.erase_suspends.into(),
        priority.program_suspend_ns,
        priority.erase_suspend_ns,
        priority.resume_ns,
        condition as u64,
    ]);
    numbers.extend(origin_numbers(origin));
    numbers.push(reseeded.is_some().into());
    numbers.extend(origin_numbers(reseeded.unwrap_or(origin)));
    numbers
}

fn origin_numbers(origin: Origin) -> [u64; ORIGIN] {
    let word = |at: usize| {
        u64::from_le_bytes(origin.key[8 * at..8 * at + 8].try_into().expect("eight bytes"))
    };
    [word(0), word(1), word(2), word(3), origin.stream]
}

/// The configuration in `bytes` with its origins; `None` if they are malformed or no device can be
/// made from them.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<(Config, Origin, Option<Origin>)> {
    if bytes.len() != 8 * NUMBERS {
        return None;
    }
    let mut numbers = bytes
        .chunks_exact(8)
        .map(|chunk| u64::from_le_bytes(chunk.try_into().expect("a chunk has eight bytes")));
    let mut read = Reader { numbers: &mut numbers };
    let shape = Shape {
        channels: read.small()?,
        dies_per_channel: read.small()?,
        planes_per_die: read.small()?,
        units_per_page: read.small()?,
        pages_per_block: read.small()?,
        blocks_per_plane: read.small()?,
        units: read.small()?,
        threshold: read.small()?,
        draws_victims: read.switch()?,
    };
    let times = Times {
        read_ns: read.number()?,
        read_msb_ns: read.number()?,
        program_ns: read.number()?,
        erase_ns: read.number()?,
        channel_bytes_per_s: read.number()?,
        link_bytes_per_s: read.number()?,
        read_overhead_ns: read.number()?,
        read_overhead_4k_ns: read.number()?,
        write_overhead_ns: read.number()?,
        write_unit_ns: read.number()?,
    };
    let (queue_depth, queues, command_slots) = (read.small()?, read.small()?, read.small()?);
    let (early_completion, buffer_units) = (read.switch()?, read.number()?);
    let priority = Priority {
        passes: read.small()?,
        program_suspends: read.small()?,
        erase_suspends: read.small()?,
        program_suspend_ns: read.number()?,
        erase_suspend_ns: read.number()?,
        resume_ns: read.number()?,
    };
    let priority = (priority.passes > 0).then_some(priority);
    let settings =
        Settings { queue_depth, queues, command_slots, early_completion, buffer_units, priority };
    let condition = match read.number()? {
        0 => Condition::Full,
        1 => Condition::Fresh,
        2 => Condition::Steady,
        _ => return None,
    };
    let origin = read.origin()?;
    let is_reseeded = read.switch()?;
    let reseeded = read.origin()?;
    let config = Config { shape, times, settings, condition };
    config.check().then_some((config, origin, is_reseeded.then_some(reseeded)))
}

struct Reader<'a> {
    numbers: &'a mut dyn Iterator<Item = u64>,
}

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        self.numbers.next()
    }

    fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    fn switch(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn origin(&mut self) -> Option<Origin> {
        let mut key = [0; 32];
        for word in key.chunks_exact_mut(8) {
            word.copy_from_slice(&self.number()?.to_le_bytes());
        }
        Some(Origin { key, stream: self.number()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Op, Transfer};

    fn small() -> Config {
        let shape = Shape {
            channels: 2,
            dies_per_channel: 2,
            planes_per_die: 2,
            units_per_page: 4,
            pages_per_block: 16,
            blocks_per_plane: 16,
            units: 4096,
            threshold: 2,
            draws_victims: true,
        };
        let times = Times {
            read_ns: 50_000,
            read_msb_ns: 60_000,
            program_ns: 400_000,
            erase_ns: 1_000_000,
            channel_bytes_per_s: 400_000_000,
            link_bytes_per_s: 2_000_000_000,
            read_overhead_ns: 7_000,
            read_overhead_4k_ns: 6_000,
            write_overhead_ns: 5_000,
            write_unit_ns: 100,
        };
        let priority = Priority {
            passes: 9,
            program_suspends: 3,
            erase_suspends: 4,
            program_suspend_ns: 20_000,
            erase_suspend_ns: 30_000,
            resume_ns: 1_000,
        };
        let settings = Settings {
            queue_depth: 64,
            queues: 2,
            command_slots: 32,
            early_completion: true,
            buffer_units: 64,
            priority: Some(priority),
        };
        Config { shape, times, settings, condition: Condition::Steady }
    }

    fn bytes(numbers: &[u64]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    fn made() -> Flash {
        let mut flash = Flash::new(small(), Origin { key: [7; 32], stream: 5 });
        flash.reseed(Origin { key: [8; 32], stream: 6 });
        flash
    }

    fn completions(mut flash: Flash) -> Vec<(u64, u32)> {
        let (mut done, mut now) = (Vec::new(), 0);
        for tag in 0..2_000_u32 {
            let sector = u64::from(tag) * 7_919 % 4_000 * 8;
            let op = if tag % 3 == 0 { Op::Read } else { Op::Write };
            flash.transfer(now, 0, Transfer { tag, op, sector, nr_sectors: 8 * (1 + tag % 4) });
            now += 40_000 + u64::from(tag % 5) * 100_000;
            flash.advance(now, |completion| done.push((completion.ns, completion.tag)));
        }
        done
    }

    #[test]
    fn a_device_of_its_own_numbers_computes_the_same_times() {
        let (config, origin, reseeded) = decode(&bytes(&encode(&made()))).expect("its own numbers");
        assert_eq!(config, small());
        let mut copy = Flash::new(config, origin);
        copy.reseed(reseeded.expect("it was reseeded"));
        let expected = completions(made());
        assert!(expected.len() > 1_500 && completions(copy) == expected);
        let other = Flash::new(config, origin);
        assert_ne!(completions(other), expected, "without the second origin");
    }

    #[test]
    fn no_number_makes_a_device_out_of_its_ranges() {
        let own = encode(&made());
        let mut refused = 0;
        for at in 0..own.len() {
            for number in [0, 1, 2, 17, 257, 65_536, 1 << 24, 1 << 32, 1 << 41, u64::MAX] {
                let mut changed = own.clone();
                changed[at] = number;
                match decode(&bytes(&changed)) {
                    None => refused += 1,
                    Some((config, ..)) => assert!(config.check(), "number {at} is {number}"),
                }
            }
        }
        assert!(refused > 150, "{refused} of {}", 10 * own.len());
        for length in [0, 1, 8 * own.len() - 1, 8 * own.len() + 1, 8 * own.len() + 8] {
            let mut changed = bytes(&own);
            changed.resize(length, 0);
            assert!(decode(&changed).is_none(), "{length} bytes");
        }
        let too_few = Shape { blocks_per_plane: 8, ..small().shape };
        assert!(!Config { shape: too_few, ..small() }.check(), "collection would find no room");
    }
}
