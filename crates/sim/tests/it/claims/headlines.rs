//! The headline claims of the classic schedulers that a modelled drive can show: whom they favour,
//! and whom they starve.
//!
//! All have a pool of 256 requests. blk-mq allocates two for a drive that takes one at a time,
//! which leaves almost nothing to choose from: none of the claims holds then.

use std::collections::BTreeMap;

use elevator::{ELEVATORS, Op};
use sim::{Event, EventKind, Member, Observer, Outcome, Trial};

use super::common::{
    Anywhere, MS, Onward, Recorder, observed, observed_members, trial, unseen, with,
};

const CYLINDERS: u64 = 1962;

fn random(elevator: &str, clients: &str) -> Trial {
    let plain = trial(
        elevator,
        "hp97560",
        "randread",
        &[("clients", clients), ("block_size", "4k")],
        60_000,
    );
    Trial { nr_requests: Some(256), ..plain }
}

#[derive(Default)]
struct Responses {
    open: BTreeMap<u32, u64>,
    sum: f64,
    squares: f64,
    count: f64,
}

impl Observer for Responses {
    fn event(&mut self, event: &Event) {
        let Some(process) = event.process else { return };
        match event.kind {
            EventKind::Submit => {
                self.open.insert(process, event.at.as_ns());
            }
            EventKind::Done => {
                let ms = (event.at.as_ns() - self.open[&process]) as f64 / 1e6;
                self.sum += ms;
                self.squares += ms * ms;
                self.count += 1.0;
            }
            _ => {}
        }
    }
}

impl Responses {
    fn mean(&self) -> f64 {
        self.sum / self.count
    }

    fn deviation(&self) -> f64 {
        (self.squares / self.count - self.mean() * self.mean()).sqrt()
    }
}

fn seek(outcome: &Outcome) -> f64 {
    outcome.mean_seek_cylinders.expect("the arm moves")
}

#[test]
fn sstf_seeks_less_than_fcfs_as_soon_as_there_is_a_choice() {
    for clients in ["1", "2", "4", "16", "64"] {
        let [near, arrival] =
            ["sstf", "fcfs"].map(|scheduler| seek(&unseen(random(scheduler, clients))));
        println!("{clients} clients: sstf {near:.0} cylinders, fcfs {arrival:.0}");
        // Two clients leave no choice: one request is at the disk, the other waits.
        match clients {
            "1" | "2" => assert_eq!(near, arrival, "{clients} clients"),
            "4" => assert!(near < 0.9 * arrival, "{clients} clients: {near:.0}, {arrival:.0}"),
            _ => assert!(near < 0.5 * arrival, "{clients} clients: {near:.0}, {arrival:.0}"),
        }
        // The mean distance of two uniform places is a third of the cylinders.
        assert!(
            (arrival / (CYLINDERS as f64 / 3.0) - 1.0).abs() < 0.03,
            "{clients} clients: {arrival:.0}"
        );
    }
}

#[test]
fn v_of_one_fifth_lies_between_sstf_and_look() {
    // With 32 clients a fifth of the disk exceeds any gap between requests, and V(0.2) is LOOK.
    for clients in ["6", "8", "12"] {
        let run = |scheduler| {
            let trial = Trial { duration_ns: 600_000 * MS, ..random(scheduler, clients) };
            observed(trial, Responses::default()).1
        };
        let seen = ["sstf", "vscan-r", "look"].map(run);
        let [means, deviations] =
            [seen.each_ref().map(Responses::mean), seen.each_ref().map(Responses::deviation)];
        println!(
            "{clients} clients: sstf, V(0.2), look: means {means:.2?} ms, deviations {deviations:.2?} ms"
        );
        assert!(
            deviations[2] < deviations[1] && deviations[1] < deviations[0],
            "{clients} clients: {deviations:.1?}"
        );
        // With mechanics and a closed loop the means do not differ, so LOOK's mean + k·σ is the
        // smallest: V(0.2)'s advantage over both ends does not show here.
        assert!(
            means.iter().all(|mean| (mean / means[0] - 1.0).abs() < 0.01),
            "{clients} clients: {means:.1?}"
        );
        let cost = |at: usize| means[at] + deviations[at];
        assert!(cost(1) < cost(0), "{clients} clients");
    }
}

#[test]
fn a_scheduler_that_knows_the_angle_serves_random_readers_fastest() {
    let rate = |scheduler: &str| unseen(random(scheduler, "32")).measured.reads.count;
    let best = rate("sptf");
    for row in ELEVATORS.iter().filter(|row| row.name != "sptf") {
        let this = rate(row.name);
        println!("{}: {:.3} of sptf", row.name, this as f64 / best as f64);
        match row.name {
            // Equal, with a small bonus for old requests.
            "asptf" => {
                assert!((this as f64 / best as f64 - 1.0).abs() < 0.02, "asptf: {this} of {best}")
            }
            name => assert!((this as f64) < 0.95 * best as f64, "{name}: {this} of {best}"),
        }
    }
}

