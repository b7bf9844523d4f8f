//! Samples a device of unknown format.
//!
//! A sample can prove that there is data, never the contrary. The page cache supplies other
//! programs' recent writes. Blocks are stratified (one random position in each of 512 equal parts)
//! and read in random order, so that an interrupted search is representative.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

const BLOCK: u64 = 1 << 20;
const RANDOM_BLOCKS: u64 = 512;
const ZEROS: [u8; 4096] = [0; 4096];

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) read_bytes: u64,
    pub(super) is_whole: bool,
    /// The offset of a nonzero byte.
    pub(super) first_data: Option<u64>,
    /// The offset of a block, and the error.
    pub(super) unreadable: Option<(u64, String)>,
}

impl Sample {
    /// Reads until `limit`. `progress` receives blocks read and their total; `None` if it cancels.
    pub(super) fn read(
        device: &File,
        size: u64,
        limit: Duration,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Option<Sample> {
        let random = RandomState::new();
        let offsets = offsets(size, &|i| random.hash_one(i));
        let total = offsets.len() as u64;
        let mut sample = Sample { is_whole: size <= total * BLOCK, ..Sample::default() };
        let mut buffer = vec![0; usize::try_from(BLOCK).expect("a block fits into memory")];
        let since = Instant::now();
        for (done, offset) in (0..).zip(offsets) {
            // The ends are always read.
            if done >= 2 && since.elapsed() >= limit {
                sample.is_whole = false;
                break;
            }
            if progress(done, total).is_break() {
                return None;
            }
            let len = BLOCK.min(size - offset);
            let bytes = &mut buffer[..usize::try_from(len).expect("at most a block")];
            let answer = device.read_exact_at(bytes, offset);
            sample.add(offset, bytes, answer);
            // Nothing precedes it.
            if sample.first_data.is_some_and(|first| first < BLOCK) {
                break;
            }
        }
        Some(sample)
    }

    fn add(&mut self, offset: u64, bytes: &[u8], answer: io::Result<()>) {
        if let Err(error) = answer {
            if self.unreadable.as_ref().is_none_or(|(first, _)| offset < *first) {
                self.unreadable = Some((offset, error.to_string()));
            }
            self.is_whole = false;
            return;
        }
        self.read_bytes += bytes.len() as u64;
        if let Some(at) = first_data(bytes) {
            let found = offset + at as u64;
            self.first_data = Some(self.first_data.map_or(found, |first| first.min(found)));
        }
    }
}

/// Returns both ends, then one random block of each part in random order.
fn offsets(size: u64, random: &dyn Fn(u64) -> u64) -> Vec<u64> {
    let nr_blocks = size.div_ceil(BLOCK);
    let mut blocks: Vec<u64> = vec![0, nr_blocks.saturating_sub(1)];
    if nr_blocks <= RANDOM_BLOCKS + 2 {
        blocks.extend(1..nr_blocks.saturating_sub(1));
    } else {
        let inner = nr_blocks - 2;
        let mut parts: Vec<u64> = (0..RANDOM_BLOCKS).collect();
        parts.sort_by_key(|part| random(*part));
        blocks.extend(parts.into_iter().map(|part| {
            let (start, end) = (inner * part / RANDOM_BLOCKS, inner * (part + 1) / RANDOM_BLOCKS);
            1 + start + random(part + RANDOM_BLOCKS) % (end - start)
        }));
    }
    blocks.truncate(usize::try_from(nr_blocks).unwrap_or(usize::MAX));
    blocks.into_iter().map(|block| block * BLOCK).collect()
}

/// Whole pages are compared with `memcmp`, which is fast even in debug builds.
fn first_data(bytes: &[u8]) -> Option<usize> {
    let mut pages = bytes.chunks(ZEROS.len());
    let page = pages.position(|page| *page != ZEROS[..page.len()])? * ZEROS.len();
    bytes[page..].iter().position(|byte| *byte != 0).map(|at| page + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    fn look(file: &File, size: u64) -> Sample {
        Sample::read(file, size, Duration::MAX, &mut |_, _| ControlFlow::Continue(()))
            .expect("not broken off")
    }

    fn sparse(size: u64, data: &[u64]) -> File {
        let file = tempfile::tempfile().expect("a temporary file");
        file.set_len(size).expect("a sparse file");
        data.iter().for_each(|offset| file.write_all_at(b"x", *offset).expect("room"));
        file
    }

    #[test]
    fn small_device_is_read_in_full_and_first_byte_found() {
        let size = 20 * MIB + 512;
        assert_eq!(
            look(&sparse(size, &[]), size),
            Sample { read_bytes: size, is_whole: true, ..Sample::default() }
        );
        let found = look(&sparse(size, &[7 * MIB + 5, 19 * MIB, size - 1]), size);
        assert_eq!((found.first_data, found.is_whole), (Some(7 * MIB + 5), true));
    }

    #[test]
    fn data_in_every_block_is_found_in_the_first() {
        let found = look(&sparse(4 * MIB, &[4097, MIB, 2 * MIB]), 4 * MIB);
        assert_eq!((found.first_data, found.read_bytes), (Some(4097), MIB));
    }

    #[test]
    fn large_device_gives_a_sample_of_514_mib() {
        let size = 1 << 40;
        let found = look(&sparse(size, &[]), size);
        assert_eq!((found.read_bytes, found.is_whole, found.first_data), (514 * MIB, false, None));
    }

    #[test]
    fn block_that_cannot_be_read_is_reported() {
        let found = look(&sparse(3 * MIB, &[]), 5 * MIB);
        assert_eq!(found.unreadable.map(|(offset, _)| offset), Some(3 * MIB));
        assert_eq!(found.read_bytes, 3 * MIB);
    }

    #[test]
    fn time_limit_leaves_both_ends() {
        let sample = Sample::read(&sparse(9 * MIB, &[]), 9 * MIB, Duration::ZERO, &mut |_, _| {
            ControlFlow::Continue(())
        });
        let expected = Sample { read_bytes: 2 * MIB, ..Sample::default() };
        assert_eq!(sample, Some(expected));
    }

    proptest! {
        #[test]
        fn offsets_are_distinct_blocks_with_both_ends(size in 1_u64..1 << 52, seed: u64) {
            let found = offsets(size, &|i| (i ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29));
            let nr_blocks = size.div_ceil(BLOCK);
            prop_assert_eq!(found.len() as u64, nr_blocks.min(RANDOM_BLOCKS + 2));
            prop_assert_eq!(found[0], 0);
            prop_assert!(found.contains(&((nr_blocks - 1) * BLOCK)));
            prop_assert!(found.iter().all(|offset| *offset < size && offset % BLOCK == 0));
            let distinct: std::collections::BTreeSet<u64> = found.iter().copied().collect();
            prop_assert_eq!(distinct.len(), found.len());
        }
    }
}
