//! Tests for every scheduler of the literature: merges, requeues, tunables, guarantees.

use super::vectors::*;
use super::*;
use crate::algorithm::{asptf, c_look, c_scan, fcfs, fscan, look, scan, sptf, sstf, vscan_r};
use crate::kind::{ElevatorKind, Guarantee};
use crate::scheduler::NoDisk;
use crate::testing::{Keeper, request};

const ROWS: [ElevatorKind; 10] = [
    fcfs::ROW,
    sstf::ROW,
    scan::ROW,
    c_scan::ROW,
    look::ROW,
    c_look::ROW,
    fscan::ROW,
    vscan_r::ROW,
    sptf::ROW,
    asptf::ROW,
];

fn tags(elevator: &mut Keeper) -> Vec<u32> {
    drain(elevator).iter().map(|request| request.tag).collect()
}

#[test]
fn a_merged_request_is_found_at_its_new_place_and_comes_out_as_it_has_become() {
    for row in &ROWS {
        for cylinders in [0, 200] {
            let mut elevator = scheduler_at(row, cylinders, 0, &[]);
            let before = BlockRequest { sector: 100, nr_sectors: 8, ..cylinder(0, 0, 0) };
            let after = BlockRequest { sector: 12, nr_sectors: 96, ..before };
            elevator.insert(Time::ZERO, before, InsertAt::Sorted);
            elevator.insert(
                Time::ZERO,
                BlockRequest { sector: 50, ..cylinder(1, 0, 0) },
                InsertAt::Sorted,
            );
            elevator.merged(Time::ZERO, &before, &after);
            let all = drain(&mut elevator);
            assert_eq!(all[0], after, "{}: it is the oldest, and now the nearest too", row.name);
            assert_eq!((all.len(), elevator.len()), (2, 0), "{}", row.name);
        }
    }
}

#[test]
fn a_request_that_was_taken_in_is_gone_and_its_age_passes_to_the_survivor() {
    for row in &ROWS {
        let mut elevator = scheduler_at(row, 200, 0, &[]);
        // All in one cylinder: seek-only rules fall back to order of arrival, as others do without
        // a disk.
        let all = [0, 1, 2].map(|tag| cylinder(tag, 20, 200));
        all.iter().for_each(|request| elevator.insert(Time::ZERO, *request, InsertAt::Sorted));
        elevator.coalesced(Time::ZERO, &all[2], &all[0]);
        assert_eq!(elevator.len(), 2, "{}", row.name);
        assert_eq!(
            tags(&mut elevator),
            [2, 1],
            "{}: the survivor stands where the older one stood",
            row.name
        );
    }
}

#[test]
fn requests_that_came_back_go_first_the_last_one_before_the_others_also_when_they_grow_together() {
    for row in &ROWS {
        let filled = || {
            let mut elevator = scheduler_at(row, 200, 0, &[]);
            let all = [100, 190, 150, 180, 7].map(|place| cylinder(place as u32 % 97, place, 200));
            elevator.insert(Time::ZERO, all[0], InsertAt::Sorted);
            all[1..4]
                .iter()
                .for_each(|request| elevator.insert(Time::ZERO, *request, InsertAt::Head));
            elevator.insert(Time::ZERO, all[4], InsertAt::Sorted);
            (elevator, all)
        };
        let first = |elevator: &mut Keeper, count: usize| {
            let all = tags(elevator);
            (all.len(), all[..count].to_vec())
        };
        let (mut elevator, all) = filled();
        let [old, a, b, c, young] = all.map(|request| request.tag);
        assert_eq!(first(&mut elevator, 3), (5, vec![c, b, a]), "{}", row.name);
        let (mut elevator, all) = filled();
        elevator.coalesced(Time::ZERO, &all[1], &all[3]);
        assert_eq!(first(&mut elevator, 2), (4, vec![a, b]), "{}", row.name);
        let (mut elevator, all) = filled();
        elevator.coalesced(Time::ZERO, &all[0], &all[2]);
        assert_eq!(first(&mut elevator, 4), (4, vec![c, old, a, young]), "{}", row.name);
        let (mut elevator, all) = filled();
        elevator.coalesced(Time::ZERO, &all[2], &all[4]);
        assert_eq!(first(&mut elevator, 4), (4, vec![c, b, a, old]), "{}", row.name);
    }
}

