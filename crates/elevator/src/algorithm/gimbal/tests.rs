//! Tests of Gimbal: turns, slots and tokens.

use super::*;
use crate::algorithm::flow_testing::{Drive, of};
use crate::scheduler::{InsertAt, NoDisk};

const KIB: u32 = 2;

fn gimbal() -> Box<dyn Elevator> {
    build(&Build { nr_tags: 256, ..Build::default() })
}

fn insert(gimbal: &mut dyn Elevator, process: u32, tags: std::ops::Range<u32>, kib: u32) {
    for tag in tags {
        let request =
            BlockRequest { nr_sectors: kib * KIB, ..of(process, tag, 4096 * u64::from(tag)) };
        gimbal.insert(Time::ZERO, &request, InsertAt::Sorted);
    }
}

#[test]
fn two_tenants_have_four_slots_each_and_a_slot_is_free_when_all_of_it_has_completed() {
    let mut gimbal = Gimbal::new();
    gimbal.nr_active = 2;
    assert_eq!(gimbal.share(), 4);
    gimbal.nr_active = 40;
    assert_eq!(gimbal.share(), 1);
    gimbal.tenants = vec![Tenant::default()];
    assert_eq!(gimbal.slot(0), Some(0));
    gimbal.tenants[0].slots[0].outstanding = 2;
    assert_eq!(gimbal.slot(0), Some(0), "it is open until it is full");
    gimbal.tenants[0].open = None;
    assert_eq!(gimbal.slot(0), None, "two of its requests are in the device");
    gimbal.tenants[0].slots[0].outstanding = 1;
    assert_eq!(gimbal.slot(0), None, "one still is");
    gimbal.tenants[0].slots[0].outstanding = 0;
    assert_eq!(gimbal.slot(0), Some(0));
}

#[test]
fn a_tenant_of_small_reads_gets_as_many_bytes_as_one_of_large_ones() {
    let mut drive = Drive::new(&ROW, &[100, 100], &[("latency_max", 1_000_000)]);
    for tag in 0..96 {
        drive.insert(BlockRequest { nr_sectors: 4 * KIB, ..of(0, tag, 4096 * u64::from(tag)) });
    }
    for tag in 96..104 {
        drive.insert(BlockRequest { nr_sectors: 128 * KIB, ..of(1, tag, 4096 * u64::from(tag)) });
    }
    let served = drive.processes(66);
    let small = served.iter().filter(|process| **process == 0).count();
    assert!((60..=65).contains(&small), "{small} of 4 KiB beside {} of 128 KiB", 66 - small);
}

#[test]
fn what_lacks_tokens_holds_the_others_up_and_is_looked_at_again_after_a_millisecond() {
    let mut gimbal = gimbal();
    insert(gimbal.as_mut(), 0, 0..2, 256);
    insert(gimbal.as_mut(), 1, 2..3, 4);
    assert_eq!(gimbal.dispatch(Time::ZERO, &NoDisk), Some(2), "a deficit of one quantum");
    let large = gimbal.dispatch(Time::ZERO, &NoDisk);
    assert_eq!(large, None, "252 of 256 KiB of tokens are left");
    assert_eq!(gimbal.next_timer(), Some(Time::from_ns(1_000_000)));
    gimbal.on_timer(Time::from_ns(1_000_000));
    assert!(gimbal.dispatch(Time::from_ns(1_000_000), &NoDisk).is_some());
}
