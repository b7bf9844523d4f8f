//! A queue in order of arrival that allows removal from the middle: one chain with its own table of
//! links.

use crate::chain::{Chain, Links};

/// Each tag at most once.
#[derive(Debug, Clone)]
pub(crate) struct Fifo {
    links: Links,
    chain: Chain,
    len: usize,
}

impl Fifo {
    /// Room for tags below `nr_tags`; grows.
    pub(crate) fn new(nr_tags: u32) -> Fifo {
        Fifo { links: Links::new(nr_tags), chain: Chain::default(), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn head(&self) -> Option<u32> {
        self.chain.oldest()
    }

    pub(crate) fn after(&self, tag: u32) -> Option<u32> {
        self.links.after(tag)
    }

    pub(crate) fn before(&self, tag: u32) -> Option<u32> {
        self.links.before(tag)
    }

    pub(crate) fn contains(&self, tag: u32) -> bool {
        self.links.contains(tag)
    }

    pub(crate) fn push_back(&mut self, tag: u32) {
        self.links.push_back(&mut self.chain, tag);
        self.len += 1;
    }

    pub(crate) fn push_front(&mut self, tag: u32) {
        self.links.push_front(&mut self.chain, tag);
        self.len += 1;
    }

    pub(crate) fn insert_before(&mut self, tag: u32, before: u32) {
        self.links.insert_before(&mut self.chain, tag, before);
        self.len += 1;
    }

    pub(crate) fn insert_after(&mut self, tag: u32, after: u32) {
        self.links.insert_after(&mut self.chain, tag, after);
        self.len += 1;
    }

    pub(crate) fn remove(&mut self, tag: u32) {
        self.links.remove(&mut self.chain, tag);
        self.len -= 1;
    }

    pub(crate) fn pop_front(&mut self) -> Option<u32> {
        let head = self.head()?;
        self.remove(head);
        Some(head)
    }

    /// Oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.head(), |tag| self.after(*tag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_come_out_in_order_of_arrival_also_after_one_left_from_the_middle() {
        let mut fifo = Fifo::new(2);
        [3, 1, 4].into_iter().for_each(|tag| fifo.push_back(tag));
        fifo.push_front(9);
        fifo.insert_before(5, 1);
        fifo.insert_after(7, 9);
        assert_eq!(fifo.iter().collect::<Vec<_>>(), [9, 7, 3, 5, 1, 4]);
        assert_eq!([fifo.before(9), fifo.before(7), fifo.before(4)], [None, Some(9), Some(1)]);
        [3, 9, 4].into_iter().for_each(|tag| fifo.remove(tag));
        assert_eq!((fifo.len(), fifo.head(), fifo.after(1)), (3, Some(7), None));
        fifo.push_back(3);
        assert_eq!(std::iter::from_fn(|| fifo.pop_front()).collect::<Vec<_>>(), [7, 5, 1, 3]);
        assert!(fifo.is_empty() && fifo.head().is_none());
    }
}
