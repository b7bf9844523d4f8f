//! Tests of shares and charges.

use super::*;

#[test]
fn two_sequential_readers_get_service_by_their_weights_over_several_budgets() {
    for (name, levels, guaranteed, expected) in [
        ("priorities", [4, 0], None, 200),
        ("equal", [4, 4], None, 100),
        ("guarantees", [4, 4], Some([100, 300]), 300),
    ] {
        for think_ns in [0, 500_000] {
            let mut bfq = bfq(1, true);
            bfq.set("low_latency", 0);
            bfq.set("max_budget", 2048);
            for (process, weight) in guaranteed.iter().flatten().enumerate() {
                let spec =
                    FlowSpec { weight: Some(*weight), rate: None, burst: 0, latency_ns: None };
                bfq.flow(process as u32, process as u32, &spec);
            }
            let mut readers = levels.map(|level| reader(level, think_ns));
            simulate(&mut bfq, &mut readers, 1, ms(20_000));
            let percent = readers[1].served * 100 / readers[0].served;
            assert!(
                u64::abs_diff(percent, expected) * 20 <= expected,
                "{name}, think {think_ns}: {percent} %"
            );
            let turns = bfq.anticipation.started;
            assert!(turns > 0, "they are idled for");
        }
    }
}

#[test]
fn a_turn_serves_one_reader_for_many_requests_because_it_is_waited_for() {
    let mut bfq = bfq(1, true);
    bfq.set("low_latency", 0);
    // Thinks for less than a fifth of the time: I/O-bound.
    let mut readers = [reader(4, 150_000); 2];
    let order = simulate(&mut bfq, &mut readers, 1, ms(10_000));
    let turns = order.chunk_by(|a, b| a == b).count();
    assert!(order.len() / turns > 40, "{} requests in {turns} turns", order.len());
    let seen = bfq.anticipation().unwrap();
    assert!(
        seen.successes * 10 > seen.started * 9 && seen.success_wait_ns / seen.successes == 150_000,
        "{seen:?}"
    );
}

#[test]
fn a_reader_that_thinks_longer_than_the_idle_slice_is_waited_for_in_vain_and_then_no_more() {
    let mut bfq = bfq(1, true);
    bfq.set("low_latency", 0);
    let mut readers = [reader(4, 30 * MS), reader(4, 0)];
    simulate(&mut bfq, &mut readers, 1, ms(20_000));
    let seen = bfq.anticipation().unwrap();
    assert!(
        !bfq.queue(of(&bfq, 0)).habits.thinks_briefly
            && bfq.queue(of(&bfq, 1)).habits.thinks_briefly
    );
    assert!(seen.failures <= seen.started / 10, "{seen:?}");
}

#[test]
fn an_ssd_with_a_queue_is_kept_busy() {
    // Idles for raised processes only if not all are raised.
    for (low_latency, percent) in [(0, 99), (1, 85)] {
        let mut bfq = bfq(32, false);
        bfq.set("low_latency", low_latency);
        let mut readers = [reader(4, 0); 40];
        simulate(&mut bfq, &mut readers, 32, ms(4000));
        let served: u64 = readers.iter().map(|reader| reader.served / 64).sum();
        assert!(served * 100 >= 4000 * 32 * percent, "{served} of {}", 4000 * 32);
        assert!(bfq.queueing.detected);
    }
}

#[test]
fn a_queue_that_used_up_its_time_on_few_sectors_is_charged_the_whole_budget_of_the_device() {
    for (until, charged) in [(2, 64), (41, 16_384 * 40 / 125), (126, 16_384)] {
        let mut bfq = bfq(1, true);
        bfq.set("low_latency", 0);
        insert(&mut bfq, ms(1), by(0, 0, 100));
        let id = bfq.slot(0).queue;
        let sent = send(&mut bfq, ms(1));
        finish(&mut bfq, ms(until), sent);
        assert_eq!(bfq.next_timer(), Some(ms(until + 8)));
        bfq.on_timer(ms(until + 8));
        // Idling time is not charged.
        assert_eq!(bfq.tree.get(id).finish, wf2q::delta(charged, 40), "{until} ms");
    }
}

