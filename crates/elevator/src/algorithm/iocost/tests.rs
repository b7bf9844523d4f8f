//! Tests of iocost: vectors of its specification, waits, debts, loans and periods.

use super::*;
use crate::algorithm::flow_queues::Position;
use crate::algorithm::flow_testing::of;
use crate::scheduler::{FlowSpec, InsertAt, NoDisk};
use crate::testing::Keeper;

const MS: u64 = 1_000_000;

/// A disk at a fixed rate of 100 %, with flows of these weights.
fn iocost(weights: &[u32]) -> Keeper {
    let mut iocost = Keeper::new(build(&Build { nr_tags: 256, ..Build::default() }));
    [("model", 1), ("max", 100), ("min", 100)]
        .into_iter()
        .for_each(|(name, value)| iocost.set(name, value));
    for (process, weight) in weights.iter().enumerate() {
        let spec = FlowSpec { weight: Some(*weight), ..FlowSpec::default() };
        iocost.flow(process as u32, process as u32, &spec);
    }
    iocost
}

/// Reads per process in this time, with 16 random reads waiting each, on a device that is never the
/// bottleneck.
fn served(iocost: &mut Keeper, processes: &[u32], duration_ms: u64) -> Vec<u64> {
    let mut at = 1u64;
    let mut read = |process: u32, tag: u32| {
        at = (at * 6_364_136_223 + 12_345) % 1_000_003;
        of(process, tag, 100_000 + at * 40_000)
    };
    for process in processes {
        for tag in 0..16 {
            let request = read(*process, process * 16 + tag);
            iocost.insert(Time::ZERO, request, InsertAt::Sorted);
        }
    }
    let mut counts = vec![0; processes.len()];
    let mut now = Time::ZERO;
    while now < Time::from_ns(duration_ms * MS) {
        while let Some(request) = iocost.dispatch(now, &NoDisk) {
            iocost.complete(now, &Finished { request, issued: now });
            counts[processes
                .iter()
                .position(|process| *process == request.process)
                .expect("one of them")] += 1;
            let next = read(request.process, request.tag);
            iocost.insert(now, BlockRequest { allocated: now, ..next }, InsertAt::Sorted);
        }
        now = iocost.next_timer().expect("what waits has a timer").max(now);
        iocost.on_timer(now);
    }
    counts
}

#[test]
fn two_equal_busy_flows_have_185_random_reads_of_a_disk_a_second_each() {
    let counts = served(&mut iocost(&[100, 100]), &[0, 1], 20_000);
    for count in counts {
        // 185 per second, plus the half period granted on activation.
        assert!((3650..=3800).contains(&count), "{count} in 20 s");
    }
}

#[test]
fn weights_share_the_modelled_time() {
    let counts = served(&mut iocost(&[100, 400]), &[0, 1], 20_000);
    let ratio = counts[1] as f64 / counts[0] as f64;
    assert!((3.8..=4.1).contains(&ratio), "{counts:?}");
}

#[test]
fn a_request_that_is_too_dear_waits_until_virtual_time_has_come() {
    let mut rule = IoCost::new(&Build::default());
    rule.groups = vec![Group::default(); 2];
    rule.activate(Time::ZERO, 0, 100 * ONE);
    rule.activate(Time::ZERO, 1, 100 * ONE);
    // A random page takes 2.7027 ms, on half a device twice that.
    let cost = rule.costs[0].request(&of(0, 0, 1 << 30), 8);
    assert_eq!(rule.own_time(0, cost) as u64 * 1000 / rate::FULL / 1000, 5405, "µs");
    let paid = (0..).take_while(|_| rule.pay(Time::ZERO, 0, cost)).count();
    assert_eq!(paid, 46, "half a period of 500 ms");
    assert!(rule.pay(Time::from_ns(6 * MS), 0, cost));
}

#[test]
fn a_flow_that_runs_short_takes_its_share_back_in_steps() {
    let mut rule = IoCost::new(&Build::default());
    rule.groups = vec![Group::default(); 2];
    (0..2).for_each(|flow| rule.activate(Time::ZERO, flow, 100 * ONE));
    rule.set_in_use(0, 10 * ONE);
    assert_eq!(rule.share(0), ONE * 10 / 110);
    rule.groups[0].vtime = -rule.margin(1);
    let cost = rule.costs[0].request(&of(0, 0, 1 << 30), 8);
    assert!(rule.pay(Time::ZERO, 0, cost / 2));
    assert_eq!(rule.groups[0].in_use, 60 * ONE, "two steps of 25");
}

#[test]
fn metadata_goes_at_once_into_debt_and_the_debt_is_paid_before_others_go() {
    let mut iocost = iocost(&[100, 100]);
    let meta = |tag| BlockRequest { meta: true, nr_sectors: 1024, ..of(0, tag, 1 << 20) };
    for tag in 0..200 {
        iocost.insert(Time::ZERO, meta(tag), InsertAt::Sorted);
    }
    let sent = (0..).map_while(|_| iocost.dispatch(Time::ZERO, &NoDisk)).count();
    assert_eq!(sent, 200, "512 KiB each: 600 ms of device time, and none waits");
    iocost.insert(Time::ZERO, of(0, 200, 1 << 20), InsertAt::Sorted);
    assert_eq!(iocost.dispatch(Time::ZERO, &NoDisk), None);
    let at = iocost.next_timer().expect("what waits has a timer");
    assert!(at > Time::ZERO);
}

#[test]
fn a_flow_without_requests_for_a_period_leaves_its_share_to_the_others() {
    let mut rule = IoCost::new(&Build::default());
    rule.groups = vec![Group::default(); 2];
    (0..2).for_each(|flow| rule.activate(Time::ZERO, flow, 100 * ONE));
    rule.groups[0].used = 1;
    rule.period(Time::from_ns(500 * MS));
    assert_eq!((rule.groups[1].active, rule.share(0)), (false, ONE));
    rule.period(Time::from_ns(1000 * MS));
    assert_eq!(rule.period_end, None, "nothing is active, so there are no periods");
}

#[test]
fn requests_of_earlier_periods_lag_if_targets_count_and_until_they_complete() {
    let level = |percentile, flying| {
        let mut rule = IoCost::new(&Build::default());
        [("model", 1), ("rpct", percentile), ("linux", 703)]
            .into_iter()
            .for_each(|(name, value)| rule.set(name, value));
        rule.rate.level = 5;
        let mut queues = FlowQueues::new(2);
        for tag in 0..2 {
            queues.enter(&of(0, tag, u64::from(tag) << 30), Position::Queued);
            rule.arrived(Time::ZERO, &queues, tag);
        }
        for tag in flying..2 {
            let request = *queues.request(tag);
            rule.completed(Time::ZERO, &queues, 0, &Finished { request, issued: Time::ZERO });
        }
        rule.seen = Observed::default();
        rule.groups[0].used = 1;
        rule.period(Time::from_ns(rule.period_ns));
        rule.rate.level
    };
    assert_eq!(level(95, 2), 5);
    assert_eq!(level(0, 2), 0, "no percentile");
    assert_eq!([1, 0].map(|flying| level(95, flying)), [5, 0], "the last one completed");
    let lags = |vtime, unfinished| Group { vtime, unfinished, ..Group::default() }.lags(2000, 100);
    assert!(lags(1903, 5) && !lags(1905, 5) && !lags(1800, 0), "done before the period");
    assert!(lags(1001, 200) && !lags(1000, 200), "in the last ten periods");
}
