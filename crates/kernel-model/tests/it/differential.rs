//! The Rust elevators and the C cores in lockstep over a million operations, without a difference.
//!
//! A world lasts for a few thousand operations; the next seed has another clock, disk, depth and
//! other processes. LOCKSTEP_OPERATIONS sets their number, LOCKSTEP_SEED the first seed.

use crate::lockstep::{Tally, run, seeks_agree};
use elevator::find;
use kernel_model::{Ops, Seek, anticipatory, occupancy, wpcas};

/// Per elevator.
const OPERATIONS: u64 = 1_000_000;
/// Per seed.
const OF_A_WORLD: u64 = 4_000;

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |value| value.parse().expect("a number"))
}

fn agree(c: &'static Ops) {
    let rust = find(c.name()).expect("the core is called as its counterpart");
    let (operations, first) =
        (from_env("LOCKSTEP_OPERATIONS", OPERATIONS), from_env("LOCKSTEP_SEED", 0));
    let mut tally = Tally::default();
    for seed in first..first + operations.div_ceil(OF_A_WORLD) {
        let of_seed = run(rust, c, seed, OF_A_WORLD)
            .unwrap_or_else(|what| panic!("{} differs: {what}", c.name()));
        tally.add(&of_seed);
    }
    println!("{}: {tally:#?}", c.name());
    assert!(tally.operations >= operations);
    let Tally {
        waits,
        successes,
        failures,
        merged,
        fronts_found,
        coalesced,
        given_back,
        at_head,
        ..
    } = tally;
    let Tally { exits_with_requests, numbers_given_anew, tunables_set, refused, .. } = tally;
    let rare = [waits, successes, failures, merged, coalesced, given_back, at_head];
    let rarer = [numbers_given_anew, tunables_set, refused];
    let least = operations / 3000;
    assert!(
        rare.iter().chain(&rarer).all(|count| *count > least),
        "everything happened often: {tally:#?}"
    );
    let of_some = [fronts_found, exits_with_requests];
    assert!(
        c.shares() || of_some.iter().all(|count| *count > least),
        "everything happened often: {tally:#?}"
    );
}

#[test]
fn anticipatory_in_c_decides_as_in_rust() {
    agree(anticipatory());
}

#[test]
fn wpcas_in_c_decides_as_in_rust() {
    agree(wpcas());
}

#[test]
fn occupancy_in_c_decides_as_in_rust() {
    agree(occupancy());
}

#[test]
fn seeks_take_the_same_time_to_the_nanosecond() {
    seeks_agree(Seek::core(), 400_000).unwrap();
}
