//! File placement: first fit within a directory's group of blocks [P].
//!
//! PostMark leaves placement to the file system. This simple one does what a disk notices: files of
//! a directory are close, holes are filled from the front, and files without a large enough hole
//! are fragmented. A full group spills into the following ones. Units are file system blocks.

use std::collections::BTreeMap;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) start: u64,
    /// Never 0.
    pub(super) len: u64,
}

impl Run {
    pub(super) fn end(self) -> u64 {
        self.start + self.len
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Allocator {
    groups: Vec<Group>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    start: u64,
    /// Holes by their first block; no two touch.
    holes: BTreeMap<u64, u64>,
}

impl Allocator {
    /// All free, ascending, disjoint.
    pub(super) fn new(groups: impl IntoIterator<Item = Run>) -> Allocator {
        let group =
            |run: Run| Group { start: run.start, holes: BTreeMap::from([(run.start, run.len)]) };
        Allocator { groups: groups.into_iter().map(group).collect() }
    }

    pub(super) fn free(&self) -> u64 {
        self.groups.iter().flat_map(|group| group.holes.values()).sum()
    }

    /// Prefers the blocks after `last`, then the first hole that fits, then the first holes.
    /// `None`, with nothing allocated, if too few are free.
    pub(super) fn take(
        &mut self,
        directory: usize,
        len: u64,
        last: Option<Run>,
    ) -> Option<Vec<Run>> {
        if self.free() < len {
            return None;
        }
        let mut taken = Vec::new();
        let mut left = len;
        if let Some(at) = last.map(Run::end)
            && let Some(group) = self.group_of(at)
            && let Some(&hole) = self.groups[group].holes.get(&at)
        {
            let run = Run { start: at, len: hole.min(left) };
            self.groups[group].cut(run);
            left -= run.len;
            taken.push(run);
        }
        while left > 0 {
            let (group, run) =
                self.fit(directory, left).expect("as many blocks are free as are asked for");
            self.groups[group].cut(run);
            left -= run.len;
            taken.push(run);
        }
        Some(taken)
    }

    pub(super) fn release(&mut self, run: Run) {
        let group = self.group_of(run.start).expect("a run lies in a group");
        self.groups[group].fill(run);
    }

    /// Starts with the directory's group; otherwise any hole.
    fn fit(&self, directory: usize, len: u64) -> Option<(usize, Run)> {
        let count = self.groups.len();
        let order = (0..count).map(|step| (directory + step) % count);
        let holes = |group: usize| {
            self.groups[group].holes.iter().map(move |(&start, &len)| (group, Run { start, len }))
        };
        let whole = order.clone().flat_map(holes).find(|(_, hole)| hole.len >= len);
        whole
            .map(|(group, hole)| (group, Run { len, ..hole }))
            .or_else(|| order.flat_map(holes).next())
    }

    fn group_of(&self, block: u64) -> Option<usize> {
        self.groups.partition_point(|group| group.start <= block).checked_sub(1)
    }
}

impl Group {
    fn cut(&mut self, run: Run) {
        let hole = self.holes.remove(&run.start).expect("runs are taken from the front of a hole");
        if hole > run.len {
            self.holes.insert(run.end(), hole - run.len);
        }
    }

    fn fill(&mut self, run: Run) {
        let Run { mut start, mut len } = run;
        if let Some((&before, &its)) = self.holes.range(..start).next_back()
            && before + its == start
        {
            self.holes.remove(&before);
            (start, len) = (before, its + len);
        }
        if let Some(after) = self.holes.remove(&(start + len)) {
            len += after;
        }
        self.holes.insert(start, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn two_groups() -> Allocator {
        Allocator::new([Run { start: 10, len: 20 }, Run { start: 40, len: 20 }])
    }

    #[test]
    fn holes_are_filled_from_the_front_of_the_own_directory() {
        let mut allocator = two_groups();
        let first = allocator.take(1, 5, None).unwrap();
        allocator.take(1, 5, None).unwrap();
        assert_eq!(first, [Run { start: 40, len: 5 }]);
        allocator.release(first[0]);
        assert_eq!(
            allocator.take(1, 6, None).unwrap(),
            [Run { start: 50, len: 6 }],
            "the first hole is too small"
        );
        assert_eq!(allocator.take(1, 4, None).unwrap(), [Run { start: 40, len: 4 }]);
        assert_eq!(
            allocator.take(1, 5, None).unwrap(),
            [Run { start: 10, len: 5 }],
            "its own group has no hole of 5"
        );
    }

    #[test]
    fn a_file_grows_in_place_where_it_can() {
        let mut allocator = two_groups();
        let file = allocator.take(0, 3, None).unwrap()[0];
        assert_eq!(allocator.take(0, 2, Some(file)).unwrap(), [Run { start: 13, len: 2 }]);
        assert_eq!(
            allocator.take(0, 1, Some(file)).unwrap(),
            [Run { start: 15, len: 1 }],
            "13 is no longer free"
        );
    }

    #[test]
    fn what_fits_no_hole_is_cut_into_pieces_and_what_fits_nowhere_takes_nothing() {
        let mut allocator = two_groups();
        assert_eq!(
            allocator.take(0, 30, None).unwrap(),
            [Run { start: 10, len: 20 }, Run { start: 40, len: 10 }]
        );
        assert_eq!(allocator.take(0, 11, None), None);
        assert_eq!(allocator.free(), 10);
    }

    proptest! {
        #[test]
        fn no_block_is_ever_in_two_files_and_none_is_lost(
            steps in proptest::collection::vec((any::<bool>(), 0usize..2, 1u64..15, any::<proptest::sample::Index>()), 1..80),
        ) {
            let mut allocator = two_groups();
            let mut files: Vec<Vec<Run>> = Vec::new();
            for (create, directory, len, which) in steps {
                if create || files.is_empty() {
                    let grows = (len % 3 == 0 && !files.is_empty()).then(|| which.index(files.len()));
                    let last = grows.and_then(|file| files[file].last().copied());
                    let Some(runs) = allocator.take(directory, len, last) else {
                        prop_assert!(allocator.free() < len);
                        continue;
                    };
                    prop_assert_eq!(runs.iter().map(|run| run.len).sum::<u64>(), len);
                    match grows {
                        Some(file) => files[file].extend(runs),
                        None => files.push(runs),
                    }
                } else {
                    let file = files.swap_remove(which.index(files.len()));
                    file.into_iter().for_each(|run| allocator.release(run));
                }
                let mut owner = [0u32; 70];
                for run in files.iter().flatten() {
                    (run.start..run.end()).for_each(|block| owner[block as usize] += 1);
                }
                prop_assert!(owner.iter().all(|&files| files <= 1), "a block in two files");
                let used: u64 = files.iter().flatten().map(|run| run.len).sum();
                prop_assert_eq!(used + allocator.free(), 40);
                prop_assert!(files.iter().flatten().all(|run| (10..30).contains(&run.start) && run.end() <= 30 || run.start >= 40 && run.end() <= 60));
            }
            files.into_iter().flatten().for_each(|run| allocator.release(run));
            prop_assert_eq!(allocator, two_groups(), "holes that touch become one");
        }
    }
}
