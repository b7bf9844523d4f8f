//! The flash translation layer: the page of each 4 KiB unit, free blocks, and garbage collection.
//!
//! Source: the page-mapped design of MQSim and NVMeVirt (algorithms.md §3.8); details are
//! proposals. Pages are allocated over the planes in the order channel, die, plane (CWDP).
//! Collection starts when a plane's free blocks fall to the threshold and is spread over host
//! writes; below two free blocks it runs until there are two. Victims: fewest valid units (greedy),
//! or the best of log(blocks) random ones (RGA). Memory: 2 MiB per simulated GiB.

use alloc::vec;
use alloc::vec::Vec;

use crate::random::{Origin, Random};

pub const UNIT_BYTES: u64 = 4096;

/// Maximum units of a page.
pub const MAX_UNITS: usize = 16;

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub channels: u32,
    pub dies_per_channel: u32,
    pub planes_per_die: u32,
    pub units_per_page: u32,
    pub pages_per_block: u32,
    pub blocks_per_plane: u32,
    pub units: u32,
    /// Free blocks at which collection begins.
    pub threshold: u32,
    /// RGA instead of greedy.
    pub draws_victims: bool,
}

impl Shape {
    pub fn planes(&self) -> u32 {
        self.channels * self.dies_per_channel * self.planes_per_die
    }

    pub fn dies(&self) -> u32 {
        self.channels * self.dies_per_channel
    }

    pub fn die(&self, plane: u32) -> u32 {
        plane % self.dies()
    }

    pub fn channel(&self, die: u32) -> u32 {
        die % self.channels
    }

    /// The memory of the translation layer.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let blocks = u64::from(self.planes()) * u64::from(self.blocks_per_plane);
        let words = u64::from(self.units) + blocks * (u64::from(self.units_per_block()) + 2);
        words * size_of::<u32>() as u64
    }

    fn units_per_block(&self) -> u32 {
        self.pages_per_block * self.units_per_page
    }
}

/// Collection before a page was allocated, charged to the die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Collected {
    pub(crate) reads: u64,
    pub(crate) programs: u64,
    pub(crate) erases: u64,
}

#[derive(Debug, Clone, Default)]
struct Plane {
    free: Vec<u32>,
    open: u32,
    next_page: u32,
    victim: Option<Victim>,
}

#[derive(Debug, Clone, Copy)]
struct Victim {
    block: u32,
    next: u32,
    /// Pages to move per host page.
    step: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct Ftl {
    pub(crate) shape: Shape,
    map: Vec<u32>,
    /// `NONE` if empty or stale.
    back: Vec<u32>,
    valid: Vec<u32>,
    planes: Vec<Plane>,
    next_plane: u32,
    rng: Random,
}

impl Ftl {
    pub(crate) fn reseed(&mut self, origin: Origin) {
        self.rng = Random::new(origin);
    }

    pub(crate) fn new(shape: Shape, rng: Random) -> Ftl {
        let blocks = shape.planes() * shape.blocks_per_plane;
        let plane = |_| Plane {
            free: (1..shape.blocks_per_plane).rev().collect(),
            open: 0,
            next_page: 0,
            victim: None,
        };
        Ftl {
            map: vec![NONE; shape.units as usize],
            back: vec![NONE; blocks as usize * shape.units_per_block() as usize],
            valid: vec![0; blocks as usize],
            planes: (0..shape.planes()).map(plane).collect(),
            next_plane: 0,
            shape,
            rng,
        }
    }

    /// Fills the device sequentially; if `worn`, writes as much again at random.
    pub(crate) fn precondition(&mut self, worn: bool) {
        let mut page = [0; MAX_UNITS];
        let size = self.shape.units_per_page as usize;
        let units = self.shape.units;
        for round in 0..1 + u32::from(worn) {
            let mut first = 0;
            while first < units {
                let count = size.min((units - first) as usize);
                for (at, unit) in page[..count].iter_mut().enumerate() {
                    *unit = if round == 0 {
                        first + at as u32
                    } else {
                        self.rng.below(units.into()) as u32
                    };
                }
                self.write(&page[..count]);
                first += count as u32;
            }
        }
    }

    /// Returns plane and page; an unwritten unit is where a sequential fill would put it.
    pub(crate) fn page_of(&self, unit: u32) -> (u32, u32) {
        let (page, per_plane) = match self.map[unit as usize] {
            NONE => {
                let page = unit / self.shape.units_per_page;
                return (page % self.shape.planes(), page / self.shape.planes());
            }
            place => (
                place / self.shape.units_per_page,
                self.shape.blocks_per_plane * self.shape.pages_per_block,
            ),
        };
        (page / per_plane, page % per_plane)
    }

