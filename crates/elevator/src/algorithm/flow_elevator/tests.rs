//! Tests of flow queues, and of an elevator with the simplest rule.

use super::*;
use crate::algorithm::flow_rule::Tags;
use crate::scheduler::NoDisk;
use crate::testing::{Keeper, request};

/// Order of arrival over all flows.
#[derive(Debug, Default)]
struct Oldest(Tags);

impl FlowRule for Oldest {
    fn arrived(&mut self, _now: Time, queues: &FlowQueues, tag: u32) {
        self.0.set(tag, queues.request(tag).seq);
    }

    fn choose(&mut self, _now: Time, _queues: &mut FlowQueues, _disk: &dyn Disk) -> Option<u32> {
        self.0.first().map(|(_, tag)| tag)
    }

    fn sent(&mut self, _now: Time, _queues: &FlowQueues, tag: u32) {
        self.0.remove(tag);
    }

    fn absorbed(
        &mut self,
        _: Time,
        _: &FlowQueues,
        _: usize,
        survivor: &BlockRequest,
        gone: &BlockRequest,
    ) {
        self.0.keep_earlier(survivor.tag, gone.tag);
    }
}

fn elevator() -> Keeper<FlowElevator<Oldest>> {
    let (rule, queues) = (Oldest::default(), FlowQueues::new(4));
    Keeper::new(Box::new(FlowElevator { rule, queues, head: Vec::new() }))
}

fn of(process: u32, tag: u32, sector: u64) -> BlockRequest {
    BlockRequest { process, ..request(tag, sector) }
}

#[test]
fn requests_of_one_flow_join_and_those_of_two_do_not() {
    let mut elevator = elevator();
    for (process, flow) in [(0, 1), (1, 1), (2, 2)] {
        elevator.flow(process, flow, &FlowSpec::default());
    }
    elevator.insert(Time::ZERO, of(0, 0, 100), InsertAt::Sorted);
    let allowed = [1, 2, 3]
        .map(|process| elevator.allow_merge(&of(0, 0, 100), &of(process, 9, 108), Merge::Back));
    assert_eq!(allowed, [true, false, false]);
}

#[test]
fn a_survivor_has_the_earlier_place_in_the_queue_and_the_counts_follow() {
    let mut elevator = elevator();
    [of(0, 0, 108), of(0, 1, 500), of(0, 2, 100)].into_iter().for_each(|request| {
        elevator.insert(Time::ZERO, request, InsertAt::Sorted);
    });
    elevator.coalesced(Time::ZERO, &of(0, 2, 100), &of(0, 0, 108));
    assert_eq!(
        (elevator.len(), elevator.queues.queued(0), elevator.queues.oldest(0)),
        (2, 2, Some(2))
    );
    let tags = [(); 2].map(|()| elevator.dispatch(Time::ZERO, &NoDisk).unwrap().tag);
    assert_eq!((tags, elevator.queues.in_flight(0), elevator.len()), ([2, 1], 2, 0));
}

#[test]
fn what_came_back_goes_first_and_takes_nothing_in() {
    let mut elevator = elevator();
    [of(0, 0, 100), of(1, 1, 500)].into_iter().for_each(|request| {
        elevator.insert(Time::ZERO, request, InsertAt::Sorted);
    });
    let first = elevator.dispatch(Time::ZERO, &NoDisk).unwrap();
    elevator.insert(Time::ZERO, first, InsertAt::Head);
    assert_eq!((elevator.queues.all_in_flight(), elevator.len()), (0, 2));
    assert!(!elevator.allow_merge(&first, &of(0, 9, 108), Merge::Back));
    assert_eq!(elevator.dispatch(Time::ZERO, &NoDisk), Some(first));
    assert_eq!(elevator.dispatch(Time::ZERO, &NoDisk).unwrap().tag, 1);
}

#[test]
fn a_detached_request_is_held_until_the_rule_returns_it() {
    let mut queues = FlowQueues::new(4);
    queues.enter(&of(3, 0, 100), Position::Queued);
    queues.detach(0);
    assert_eq!((queues.queued(0), queues.all_queued(), queues.detached), (0, 0, 1));
    queues.send(0);
    assert_eq!((queues.detached, queues.in_flight(0)), (0, 1));
}
