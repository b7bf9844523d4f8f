//! Many queues in order of age over one table of links: a tag is in one of them at most.
//!
//! A [`crate::fifo::Fifo`] has a table of its own; with a queue for each process that would be processes times tags.

const NONE: u32 = u32::MAX;

/// The ends of one queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chain {
    head: u32,
    tail: u32,
}

impl Default for Chain {
    fn default() -> Chain {
        Chain { head: NONE, tail: NONE }
    }
}

impl Chain {
    /// The tag that came first.
    pub(super) fn oldest(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }
}

/// What comes before and after each tag.
#[derive(Debug)]
pub(super) struct Links {
    links: Vec<(u32, u32)>,
}

impl Links {
    pub(super) fn new(nr_tags: u32) -> Links {
        Links { links: vec![(NONE, NONE); nr_tags as usize] }
    }

    /// Appends the youngest.
    pub(super) fn push_back(&mut self, chain: &mut Chain, tag: u32) {
        self.link(chain, tag, chain.tail, NONE);
    }

    /// Puts `tag` right before `before`, which is in this chain.
    pub(super) fn insert_before(&mut self, chain: &mut Chain, tag: u32, before: u32) {
        self.link(chain, tag, self.links[before as usize].0, before);
    }

    /// Takes `tag` out of this chain.
    pub(super) fn remove(&mut self, chain: &mut Chain, tag: u32) {
        let (before, after) = self.links[tag as usize];
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
        if tag as usize >= self.links.len() {
            self.links.resize(tag as usize + 1, (NONE, NONE));
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
            std::iter::from_fn(|| chain.oldest().inspect(|tag| links.remove(chain, *tag))).collect::<Vec<_>>()
        };
        assert_eq!((drain(&mut odd), drain(&mut even)), (vec![5, 1, 3], vec![0, 4]));
        assert_eq!((odd, even), (Chain::default(), Chain::default()));
    }
}