#[test]
fn every_tunable_is_read_back_at_both_ends_of_its_range() {
    for row in &ROWS {
        for tunable in row.tunables {
            let mut elevator = scheduler_at(row, 200, 53, &[]);
            let usual = elevator.get(tunable.name);
            assert!((tunable.min..=tunable.max).contains(&usual), "{} {}", row.name, tunable.name);
            for value in [tunable.min, tunable.max] {
                elevator.set(tunable.name, value);
                assert_eq!(elevator.get(tunable.name), value, "{} {}", row.name, tunable.name);
                (0..8).for_each(|tag| {
                    elevator.insert(
                        Time::ZERO,
                        cylinder(tag, 25 * u64::from(tag), 200),
                        InsertAt::Sorted,
                    )
                });
                assert_eq!(drain(&mut elevator).len(), 8, "{} {}", row.name, tunable.name);
            }
        }
    }
}

fn random(seed: &mut u64, below: u64) -> u64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*seed >> 33) % below
}

#[test]
fn sweeps_turn_as_seldom_as_guaranteed_over_requests_that_overlap_and_repeat() {
    let mut seed = 5;
    for row in &ROWS {
        for _ in 0..200 {
            let mut elevator = scheduler_at(row, 0, random(&mut seed, 400), &[]);
            for tag in 0..30 {
                let nr_sectors = 1 + random(&mut seed, 60) as u32;
                let bio = BlockRequest { nr_sectors, ..request(tag, random(&mut seed, 400)) };
                elevator.insert(Time::ZERO, bio, InsertAt::Sorted);
            }
            let sectors: Vec<u64> =
                drain(&mut elevator).iter().map(|request| request.sector).collect();
            let descents = sectors.windows(2).filter(|pair| pair[1] < pair[0]).count() as u32;
            let moves: Vec<bool> = sectors
                .windows(2)
                .filter(|pair| pair[0] != pair[1])
                .map(|pair| pair[0] < pair[1])
                .collect();
            let turns = moves.windows(2).filter(|pair| pair[0] != pair[1]).count() as u32;
            for guarantee in row.guarantees {
                match guarantee {
                    Guarantee::Ascending { descents: most } => {
                        assert!(descents <= *most, "{} {sectors:?}", row.name)
                    }
                    Guarantee::Sweeping { turns: most } => {
                        assert!(turns <= *most, "{} {sectors:?}", row.name)
                    }
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn no_request_is_passed_by_more_later_arrivals_than_guaranteed_while_the_arm_is_held_in_one_place()
{
    for row in &ROWS {
        let bound = row.guarantees.iter().find_map(|guarantee| match guarantee {
            Guarantee::PassedAtMost { requests } => Some(*requests),
            _ => None,
        });
        let Some(bound) = bound else { continue };
        let mut elevator = scheduler_at(row, 200, 0, &[]);
        let mut seed = 9;
        let mut arrival = vec![0; 256];
        let mut passed = vec![0; 256];
        for (seq, tag) in (0..256).enumerate() {
            arrival[tag as usize] = seq;
            elevator.insert(
                Time::ZERO,
                cylinder(tag, random(&mut seed, 200), 200),
                InsertAt::Sorted,
            );
        }
        for seq in 256..20_000 {
            let served =
                elevator.dispatch(Time::ZERO, &NoDisk).expect("the queue is full").tag as usize;
            for other in (0..256).filter(|other| arrival[*other] < arrival[served]) {
                passed[other] += 1;
                assert!(passed[other] <= bound, "{}: {} passes", row.name, passed[other]);
            }
            (arrival[served], passed[served]) = (seq, 0);
            // Half of all arrivals are at the actuator's position.
            let place = if seq % 2 == 0 { 100 } else { random(&mut seed, 200) };
            elevator.insert(Time::ZERO, cylinder(served as u32, place, 200), InsertAt::Sorted);
        }
    }
}
