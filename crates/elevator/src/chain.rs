//! Queues in order of age that allow removal from the middle, over one table of links. A tag is in
//! at most one of them.
//!
//! Schedulers remove most requests from the middle, by tag. A deque would be searched; links cost a
//! few nanoseconds at any length. For a single queue, [`crate::fifo::Fifo`] combines table and
//! ends; with a queue per process, separate tables would take processes × tags entries.

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chain {
    head: u32,
    tail: u32,
}

impl Default for Chain {
    fn default() -> Chain {
        Chain::EMPTY
    }
}

impl Chain {
    pub(crate) const EMPTY: Chain = Chain { head: NONE, tail: NONE };

    pub(crate) fn oldest(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }
}

/// The neighbours of each tag.
#[derive(Debug, Clone)]
pub(crate) struct Links {
    /// (before, after) by tag. A tag that is in no chain points at itself.
    links: Vec<(u32, u32)>,
}

impl Links {
    /// Room for tags below `nr_tags`; grows.
    pub(crate) fn new(nr_tags: u32) -> Links {
        Links { links: (0..nr_tags).map(|tag| (tag, tag)).collect() }
    }

    pub(crate) fn contains(&self, tag: u32) -> bool {
        self.links.get(tag as usize).is_some_and(|&(before, after)| before != tag && after != tag)
    }

    pub(crate) fn after(&self, tag: u32) -> Option<u32> {
        debug_assert!(self.contains(tag), "tag {tag} is in the list");
        Some(self.links[tag as usize].1).filter(|after| *after != NONE)
    }

    pub(crate) fn before(&self, tag: u32) -> Option<u32> {
        debug_assert!(self.contains(tag), "tag {tag} is in the list");
        Some(self.links[tag as usize].0).filter(|before| *before != NONE)
    }

    pub(crate) fn push_back(&mut self, chain: &mut Chain, tag: u32) {
        self.link(chain, tag, chain.tail, NONE);
    }

    pub(crate) fn push_front(&mut self, chain: &mut Chain, tag: u32) {
        self.link(chain, tag, NONE, chain.head);
    }

    pub(crate) fn insert_before(&mut self, chain: &mut Chain, tag: u32, before: u32) {
        assert!(self.contains(before), "tag {before} is in the list");
        self.link(chain, tag, self.links[before as usize].0, before);
    }

    pub(crate) fn insert_after(&mut self, chain: &mut Chain, tag: u32, after: u32) {
        assert!(self.contains(after), "tag {after} is in the list");
        self.link(chain, tag, after, self.links[after as usize].1);
    }

    pub(crate) fn remove(&mut self, chain: &mut Chain, tag: u32) {
        assert!(self.contains(tag), "tag {tag} is in the list");
        let (before, after) = std::mem::replace(&mut self.links[tag as usize], (tag, tag));
        match before {
            NONE => chain.head = after,
            before => self.links[before as usize].1 = after,
        }
        match after {
            NONE => chain.tail = before,
            after => self.links[after as usize].0 = before,
        }
    }

    fn link(&mut self, chain: &mut Chain, tag: u32, before: u32, after: u32) {
        assert!(!self.contains(tag), "tag {tag} is in the list once at most");
        for grown in self.links.len() as u32..=tag {
            self.links.push((grown, grown));
        }
        self.links[tag as usize] = (before, after);
        match before {
            NONE => chain.head = tag,
            before => self.links[before as usize].1 = tag,
        }
        match after {
            NONE => chain.tail = tag,
            after => self.links[after as usize].0 = tag,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_over_one_table_keep_their_orders() {
        let mut links = Links::new(2);
        let (mut odd, mut even) = (Chain::default(), Chain::default());
        for tag in 0..6 {
            links.push_back(if tag % 2 == 0 { &mut even } else { &mut odd }, tag);
        }
        links.remove(&mut odd, 5);
        links.insert_before(&mut odd, 5, 1);
        links.remove(&mut even, 2);
        let mut drain = |chain: &mut Chain| {
            std::iter::from_fn(|| chain.oldest().inspect(|tag| links.remove(chain, *tag)))
                .collect::<Vec<_>>()
        };
        assert_eq!((drain(&mut odd), drain(&mut even)), (vec![5, 1, 3], vec![0, 4]));
        assert_eq!((odd, even), (Chain::default(), Chain::default()));
    }
}
