//! Held requests by start or end sector: a hash table with chains linked through the tags, like the
//! kernel's elv_rqhash. A tree would cost more than the rest of the queue.
//!
//! The hash function is fixed and chains are youngest first, so the same input gives the same
//! output. Nothing iterates over the table.

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Link {
    key: u64,
    prev: u32,
    next: u32,
}

#[derive(Debug)]
pub(super) struct Index {
    buckets: Vec<u32>,
    links: Vec<Link>,
    shift: u32,
}

impl Index {
    pub(super) fn new(nr_tags: u32) -> Index {
        let bits = (2 * u64::from(nr_tags)).next_power_of_two().trailing_zeros();
        Index {
            buckets: vec![NONE; 1 << bits],
            links: vec![Link { key: 0, prev: NONE, next: NONE }; nr_tags as usize],
            shift: 64 - bits,
        }
    }

    /// `tag` must not be present.
    pub(super) fn insert(&mut self, direction: usize, sector: u64, tag: u32) {
        let key = key(direction, sector);
        let bucket = self.bucket(key);
        let next = self.buckets[bucket];
        self.links[tag as usize] = Link { key, prev: NONE, next };
        if next != NONE {
            self.links[next as usize].prev = tag;
        }
        self.buckets[bucket] = tag;
    }

    /// `tag` must be present.
    pub(super) fn remove(&mut self, tag: u32) {
        let Link { key, prev, next } = self.links[tag as usize];
        match prev {
            NONE => {
                let bucket = self.bucket(key);
                debug_assert_eq!(self.buckets[bucket], tag, "a chain begins with its first tag");
                self.buckets[bucket] = next;
            }
            prev => self.links[prev as usize].next = next,
        }
        if next != NONE {
            self.links[next as usize].prev = prev;
        }
    }

    /// Youngest first.
    pub(super) fn tags_at(&self, direction: usize, sector: u64) -> impl Iterator<Item = u32> + '_ {
        let key = key(direction, sector);
        let mut tag = self.buckets[self.bucket(key)];
        std::iter::from_fn(move || {
            while tag != NONE {
                let (at, link) = (tag, self.links[tag as usize]);
                tag = link.next;
                if link.key == key {
                    return Some(at);
                }
            }
            None
        })
    }

    fn bucket(&self, key: u64) -> usize {
        // Fibonacci hashing spreads arithmetic sequences such as sectors.
        (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }
}

fn key(direction: usize, sector: u64) -> u64 {
    sector << 1 | direction as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_found_by_direction_and_sector_the_youngest_first() {
        let mut index = Index::new(4);
        index.insert(0, 100, 0);
        index.insert(0, 100, 2);
        index.insert(1, 100, 1);
        index.insert(0, 108, 3);
        let at =
            |index: &Index, direction, sector| index.tags_at(direction, sector).collect::<Vec<_>>();
        assert_eq!(
            [at(&index, 0, 100), at(&index, 1, 100), at(&index, 0, 104)],
            [vec![2, 0], vec![1], vec![]]
        );
        index.remove(2);
        assert_eq!(at(&index, 0, 100), [0]);
        [0, 1, 3].iter().for_each(|tag| index.remove(*tag));
        assert!(index.buckets.iter().all(|bucket| *bucket == NONE));
    }
}
