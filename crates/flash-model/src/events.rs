//! Pending events: a heap of keys and a table of what happens, so that the heap moves 16 bytes.
//! What is due at once comes after everything scheduled before it, and needs no heap.

use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::types::Event;

const PLACE_BITS: u32 = 24;
/// Bits for the order of scheduling: enough for 10¹² events.
const ORDER_BITS: u32 = 40;

#[derive(Debug, Clone, Default)]
pub(crate) struct Events {
    /// Time, order and place in one number: one comparison.
    heap: BinaryHeap<Reverse<u128>>,
    places: Vec<Event>,
    free: Vec<u32>,
    scheduled: u64,
    /// With one time for all.
    at_once: VecDeque<(u64, Event)>,
}

impl Events {
    /// `now` is that of the latest event or command.
    #[inline]
    pub(crate) fn schedule(&mut self, now: u64, ns: u64, event: Event) {
        if ns == now {
            debug_assert!(self.at_once.iter().all(|(at, _)| *at == now), "they come before others");
            return self.at_once.push_back((now, event));
        }
        let place = self.free.pop().unwrap_or(self.places.len() as u32);
        self.places.resize(self.places.len().max(place as usize + 1), event);
        self.places[place as usize] = event;
        self.scheduled += 1;
        let fits = place < 1 << PLACE_BITS && self.scheduled < 1 << ORDER_BITS;
        assert!(fits, "a key has room for both");
        let low = self.scheduled << PLACE_BITS | u64::from(place);
        self.heap.push(Reverse(u128::from(ns) << 64 | u128::from(low)));
    }

    #[inline]
    pub(crate) fn next(&self) -> Option<u64> {
        let of_heap = self.heap.peek().map_or(u64::MAX, |Reverse(key)| (key >> 64) as u64);
        let next = self.at_once.front().map_or(of_heap, |(at, _)| of_heap.min(*at));
        (next < u64::MAX).then_some(next)
    }

    /// Removes the first event, if it is as `wanted`.
    #[inline]
    pub(crate) fn pop_if(&mut self, wanted: impl Fn(u64, Event) -> bool) -> Option<(u64, Event)> {
        let of_heap = self.heap.peek().map(|Reverse(key)| ((key >> 64) as u64, *key as u32));
        if let Some((at, event)) = self.at_once.front().copied()
            && of_heap.is_none_or(|(other, _)| other > at)
        {
            return wanted(at, event).then(|| self.at_once.pop_front())?;
        }
        let (at, low) = of_heap?;
        let place = low & ((1 << PLACE_BITS) - 1);
        let event = self.places[place as usize];
        wanted(at, event).then(|| {
            self.heap.pop();
            self.free.push(place);
            (at, event)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pop(events: &mut Events, now: u64) -> Option<(u64, Event)> {
        events.pop_if(|at, _| at <= now)
    }

    #[test]
    fn events_come_in_order_of_time_and_then_of_scheduling() {
        let mut events = Events::default();
        let event = |slot| Event::Arrived { slot };
        for (ns, slot) in [(30, 0), (10, 1), (30, 2), (20, 3), (10, 4)] {
            events.schedule(0, ns, event(slot));
        }
        assert_eq!((events.next(), pop(&mut events, 9)), (Some(10), None));
        for (ns, slot) in [(10, 1), (10, 4), (20, 3)] {
            assert_eq!(pop(&mut events, 30), Some((ns, event(slot))));
        }
        [5, 6].iter().for_each(|slot| events.schedule(30, 30, event(*slot)));
        events.schedule(30, 31, event(7));
        assert_eq!((events.next(), events.pop_if(|at, _| at < 30)), (Some(30), None));
        for (ns, slot) in [(30, 0), (30, 2), (30, 5), (30, 6), (31, 7)] {
            assert_eq!(pop(&mut events, 31), Some((ns, event(slot))));
        }
        assert_eq!((events.next(), events.places.len()), (None, 5), "places are used again");
    }
}