#[test]
fn asynchronous_sectors_are_charged_three_times_unless_queues_differ() {
    let mut bfq = bfq(1, true);
    bfq.set("low_latency", 0);
    insert(&mut bfq, ms(1), async_write(0, 100));
    let id = bfq.slot(0).queue;
    assert_eq!(bfq.charge_for(id, &async_write(0, 100)), 192);
    insert(&mut bfq, ms(1), by(1, 1, 900));
    assert_eq!(bfq.charge_for(bfq.slot(1).queue, &by(1, 1, 900)), 64, "a synchronous one");
    assert_eq!(bfq.charge_for(id, &async_write(0, 100)), 192);
    let urgent = BlockRequest {
        priority: Priority { class: PrioClass::RealTime, level: 4 },
        ..by(2, 2, 9000)
    };
    insert(&mut bfq, ms(1), urgent);
    assert_eq!(bfq.charge_for(id, &async_write(0, 100)), 64, "two classes are busy");
}

#[test]
fn the_budget_of_a_waiting_queue_grows_with_its_next_request() {
    let mut bfq = bfq(1, true);
    bfq.set("low_latency", 0);
    insert(&mut bfq, ms(1), by(0, 0, 5000));
    let id = bfq.slot(0).queue;
    bfq.queue_mut(id).max_budget = 10;
    insert(&mut bfq, ms(1), BlockRequest { nr_sectors: 200, ..by(0, 1, 1000) });
    assert_eq!((bfq.queue(id).next, bfq.tree.get(id).budget), (Some(1), 200));
}

#[test]
fn budgets_follow_what_became_of_the_last_one() {
    let after = |budget: u64, dispatched: u32, why: Expiry| {
        let mut bfq = bfq(1, true);
        bfq.set("low_latency", 0);
        insert(&mut bfq, ms(1), by(0, 0, 100));
        let id = bfq.slot(0).queue;
        let queue = bfq.queue_mut(id);
        (queue.max_budget, queue.dispatched) = (budget, dispatched);
        bfq.tree.get_mut(id).service = 700;
        bfq.feed_back(id, why);
        bfq.queue(id).max_budget
    };
    let (most, least) = (budget::DEFAULT_MAX_BUDGET, budget::DEFAULT_MAX_BUDGET / 32);
    assert_eq!(after(1000, 1, Expiry::TooIdle), 2000);
    assert_eq!(
        (after(8000, 0, Expiry::TooIdle), after(2560, 0, Expiry::TooIdle)),
        (8000 - 4 * least, least)
    );
    assert_eq!((after(1000, 0, Expiry::Timeout), after(9000, 0, Expiry::Timeout)), (2000, most));
    assert_eq!(
        (after(1000, 0, Expiry::Exhausted), after(9000, 0, Expiry::Exhausted)),
        (4000, most)
    );
    assert_eq!(
        (after(1000, 0, Expiry::NoMoreRequests), after(1000, 0, Expiry::Preempted)),
        (700, 1000)
    );
}

#[test]
fn a_scattered_reader_is_charged_by_time_and_does_not_take_the_device_from_a_sequential_one() {
    let mut bfq = bfq(1, true);
    bfq.set("low_latency", 0);
    // Both take the same device time, so charging by sectors would give both the same. 64 sectors
    // per millisecond are half of a budget's rate, so both are slow or neither is. The scattered
    // one is not idled for long. They start too far apart to merge.
    let far = Reader { stride: 1_000_000, asks: Some(ms(1000)), ..reader(4, 0) };
    let mut readers = [reader(4, 0), far];
    simulate(&mut bfq, &mut readers, 1, ms(20_000));
    let [near, far] = readers.map(|reader| reader.served);
    assert!(bfq.queue(of(&bfq, 1)).is_seeky() && far > 0 && near >= far, "{near} and {far}");
}
