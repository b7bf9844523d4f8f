//! Page-aligned memory for requests.
//!
//! A memory map is page-aligned without unsafe code, as direct I/O needs. Write buffers contain
//! pseudo-random bytes, because some devices compress or deduplicate patterns.

use memmap2::MmapMut;

use crate::EngineError;

/// Contiguous, `depth` requests of `size` bytes each.
#[derive(Debug)]
pub(super) struct Buffer {
    map: MmapMut,
}

impl Buffer {
    /// Populated, to avoid page faults later; with `seed`, filled with incompressible bytes.
    pub(super) fn new(size: u32, depth: u32, seed: Option<u64>) -> Result<Buffer, EngineError> {
        let bytes = size as usize * depth as usize;
        let mut map = MmapMut::map_anon(bytes).map_err(|cause| EngineError::Setup {
            doing: "cannot map memory for requests",
            cause,
            next: "use a smaller block_size or iodepth",
        })?;
        match seed {
            Some(seed) => fill_random(&mut map, seed),
            None => map.fill(0),
        }
        Ok(Buffer { map })
    }

    pub(super) fn bytes(&mut self, len: u32) -> &mut [u8] {
        &mut self.map[..len as usize]
    }

    pub(super) fn all(&mut self) -> &mut [u8] {
        &mut self.map
    }
}

/// Uses SplitMix64; not for secrets.
pub(super) fn fill_random(bytes: &mut [u8], seed: u64) {
    let mut state = seed;
    for chunk in bytes.chunks_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let word = (z ^ (z >> 31)).to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_page_aligned_as_direct_io_needs() {
        let mut buffer = Buffer::new(512, 3, None).unwrap();
        assert_eq!(buffer.all().as_ptr() as usize % 4096, 0);
        assert_eq!(buffer.all().len(), 1536);
        assert_eq!(buffer.bytes(512).len(), 512);
    }

    #[test]
    fn random_bytes_use_all_values_about_equally() {
        let mut bytes = vec![0; 256 * 64];
        fill_random(&mut bytes, 7);
        let mut counts = [0u32; 256];
        bytes.iter().for_each(|&byte| counts[byte as usize] += 1);
        assert!(counts.iter().all(|&n| (24..120).contains(&n)), "{counts:?}");
    }
}
