//! Every figure that a trial reports can be recomputed from its events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use elevator::{ELEVATORS, Op};
use proptest::prelude::*;
use sim::workload::WORKLOADS;
use sim::{Event, EventKind, Outcome, Trial};

use super::common::{MS, Server, US, observed, trial};

#[derive(Debug, Default, PartialEq)]
struct Figures {
    ios: [u64; 2],
    bytes: [u64; 2],
    latency_sum_ns: [u64; 2],
    per_client: BTreeMap<u32, u64>,
    syncs: u64,
    busy_ns: u64,
    idle_ns: u64,
    seek_sectors: u64,
    seeks: u64,
}

/// Computes figures from `open` to `close` for counts, to `end` for shares of time.
fn read(events: &[Event], open: u64, close: u64, end: u64) -> Figures {
    let mut found = Figures::default();
    let mut open_bios: BTreeMap<(u32, u64, u32, Op), VecDeque<u64>> = BTreeMap::new();
    let (mut commands, mut flushing, mut since, mut last_end) = (0i32, false, 0, None);
    for event in events {
        let at = event.at.as_ns();
        let inside = at.min(end).saturating_sub(since.max(open));
        *(if commands > 0 { &mut found.busy_ns } else { &mut found.idle_ns }) += inside;
        since = at;
        let counts = at >= open && at <= close;
        match event.kind {
            EventKind::Submit | EventKind::Done => {
                let key =
                    (event.process.unwrap(), event.sector, event.nr_sectors, event.op.unwrap());
                let open = open_bios.entry(key).or_default();
                if event.kind == EventKind::Submit {
                    open.push_back(at);
                    continue;
                }
                let submitted = open.pop_front().expect("only what was handed over is done");
                if counts {
                    let which = usize::from(event.op == Some(Op::Write));
                    found.ios[which] += 1;
                    found.bytes[which] += u64::from(event.nr_sectors) * 512;
                    found.latency_sum_ns[which] += at - submitted;
                    *found.per_client.entry(event.process.unwrap()).or_default() += 1;
                }
            }
            EventKind::Issue => {
                commands += 1;
                if let Some(last) = last_end.replace(event.sector + u64::from(event.nr_sectors))
                    && at >= open
                    && at <= end
                {
                    found.seek_sectors += event.sector.abs_diff(last);
                    found.seeks += 1;
                }
            }
            EventKind::Flush => (commands, flushing) = (commands + 1, true),
            EventKind::Complete => commands -= 1,
            EventKind::Flushed => {
                // One flush may serve several clients.
                commands -= i32::from(std::mem::take(&mut flushing));
                found.syncs += u64::from(counts);
            }
            _ => {}
        }
    }
    assert!(
        open_bios.values().all(VecDeque::is_empty) && commands == 0,
        "all that was begun has ended"
    );
    found
}

fn reported(outcome: &Outcome, seeks: u64) -> Figures {
    let (reads, writes) = (&outcome.measured.reads, &outcome.measured.writes);
    Figures {
        ios: [reads.count, writes.count],
        bytes: [reads.bytes, writes.bytes],
        latency_sum_ns: [reads.latency_sum_ns, writes.latency_sum_ns],
        per_client: (0..)
            .zip(&outcome.measured.clients)
            .map(|(at, c)| (at, c.ios))
            .filter(|(_, n)| *n > 0)
            .collect(),
        syncs: outcome.measured.syncs,
        busy_ns: outcome.busy_ns,
        idle_ns: outcome.idle_ns,
        seek_sectors: (outcome.mean_seek_sectors.unwrap_or(0.0) * seeks as f64).round() as u64,
        seeks,
    }
}

fn check(plain: Trial) -> Result<(), TestCaseError> {
    let warms_up = plain.workload.warms_up_with(&plain.params);
    let open = if warms_up { plain.warmup_ns } else { 0 };
    let close = open + plain.duration_ns;
    let (outcome, events) = observed(plain);
    // A final flush prolongs the window, an early end of all clients shortens it.
    let found = read(&events, open, close, open + outcome.window_ns);
    prop_assert_eq!(&found, &reported(&outcome, found.seeks));
    prop_assert!(
        events.windows(2).all(|pair| pair[0].at <= pair[1].at),
        "events are reported in order of time"
    );
    let count = |kind| events.iter().filter(|event| event.kind == kind).count() as u64;
    let counters = &outcome.queue;
    prop_assert_eq!(
        [counters.inserted, counters.dispatched, counters.completed],
        [EventKind::Insert, EventKind::Issue, EventKind::Complete].map(count)
    );
    prop_assert_eq!(counters.back_merges + counters.front_merges, count(EventKind::Merge));
    let mut tags = BTreeSet::new();
    // A request that merges into another frees its tag without an event.
    for event in events.iter().filter(|_| counters.coalesced == 0) {
        match event.kind {
            EventKind::Insert => {
                prop_assert!(tags.insert(event.tag), "a tag is free when it is used: {event:?}")
            }
            EventKind::Complete => {
                prop_assert!(tags.remove(&event.tag), "what completes was inserted: {event:?}")
            }
            _ => {}
        }
    }
    prop_assert_eq!(count(EventKind::Exit), outcome.measured.clients.len() as u64);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn figures_from_the_trace_are_those_reported(
        workload in (0..WORKLOADS.len()).prop_filter("one pass", |at| !WORKLOADS[*at].pass_based),
        elevator in 0..ELEVATORS.len(),
        (clients, iodepth, depth) in (1u32..6, 1u32..6, 1u32..5),
        (think_us, turnaround_us) in (prop_oneof![Just(0u64), 1u64..3000], 0u64..500),
        (warmup_ms, seed) in (0u64..30, any::<u64>()),
        (direct, sync_every, amount_blocks) in (any::<bool>(), 0u32..5, prop::option::of(1u64..60)),
    ) {
        let row = &WORKLOADS[workload];
        let mut plain = trial(row.name, &[]);
        plain.elevator = &ELEVATORS[elevator];
        let params = &mut plain.params;
        (params.clients, params.iodepth, params.think_time_ns) = (clients, iodepth, think_us * US);
        (params.writers, params.sync_every) = (clients, sync_every);
        params.direct = params.direct && (direct || !row.accepts.contains(&"direct"));
        if row.accepts.contains(&"amount") {
            params.amount = amount_blocks.map(|blocks| blocks * u64::from(params.block_size));
        }
        let mut at = 0;
        let service = move || { at += 1; 200 * US + at * 7919 % (900 * US) };
        plain.device = Box::new(Server::new(depth, service));
        (plain.warmup_ns, plain.seed, plain.turnaround_ns) = (warmup_ms * MS, seed, turnaround_us * US);
        check(plain)?;
    }
}
