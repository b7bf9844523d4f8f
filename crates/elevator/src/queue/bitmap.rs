//! blk-mq's tag bitmap (sbitmap), as far as it determines who waits.
//!
//! A request may find no tag although one is free. It then takes its turn at the wait queues
//! (`wait_queues.rs`) before its second search succeeds, so later waiters sleep in other queues.
//! Reason: a search starts at the hint, the tag after the last one allocated, and skips the bits of
//! the first word below it (round-robin). A failed search resets the hint to 0.
//!
//! Source: Debian's Linux 6.1.192 and 6.12.117 lib/sbitmap.c; confirmed. libata requests
//! round-robin (include/linux/libata.h). Departures: always round-robin, although NVMe's searches
//! do wrap; limits count by kind of request (`tags.rs`), not by bits of a word.

/// 64, or fewer to get four words.
pub(super) fn word(tags: u32) -> u32 {
    let mut bits = 64;
    while tags >= 4 && 4 * bits > tags {
        bits /= 2;
    }
    bits
}

/// Since this version, a shallow depth applies to all words together.
pub(super) const PROPORTIONAL: u64 = 612;

#[derive(Debug, Clone, Copy, Default)]
struct Word {
    taken: u64,
    /// The kernel's `cleared`.
    cleared: u64,
}

impl Word {
    /// Takes a bit; if none is free, sbitmap_deferred_clear moves the freed bits over first.
    fn take(&mut self, depth: u32, hint: u32) -> Option<u32> {
        let usable = (u64::MAX >> (64 - depth)) & (u64::MAX << hint);
        if !self.taken & usable == 0 {
            self.taken &= !std::mem::take(&mut self.cleared);
        }
        let free = !self.taken & usable;
        (free != 0).then(|| {
            let bit = free.trailing_zeros();
            self.taken |= 1 << bit;
            bit
        })
    }

    /// Wraps from `hint` to the beginning.
    fn take_wrapping(&mut self, depth: u32, hint: u32) -> Option<u32> {
        let usable = 1u64.checked_shl(depth).map_or(u64::MAX, |bit| bit - 1);
        if !self.taken & usable == 0 {
            self.taken &= !std::mem::take(&mut self.cleared);
        }
        let free = !self.taken & usable;
        let above = free & u64::MAX.checked_shl(hint).unwrap_or(0);
        let bit = if above != 0 { above } else { free }.trailing_zeros();
        (free != 0).then(|| {
            self.taken |= 1 << bit;
            bit
        })
    }
}

#[derive(Debug)]
pub(super) struct Bitmap {
    words: Vec<Word>,
    bits: u32,
    /// log2 of `bits`, to avoid a division.
    shift: u32,
    depth: u32,
    hint: u32,
}

impl Bitmap {
    pub(super) fn new(depth: u32) -> Bitmap {
        let bits = word(depth);
        let words = vec![Word::default(); depth.div_ceil(bits) as usize];
        Bitmap { words, bits, shift: bits.trailing_zeros(), depth, hint: 0 }
    }

    /// sbitmap_get. A failed search resets the hint.
    pub(super) fn search(&mut self) -> Option<u32> {
        let nr_words = self.words.len() as u32;
        let (first, hint) = (self.hint >> self.shift, self.hint & (self.bits - 1));
        let mut found = None;
        for step in 0..nr_words {
            let index =
                if first + step < nr_words { first + step } else { first + step - nr_words };
            let depth = self.bits.min(self.depth - index * self.bits);
            found = self.words[index as usize].take(depth, if step == 0 { hint } else { 0 });
            if let Some(bit) = found {
                found = Some(index * self.bits + bit);
                break;
            }
        }
        self.hint = found.map_or(0, |tag| tag + 1);
        if self.hint + 1 >= self.depth {
            self.hint = 0;
        }
        found
    }

