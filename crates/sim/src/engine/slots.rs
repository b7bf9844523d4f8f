//! Open bios: submitted and not done. A bio's slot number is its name in the queue.

use elevator::{Request, Time};

#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) client: u32,
    /// False for write-back.
    pub(super) sync: bool,
    pub(super) request: Request,
    pub(super) asked: Time,
    pub(super) submitted: Time,
}

/// LIFO reuse keeps the working set small.
#[derive(Debug, Default)]
pub(super) struct Slots {
    table: Vec<Option<Slot>>,
    free: Vec<u32>,
}

impl Slots {
    #[inline]
    pub(super) fn put(&mut self, slot: Slot) -> u32 {
        if let Some(number) = self.free.pop() {
            self.table[number as usize] = Some(slot);
            return number;
        }
        self.table.push(Some(slot));
        (self.table.len() - 1) as u32
    }

    #[inline]
    pub(super) fn take(&mut self, number: u32) -> Slot {
        let slot = self.table.get_mut(number as usize).and_then(Option::take);
        self.free.push(number);
        slot.expect("every bio is done once")
    }

    #[inline]
    pub(super) fn used(&self) -> u64 {
        (self.table.len() - self.free.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use elevator::Op;

    use super::*;

    fn slot(client: u32) -> Slot {
        Slot {
            client,
            sync: true,
            request: Request::new(Op::Read, 0, 512),
            asked: Time::ZERO,
            submitted: Time::ZERO,
        }
    }

    #[test]
    fn slots_are_reused_and_their_number_is_that_of_bios_open_at_once() {
        let mut slots = Slots::default();
        for round in 0..100 {
            let [one, two] = [round, round + 1].map(|client| slots.put(slot(client)));
            assert!(one.max(two) < 2 && slots.used() == 2);
            assert_eq!(
                (slots.take(one).client, slots.take(two).client, slots.used()),
                (round, round + 1, 0)
            );
        }
    }

    #[test]
    #[should_panic(expected = "every bio is done once")]
    fn a_bio_that_is_done_twice_is_found() {
        let mut slots = Slots::default();
        let number = slots.put(slot(0));
        slots.take(number);
        slots.take(number);
    }
}
