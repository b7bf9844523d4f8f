//! A queue in order of arrival from whose middle requests can be taken: links in a table indexed by tag.
//!
//! Schedulers take most requests out of their FIFO from the middle, by tag. A deque would have to be searched; links cost a
//! few nanoseconds at any length.

const NONE: u32 = u32::MAX;

/// Tags in order of arrival. A tag is in it at most once.
#[derive(Debug, Clone)]
pub(crate) struct Fifo {
    /// (previous, next) by tag; a tag that is not in the list points at itself.
    links: Vec<(u32, u32)>,
    head: u32,
    tail: u32,
    len: usize,
}

impl Fifo {
    /// Room for the tags below `nr_tags`; it grows by itself if a larger one comes.
    pub(crate) fn new(nr_tags: u32) -> Fifo {
        let links = (0..nr_tags).map(|tag| (tag, tag)).collect();
        Fifo { links, head: NONE, tail: NONE, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The oldest.
    pub(crate) fn head(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// The one that came after `tag`.
    pub(crate) fn after(&self, tag: u32) -> Option<u32> {
        debug_assert!(self.contains(tag), "tag {tag} is in the list");
        Some(self.links[tag as usize].1).filter(|next| *next != NONE)
    }

    /// The one that came before `tag`.
    pub(crate) fn before(&self, tag: u32) -> Option<u32> {
        debug_assert!(self.contains(tag), "tag {tag} is in the list");
        Some(self.links[tag as usize].0).filter(|prev| *prev != NONE)
    }

    pub(crate) fn contains(&self, tag: u32) -> bool {
        self.links.get(tag as usize).is_some_and(|&(prev, next)| prev != tag && next != tag)
    }

    /// Appends the youngest.
    pub(crate) fn push_back(&mut self, tag: u32) {
        self.link(tag, self.tail, NONE);
    }

    /// Puts `tag` before all others.
    pub(crate) fn push_front(&mut self, tag: u32) {
        self.link(tag, NONE, self.head);
    }

    /// Puts `tag` right before `before`, which is in the list.
    pub(crate) fn insert_before(&mut self, tag: u32, before: u32) {
        assert!(self.contains(before), "tag {before} is in the list");
        self.link(tag, self.links[before as usize].0, before);
    }

    /// Puts `tag` right after `after`, which is in the list.
    pub(crate) fn insert_after(&mut self, tag: u32, after: u32) {
        assert!(self.contains(after), "tag {after} is in the list");
        self.link(tag, after, self.links[after as usize].1);
    }

    /// Takes `tag` out, wherever it stands.
    pub(crate) fn remove(&mut self, tag: u32) {
        assert!(self.contains(tag), "tag {tag} is in the list");
        let (prev, next) = self.links[tag as usize];
        match prev {
            NONE => self.head = next,
            prev => self.links[prev as usize].1 = next,
        }
        match next {
            NONE => self.tail = prev,
            next => self.links[next as usize].0 = prev,
        }
        self.links[tag as usize] = (tag, tag);
        self.len -= 1;
    }

    /// Takes the oldest.
    pub(crate) fn pop_front(&mut self) -> Option<u32> {
        let head = self.head()?;
        self.remove(head);
        Some(head)
    }

    /// All tags, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.head(), |tag| self.after(*tag))
    }

    fn link(&mut self, tag: u32, prev: u32, next: u32) {
        assert!(!self.contains(tag), "tag {tag} is in the list once at most");
        for grown in self.links.len() as u32..=tag {
            self.links.push((grown, grown));
        }
        self.links[tag as usize] = (prev, next);
        match prev {
            NONE => self.head = tag,
            prev => self.links[prev as usize].1 = tag,
        }
        match next {
            NONE => self.tail = tag,
            next => self.links[next as usize].0 = tag,
        }
        self.len += 1;
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
