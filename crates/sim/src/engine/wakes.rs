//! Client wake-ups: a heap of times.
//!
//! A client has at most one wake-up. A cancelled one stays in the heap and is recognised by its
//! number. Wake-ups of one instant are served in order of request.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use elevator::Time;

const CLIENT_BITS: u32 = 20;
/// Bits for the order: enough for 10¹³ wake-ups.
const ORDER_BITS: u32 = 44;

#[derive(Debug, Default)]
pub(super) struct Wakes {
    /// Time, order and client in one number: one comparison.
    heap: BinaryHeap<Reverse<u128>>,
    asked: u64,
}

impl Wakes {
    /// Returns a number for [`Wakes::pop`], never 0.
    pub(super) fn push(&mut self, at: Time, client: u32) -> u64 {
        self.asked += 1;
        debug_assert!(
            client < 1 << CLIENT_BITS && self.asked < 1 << ORDER_BITS,
            "a key has room for both"
        );
        let low = u128::from(self.asked) << CLIENT_BITS | u128::from(client);
        self.heap.push(Reverse(u128::from(at.as_ns()) << (CLIENT_BITS + ORDER_BITS) | low));
        self.asked
    }

    pub(super) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(key)| time(*key))
    }

    pub(super) fn pop(&mut self, now: Time) -> Option<(u32, u64)> {
        self.heap.peek().filter(|Reverse(key)| time(*key) <= now)?;
        let Reverse(key) = self.heap.pop().expect("it was there just now");
        let low = key as u64;
        Some((low as u32 & ((1 << CLIENT_BITS) - 1), low >> CLIENT_BITS))
    }

    pub(super) fn clear(&mut self) {
        self.heap.clear();
    }
}

fn time(key: u128) -> Time {
    Time::from_ns((key >> (CLIENT_BITS + ORDER_BITS)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wake_ups_come_in_order_of_time_and_then_of_asking() {
        let mut wakes = Wakes::default();
        let asked: Vec<u64> = [(30, 1), (10, 2), (30, 0), (20, 7)]
            .map(|(at, client)| wakes.push(Time::from_ns(at), client))
            .into();
        assert_eq!(wakes.pop(Time::from_ns(9)), None);
        assert_eq!(wakes.next(), Some(Time::from_ns(10)));
        let now = Time::from_ns(30);
        let order: Vec<_> = std::iter::from_fn(|| wakes.pop(now)).collect();
        assert_eq!(order, [(2, asked[1]), (7, asked[3]), (1, asked[0]), (0, asked[2])]);
    }
}
