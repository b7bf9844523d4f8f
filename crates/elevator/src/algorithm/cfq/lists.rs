//! The lists in which cfq's queues wait for their slices, and the walk over priority levels.
//!
//! Levels are served 0; 0, 1; 0, 1, 2; … 0 to 7, and again (cfq_get_next_prio_level), so level 0
//! comes eight times as often as level 7. The next level moves to the current list, which
//! is served completely before the next level.

use crate::fifo::Fifo;

const LEVELS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// rr_list of this priority level.
    Level(u8),
    /// busy_rr: until its requests in flight complete.
    Busy,
    /// cur_rr: being served.
    Current,
    /// idle_rr.
    Idle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    Last,
    /// As the comment says: first, but behind other new ones.
    NewFirst,
    /// As the code does: before the last new queue at the front, or at the end.
    NewAsInSource,
}

/// All lists. A queue with held requests is in exactly one, also in service.
#[derive(Debug)]
pub(super) struct Lists {
    levels: [Fifo; LEVELS],
    busy: Fifo,
    current: Fifo,
    idle: Fifo,
    /// By queue: where it was inserted. A level may have become current since.
    places: Vec<Option<Position>>,
    len: usize,
    level: usize,
    last_level: usize,
}

impl Lists {
    pub(super) fn new() -> Lists {
        let list = || Fifo::new(0);
        Lists {
            levels: std::array::from_fn(|_| list()),
            busy: list(),
            current: list(),
            idle: list(),
            places: Vec::new(),
            len: 0,
            level: 0,
            last_level: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn contains(&self, queue: u32) -> bool {
        self.places.get(queue as usize).is_some_and(Option::is_some)
    }

    /// Inserts a queue that is in no list. `is_new` returns whether a queue has never had a slice.
    pub(super) fn put(
        &mut self,
        queue: u32,
        place: Position,
        rank: Rank,
        is_new: impl Fn(u32) -> bool,
    ) {
        if queue as usize >= self.places.len() {
            self.places.resize(queue as usize + 1, None);
        }
        let before = self.places[queue as usize].replace(place);
        assert!(before.is_none(), "a queue is in one list");
        self.len += 1;
        let list = self.list(place);
        let last_new = match rank {
            Rank::Last => None,
            _ => list.iter().take_while(|other| is_new(*other)).last(),
        };
        match (rank, last_new) {
            (Rank::NewFirst, Some(new)) => list.insert_after(queue, new),
            (Rank::NewFirst, None) => list.push_front(queue),
            (_, Some(new)) => list.insert_before(queue, new),
            (_, None) => list.push_back(queue),
        }
    }

    pub(super) fn remove(&mut self, queue: u32) {
        let place = self.places[queue as usize].take().expect("the queue is in a list");
        let place = if self.current.contains(queue) { Position::Current } else { place };
        self.list(place).remove(queue);
        self.len -= 1;
    }

    /// The next queue, by level, then among those with requests in flight.
    pub(super) fn next(&mut self) -> Option<u32> {
        if self.current.is_empty() {
            self.next_level();
        }
        self.current.head().or(self.busy.head())
    }

    pub(super) fn next_idle(&self) -> Option<u32> {
        self.idle.head()
    }

    fn next_level(&mut self) {
        let mut wrapped = false;
        let found = loop {
            if let Some(level) =
                (self.level..=self.last_level).find(|level| !self.levels[*level].is_empty())
            {
                break level;
            }
            self.level = 0;
            self.last_level += 1;
            if self.last_level == LEVELS {
                self.last_level = 0;
                if wrapped {
                    return;
                }
                wrapped = true;
            }
        };
        std::mem::swap(&mut self.levels[found], &mut self.current);
        self.level = found + 1;
        if self.level > self.last_level {
            self.last_level = self.level;
            self.level = 0;
        }
        if self.last_level == LEVELS {
            (self.level, self.last_level) = (0, 0);
        }
    }

    fn list(&mut self, place: Position) -> &mut Fifo {
        match place {
            Position::Level(level) => &mut self.levels[usize::from(level)],
            Position::Busy => &mut self.busy,
            Position::Current => &mut self.current,
            Position::Idle => &mut self.idle,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue per level, reinserted after each slice; returns the levels served.
    fn levels_served(turns: usize) -> Vec<u32> {
        let mut lists = Lists::new();
        (0..8).for_each(|level| {
            lists.put(level, Position::Level(level as u8), Rank::Last, |_| false)
        });
        (0..turns)
            .map(|_| {
                let queue = lists.next().unwrap();
                lists.remove(queue);
                lists.put(queue, Position::Level(queue as u8), Rank::Last, |_| false);
                queue
            })
            .collect()
    }

    #[test]
    fn levels_are_walked_one_further_each_time_and_then_again() {
        let one_walk: Vec<u32> = (0..8).flat_map(|last| 0..=last).collect();
        let served = levels_served(72);
        assert_eq!(served[..36], one_walk[..]);
        assert_eq!(served[36..], one_walk[..]);
    }

    #[test]
    fn an_empty_level_is_passed_over_and_a_level_is_served_as_a_whole() {
        let mut lists = Lists::new();
        for queue in [7, 8, 9] {
            lists.put(queue, Position::Level(5), Rank::Last, |_| false);
        }
        assert_eq!(lists.next(), Some(7));
        lists.put(1, Position::Level(0), Rank::Last, |_| false);
        lists.remove(7);
        assert_eq!(lists.next(), Some(8), "level 0 waits until level 5 is done");
        lists.remove(8);
        lists.remove(9);
        assert_eq!(lists.next(), Some(1));
        lists.remove(1);
        assert_eq!((lists.next(), lists.is_empty()), (None, true));
    }

    #[test]
    fn queues_with_requests_in_flight_come_last_and_the_idle_class_apart() {
        let mut lists = Lists::new();
        lists.put(1, Position::Busy, Rank::Last, |_| false);
        lists.put(2, Position::Idle, Rank::Last, |_| false);
        lists.put(3, Position::Level(7), Rank::Last, |_| false);
        assert_eq!((lists.next(), lists.next_idle()), (Some(3), Some(2)));
        lists.remove(3);
        assert_eq!(lists.next(), Some(1));
        assert!(lists.contains(1) && !lists.contains(3));
    }

    #[test]
    fn where_a_new_queue_goes_in_the_source_and_where_its_comment_says() {
        let order = |rank, new: &'static [u32], old: &'static [u32]| {
            let mut lists = Lists::new();
            for queue in new.iter().chain(old) {
                lists.put(*queue, Position::Current, Rank::Last, |_| false);
            }
            lists.put(9, Position::Current, rank, |queue| new.contains(&queue));
            lists.current.iter().collect::<Vec<_>>()
        };
        assert_eq!(order(Rank::NewFirst, &[1, 2], &[3]), [1, 2, 9, 3]);
        assert_eq!(order(Rank::NewFirst, &[], &[3]), [9, 3]);
        assert_eq!(order(Rank::NewAsInSource, &[1, 2], &[3]), [1, 9, 2, 3]);
        assert_eq!(order(Rank::NewAsInSource, &[], &[3]), [3, 9]);
    }
}
