//! Tests of weight raising: whose weight, and for how long.

use super::*;
use crate::algorithm::bfq::raising::Raising;

#[test]
fn a_new_process_is_raised_and_no_longer_than_the_reference_and_no_more_than_120000_sectors() {
    let mut bfq = bfq(1, true);
    let mut readers = [reader(4, 2 * MS), reader(5, 2 * MS)];
    simulate(&mut bfq, &mut readers, 1, ms(1000));
    let raised = |bfq: &Bfq| [0, 1].map(|process| bfq.tree.get(of(bfq, process)).coefficient);
    assert_eq!(raised(&bfq), [30, 1], "only the default weight is raised");
    assert_eq!(bfq.raised_busy, 1);
    // 7 s × 14000/9333, or longer if the peak rate has fallen; at most 25 s.
    let mut slow = super::tests::bfq(1, true);
    let mut readers = [reader(4, 20 * MS), reader(5, 20 * MS)];
    simulate(&mut slow, &mut readers, 1, ms(26_000));
    assert_eq!(raised(&slow), [1, 1]);
    assert!(readers[0].served < 120_000, "time has ended it, not service");
    // Without thinking, 120,000 sectors take two seconds.
    let mut fast = super::tests::bfq(1, true);
    let mut readers = [reader(4, 0), reader(5, 0)];
    simulate(&mut fast, &mut readers, 1, ms(2500));
    assert!(readers[0].served > 120_000);
    assert_eq!((raised(&fast), fast.raised_busy), ([1, 1], 0));
}

#[test]
fn eight_processes_that_start_at_once_are_not_raised_nor_are_those_that_follow() {
    let raised = |count: u64, gap_ms: u64, burst: u64| {
        let mut bfq = bfq(32, true);
        bfq.set("burst", burst);
        let mut readers = vec![reader(4, 0); count as usize];
        for (at, reader) in readers.iter_mut().enumerate() {
            reader.asks = Some(ms(1000 + gap_ms * at as u64));
        }
        simulate(&mut bfq, &mut readers, 32, ms(1200 + gap_ms * count));
        let raised: Vec<u32> =
            (0..bfq.queues.len() as u32).filter(|id| is_raised(&bfq, *id)).collect();
        assert_eq!(
            raised.iter().filter(|id| bfq.queue(**id).busy).count(),
            bfq.raised_busy as usize
        );
        raised.len()
    };
    assert_eq!(
        [raised(7, 20, 1), raised(8, 20, 1), raised(12, 20, 1), raised(12, 20, 0)],
        [7, 0, 0, 12]
    );
    assert!(raised(12, 190, 1) > 4, "they start too far apart");
}

#[test]
fn a_process_that_comes_back_after_two_seconds_is_interactive_and_one_that_comes_sooner_and_slowly_is_soft_real_time()
 {
    for (gap, coefficient) in [(1900, 3000), (2100, 30)] {
        let mut bfq = bfq(1, true);
        bfq.set("low_latency", 0);
        insert(&mut bfq, ms(1), by(0, 0, 100));
        let sent = send(&mut bfq, ms(1));
        finish(&mut bfq, ms(2), sent);
        let timer = bfq.next_timer().expect("it is waited for");
        bfq.on_timer(timer);
        bfq.set("low_latency", 1);
        insert(&mut bfq, ms(10 + gap), by(0, 0, 164));
        assert_eq!(bfq.tree.get(bfq.slot(0).queue).coefficient, coefficient, "after {gap} ms");
    }
}

#[test]
fn a_process_that_starts_is_served_soon_whatever_the_others_do() {
    for (low_latency, soon) in [(1, true), (0, false)] {
        let mut bfq = bfq(1, true);
        bfq.set("low_latency", low_latency);
        let mut readers = [reader(5, 0); 6];
        readers[5] = Reader { asks: Some(ms(20_000)), think_ns: MS, ..reader(4, 0) };
        simulate(&mut bfq, &mut readers, 1, ms(21_000));
        let served = readers[5].served / 64;
        // One second of 1 ms reads and 1 ms thinking.
        assert_eq!(
            served > 350,
            soon,
            "{served} reads in the first second, low_latency {low_latency}"
        );
    }
}

#[test]
fn a_player_is_raised_as_soft_real_time_while_a_reader_that_asks_again_at_once_is_not() {
    for (think_ms, stride, coefficient) in [(100, 64, 3000), (0, 64, 1), (100, 1 << 20, 1)] {
        let mut bfq = bfq(1, true);
        let mut readers =
            [reader(5, 0), Reader { think_ns: think_ms * MS, stride, ..reader(4, 0) }];
        // Until interactive raising has ended one way or the other.
        simulate(&mut bfq, &mut readers, 1, ms(30_000));
        let id = of(&bfq, 1);
        assert_eq!(
            bfq.tree.get(id).coefficient,
            coefficient,
            "thinks {think_ms} ms, goes {stride}"
        );
    }
}

#[test]
fn a_soft_real_time_period_ends_after_300_ms_unless_it_is_renewed_and_gives_way_to_an_interactive_one()
 {
    let mut bfq = bfq(1, true);
    insert(&mut bfq, ms(0), by(0, 0, 100));
    let id = of(&bfq, 0);
    let (now, soft) = (5_000, 3_000);
    for (interactive, expected) in [(queue::LONG_AGO, 1), (1_000, 30)] {
        bfq.tick(ms(now));
        let raising = &mut bfq.queue_mut(id).raising;
        raising.resume(&Raising::soft(4_700, interactive));
        bfq.set_coefficient(id, soft);
        bfq.end_raising_if_due(id);
        assert_eq!(bfq.tree.get(id).coefficient, soft, "it is not over");
        bfq.tick(ms(now + 1));
        bfq.end_raising_if_due(id);
        assert_eq!(bfq.tree.get(id).coefficient, expected);
    }
}
