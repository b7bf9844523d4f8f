//! Requests by position, and the two ways to sweep over them: both directions, or one way.
//!
//! Finds the nearest request ahead of the actuator with at most two look-ups in a tree ordered by
//! position, then arrival. Evidence: SCAN, C-SCAN, LOOK and C-LOOK as in textbooks; order of
//! arrival at equal positions is proposed.

use crate::kind::{Evidence, Role, Tunable};
use crate::sorted::{Placed, Sorted};
use crate::textbook::{Held, Rule, View};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Direction {
    #[default]
    Up,
    Down,
}

impl Direction {
    pub(crate) fn reversed(self) -> Direction {
        match self {
            Direction::Up => Direction::Down,
            Direction::Down => Direction::Up,
        }
    }

    pub(crate) fn of_switch(value: u64) -> Direction {
        if value == 0 { Direction::Up } else { Direction::Down }
    }

    pub(crate) fn switch(self) -> u64 {
        u64::from(self == Direction::Down)
    }
}

pub(crate) const FIRST_DIRECTION: Tunable = Tunable {
    name: "direction",
    unit: "switch",
    min: 0,
    max: 1,
    evidence: Evidence::Proposed,
    help: "direction of the current sweep: 0 up, 1 down",
    // The initial direction is arbitrary.
    role: Role::Reading,
};

pub(crate) const ONLY_DIRECTION: Tunable = Tunable {
    help: "direction of all sweeps: 0 up, from the lowest request; 1 down, from the highest",
    role: Role::Knob,
    ..FIRST_DIRECTION
};

#[derive(Debug, Default)]
pub(crate) struct Places {
    sorted: Sorted,
}

impl Places {
    pub(crate) fn insert(&mut self, held: &Held) {
        self.sorted.insert((held.position, held.rank), held.request.tag);
    }

    pub(crate) fn remove(&mut self, held: &Held) {
        let tag = self.sorted.remove((held.position, held.rank));
        assert_eq!(tag, held.request.tag, "the request is where it was put");
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The oldest at that position.
    pub(crate) fn ahead(&self, from: u64, direction: Direction) -> Option<Placed> {
        match direction {
            Direction::Up => self.sorted.at_or_above(from),
            Direction::Down => {
                // The oldest is the first at the same position.
                let (position, _) = self.sorted.at_or_below(from)?;
                self.sorted.at_or_above(position)
            }
        }
    }

    /// The nearest, strictly behind `from`.
    pub(crate) fn behind(&self, from: u64, direction: Direction) -> Option<Placed> {
        match direction {
            Direction::Up => self.ahead(from.checked_sub(1)?, Direction::Down),
            Direction::Down => self.ahead(from.checked_add(1)?, Direction::Up),
        }
    }

    pub(crate) fn first_of_sweep(&self, direction: Direction) -> Option<Placed> {
        match direction {
            Direction::Up => self.ahead(0, direction),
            Direction::Down => self.ahead(u64::MAX, direction),
        }
    }
}

/// Reverses direction when nothing lies ahead.
#[derive(Debug, Default)]
pub(crate) struct TwoWay {
    pub(crate) places: Places,
    direction: Direction,
    /// Initial.
    first: Direction,
}

impl Rule for TwoWay {
    fn insert(&mut self, held: &Held) {
        self.places.insert(held);
    }

    fn remove(&mut self, held: &Held) {
        self.places.remove(held);
    }

    fn choose(&mut self, view: &View<'_>) -> u32 {
        let (_, tag) = self.places.ahead(view.arm.start, self.direction).unwrap_or_else(|| {
            self.direction = self.direction.reversed();
            self.places.ahead(view.arm.start, self.direction).expect("what is not ahead is behind")
        });
        tag
    }

    fn get(&self, _tunable: &str) -> u64 {
        self.first.switch()
    }

    fn set(&mut self, _tunable: &str, value: u64) {
        self.first = Direction::of_switch(value);
        self.direction = self.first;
    }
}

/// Restarts at the other end when nothing lies ahead.
#[derive(Debug, Default)]
pub(crate) struct OneWay {
    places: Places,
    direction: Direction,
}

impl Rule for OneWay {
    fn insert(&mut self, held: &Held) {
        self.places.insert(held);
    }

    fn remove(&mut self, held: &Held) {
        self.places.remove(held);
    }

    fn choose(&mut self, view: &View<'_>) -> u32 {
        let ahead = self.places.ahead(view.arm.start, self.direction);
        let (_, tag) = ahead
            .or_else(|| self.places.first_of_sweep(self.direction))
            .expect("something is held");
        tag
    }

    fn get(&self, _tunable: &str) -> u64 {
        self.direction.switch()
    }

    fn set(&mut self, _tunable: &str, value: u64) {
        self.direction = Direction::of_switch(value);
    }
}
