//! Tests of queue merging: who shares a queue, and for how long.

use super::*;

/// Process 0 is in service at sector 10,000, process 2 waits far away.
fn one_in_service() -> Keeper<Bfq> {
    let mut bfq = bfq(1, true);
    bfq.set("low_latency", 0);
    insert(&mut bfq, ms(1), by(0, 0, 10_000));
    insert(&mut bfq, ms(201), by(2, 2, 9_000_000));
    assert_eq!(send(&mut bfq, ms(201)).process, 0);
    bfq
}

#[test]
fn a_process_that_reads_close_to_the_queue_in_service_is_moved_to_it_and_a_far_one_is_not() {
    for (sector, shared) in [(10_064 + 8192, true), (10_064 + 8193, false), (10_064 - 8192, true)] {
        let mut bfq = one_in_service();
        insert(&mut bfq, ms(202), by(1, 1, sector));
        assert_eq!(of(&bfq, 0) == of(&bfq, 1), shared, "{sector}");
        assert_eq!(bfq.queue(of(&bfq, 0)).users, if shared { 2 } else { 1 });
    }
}

#[test]
fn a_process_that_reads_close_to_the_next_request_of_another_is_moved_to_its_queue() {
    for (sector, shared) in [(9_000_500, true), (8_999_000, true), (9_020_000, false)] {
        let mut bfq = one_in_service();
        insert(&mut bfq, ms(202), by(1, 1, sector));
        assert_eq!(of(&bfq, 2) == of(&bfq, 1), shared, "{sector}");
    }
}

#[test]
fn no_process_is_moved_to_a_queue_that_has_been_active_for_a_tenth_of_a_second_nor_to_one_of_another_class()
 {
    let idle = Priority { class: PrioClass::Idle, level: 4 };
    for (at, priority, shared) in [(301, None, true), (302, None, false), (250, Some(idle), false)]
    {
        let mut bfq = one_in_service();
        let bio = by(1, 1, 10_100);
        insert(
            &mut bfq,
            ms(at),
            BlockRequest { priority: priority.unwrap_or(bio.priority), ..bio },
        );
        assert_eq!(of(&bfq, 0) == of(&bfq, 1), shared, "at {at} ms");
    }
}

#[test]
fn a_shared_queue_that_is_seeky_when_its_turn_ends_is_parted_and_everybody_takes_his_habits_along()
{
    let mut bfq = one_in_service();
    insert(&mut bfq, ms(202), by(1, 1, 10_100));
    let shared = of(&bfq, 0);
    // Only of the first process; the second had no time to build any.
    assert!(bfq.process(0).saved.is_some());
    bfq.processes[0].saved.as_mut().unwrap().habits.io_bound = false;
    for tag in 3..30 {
        insert(&mut bfq, ms(203), by(0, tag, 20_000_000 + u64::from(tag) * 1_000_000));
    }
    assert!(bfq.queue(shared).is_seeky() && !bfq.queue(shared).merging.to_split);
    bfq.expire(ms(204), false, Expiry::Timeout);
    assert!(bfq.queue(shared).merging.to_split);
    insert(&mut bfq, ms(205), by(0, 40, 500));
    assert!(of(&bfq, 0) != shared && of(&bfq, 1) == shared, "the first one goes");
    assert!(!bfq.queue(of(&bfq, 0)).habits.io_bound);
    insert(&mut bfq, ms(206), by(1, 41, 10_200));
    assert_eq!(
        (of(&bfq, 1), bfq.queue(shared).merging.shared),
        (shared, false),
        "and the last one has it for himself"
    );
    assert_eq!(bfq.queue(shared).owner, Some(1));
}

#[test]
fn queues_created_together_are_merged_for_good_at_once_on_flash_and_later_on_a_disk_if_idling_does_not_pay()
 {
    for (rotational, low_latency, gap, at, shared) in [
        (false, 0, 180, 181, true),
        (false, 0, 181, 182, false),
        (true, 1, 180, 700, false),
        (true, 1, 180, 800, true),
        // Without a raised queue, idling pays for what may be sequential.
        (true, 0, 180, 800, false),
    ] {
        let mut bfq = bfq(1, rotational);
        bfq.set("low_latency", low_latency);
        insert(&mut bfq, ms(0), by(0, 0, 10_000));
        insert(&mut bfq, ms(gap), by(1, 1, 90_000_000));
        insert(&mut bfq, ms(at), by(1, 2, 90_000_064));
        assert_eq!(of(&bfq, 0) == of(&bfq, 1), shared, "{rotational} {low_latency} {gap} {at}");
        assert!(!shared || bfq.process(1).stably_merged);
    }
}

#[test]
fn the_queue_of_a_process_that_was_merged_away_is_let_go_and_so_is_a_shared_one_without_processes()
{
    let mut bfq = one_in_service();
    insert(&mut bfq, ms(202), by(1, 1, 10_100));
    assert_eq!(bfq.spare.len(), 1, "the queue that process 1 had for a moment");
    let shared = of(&bfq, 0);
    bfq.exited(ms(203), 0);
    bfq.exited(ms(203), 1);
    assert_eq!(bfq.queue(shared).users, 0);
    let first = by(0, 0, 10_000);
    finish(&mut bfq, ms(204), first);
    let mut now = ms(205);
    while !bfq.is_empty() {
        match bfq.dispatch(now, &NoDisk) {
            Some(sent) => finish(&mut bfq, now, sent),
            None => {
                now = bfq.next_timer().expect("somebody is waited for");
                bfq.on_timer(now);
            }
        }
    }
    assert_eq!(bfq.queue(shared).refs, 0);
}
