//! The queue with every elevator: bytes become a row, tunables, limits, pieces with their times,
//! service times and the ends of processes; the properties of crates/properties check the result.
//!
//! The inputs are decoded by hand and every byte string is one, so that a small change of the bytes
//! is a small change of what happens. A file that crashes is repeated with
//! `scripts/fuzz queue FILE`.
#![no_main]

use elevator::{ELEVATORS, Op, PrioClass, Priority};
use properties::PROPERTIES;
use properties::input::{DISK, Input, Setting, Step, replace_exited};
use libfuzzer_sys::fuzz_target;


/// Bytes one after the other; zeros at the end.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn short(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// Small numbers often, large ones too: a mantissa and an exponent.
    fn scaled(&mut self) -> u64 {
        let byte = self.byte();
        u64::from(byte & 15) << (byte >> 4)
    }
}

fn setting(bytes: &mut Bytes) -> Setting {
    match bytes.byte() % 4 {
        0 => Setting::Default,
        1 => Setting::Min,
        2 => Setting::Max,
        _ => Setting::Between(bytes.short()),
    }
}

fn step(bytes: &mut Bytes) -> Step {
    let (flags, place) = (bytes.byte(), bytes.byte());
    let op = if flags & 1 == 0 { Op::Read } else { Op::Write };
    let class =
        [PrioClass::BestEffort, PrioClass::RealTime, PrioClass::BestEffort, PrioClass::Idle][usize::from(flags >> 6)];
    let level = if flags >> 6 == 0 { 4 } else { bytes.byte() % 8 };
    let near = 5000 + 8 * u64::from(place >> 3);
    Step {
        gap_ns: bytes.scaled() * 1000,
        process: u32::from(place % 5),
        op,
        sector: if flags & 8 == 0 { near } else { u64::from(bytes.short()) * 16 % (DISK - 4096) },
        nr_sectors: if flags & 16 == 0 { 8 } else { 1 + u32::from(bytes.short()) % 1500 },
        sync: op == Op::Read || flags & 2 != 0,
        meta: flags & 4 != 0,
        priority: Priority { class, level },
        exit: flags & 0x3F == 0x3F,
    }
}

fn input(bytes: &mut Bytes) -> Input {
    let flags = bytes.byte();
    let hz = [100, 250, 300, 1000][usize::from(flags & 3)];
    let queue_depth = 1 + u32::from(bytes.byte()) % 64;
    let nr_requests = 1 + u32::from(bytes.byte()) % 128;
    let max_sectors = if flags & 16 == 0 { 1024 } else { 1 + u32::from(bytes.byte()) % 64 };
    let service_ns = (0..1 + flags % 5).map(|_| (1 + bytes.scaled() * 1000).min(20_000_000)).collect();
    // One for each tunable, where there are so many: none has more than 32.
    let nr_settings = 1 + bytes.byte() % 32;
    let settings = (0..nr_settings).map(|_| setting(bytes)).collect();
    let mut steps = vec![step(bytes)];
    while !bytes.0.is_empty() && steps.len() < 300 {
        steps.push(step(bytes));
    }
    Input {
        steps: replace_exited(steps),
        service_ns,
        queue_depth,
        nr_requests,
        max_sectors,
        merge: flags & 8 == 0,
        hz,
        rotational: flags & 4 == 0,
        settings,
    }
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let kind = &ELEVATORS[usize::from(bytes.byte()) % ELEVATORS.len()];
    let property = &PROPERTIES[usize::from(bytes.byte()) % PROPERTIES.len()];
    let input = input(&mut bytes);
    if let Err(why) = (property.check)(kind, &input) {
        panic!("{} breaks the property {}: {why}\nwith {input:?}", kind.name, property.name);
    }
});
