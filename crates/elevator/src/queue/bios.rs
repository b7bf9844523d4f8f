//! The bios of each request: a slab of parts, linked per request in order of submission.
//!
//! A bio that fits in one request is one part. A larger one has several; its first part represents
//! it and counts the unfinished ones. The slab allocates only while it grows.

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Part {
    cookie: u64,
    /// Parts submitted before it.
    order: u64,
    /// The first part, possibly itself.
    bio: u32,
    /// Unfinished parts, in the first part.
    left: u32,
    /// The next part of the request, or the next free entry.
    next: u32,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct List {
    head: u32,
    tail: u32,
}

#[derive(Debug)]
pub(super) struct Bios {
    parts: Vec<Part>,
    free: u32,
    submitted: u64,
}

impl Bios {
    pub(super) fn new() -> Bios {
        Bios { parts: Vec::new(), free: NONE, submitted: 0 }
    }

    #[inline]
    pub(super) fn first(&mut self, cookie: u64, nr_parts: u32) -> u32 {
        let at = self.put(Part { cookie, order: 0, bio: 0, left: nr_parts, next: NONE });
        self.parts[at as usize].bio = at;
        at
    }

    pub(super) fn further(&mut self, first: u32) -> u32 {
        self.put(Part { cookie: 0, order: 0, bio: first, left: 0, next: NONE })
    }

    pub(super) fn order(&self, part: u32) -> u64 {
        self.parts[part as usize].order
    }

    pub(super) fn list(part: u32) -> List {
        List { head: part, tail: part }
    }

    pub(super) fn append(&mut self, list: &mut List, part: u32) {
        debug_assert!(
            self.order(list.tail) < self.order(part),
            "parts join a request in order of submission"
        );
        self.parts[list.tail as usize].next = part;
        list.tail = part;
    }

    /// Merges two lists by order of submission.
    pub(super) fn join(&mut self, a: List, b: List) -> List {
        let (mut a, mut b) = (a.head, b.head);
        let mut joined = List { head: NONE, tail: NONE };
        while a != NONE || b != NONE {
            let from_a = b == NONE || (a != NONE && self.order(a) < self.order(b));
            let from = if from_a { &mut a } else { &mut b };
            let part = *from;
            *from = self.parts[part as usize].next;
            match joined.tail {
                NONE => joined.head = part,
                tail => self.parts[tail as usize].next = part,
            }
            joined.tail = part;
        }
        joined
    }

    /// Appends the cookies of finished bios.
    pub(super) fn finish(&mut self, list: List, done: &mut Vec<u64>) {
        let mut at = list.head;
        while at != NONE {
            let Part { bio, next, .. } = self.parts[at as usize];
            let first = &mut self.parts[bio as usize];
            first.left -= 1;
            let (left, cookie) = (first.left, first.cookie);
            if at != bio {
                self.release(at);
            }
            if left == 0 {
                done.push(cookie);
                self.release(bio);
            }
            at = next;
        }
    }

    fn put(&mut self, part: Part) -> u32 {
        let part = Part { order: self.submitted, ..part };
        self.submitted += 1;
        match self.free {
            NONE => {
                self.parts.push(part);
                self.parts.len() as u32 - 1
            }
            at => {
                self.free = self.parts[at as usize].next;
                self.parts[at as usize] = part;
                at
            }
        }
    }

    fn release(&mut self, at: u32) {
        self.parts[at as usize].next = self.free;
        self.free = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bio_is_done_with_its_last_part_and_its_place_is_used_again() {
        let mut bios = Bios::new();
        let mut done = Vec::new();
        let first = bios.first(7, 3);
        let others = [bios.further(first), bios.further(first)];
        bios.finish(Bios::list(first), &mut done);
        bios.finish(Bios::list(others[1]), &mut done);
        assert!(done.is_empty());
        bios.finish(Bios::list(others[0]), &mut done);
        assert_eq!(done, [7]);
        for cookie in 0..100 {
            let one = bios.first(cookie, 1);
            bios.finish(Bios::list(one), &mut done);
        }
        assert_eq!((bios.parts.len(), done.len()), (3, 101));
    }

    #[test]
    fn joined_requests_give_back_cookies_in_order_of_submission() {
        let mut bios = Bios::new();
        let [a, b, c, d] = [0, 1, 2, 3].map(|cookie| bios.first(cookie, 1));
        let (mut one, mut two) = (Bios::list(a), Bios::list(b));
        bios.append(&mut two, c);
        bios.append(&mut one, d);
        let joined = bios.join(two, one);
        let mut done = Vec::new();
        bios.finish(joined, &mut done);
        assert_eq!(done, [0, 1, 2, 3]);
    }
}
