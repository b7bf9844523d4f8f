//! The timing of anticipation, end to end at two kernels' HZ: when a failed wait ends, and how many
//! failures stop it.
//!
//! The device is one server that takes 0.95 ms for everything, the turnaround is 0.05 ms: a
//! reader's cycle is exactly 1 ms, and all times can be computed.

use elevator::Op;
use sim::workload::Step;
use sim::{Event, EventKind, Member, Outcome, Trial};

use super::common::{MS, Recorder, Script, US, io, observed, observed_members, trial, with};

/// Fast reads: enough for a think time history of 0.
const QUICK: u64 = 63;
/// Period of the slow reads.
const PERIOD_NS: u64 = 40 * MS;
const SLOW: u64 = 10;
/// Sectors between the strangers' places: beyond any distance that close() accepts.
const FAR: u64 = 1 << 27;

/// A reads `QUICK` blocks in order without thinking, then one every 40 ms. 0.3 ms after each slow
/// one is issued, a stranger reads a far block and ends. A's first request comes at `offset_ns`.
fn reader_and_strangers(offset_ns: u64) -> Vec<Member> {
    let mut reader = vec![Step::Think(offset_ns)];
    for n in 0..QUICK + SLOW {
        reader.push(io(Op::Read, 8 * n, 8));
        if n >= QUICK {
            reader.push(Step::Think(PERIOD_NS - MS));
        }
    }
    let stranger = |n| {
        let at = offset_ns + QUICK * MS + n * PERIOD_NS + 300 * US;
        Script::member([Step::Think(at), io(Op::Read, FAR * (n + 1), 8)])
    };
    let mut members = vec![Script::member(reader)];
    members.extend((0..SLOW).map(stranger));
    members
}

fn run(hz: u32, offset_ns: u64) -> (Outcome, Vec<Event>) {
    let server = trial("anticipatory", "null:service_ns=950000", "seqread", &[], 10_000);
    let (outcome, kept) = observed_members(
        Trial { hz, ..server },
        reader_and_strangers(offset_ns),
        Recorder::default(),
    );
    (outcome, kept.0)
}

/// For each slow block: the delay from its completion until the stranger was served, and whether a
/// timer fired before.
fn delays(events: &[Event]) -> Vec<(u64, bool)> {
    let slow = |event: &&Event| event.process == Some(0) && event.sector >= 8 * QUICK;
    let completions = events.iter().filter(|event| event.kind == EventKind::Complete).filter(slow);
    let delay = |done: &Event| {
        let after = || events.iter().filter(|event| event.at >= done.at);
        let issue = |event: &&Event| event.kind == EventKind::Issue && event.process != Some(0);
        let served = after().find(issue).expect("the stranger is served");
        let timer = after().find(|event| event.kind == EventKind::Timer);
        (served.at - done.at, timer.is_some_and(|timer| timer.at == served.at))
    };
    completions.map(delay).collect()
}

#[test]
fn a_failed_wait_takes_antic_expire_and_after_four_long_thoughts_there_is_none_any_more() {
    // With 249 samples of 0, four of 19 ticks (HZ 1000) give the means 2, 5, 6, 8: the fourth
    // exceeds antic_expire, 6 ticks. At HZ 250 the cap is 4 ticks and antic_expire 1: the means are
    // 1, 1, 1, 2. [D]
    for (hz, antic_expire) in [(1000, 6 * MS), (250, 4 * MS)] {
        // The completions of the slow blocks are on ticks of both kernels.
        let (outcome, events) = run(hz, 50 * US);
        let delays = delays(&events);
        let mut expected = vec![(antic_expire, true); 4];
        expected.resize(SLOW as usize, (0, false));
        assert_eq!(delays, expected, "HZ {hz}");
        let seen = outcome.anticipation.expect("it anticipates");
        assert_eq!(
            (seen.failures, seen.failure_wait_ns),
            (4, 4 * antic_expire),
            "HZ {hz}: exactly"
        );
    }
}

#[test]
fn a_wait_that_begins_between_ticks_ends_on_a_tick_up_to_one_earlier() {
    for (hz, tick_ns, ticks) in [(1000, MS, 6), (250, 4 * MS, 1)] {
        for late in [100 * US, 450 * US, 900 * US] {
            let (_, events) = run(hz, 50 * US + late);
            let (delay, timer) = delays(&events)[0];
            assert_eq!(
                (delay, timer),
                (ticks * tick_ns - late, true),
                "HZ {hz}, {late} ns after a tick"
            );
        }
    }
}

#[test]
fn every_timer_on_a_drive_fires_antic_expire_after_the_tick_of_a_completion() {
    for (hz, ticks) in [(1000, 6), (250, 1), (100, 1), (300, 2)] {
        let params = [
            ("clients", "4"),
            ("block_size", "4k"),
            ("think_time", "5ms"),
            ("think_dist", "exponential"),
        ];
        let readers = trial("anticipatory", "hp97560", "think-mix", &params, 10_000);
        let (outcome, Recorder(events)) = observed(Trial { hz, ..readers }, Recorder::default());
        let jiffies = |at: elevator::Time| at.as_ns() * u64::from(hz) / 1_000_000_000;
        let mut timers = 0;
        let mut last = None;
        for event in &events {
            match event.kind {
                EventKind::Complete => last = Some(event.at),
                EventKind::Timer => {
                    timers += 1;
                    let done = last.expect("one waits after a completion");
                    // A tick begins at its first whole nanosecond: HZ 300 does not divide a second.
                    assert_eq!(
                        jiffies(event.at) - jiffies(done),
                        ticks,
                        "HZ {hz}, at {} ns",
                        event.at.as_ns()
                    );
                    assert!(
                        jiffies(elevator::Time::from_ns(event.at.as_ns() - 1)) < jiffies(event.at),
                        "on a tick"
                    );
                }
                _ => {}
            }
        }
        let seen = outcome.anticipation.expect("it anticipates");
        println!("HZ {hz}: {timers} timers, {seen:?}");
        assert!(timers > 20, "HZ {hz}: {timers} timers");
    }
}

#[test]
fn a_successful_wait_is_as_long_as_the_thought() {
    // wpcas expects 2 ms, the upper end of the bins with most intervals: a wait of 2 ticks can end
    // before 1.05 ms are over.
    for scheduler in ["anticipatory", "antic-95", "wpcas"] {
        let params =
            [("clients", "2"), ("block_size", "4k"), ("file_size", "200m"), ("think_time", "1ms")];
        let readers = with(
            trial(scheduler, "barracuda7200", "think-mix", &params, 10_000),
            &[("read_expire", 100_000)],
        );
        let (outcome, _) = observed(readers, Recorder::default());
        let seen = outcome.anticipation.expect("it anticipates");
        assert!(seen.successes > 5000, "{scheduler}: {seen:?}");
        let mean_ns = seen.success_wait_ns / seen.successes;
        println!("{scheduler}: {seen:?}, mean {mean_ns} ns");
        assert_eq!(mean_ns, 1050 * US, "{scheduler}: think time and turnaround");
        let most = if scheduler == "wpcas" { seen.successes / 1000 } else { 0 };
        assert!(seen.failures <= most, "{scheduler}: {seen:?}");
    }
}