    /// Returns the plane and the preceding collection.
    pub(crate) fn write(&mut self, units: &[u32]) -> (u32, Collected) {
        for _ in 0..self.shape.planes() {
            let plane = self.next_plane;
            self.next_plane = (plane + 1) % self.shape.planes();
            let mut collected = Collected::default();
            if self.make_room(plane, &mut collected) {
                self.put(plane, units);
                return (plane, collected);
            }
        }
        unreachable!("three blocks of each plane are spare, so some plane has a page to gain");
    }

    /// Returns false if the plane has nothing to gain.
    fn make_room(&mut self, plane: u32, collected: &mut Collected) -> bool {
        let free = self.planes[plane as usize].free.len() as u32;
        if free <= self.shape.threshold {
            if self.planes[plane as usize].victim.is_none() {
                self.choose_victim(plane);
            }
            if let Some(victim) = self.planes[plane as usize].victim {
                self.collect(plane, victim.step, collected);
            }
        }
        while self.planes[plane as usize].free.len() < 2 {
            if self.planes[plane as usize].victim.is_none() {
                self.choose_victim(plane);
            }
            if self.planes[plane as usize].victim.is_none() {
                return false;
            }
            self.collect(plane, u32::MAX, collected);
        }
        true
    }

    fn choose_victim(&mut self, plane: u32) {
        let shape = self.shape;
        let first = plane * shape.blocks_per_plane;
        let Plane { free, open, .. } = &self.planes[plane as usize];
        let full = |block: u32| block != *open && !free.contains(&block);
        let valid = |block: &u32| self.valid[(first + block) as usize];
        let mut best = None;
        if shape.draws_victims {
            let draws = shape.blocks_per_plane.ilog2().max(1);
            let drawn = (0..draws).map(|_| self.rng.below(shape.blocks_per_plane.into()) as u32);
            best = drawn.filter(|block| full(*block)).min_by_key(valid);
        }
        let worth =
            |block: &u32| valid(block).div_ceil(shape.units_per_page) < shape.pages_per_block;
        // No drawn block is worth collecting: consider all blocks.
        let best = best
            .filter(worth)
            .or_else(|| (0..shape.blocks_per_plane).filter(|block| full(*block)).min_by_key(valid));
        self.planes[plane as usize].victim = best.filter(worth).map(|block| {
            let pages = valid(&block).div_ceil(shape.units_per_page);
            let gained = (shape.pages_per_block - pages).max(1);
            Victim { block, next: 0, step: pages.div_ceil(gained) }
        });
    }

    /// Moves up to `pages` pages; erases the empty victim.
    fn collect(&mut self, plane: u32, pages: u32, collected: &mut Collected) {
        let shape = self.shape;
        let mut victim = self.planes[plane as usize].victim.expect("a victim was chosen");
        let block = (plane * shape.blocks_per_plane + victim.block) as usize;
        let first = block as u32 * shape.units_per_block();
        for _ in 0..pages {
            let (mut moving, mut count, mut last_page) = ([0; MAX_UNITS], 0, None);
            while count < shape.units_per_page as usize
                && victim.next < shape.units_per_block()
                && self.valid[block] > 0
            {
                let unit = self.back[(first + victim.next) as usize];
                if unit != NONE {
                    let page = victim.next / shape.units_per_page;
                    collected.reads += u64::from(last_page != Some(page));
                    last_page = Some(page);
                    moving[count] = unit;
                    count += 1;
                }
                victim.next += 1;
                if count > 0 && self.valid[block] as usize == count {
                    break;
                }
            }
            if count == 0 {
                break;
            }
            collected.programs += 1;
            self.put(plane, &moving[..count]);
        }
        if self.valid[block] == 0 {
            collected.erases += 1;
            self.planes[plane as usize].free.insert(0, victim.block);
            self.planes[plane as usize].victim = None;
        } else {
            self.planes[plane as usize].victim = Some(victim);
        }
    }

    fn put(&mut self, plane: u32, units: &[u32]) {
        let shape = self.shape;
        let at = &mut self.planes[plane as usize];
        if at.next_page == shape.pages_per_block {
            at.open = at.free.pop().expect("collection keeps a block free");
            at.next_page = 0;
        }
        let block = plane * shape.blocks_per_plane + at.open;
        let page = block * shape.pages_per_block + at.next_page;
        at.next_page += 1;
        for (offset, unit) in units.iter().enumerate() {
            let place = page * shape.units_per_page + offset as u32;
            let old = core::mem::replace(&mut self.map[*unit as usize], place);
            if old != NONE {
                self.back[old as usize] = NONE;
                self.valid[(old / shape.units_per_block()) as usize] -= 1;
            }
            self.back[place as usize] = *unit;
            self.valid[block as usize] += 1;
        }
    }
}