/// Eight readers of the first hundred cylinders, and one (the last) of the last hundred.
fn hot_zone() -> Vec<Member> {
    let mut members: Vec<Member> =
        (0..8).map(|n| Anywhere::member(&format!("hot {n}"), Op::Read, 0..100, 1)).collect();
    members.push(Anywhere::member("far", Op::Read, 1862..1962, 1));
    members
}

#[test]
fn sstf_starves_who_is_far_from_a_hot_zone_and_the_longest_wait_shows_it() {
    let run =
        |scheduler| observed_members(random(scheduler, "1"), hot_zone(), Recorder::default()).0;
    let mut longest = BTreeMap::new();
    for scheduler in ["sstf", "vscan-r", "look", "scan", "c-look", "fscan", "fcfs"] {
        let outcome = run(scheduler);
        let far = outcome.measured.clients[8].ios;
        println!("{scheduler}: longest wait {} ms, {far} far reads", outcome.longest_wait_ns / MS);
        longest.insert(scheduler, outcome.longest_wait_ns);
    }
    assert!(longest["sstf"] > 50_000 * MS, "the far reader waits nearly the whole minute");
    // A bonus of a fifth of the cylinders does not outweigh 1762 of them.
    assert!(longest["vscan-r"] > 50_000 * MS, "V(0.2) starves as well");
    for bounded in ["look", "scan", "c-look", "fscan", "fcfs"] {
        assert!(longest[bounded] < 700 * MS, "{bounded}: {} ms", longest[bounded] / MS);
    }
}

#[test]
fn an_old_request_ends_starvation_under_deadline() {
    // A stream with a block always ahead of the arm would keep it there; a read expires after 500
    // ms. mq-deadline checks for expired requests only after a batch of 16.
    let run = |scheduler, tunables: &[(&str, u64)]| {
        let members = vec![Onward::member(4), Anywhere::member("far", Op::Read, 1862..1962, 1)];
        observed_members(with(random(scheduler, "1"), tunables), members, Recorder::default())
            .0
            .longest_wait_ns
            / MS
    };
    for scheduler in ["deadline", "mq-deadline"] {
        let [default, same, never] = [
            run(scheduler, &[]),
            run(scheduler, &[("read_expire", 500)]),
            run(scheduler, &[("read_expire", 1_000_000)]),
        ];
        println!("{scheduler}: longest wait {default} ms; without expiry {never} ms");
        assert_eq!(default, same, "{scheduler}: 500 ms is the default");
        assert!((500..700).contains(&default), "{scheduler}: {default} ms");
        assert!(never > 50_000, "{scheduler}: {never} ms without expiry");
    }
}

#[test]
fn deadline_serves_two_reads_and_a_write_and_begins_each_switch_at_the_lowest_sector() {
    let members = vec![
        Anywhere::member("reads", Op::Read, 0..CYLINDERS, 6),
        Anywhere::member("writes", Op::Write, 0..CYLINDERS, 6),
    ];
    let (_, Recorder(events)) =
        observed_members(random("deadline", "1"), members, Recorder::default());
    // Held requests by tag: direction, sector, expiry.
    let mut held: BTreeMap<u32, (Op, u64, u64)> = BTreeMap::new();
    let mut order = Vec::new();
    let (mut lowest, mut expired) = (0, 0);
    let end = 59_000 * MS;
    for event in events.iter().filter(|event| event.at.as_ns() < end) {
        let (Some(tag), Some(op)) = (event.tag, event.op) else { continue };
        assert_ne!(event.kind, EventKind::Merge, "random blocks do not merge here");
        if event.kind == EventKind::Insert {
            let expires = event.at.as_ns() / MS + if op == Op::Read { 500 } else { 5000 };
            held.insert(tag, (op, event.sector, expires));
        } else if event.kind == EventKind::Issue {
            let of = |tag: &u32| held[tag];
            let same = || held.values().filter(|(other, ..)| *other == op);
            let (_, sector, expires) = of(&tag);
            let first = order.last() != Some(&op);
            if first && order.len() > 12 {
                let oldest = same().map(|(.., expires)| *expires).min().expect("there is one");
                let bottom = same().map(|(_, sector, _)| *sector).min().expect("there is one");
                if oldest < event.at.as_ns() / MS {
                    assert_eq!(
                        expires,
                        oldest,
                        "the oldest goes first if it is old, at {} ns",
                        event.at.as_ns()
                    );
                    expired += 1;
                } else {
                    assert_eq!(
                        sector,
                        bottom,
                        "a switch begins at the lowest sector, at {} ns",
                        event.at.as_ns()
                    );
                    lowest += 1;
                }
            }
            order.push(op);
            held.remove(&tag);
        }
    }
    println!(
        "{} requests; {lowest} switches at the lowest sector, {expired} to an expired one",
        order.len()
    );
    assert!(lowest > 500 && expired > 10, "{lowest} and {expired}");
    // Once both directions are always held.
    let steady = &order[12..];
    let writes: Vec<usize> = (0..steady.len()).filter(|&at| steady[at] == Op::Write).collect();
    assert!(writes.windows(2).all(|two| two[1] - two[0] == 3), "R R W, again and again");
}