    /// sbitmap_get_shallow: bits per word in 6.1, in total in 6.12.
    pub(super) fn search_shallow(&mut self, shallow: u32, linux: u64) -> Option<u32> {
        let nr_words = self.words.len() as u32;
        let (first, hint) = (self.hint / self.bits, self.hint % self.bits);
        let found = (0..nr_words).find_map(|step| {
            let index =
                if first + step < nr_words { first + step } else { first + step - nr_words };
            let depth = self.part_of_word(index, shallow, linux);
            let hint = if step == 0 { hint } else { 0 };
            let bit = self.words[index as usize].take_wrapping(depth, hint)?;
            Some(index * self.bits + bit)
        });
        self.hint = found.map_or(0, |tag| tag + 1);
        if self.hint + 1 >= self.depth {
            self.hint = 0;
        }
        found
    }

    /// Bits of a word to search. If `shallow` is below the number of words, only the first words
    /// have one.
    fn part_of_word(&self, index: u32, shallow: u32, linux: u64) -> u32 {
        let depth = self.bits.min(self.depth - index * self.bits);
        if shallow >= self.depth || linux < PROPORTIONAL {
            return depth.min(shallow);
        }
        let (part, rest) = (depth * shallow / self.depth, depth * shallow % self.depth);
        part + u32::from(rest >= (index + 1) * depth)
    }

    /// A limit of the scheduler is reached.
    pub(super) fn search_in_vain(&mut self) {
        self.hint = 0;
    }

    pub(super) fn free(&mut self, tag: u32) {
        self.words[(tag >> self.shift) as usize].cleared |= 1 << (tag & (self.bits - 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 32 tags in four words, all taken; hint 0.
    fn full() -> Bitmap {
        let mut bitmap = Bitmap::new(32);
        (0..32).for_each(|tag| assert_eq!(bitmap.search(), Some(tag)));
        assert_eq!(bitmap.search(), None);
        bitmap
    }

    #[test]
    fn tags_are_taken_in_turn_and_freed_ones_only_after_the_others_of_their_word() {
        let mut bitmap = Bitmap::new(32);
        (0..3).for_each(|tag| assert_eq!(bitmap.search(), Some(tag)));
        bitmap.free(1);
        (3..31).for_each(|tag| assert_eq!(bitmap.search(), Some(tag)));
        assert_eq!(
            bitmap.search(),
            Some(1),
            "the hint does not reach the last tag, and a full word moves its freed bits"
        );
        assert_eq!(bitmap.search(), Some(31));
    }

    #[test]
    fn a_free_tag_below_the_hint_in_its_word_is_found_by_the_second_search_only() {
        let mut bitmap = full();
        bitmap.free(12);
        assert_eq!(bitmap.search(), Some(12));
        bitmap.free(9);
        assert_eq!((bitmap.search(), bitmap.search()), (None, Some(9)));
        bitmap.free(9);
        bitmap.free(17);
        assert_eq!((bitmap.search(), bitmap.search(), bitmap.search()), (Some(17), Some(9), None));
    }

    #[test]
    fn a_bitmap_that_no_word_divides_has_a_shorter_last_word() {
        let mut bitmap = Bitmap::new(67);
        (0..67).for_each(|tag| assert_eq!(bitmap.search(), Some(if tag == 66 { 66 } else { tag })));
        assert_eq!(bitmap.search(), None);
        let mut one = Bitmap::new(1);
        assert_eq!((one.search(), one.search()), (Some(0), None));
        one.free(0);
        assert_eq!(one.search(), Some(0));
    }

    #[test]
    fn a_shallow_search_takes_bits_at_the_beginning_of_each_word_or_of_the_first() {
        for (linux, shallow, expected) in
            [(601, 1, vec![0, 8, 16, 24]), (612, 1, vec![0]), (612, 5, vec![0, 1, 8, 16, 24])]
        {
            let mut bitmap = Bitmap::new(32);
            let found: Vec<u32> =
                std::iter::from_fn(|| bitmap.search_shallow(shallow, linux)).collect();
            assert_eq!(found, expected, "{shallow} in {linux}");
            bitmap.free(8);
            bitmap.free(0);
            assert_eq!(
                bitmap.search_shallow(shallow, linux),
                Some(0),
                "what was freed last is no hint"
            );
        }
    }
}
