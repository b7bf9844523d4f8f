//! Sorts the requests of a live disk, delivered at completion, by queueing time.

use std::collections::BTreeMap;

use crate::io::Io;

/// Beyond it the earliest are released early.
const HELD_BACK: usize = 1 << 20;

#[derive(Debug, Clone, Default)]
pub struct InOrder {
    held: BTreeMap<(u64, u64), Io>,
    number: u64,
}

impl InOrder {
    pub fn push(&mut self, io: &Io) {
        self.held.insert((io.queued, self.number), *io);
        self.number += 1;
    }

    /// Releases requests queued before `before_ns`.
    pub fn release(&mut self, before_ns: u64, each: &mut dyn FnMut(&Io)) {
        while let Some(first) = self.held.first_entry()
            && (first.key().0 < before_ns || self.held.len() > HELD_BACK)
        {
            if let Some((_, io)) = self.held.pop_first() {
                each(&io);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::Kind;

    #[test]
    fn requests_come_out_in_the_order_in_which_they_were_queued() {
        let mut order = InOrder::default();
        let queued = [30, 10, 20, 10, 40];
        queued.iter().for_each(|at| order.push(&Io::new(*at, Kind::Read, 0, 8, 0)));
        let mut out = Vec::new();
        order.release(30, &mut |io| out.push(io.queued));
        assert_eq!(out, [10, 10, 20]);
        order.push(&Io::new(35, Kind::Read, 0, 8, 0));
        order.release(u64::MAX, &mut |io| out.push(io.queued));
        assert_eq!(out, [10, 10, 20, 30, 35, 40]);
    }
}
