//! The pieces that are open: handed over and not done. The number of a slot is the piece's name in the queue.

use elevator::{Request, Time};

/// A piece of I/O on its way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) client: u32,
    /// Whether the client waits for it; false for write-back.
    pub(super) sync: bool,
    pub(super) request: Request,
    pub(super) submitted: Time,
}

/// All of them. Slots are reused, the youngest first, so that few are touched where few are open.
#[derive(Debug, Default)]
pub(super) struct Slots {
    table: Vec<Option<Slot>>,
    free: Vec<u32>,
}

impl Slots {
    /// Keeps a piece; its number.
    #[inline]
    pub(super) fn put(&mut self, slot: Slot) -> u32 {
        if let Some(number) = self.free.pop() {
            self.table[number as usize] = Some(slot);
            return number;
        }
        self.table.push(Some(slot));
        (self.table.len() - 1) as u32
    }

    /// Takes a piece that is done.
    #[inline]
    pub(super) fn take(&mut self, number: u32) -> Slot {
        let slot = self.table.get_mut(number as usize).and_then(Option::take);
        self.free.push(number);
        slot.expect("every piece is done once")
    }

    /// How many are open.
    #[inline]
    pub(super) fn used(&self) -> u64 {
        (self.table.len() - self.free.len()) as u64
    }
}
