//! Maps a trace's requests to the target.
//!
//! `wrap` takes offsets modulo the target's length [P]. `scale` stretches or shrinks the recorded
//! disk so that seeks cover the same share of the disk [P]. It moves whole chunks of at least
//! [`MIN_CHUNK`] (4096 chunks for the whole disk), so neighbours stay neighbours and re-reads hit
//! the same place. On a smaller target chunks overlap; on a larger one a sequential run jumps at
//! each gap.

use trace::replay::Request;

const UNIT: u64 = 4096;
const MIN_CHUNK: u64 = 1 << 20;
const CHUNKS: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Places {
    AsRecorded,
    Wrapped { region: u64 },
    Scaled { chunk: u64, last_chunk: u64, last_base: u64 },
}

impl Places {
    /// `largest` is the size of the largest request.
    pub(super) fn scaled(span: u64, largest: u64, region: u64) -> Places {
        let whole =
            |bytes: u64| bytes.max(1).checked_next_multiple_of(MIN_CHUNK).unwrap_or(1 << 63);
        let mut chunk = whole(span / CHUNKS);
        while chunk > MIN_CHUNK && chunk + largest > region {
            chunk = whole(chunk / 2);
        }
        let last_chunk = span.saturating_sub(1) / chunk;
        let last_base = region.saturating_sub(chunk.min(span) + largest) / UNIT * UNIT;
        Places::Scaled { chunk, last_chunk, last_base }
    }

    pub(super) fn map(self, request: &Request) -> u64 {
        let (offset, len) = (request.offset, u64::from(request.len));
        match self {
            Places::AsRecorded => offset,
            Places::Wrapped { region } if offset + len > region => {
                let whole = (region / UNIT * UNIT).max(len);
                (offset % whole).min(whole - len)
            }
            Places::Wrapped { .. } => offset,
            Places::Scaled { last_chunk: 0, .. } => offset,
            Places::Scaled { chunk, last_chunk, last_base } => {
                let number = (offset / chunk).min(last_chunk);
                let base = u128::from(number) * u128::from(last_base) / u128::from(last_chunk);
                let base = u64::try_from(base).expect("at most the last one") / UNIT * UNIT;
                base + (offset - number * chunk)
            }
        }
    }

    /// Returns the minimum target size for scaling.
    pub(super) fn min_size(span: u64, largest: u64) -> u64 {
        span.min(MIN_CHUNK).saturating_add(largest)
    }
}

#[cfg(test)]
mod tests {
    use trace::replay::Start;

    use super::*;

    fn at(offset: u64, len: u32) -> Request {
        Request {
            wait_ns: 0,
            offset,
            len,
            number: 1,
            open: 0,
            start: Start::Recorded,
            is_write: false,
        }
    }

    #[test]
    fn a_scaled_disk_ends_at_the_target_s_end_and_neighbours_stay_neighbours() {
        const GIB: u64 = 1 << 30;
        for region in [64 << 20, GIB / 2, 10 * GIB, 1 << 45] {
            let places = Places::scaled(10 * GIB, 1 << 20, region);
            let mut last = 0;
            for offset in (0..10 * GIB - 4096).step_by(77 << 20) {
                let base = places.map(&at(offset / 4096 * 4096, 4096));
                // On a smaller target chunks, here of 3 MiB, overlap.
                let is_behind = base + if region < 10 * GIB { 3 << 20 } else { 0 } >= last;
                assert!(
                    base + 4096 <= region && is_behind && base.is_multiple_of(4096),
                    "{offset} in {region}"
                );
                last = base;
            }
            assert_eq!(places.map(&at(8192, 4096)), places.map(&at(4096, 4096)) + 4096);
            assert!(
                places.map(&at(10 * GIB - 4096, 4096)) + (6 << 20) > region,
                "the whole target is used"
            );
        }
        assert_eq!(Places::scaled(4096, 4096, 1 << 20).map(&at(0, 4096)), 0);
    }
}
