//! `postmark`: PostMark 1.5x, the many small files of a mail server [C postmark-1.53.c, "v1.51"].
//!
//! From the source: parameters, defaults, phases, and one sequence of draws ([`twister`]), the
//! first 2·size_max for the content buffer. The file system is ours [P]: first fit by directory
//! ([`allocator`]), metadata written in place after the data, no journal. Runs repeat with the same
//! seed (seed + i for client i), so a faster variant gets further along one sequence of requests.
//! There is no warm-up: with few runs per window, variants also differ in their share of creation.

mod allocator;
mod files;
mod operation;
mod operations;
mod params;
pub(crate) mod setup;
mod twister;

use std::collections::VecDeque;

use elevator::{Op, Request};

use crate::workload::client::Client;
use crate::workload::paced::{Paced, Pattern};
use crate::workload::row::{Params, Seat};
use allocator::{Allocator, Run};
use files::{File, FileTable};
use twister::Twister;

pub use operation::{PostmarkOperation, PostmarkPhase};
pub use operations::PostmarkOperations;
pub(crate) use params::{
    ACCEPTS, BIAS_CREATE, BIAS_READ, METADATA, NUMBER, READ_BLOCK, SEED, SIZE_MAX, SIZE_MIN,
    SUBDIRECTORIES, TRANSACTIONS, WRITE_BLOCK, possible,
};
pub use setup::PostmarkParams;

const INODE: u64 = 256;

/// Division of a client's region, in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    groups: u64,
    /// Bytes of metadata at the front of each group.
    metadata: u64,
    group: u64,
}

impl Layout {
    /// Holds any possible set of files: 2·number of the largest size.
    fn least(setup: &PostmarkParams, block: u64) -> Layout {
        let groups = u64::from(setup.subdirectories.max(1));
        let slots = 2 * u64::from(setup.number);
        let metadata = if setup.metadata { (slots * INODE).div_ceil(block) } else { 0 };
        let data = slots * u64::from(setup.size_max).div_ceil(block);
        Layout { groups, metadata, group: metadata + data.div_ceil(groups) }
    }

    fn extend(self, blocks: u64) -> Layout {
        Layout { group: blocks / self.groups, ..self }
    }

    fn blocks(self) -> u64 {
        self.groups * self.group
    }

    fn data(self) -> impl Iterator<Item = Run> {
        let Layout { groups, metadata, group } = self;
        (0..groups).map(move |i| Run { start: i * group + metadata, len: group - metadata })
    }
}

/// Counters as in PostMark.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    created: u64,
    deleted: u64,
    read: u64,
    appended: u64,
    /// Bytes of files, not of blocks.
    bytes_read: u64,
    bytes_written: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Create(u32),
    Transactions(u32),
    Delete(usize),
}

/// Repeated runs.
#[derive(Debug)]
struct Postmark {
    setup: PostmarkParams,
    seed: u32,
    block: u64,
    layout: Layout,
    random: Twister,
    files: FileTable,
    free: Allocator,
    phase: Phase,
    counts: Counts,
    queue: VecDeque<Request>,
    done: VecDeque<(PostmarkPhase, PostmarkOperation)>,
}

impl Pattern for Postmark {
    #[inline]
    fn pick(&mut self) -> Option<Request> {
        loop {
            if let Some(request) = self.queue.pop_front() {
                return Some(request);
            }
            self.advance();
        }
    }
}

impl Postmark {
    fn new(setup: &PostmarkParams, block: u32, region: u64, seed: u32) -> Postmark {
        let block = u64::from(block);
        let layout = Layout::least(setup, block).extend(region / block);
        Postmark {
            setup: setup.clone(),
            seed,
            block,
            layout,
            random: new_random(seed, setup),
            files: FileTable::new(2 * setup.number as usize),
            free: Allocator::new(layout.data()),
            phase: Phase::Create(0),
            counts: Counts::default(),
            queue: VecDeque::new(),
            done: VecDeque::new(),
        }
    }

    /// A step need not issue any request.
    fn advance(&mut self) {
        self.done.clear();
        match self.phase {
            Phase::Create(done) if done < self.setup.number => {
                self.create();
                self.phase = Phase::Create(done + 1);
            }
            Phase::Create(_) => self.phase = Phase::Transactions(0),
            Phase::Transactions(done)
                if done < self.setup.transactions && self.files.in_use() > 0 =>
            {
                self.transaction();
                self.phase = Phase::Transactions(done + 1);
            }
            Phase::Transactions(_) => self.phase = Phase::Delete(0),
            Phase::Delete(slot) if slot < self.files.slots() => {
                if self.files.is_used(slot) {
                    self.delete(slot);
                }
                self.phase = Phase::Delete(slot + 1);
            }
            Phase::Delete(_) => self.begin_again(),
        }
    }

    fn begin_again(&mut self) {
        self.random = new_random(self.seed, &self.setup);
        self.files = FileTable::new(self.files.slots());
        self.phase = Phase::Create(0);
        self.counts = Counts::default();
    }

    fn transaction(&mut self) {
        if let Some(bias) = self.setup.bias_read {
            let reads = self.random.rnd(10) < u32::from(bias);
            let slot = self.used_slot();
            if reads { self.read(slot) } else { self.append(slot) }
        }
        if let Some(bias) = self.setup.bias_create {
            if self.random.rnd(10) < u32::from(bias) {
                self.create();
            } else {
                let slot = self.used_slot();
                self.delete(slot);
            }
        }
    }

