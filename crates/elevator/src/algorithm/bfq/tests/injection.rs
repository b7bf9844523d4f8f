//! Tests of injection.

use super::*;

/// Idles for process 0; process 1 has a request.
fn waiting() -> (Keeper<Bfq>, u32) {
    let mut bfq = bfq(1, true);
    bfq.set("low_latency", 0);
    insert(&mut bfq, ms(1), by(0, 0, 10_000));
    insert(&mut bfq, ms(301), by(1, 1, 90_000_000));
    let sent = send(&mut bfq, ms(301));
    finish(&mut bfq, ms(302), sent);
    assert!(bfq.next_timer().is_some());
    let id = of(&bfq, 0);
    (bfq, id)
}

/// Makes idling pay only for shares, so that others may be injected.
fn for_shares_only(bfq: &mut Bfq, id: u32) {
    bfq.queue_mut(id).habits.io_bound = false;
    bfq.set("strict_guarantees", 0);
}

#[test]
fn others_are_served_meanwhile_up_to_the_limit_of_the_queue_and_never_where_idling_pays() {
    for (limit, pays, expected) in [(0, false, None), (1, false, Some(1)), (1, true, None)] {
        let (mut bfq, id) = waiting();
        if !pays {
            for_shares_only(&mut bfq, id);
        }
        bfq.queue_mut(id).waking.inject_limit = limit;
        let sent = bfq.dispatch(ms(303), &NoDisk);
        assert_eq!(
            (sent.map(|sent| sent.process), bfq.in_service),
            (expected, Some(id)),
            "limit {limit}"
        );
        assert_eq!(bfq.injection.injected, expected.is_some());
    }
}

#[test]
fn a_queue_whose_completions_are_followed_by_the_requests_of_one_that_thinks_for_long_is_its_waker()
{
    let (mut bfq, id) = waiting();
    bfq.queue_mut(id).habits.thinks_briefly = false;
    let other = of(&bfq, 1);
    for round in 1..=3 {
        assert_eq!(bfq.queue(id).waking.waker, None);
        bfq.last_completed = Some(other);
        bfq.rate.completed(ms(310 + round));
        bfq.observe_arrival(ms(310 + round), id);
    }
    assert_eq!(bfq.queue(id).waking.waker, Some(other));
    // Its requests are served regardless of the limit.
    bfq.queue_mut(id).waking.inject_limit = 0;
    assert_eq!(bfq.stand_in(id), Some(other));
    bfq.forget_waker(other);
    assert_eq!(bfq.queue(id).waking.waker, None);
}

#[test]
fn a_late_arrival_or_another_queue_between_makes_no_waker() {
    for (late_ms, between) in [(5, false), (0, true)] {
        let (mut bfq, id) = waiting();
        bfq.queue_mut(id).habits.thinks_briefly = false;
        let other = of(&bfq, 1);
        for round in 1..=3 {
            bfq.last_completed = Some(if between && round == 2 { id + 100 } else { other });
            bfq.rate.completed(ms(310 + round));
            bfq.observe_arrival(ms(310 + round + late_ms), id);
        }
        assert_eq!(bfq.queue(id).waking.waker, None);
    }
}

#[test]
fn the_limit_follows_from_how_long_requests_take_with_and_without_injection() {
    let after = |baseline_ms: u64, injected: bool, took_ms: u64, limit: u32| {
        let (mut bfq, id) = waiting();
        bfq.queue_mut(id).waking.last_service_ns = baseline_ms * MS;
        bfq.queue_mut(id).waking.inject_limit = limit;
        bfq.queue_mut(id).waking.inject_mark = queue::LONG_AGO / 2;
        bfq.in_driver = u32::from(injected);
        bfq.queueing.most_in_driver = 2;
        bfq.tick(ms(400));
        (bfq.injection.injected, bfq.injection.arrived) = (injected, ms(400));
        bfq.injection.measured = Some(7);
        bfq.in_driver = 1;
        bfq.measure(ms(400 + took_ms), id, 7);
        let waking = &bfq.queue(id).waking;
        (waking.inject_limit, waking.last_service_ns / MS)
    };
    assert_eq!(after(0, false, 10, 0), (1, 10), "a first baseline allows one");
    assert_eq!(
        (after(10, true, 14, 1), after(10, true, 14, 3)),
        ((2, 10), (3, 10)),
        "no more than the device had and one"
    );
    assert_eq!(
        (after(10, true, 15, 1), after(10, true, 15, 0)),
        ((0, 10), (0, 10)),
        "half as long again is too long"
    );
    assert_eq!(
        (after(10, true, 9, 1), after(10, false, 20, 1)),
        ((2, 9), (1, 20)),
        "the baseline follows"
    );
}
