//! PostMark's file table: twice as many slots as files, and its search order for free ones [C
//! postmark-1.53.c].

use super::allocator::Run;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct File {
    /// Number in order of creation, from 1.
    pub(super) number: u32,
    /// 0: the slot is free.
    pub(super) size: u32,
    pub(super) directory: u32,
    pub(super) runs: Vec<Run>,
}

#[derive(Debug)]
pub(super) struct FileTable {
    slots: Vec<File>,
    /// Tried first.
    next: usize,
    in_use: u32,
}

impl FileTable {
    pub(super) fn new(slots: usize) -> FileTable {
        FileTable { slots: vec![File::default(); slots], next: 0, in_use: 0 }
    }

    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn in_use(&self) -> u32 {
        self.in_use
    }

    pub(super) fn get(&self, slot: usize) -> &File {
        &self.slots[slot]
    }

    pub(super) fn is_used(&self, slot: usize) -> bool {
        self.slots[slot].size > 0
    }

    /// The next slot if free, otherwise the first free one.
    pub(super) fn find_free(&mut self) -> Option<usize> {
        let slot = match self.slots.get(self.next) {
            Some(file) if file.size == 0 => self.next,
            _ => self.slots.iter().position(|file| file.size == 0)?,
        };
        self.next = slot + 1;
        Some(slot)
    }

    pub(super) fn put(&mut self, slot: usize, file: File) {
        assert!(file.size > 0 && !self.is_used(slot), "a new file has contents and a free slot");
        self.slots[slot] = file;
        self.in_use += 1;
    }

    pub(super) fn grow(&mut self, slot: usize, bytes: u32, runs: Vec<Run>) {
        let file = &mut self.slots[slot];
        file.size += bytes;
        for run in runs {
            match file.runs.last_mut() {
                Some(last) if last.end() == run.start => last.len += run.len,
                _ => file.runs.push(run),
            }
        }
    }

    pub(super) fn remove(&mut self, slot: usize) -> File {
        assert!(self.is_used(slot), "only what is there can be deleted");
        self.in_use -= 1;
        std::mem::take(&mut self.slots[slot])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(size: u32) -> File {
        File { size, ..File::default() }
    }

    #[test]
    fn free_slots_are_found_going_on_and_then_from_the_start() {
        let mut table = FileTable::new(4);
        for wanted in 0..4 {
            let slot = table.find_free().unwrap();
            assert_eq!(slot, wanted);
            table.put(slot, file(1));
        }
        assert_eq!(table.find_free(), None);
        table.remove(1);
        table.remove(2);
        assert_eq!(table.find_free(), Some(1), "at the end of the table: from its start");
        table.put(1, file(1));
        table.remove(0);
        assert_eq!(
            table.find_free(),
            Some(2),
            "the next one is free, although an earlier one is too"
        );
        assert_eq!(table.in_use(), 2);
    }

    #[test]
    fn a_file_that_grows_in_place_stays_one_run() {
        let mut table = FileTable::new(1);
        table.put(
            0,
            File { number: 1, size: 1000, directory: 0, runs: vec![Run { start: 5, len: 2 }] },
        );
        table.grow(0, 500, vec![Run { start: 7, len: 1 }, Run { start: 20, len: 1 }]);
        assert_eq!(table.get(0).runs, [Run { start: 5, len: 3 }, Run { start: 20, len: 1 }]);
        assert_eq!(table.get(0).size, 1500);
    }
}