    fn used_slot(&mut self) -> usize {
        assert!(self.files.in_use() > 0, "a file is drawn only where there is one");
        loop {
            let slot = self.random.rnd(2 * self.setup.number) as usize;
            if self.files.is_used(slot) {
                return slot;
            }
        }
    }

    fn create(&mut self) {
        let Some(slot) = self.files.find_free() else { return };
        let directory = if self.setup.subdirectories > 1 {
            self.random.rnd(self.setup.subdirectories)
        } else {
            0
        };
        let size = self.setup.size_min + self.random.rnd(self.setup.size_max - self.setup.size_min);
        let runs = self.place(directory, u64::from(size).div_ceil(self.block), None);
        self.counts.created += 1;
        let number = self.counts.created as u32;
        self.files.put(slot, File { number, size, directory, runs });
        self.transfer(Op::Write, slot, 0);
        self.write_metadata(slot, directory);
        self.note(PostmarkOperation::Create { file: number, directory, bytes: size });
        self.counts.bytes_written += u64::from(size);
    }

    fn read(&mut self, slot: usize) {
        self.transfer(Op::Read, slot, 0);
        self.counts.read += 1;
        let File { number, size, .. } = *self.files.get(slot);
        self.counts.bytes_read += u64::from(size);
        self.note(PostmarkOperation::Read { file: number, bytes: size });
    }

    fn append(&mut self, slot: usize) {
        let file = self.files.get(slot);
        let (size, directory, last) = (file.size, file.directory, file.runs.last().copied());
        if size >= self.setup.size_max {
            return;
        }
        let bytes = self.random.rnd(self.setup.size_max - size) + 1;
        let blocks = |bytes: u32| u64::from(bytes).div_ceil(self.block);
        let more = blocks(size + bytes) - blocks(size);
        let runs = self.place(directory, more, last);
        self.files.grow(slot, bytes, runs);
        self.transfer(Op::Write, slot, u64::from(size) / self.block);
        self.write_metadata(slot, directory);
        self.counts.appended += 1;
        self.counts.bytes_written += u64::from(bytes);
        self.note(PostmarkOperation::Append { file: self.files.get(slot).number, bytes });
    }

    fn delete(&mut self, slot: usize) {
        let file = self.files.remove(slot);
        file.runs.into_iter().for_each(|run| self.free.release(run));
        self.write_metadata(slot, file.directory);
        self.counts.deleted += 1;
        self.note(PostmarkOperation::Delete { file: file.number });
    }

    fn note(&mut self, operation: PostmarkOperation) {
        let phase = match self.phase {
            Phase::Create(_) => PostmarkPhase::Creation,
            Phase::Transactions(_) => PostmarkPhase::Transactions,
            Phase::Delete(_) => PostmarkPhase::Deletion,
        };
        self.done.push_back((phase, operation));
    }

    fn place(&mut self, directory: u32, blocks: u64, last: Option<Run>) -> Vec<Run> {
        let runs = self.free.take(directory as usize, blocks, last);
        runs.expect("checked: the region holds twice as many files of the largest size")
    }

    /// Splits the range into read or write blocks, cut at run borders.
    fn transfer(&mut self, op: Op, slot: usize, first: u64) {
        let (read, write) = self.setup.requests(self.block as u32);
        let piece = u64::from(if op == Op::Read { read } else { write }) / self.block;
        let mut skip = first;
        for run in &self.files.get(slot).runs {
            let passed = skip.min(run.len);
            skip -= passed;
            let mut at = run.start + passed;
            while at < run.end() {
                let blocks = piece.min(run.end() - at);
                self.queue.push_back(Request::new(
                    op,
                    at * self.block,
                    (blocks * self.block) as u32,
                ));
                at += blocks;
            }
        }
    }

    fn write_metadata(&mut self, slot: usize, directory: u32) {
        if self.setup.metadata {
            let block = u64::from(directory) * self.layout.group + slot as u64 * INODE / self.block;
            let offset = block * self.block;
            self.queue.push_back(Request::new(Op::Write, offset, self.block as u32));
        }
    }
}

fn new_random(seed: u32, setup: &PostmarkParams) -> Twister {
    let mut random = Twister::new(seed);
    for _ in 0..2 * setup.size_max {
        random.rnd(95);
    }
    random
}

pub(crate) fn fits(params: &Params, region: u64) -> Result<(), String> {
    let block = u64::from(params.block_size);
    let needed = Layout::least(&params.postmark, block).blocks();
    if region / block >= needed {
        return Ok(());
    }
    Err(format!(
        "2 × number = {} files of up to size_max = {} bytes need {} bytes of each client: give file_size, or smaller ones",
        2 * u64::from(params.postmark.number),
        params.postmark.size_max,
        needed * block
    ))
}

pub(crate) fn build(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    let of_trial = (seat.seed ^ (seat.seed >> 32)) as u32;
    let seed = params.postmark.seed.unwrap_or(of_trial).wrapping_add(seat.index);
    let pattern = Postmark::new(&params.postmark, params.block_size, seat.len, seed);
    Box::new(Paced::thinking(pattern, params, params.think(seat.seed, seat.index)))
}

#[cfg(test)]
mod tests;
