//! The servers of a flash device (dies, channels, link), each in order of arrival. A server is the
//! time at which it becomes free; each use advances that time.

use alloc::vec;
use alloc::vec::Vec;

use crate::ftl::{Collected, Shape};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    pub read_ns: u64,
    pub read_msb_ns: u64,
    pub program_ns: u64,
    pub erase_ns: u64,
    pub channel_bytes_per_s: u64,
    pub link_bytes_per_s: u64,
    pub read_overhead_ns: u64,
    /// Overhead of reads of at most 4 KiB.
    pub read_overhead_4k_ns: u64,
    pub write_overhead_ns: u64,
    pub write_unit_ns: u64,
}

/// Decides whether another plane can join.
#[derive(Debug, Clone, Copy, Default)]
struct Die {
    free_ns: u64,
    begins_ns: u64,
    program: bool,
    took_ns: u64,
    planes: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct Servers {
    shape: Shape,
    pub(crate) times: Times,
    dies: Vec<Die>,
    channels: Vec<u64>,
    link_free_ns: u64,
}

impl Servers {
    pub(crate) fn new(shape: Shape, times: Times) -> Servers {
        Servers {
            shape,
            times,
            dies: vec![Die::default(); shape.dies() as usize],
            channels: vec![0; shape.channels as usize],
            link_free_ns: 0,
        }
    }

    pub(crate) fn link(&mut self, now: u64, bytes: u64) -> u64 {
        self.link_free_ns =
            now.max(self.link_free_ns) + bytes * 1_000_000_000 / self.times.link_bytes_per_s;
        self.link_free_ns
    }

    pub(crate) fn channel(&mut self, now: u64, channel: u32, bytes: u64) -> u64 {
        let free = &mut self.channels[channel as usize];
        *free = now.max(*free) + bytes * 1_000_000_000 / self.times.channel_bytes_per_s;
        *free
    }

    /// Returns when it is done.
    pub(crate) fn die(&mut self, now: u64, plane: u32, program: bool, ns: u64) -> u64 {
        let shape = self.shape;
        let bit = 1 << (plane / shape.dies());
        let die = &mut self.dies[shape.die(plane) as usize];
        if die.planes & bit == 0
            && die.planes != 0
            && die.program == program
            && die.begins_ns >= now
        {
            die.planes |= bit;
            if ns > die.took_ns {
                die.free_ns += ns - die.took_ns;
                die.took_ns = ns;
            }
            return die.free_ns;
        }
        let begins_ns = now.max(die.free_ns);
        *die = Die { free_ns: begins_ns + ns, begins_ns, program, took_ns: ns, planes: bit };
        die.free_ns
    }

    /// Collects garbage; no other plane joins.
    pub(crate) fn collect(&mut self, now: u64, plane: u32, collected: Collected) {
        if collected == Collected::default() {
            return;
        }
        let times = self.times;
        let ns = collected.reads * times.read_ns
            + collected.programs * times.program_ns
            + collected.erases * times.erase_ns;
        let die = &mut self.dies[self.shape.die(plane) as usize];
        *die = Die { free_ns: now.max(die.free_ns) + ns, ..Die::default() };
    }
}