#[test]
fn mq_deadline_serves_sixteen_in_ascending_order_and_two_batches_of_reads_for_one_of_writes() {
    let members = vec![
        Anywhere::member("reads", Op::Read, 0..CYLINDERS, 24),
        Anywhere::member("writes", Op::Write, 0..CYLINDERS, 24),
    ];
    // Nothing expires, so only batches decide.
    let trial = with(
        random("mq-deadline", "1"),
        &[("read_expire", 1_000_000), ("write_expire", 1_000_000)],
    );
    let (_, Recorder(events)) = observed_members(trial, members, Recorder::default());
    let issued: Vec<&Event> =
        events.iter().filter(|event| event.kind == EventKind::Issue).collect();
    let issued = &issued[..issued.len() - 64];
    let mut runs: Vec<(Op, usize)> = Vec::new();
    for event in issued {
        let op = event.op.expect("it has a direction");
        match runs.last_mut() {
            Some((last, length)) if *last == op => *length += 1,
            _ => runs.push((op, 1)),
        }
    }
    let inner = &runs[2..runs.len() - 1];
    let mean = |of: Op| {
        let lengths: Vec<usize> =
            inner.iter().filter(|(op, _)| *op == of).map(|(_, length)| *length).collect();
        lengths.iter().sum::<usize>() as f64 / lengths.len() as f64
    };
    println!("runs of reads {:.1}, of writes {:.1}", mean(Op::Read), mean(Op::Write));
    // A batch ends early if no request lies ahead of the last one.
    assert!(
        inner.iter().all(|(op, length)| *length <= if *op == Op::Read { 32 } else { 16 }),
        "{inner:?}"
    );
    assert!((1.8..2.2).contains(&(mean(Op::Read) / mean(Op::Write))));
    // Sectors ascend within a batch: a descent is a new batch; sixteen requests have at most one,
    // rarely two.
    let descents = issued
        .windows(2)
        .filter(|two| two[0].op == two[1].op && two[1].sector < two[0].sector)
        .count();
    println!("{descents} descents in {} requests", issued.len());
    assert!(descents * 8 < issued.len(), "{descents} of {}", issued.len());
}

#[test]
fn cfq_gives_a_random_reader_the_time_of_a_sequential_one_not_its_bytes() {
    let members = || {
        let sequential = trial("cfq", "hp97560", "think-mix", &[], 1000);
        let params = sequential.workload.params([
            ("clients", "1"),
            ("think_time", "0"),
            ("file_size", "200m"),
        ]);
        let params = params.expect("they are possible");
        let seat = sim::workload::Seat { index: 0, count: 1, len: 200 << 20, seed: 1 };
        let program = sequential.workload.client(&params, seat);
        let near = Member::new(program, 0, 1);
        vec![near, Anywhere::member("random", Op::Read, 400..700, 1)]
    };
    let (outcome, Recorder(events)) =
        observed_members(random("cfq", "1"), members(), Recorder::default());
    // Time at the device, one at a time.
    let mut busy = [0u64; 2];
    let mut since = 0;
    for event in &events {
        match event.kind {
            EventKind::Issue => since = event.at.as_ns(),
            EventKind::Complete => {
                busy[event.process.expect("a request has a process") as usize] +=
                    event.at.as_ns() - since;
            }
            _ => {}
        }
    }
    let ratio = busy[1] as f64 / busy[0] as f64;
    let [near, far] = [0, 1].map(|client| outcome.measured.clients[client].bytes as f64);
    println!("device time random to sequential {ratio:.2}, bytes {:.2}", far / near);
    assert!((0.8..1.25).contains(&ratio), "device time {ratio:.2}");
    assert!(far < 0.4 * near, "bytes {:.2}", far / near);
}
