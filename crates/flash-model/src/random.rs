//! ChaCha8 with 64-bit block counter and stream number: the numbers of `sim::random::Stream`, whose
//! library the guest's driver cannot link.

const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
const DOUBLE_ROUNDS: u32 = 4;
const WORDS: usize = 16;

/// Where a sequence of random numbers begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    pub key: [u8; 32],
    pub stream: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Random {
    input: [u32; WORDS],
    words: [u32; WORDS],
    used: usize,
}

impl Random {
    pub(crate) fn new(origin: Origin) -> Random {
        let mut input = [0; WORDS];
        input[..4].copy_from_slice(&CONSTANTS);
        for (word, bytes) in input[4..12].iter_mut().zip(origin.key.chunks_exact(4)) {
            *word = u32::from_le_bytes(bytes.try_into().expect("a chunk has four bytes"));
        }
        [input[14], input[15]] = [origin.stream as u32, (origin.stream >> 32) as u32];
        Random { input, words: [0; WORDS], used: WORDS }
    }

    fn bits(&mut self) -> u64 {
        if self.used == WORDS {
            self.refill();
        }
        let at = self.used;
        self.used += 2;
        u64::from(self.words[at]) | u64::from(self.words[at + 1]) << 32
    }

    /// Returns a number below `bound`: the high half of a 128-bit product.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    fn refill(&mut self) {
        let mut x = self.input;
        for _ in 0..DOUBLE_ROUNDS {
            for [a, b, c, d] in [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]] {
                quarter_round(&mut x, a, b, c, d);
            }
            for [a, b, c, d] in [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]] {
                quarter_round(&mut x, a, b, c, d);
            }
        }
        for (word, (x, input)) in self.words.iter_mut().zip(x.iter().zip(self.input)) {
            *word = x.wrapping_add(input);
        }
        self.used = 0;
        let block = (u64::from(self.input[12]) | u64::from(self.input[13]) << 32).wrapping_add(1);
        [self.input[12], self.input[13]] = [block as u32, (block >> 32) as u32];
    }
}

fn quarter_round(x: &mut [u32; WORDS], a: usize, b: usize, c: usize, d: usize) {
    for (first, second, shifts) in [(a, b, [16, 12]), (a, b, [8, 7])] {
        x[first] = x[first].wrapping_add(x[second]);
        x[d] = (x[d] ^ x[first]).rotate_left(shifts[0]);
        x[c] = x[c].wrapping_add(x[d]);
        x[second] = (x[second] ^ x[c]).rotate_left(shifts[1]);
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use chacha20::rand_core::{Rng as _, SeedableRng};

    use super::*;

    #[test]
    fn numbers_are_those_of_the_library() {
        for (byte, stream) in [(0, 0), (7, 1), (255, u64::MAX), (93, 0x1234_5678_9abc_def0)] {
            let key = std::array::from_fn(|at| byte ^ at as u8);
            let mut random = Random::new(Origin { key, stream });
            let mut library = ChaCha8Rng::from_seed(key);
            library.set_stream(stream);
            for at in 0..1000 {
                assert_eq!(random.bits(), library.next_u64(), "number {at} of stream {stream}");
            }
        }
    }
}
