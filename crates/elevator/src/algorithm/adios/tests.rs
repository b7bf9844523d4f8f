//! Tests of ADIOS: vectors of its specification, and its odd rules.

use super::*;
use crate::scheduler::NoDisk;
use crate::testing::request;

const MS: u64 = 1_000_000;

/// An elevator with learned base latencies.
fn learned(rotational: bool, read_ns: u64, write_ns: u64) -> Adios {
    let mut adios = Adios::new(&Build { nr_tags: 64, rotational, ..Build::default() });
    (adios.models[0].base, adios.models[1].base) = (read_ns, write_ns);
    adios
}

fn read(tag: u32, at_ms: u64) -> BlockRequest {
    BlockRequest { allocated: Time::from_ns(at_ms * MS), ..request(tag, 1000 * u64::from(tag)) }
}

/// A synchronous write, due on arrival.
fn write(tag: u32, at_ms: u64) -> BlockRequest {
    BlockRequest { op: Op::Write, ..read(tag, at_ms) }
}

fn insert(adios: &mut Adios, requests: &[BlockRequest]) {
    for request in requests {
        adios.insert(request.allocated, request, InsertAt::Sorted);
    }
}

fn order(adios: &mut Adios) -> Vec<u32> {
    std::iter::from_fn(|| adios.dispatch(Time::from_ns(100 * MS), &NoDisk)).collect()
}

#[test]
fn reads_run_ahead_on_a_loan_that_the_others_get_back() {
    let mut adios = learned(false, 100_000, 200_000);
    insert(&mut adios, &[read(0, 50), write(1, 40), write(2, 60), read(3, 51), read(4, 52)]);
    let mut biases = Vec::new();
    let mut picks = Vec::new();
    while let Some((tag, charged)) = adios.candidate() {
        let predicted = adios.slot(tag).predicted;
        if charged {
            adios.charge(predicted);
        }
        adios.del_from_dl_tree(tag);
        picks.push(tag);
        biases.push(adios.bias);
    }
    assert_eq!(picks, [0, 1, 2, 3, 4]);
    assert_eq!(biases[..3], [-16_796, -16_796, 183_204]);
}

#[test]
fn a_batch_fits_the_window_but_has_one_request_at_least() {
    for (predicted, batch) in [(5 * MS, 3), (20 * MS, 1)] {
        let mut adios = learned(false, predicted, predicted);
        insert(&mut adios, &[0, 1, 2, 3, 4, 5].map(|tag| read(tag, 1)));
        adios.fill();
        assert_eq!(adios.pages[1].counts, [batch, 0]);
    }
}

#[test]
fn of_two_priority_queues_the_second_is_served_first() {
    let mut adios = Adios::new(&Build { nr_tags: 8, ..Build::default() });
    insert(&mut adios, &[read(0, 1), read(1, 1)]);
    adios.insert(Time::from_ns(MS), &read(2, 1), InsertAt::Head);
    assert_eq!(order(&mut adios), [0, 1, 2]);
}

#[test]
fn a_batch_serves_reads_before_writes_and_asynchronous_writes_are_due_late() {
    let mut adios = learned(false, 100_000, 100_000);
    let late = BlockRequest { sync: false, ..write(2, 1) };
    insert(&mut adios, &[write(0, 1), late, read(1, 2), read(3, 1)]);
    assert_eq!(adios.slot(2).deadline, MS + 2_000 * MS + 100_000);
    assert_eq!(order(&mut adios), [3, 1, 0, 2]);
}

#[test]
fn with_the_elevators_order_asynchronous_writes_go_by_sector_from_the_nearer_end() {
    for (head, expected) in [(0, [0, 1, 2, 3]), (9_000, [0, 3, 2, 1])] {
        let mut adios = learned(true, 100_000, 100_000);
        adios.set("batch_order", 1);
        adios.head = head;
        let writes =
            [(2, 2), (1, 1), (3, 3)].map(|(tag, _)| BlockRequest { sync: false, ..write(tag, 1) });
        insert(&mut adios, &writes);
        insert(&mut adios, &[read(0, 3)]);
        assert_eq!(order(&mut adios), expected);
    }
}

#[test]
fn the_sample_of_a_completion_is_the_gap_to_the_one_before_on_its_cpu() {
    let mut adios = learned(false, MS, MS);
    insert(&mut adios, &[read(0, 1), read(1, 1), read(2, 1)]);
    let issued = Time::from_ns(2 * MS);
    let requests: Vec<BlockRequest> =
        std::iter::from_fn(|| adios.dispatch(issued, &NoDisk)).map(|tag| read(tag, 1)).collect();
    let gaps: Vec<u64> = (0..3)
        .map(|at| {
            adios.in_flight = 2 - at as u64;
            let done = Finished { request: requests[at], issued };
            adios.sample(Time::from_ns((5 + 2 * at as u64) * MS), &done, MS).latency_ns
        })
        .collect();
    assert_eq!(gaps, [3 * MS, 2 * MS, 2 * MS]);
    assert_eq!(adios.cpus[0].completed, 0, "nothing is in flight after the last");
}

#[test]
fn the_first_small_read_and_write_end_the_order_of_arrival() {
    let mut adios = Adios::new(&Build { nr_tags: 8, ..Build::default() });
    for (at, request) in [read(0, 1), write(1, 1)].into_iter().enumerate() {
        assert!(!adios.is_stable());
        insert(&mut adios, &[request]);
        let issued = Time::from_ns((10 + at as u64) * MS);
        assert_eq!(adios.dispatch(issued, &NoDisk), Some(request.tag), "it is work-conserving");
        adios.complete(issued + 120_000, &Finished { request, issued });
    }
    assert!(adios.is_stable());
    assert_eq!(adios.models[0].base, 120_000);
    adios.set("lat_target_read", 1);
    assert!(!adios.is_stable(), "setting a target forgets the model");
}
