//! The rule of a flow scheduler: which request is next; and orders by tags and virtual times.
//!
//! Virtual times are sectors / weight in 64-bit fixed point; 20 fractional bits ([`FRACTION_BITS`])
//! leave room for 8 PiB at weight 1. Start and finish tags originate in fair queueing of packets;
//! each rule names its source.

use std::fmt;

use crate::algorithm::flow_queues::FlowQueues;
use crate::flows::Flows;
use crate::ordered::Ordered;
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{Anticipation, Disk};
use crate::vocabulary::Time;

pub(crate) const FRACTION_BITS: u32 = 20;

/// Virtual time of `sectors` at a weight.
#[inline]
pub(crate) fn virtual_time(sectors: u64, weight: u64) -> u64 {
    (sectors << FRACTION_BITS) / weight
}

pub(crate) trait FlowRule: fmt::Debug + Send {
    /// A request has joined its flow's queue, as the youngest.
    fn arrived(&mut self, now: Time, queues: &FlowQueues, tag: u32);

    /// The next request. None: deliberate idling, with a timer or with requests in flight. Called
    /// only while a request other than requeued ones is held; [`FlowRule::sent`] follows.
    fn choose(&mut self, now: Time, queues: &mut FlowQueues, disk: &dyn Disk) -> Option<u32>;

    fn sent(&mut self, now: Time, queues: &FlowQueues, tag: u32);

    /// A requeued request has been sent again.
    fn sent_again(&mut self, _now: Time, _queues: &FlowQueues, _tag: u32) {}

    /// The device has returned a request, which now precedes all others.
    fn returned(&mut self, _now: Time, _queues: &FlowQueues, _tag: u32) {}

    fn completed(&mut self, _now: Time, _queues: &FlowQueues, _flow: usize, _done: &Finished) {}

    fn grown(
        &mut self,
        _now: Time,
        _queues: &FlowQueues,
        _before: &BlockRequest,
        _after: &BlockRequest,
    ) {
    }

    /// [`FlowRule::grown`] follows.
    fn absorbed(
        &mut self,
        now: Time,
        queues: &FlowQueues,
        flow: usize,
        survivor: &BlockRequest,
        gone: &BlockRequest,
    );

    fn declared(&mut self, _queues: &FlowQueues, _flow: usize) {}

    fn next_timer(&self) -> Option<Time> {
        None
    }

    fn on_timer(&mut self, _now: Time, _queues: &FlowQueues) {}

    fn get(&self, tunable: &str) -> u64 {
        unreachable!("this scheduler has no tunable {tunable}")
    }

    fn set(&mut self, tunable: &str, _value: u64) {
        unreachable!("this scheduler has no tunable {tunable}")
    }

    fn anticipation(&self) -> Option<Anticipation> {
        None
    }
}

/// The least weight of all flows, the unit of quanta.
#[derive(Debug, Clone, Default)]
pub(crate) struct LeastWeight {
    /// 0: no flows.
    least: u64,
    known: usize,
}

impl LeastWeight {
    pub(crate) fn get(&self) -> u64 {
        self.least.max(1)
    }

    pub(crate) fn learn(&mut self, flows: &Flows) {
        for flow in self.known..flows.len() {
            let weight = flows.weight(flow);
            self.least = if self.least == 0 { weight } else { self.least.min(weight) };
        }
        self.known = flows.len();
    }

    pub(crate) fn learn_all(&mut self, flows: &Flows) {
        *self = LeastWeight::default();
        self.learn(flows);
    }
}

/// Numbers ordered by value, then insertion.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tags {
    tree: Ordered<(u64, u64)>,
    keys: Vec<Option<(u64, u64)>>,
    entered: u64,
}

impl Tags {
    pub(crate) fn set(&mut self, number: u32, value: u64) {
        self.remove(number);
        if self.keys.len() <= number as usize {
            self.keys.resize(number as usize + 1, None);
        }
        self.put(number, (value, self.entered));
        self.entered += 1;
    }

    pub(crate) fn remove(&mut self, number: u32) -> Option<u64> {
        let key = self.keys.get_mut(number as usize).and_then(Option::take)?;
        self.tree.remove(key).expect("the key of a number is in the tree");
        Some(key.0)
    }

    pub(crate) fn value(&self, number: u32) -> Option<u64> {
        self.keys.get(number as usize).copied().flatten().map(|(value, _)| value)
    }

    pub(crate) fn first(&self) -> Option<(u64, u32)> {
        self.tree.first().map(|((value, _), number)| (value, number))
    }

    /// Removes `gone`; the survivor keeps the earlier key.
    pub(crate) fn keep_earlier(&mut self, survivor: u32, gone: u32) {
        let keys = [survivor, gone].map(|number| self.keys.get(number as usize).copied().flatten());
        if let [Some(kept), Some(lost)] = keys {
            self.remove(gone);
            if lost < kept {
                self.remove(survivor);
                self.put(survivor, lost);
            }
        }
    }

    fn put(&mut self, number: u32, key: (u64, u64)) {
        assert!(self.tree.insert(key, number), "a key belongs to one number: {key:?}");
        self.keys[number as usize] = Some(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_value_is_first_and_of_equal_ones_the_first_entered() {
        let mut tags = Tags::default();
        [(4, 70), (2, 50), (9, 50)].into_iter().for_each(|(number, value)| tags.set(number, value));
        assert_eq!((tags.first(), tags.value(4), tags.value(3)), (Some((50, 2)), Some(70), None));
        tags.set(2, 50);
        assert_eq!(tags.first(), Some((50, 9)), "entered anew, it is the later of two");
        tags.keep_earlier(4, 9);
        assert_eq!((tags.first(), tags.value(9)), (Some((50, 4)), None));
        assert_eq!((tags.remove(2), tags.remove(2), tags.remove(4)), (Some(50), None, Some(50)));
        assert_eq!(tags.first(), None);
    }

    #[test]
    fn virtual_time_goes_half_as_fast_at_twice_the_weight() {
        assert_eq!((virtual_time(8, 100), virtual_time(8, 200)), (83_886, 41_943));
        assert_eq!(virtual_time(1 << 43, 1) >> FRACTION_BITS, 1 << 43);
    }
}
