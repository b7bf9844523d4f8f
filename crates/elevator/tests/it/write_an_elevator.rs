//! Compares the code in docs/src/develop/write-a-scheduler.md with its example, and tests the
//! example's rule. `properties.rs` checks the properties of its row.

use elevator::{BlockRequest, Build, Elevator, Guarantee, InsertAt, NoDisk, Time, testing};

use crate::shortest_first::ROW;

const PAGE: &str = include_str!("../../../../docs/src/develop/write-a-scheduler.md");
const EXAMPLE: &str = include_str!("../../examples/shortest_first.rs");

fn request(tag: u32, seq: u64, nr_sectors: u32) -> BlockRequest {
    BlockRequest { seq, nr_sectors, ..testing::request(tag, 10_000 * u64::from(tag)) }
}

fn filled(sizes: &[u32]) -> Box<dyn Elevator> {
    let mut elevator = (ROW.build)(&Build::default());
    for (tag, size) in sizes.iter().enumerate() {
        elevator.insert(Time::ZERO, &request(tag as u32, tag as u64, *size), InsertAt::Sorted);
    }
    elevator
}

fn drain(elevator: &mut dyn Elevator) -> Vec<u32> {
    std::iter::from_fn(|| elevator.dispatch(Time::ZERO, &NoDisk)).collect()
}

#[test]
fn the_pages_blocks_in_order_are_the_example_without_its_main() {
    let blocks: Vec<&str> = PAGE
        .split("```rust\n")
        .skip(1)
        .map(|rest| rest.split("```").next().expect("a block ends"))
        .collect();
    let (body, _) =
        EXAMPLE.split_once("\n/// Shows what it does").expect("main follows the elevator");
    assert_eq!(blocks.join("\n"), body);
}

#[test]
fn the_smallest_goes_first_and_of_equal_ones_the_older() {
    assert_eq!(drain(filled(&[64, 8, 1024, 8, 16]).as_mut()), [1, 3, 4, 0, 2]);
}

#[test]
fn no_request_is_passed_by_more_later_arrivals_than_guaranteed_and_the_patience_can_be_set() {
    for (patience, bound) in [(None, 16), (Some(0), 0), (Some(3), 3)] {
        let mut elevator = filled(&[1024, 8, 512, 8]);
        patience.into_iter().for_each(|value| elevator.set("patience", value));
        assert_eq!(elevator.get("patience"), patience.unwrap_or(16));
        let (mut seq_of, mut passed) = (vec![0, 1, 2, 3], vec![0; 4]);
        let mut most = 0;
        for seq in 4..4000 {
            let served =
                elevator.dispatch(Time::ZERO, &NoDisk).expect("it is work-conserving") as usize;
            for other in (0..4).filter(|other| seq_of[*other] < seq_of[served]) {
                passed[other] += 1;
                most = most.max(passed[other]);
            }
            (seq_of[served], passed[served]) = (seq, 0);
            let size = if seq % 50 == 0 { 1024 } else { 8 + seq as u32 % 7 };
            elevator.insert(Time::ZERO, &request(served as u32, seq, size), InsertAt::Sorted);
        }
        assert_eq!(most, bound, "reached, and not passed");
    }
    assert!(
        ROW.guarantees(Guarantee::PassedAtMost { requests: 16 })
            && ROW.guarantees(Guarantee::WorkConserving)
    );
}

#[test]
fn a_request_that_came_back_goes_first_also_before_an_overdue_one() {
    let mut elevator = filled(&[1024, 8]);
    elevator.set("patience", 0);
    [(5, 999), (6, 1)].into_iter().for_each(|(tag, size)| {
        elevator.insert(Time::ZERO, &request(tag, 9, size), InsertAt::Head)
    });
    let grown = BlockRequest { nr_sectors: 1000, ..request(5, 9, 999) };
    elevator.merged(Time::ZERO, &request(5, 9, 999), &grown);
    assert_eq!(drain(elevator.as_mut()), [6, 5, 0, 1]);
}

#[test]
fn requests_that_grow_together_are_one_of_the_older_ones_age() {
    let mut elevator = filled(&[16, 8, 8, 8]);
    let (survivor, gone) = (request(3, 3, 8), request(0, 0, 16));
    elevator.coalesced(Time::ZERO, &survivor, &gone);
    elevator.merged(Time::ZERO, &survivor, &BlockRequest { nr_sectors: 24, ..survivor });
    assert_eq!(elevator.len(), 3);
    elevator.set("patience", 0);
    assert_eq!(drain(elevator.as_mut()), [3, 1, 2]);
    let mut elevator = filled(&[16, 8, 8]);
    elevator.insert(Time::ZERO, &request(7, 7, 500), InsertAt::Head);
    elevator.coalesced(Time::ZERO, &request(0, 0, 16), &request(7, 7, 500));
    assert_eq!(drain(elevator.as_mut()), [0, 1, 2]);

    let mut elevator = filled(&[1024, 8, 8]);
    elevator.set("patience", 2);
    [1, 2]
        .into_iter()
        .for_each(|tag| assert_eq!(elevator.dispatch(Time::ZERO, &NoDisk), Some(tag)));
    [request(3, 3, 900), request(4, 4, 8)]
        .into_iter()
        .for_each(|request| elevator.insert(Time::ZERO, &request, InsertAt::Sorted));
    elevator.coalesced(Time::ZERO, &request(3, 3, 900), &request(0, 0, 1024));
    assert_eq!(drain(elevator.as_mut()), [3, 4], "two went since the older one came");
}
