//! Tests of WPCAS: when it waits, for how long, what it learns, and each switch.

use super::ROW;
use crate::algorithm::anticipatory::testing::{Bench, Client, closed_loop, hp97560, ms};
use crate::kind::Build;
use crate::vocabulary::Time;

const FAR: u64 = 2_000_000;

/// A reader that thinks for 1 ms, and a far request against it; returns the reader's last
/// completion.
fn against_far(bench: &mut Bench, requests: u64) -> Time {
    let end = bench.stream(ms(1), 0, 0, requests, 1000);
    bench.read(end, 1, FAR);
    end
}

fn hp() -> Bench {
    Bench::hp(&ROW)
}

fn started(bench: &Bench) -> u64 {
    bench.elevator.anticipation().unwrap().started
}

/// A bench with one tunable changed.
fn with(tunable: &str, value: u64) -> Bench {
    let mut bench = hp();
    bench.set(tunable, value);
    bench
}

/// How long it waits for a reader of this many requests; None: not at all.
fn wait_us(mut bench: Bench, requests: u64) -> Option<u64> {
    let end = against_far(&mut bench, requests);
    match bench.dispatch(end) {
        Some(_) => None,
        None => Some((bench.elevator.next_timer().unwrap() - end) / 1000),
    }
}

#[test]
fn below_eight_intervals_it_waits_as_anticipatory_does() {
    // n requests make n - 1 intervals. 1 ms lies in [0, 2) and in [1, 3): the first counts.
    let waits = [1, 8, 9, 20].map(|requests| wait_us(hp(), requests));
    assert_eq!(waits, [6000, 6000, 2000, 2000].map(Some));
    assert_eq!(wait_us(with("min_samples", 0), 2), Some(2000));
    assert_eq!(wait_us(with("min_samples", 20), 20), Some(6000));
}

#[test]
fn it_waits_as_long_as_the_densest_interval_says() {
    assert_eq!(wait_us(with("which_j", 1), 20), Some(1000), "the middle of [0, 2)");
    assert_eq!(wait_us(with("which_j", 2), 20), Some(1000), "the lower end, at least a bin");
    assert_eq!(wait_us(with("width_ms", 5), 20), Some(5000), "[0, 5)");
    assert_eq!(
        wait_us(with("region", 1), 20),
        Some(2000),
        "the bin [1, 2) has no neighbour to grow over"
    );
    let mut fine = with("bin_us", 100);
    fine.set("fine_clock", 1);
    fine.set("region", 1);
    assert_eq!(wait_us(fine, 20), Some(1100), "the bin [1.0, 1.1)");
}

/// Eight intervals of which no 2 ms window holds half: 1, 4, 7, 10, … ms.
fn scattered(mut bench: Bench) -> Option<u64> {
    let mut now = ms(1);
    bench.read(now, 0, 0);
    bench.serve(now, 0);
    for (at, think) in (1..).zip([1, 4, 7, 10, 1, 4, 7, 10]) {
        now = now + think * 1_000_000;
        bench.read(now, 0, 8 * at);
        bench.serve(now, 0);
    }
    bench.read(now, 1, FAR);
    match bench.dispatch(now) {
        Some(_) => None,
        None => Some((bench.elevator.next_timer().unwrap() - now) / 1000),
    }
}

#[test]
fn without_a_dense_interval_and_without_a_success_it_waits_for_antic_expire() {
    assert_eq!(scattered(hp()), Some(6000));
    assert_eq!(scattered(with("gamma_percent", 20)), Some(2000), "two of eight are enough then");
    assert_eq!(
        scattered(with("cap_ms", 1)),
        Some(6000),
        "what is too long counts in the denominator"
    );
}

#[test]
fn without_a_dense_interval_it_waits_for_the_mean_interval_or_literally_for_the_mean_success_wait()
{
    for (tas, wait_ns) in [(0, 6_000_000), (1, 3_000_000)] {
        let mut bench = with("tas", tas);
        let mut now = ms(1);
        // Two intervals each of 1, 4, 7, 10 ms: mean 5.5, so 6 ms. Those of 1 and 4 ms end waits:
        // mean 2.5, so 3 ms.
        for (at, think) in (0..).zip([0, 1, 4, 7, 10, 1, 4, 7, 10]) {
            now = now + think * 1_000_000;
            if at == 2 || at == 6 {
                // A far request is queued while it thinks for 1 ms and for 4 ms.
                let _ = bench.dispatch(now);
            }
            bench.read(now, 0, 8 * at);
            bench.serve(now, 0);
        }
        let far = bench.read(now, 1, FAR);
        assert_eq!(bench.dispatch(now), None);
        bench.read(now + 2_500_000, 0, 72);
        bench.serve(now + 2_500_000, 0);
        // A success of 2.5 ms; its interval, 2 or 3 ticks, leaves the mean at 6.
        let again = now + 2_500_000;
        assert_eq!(bench.dispatch(again), None, "tas {tas}: {far:?}");
        let timer = bench.elevator.next_timer().unwrap();
        let start = Time::from_ns(again.as_ns() / 1_000_000 * 1_000_000);
        assert_eq!(timer - start, wait_ns, "tas {tas}");
    }
}

/// A reader that has thought for `think_us` twenty times, the last time anticipated against a
/// write; returns its last completion. It is at `sector` and 168 further.
fn after_a_success(bench: &mut Bench, sector: u64, think_us: u64) -> Time {
    let end = bench.stream(ms(1), 0, sector, 20, think_us);
    bench.write(end, 9, if sector < FAR / 2 { FAR } else { 0 });
    assert_eq!(bench.dispatch(end), None);
    let next = end + think_us * 1000;
    bench.read(next, 0, sector + 160);
    bench.serve(next, 0);
    assert_eq!(bench.elevator.anticipation().unwrap().successes, 1);
    next
}

#[test]
fn it_waits_only_if_the_seek_that_it_saves_is_worth_it() {
    // 7 cylinders take 4.3 ms, 1462 take 19.7. Without a success T_as is 6 ms, so only the far one
    // pays at p_s = 1/2.
    for (sector, waits) in [(9600, false), (FAR, true)] {
        let mut bench = hp();
        let end = bench.stream(ms(1), 0, 0, 20, 1000);
        bench.read(end, 1, sector);
        assert_eq!(bench.dispatch(end).is_none(), waits, "sector {sector}");
    }
    // With one, p_s = 2/3: 2·(4.3 − 1) > 2 and 2·(4.3 − 3) < 4.
    for (think_us, waits) in [(1000, true), (3000, false)] {
        let mut bench = hp();
        let end = after_a_success(&mut bench, 0, think_us);
        bench.read(end, 1, 9600);
        assert_eq!(bench.dispatch(end).is_none(), waits, "think time {think_us} µs");
    }
}

#[test]
fn a_reader_that_seeks_far_itself_is_not_worth_waiting_for() {
    let mut bench = hp();
    let mut now = ms(1);
    for at in 0..20 {
        bench.read(now, 0, at % 2 * 2_400_000);
        bench.serve(now, 0);
        now = now + 1_000_000;
    }
    let end = ms(20);
    bench.read(end, 1, 1_200_000);
    assert!(bench.dispatch(end).is_some());
    assert_eq!(started(&bench), 0);
}

#[test]
fn a_stream_on_its_own_cylinder_against_one_beside_it_has_no_seek_to_save() {
    let mut bench = hp();
    bench.set("relearn", 0);
    let end = bench.stream(ms(1), 0, 0, 20, 1000);
    // 60 cylinders away, thus not close, but with a geometry in which nothing takes time.
    for name in ["seek_a_ns", "seek_b_ns", "seek_c_ns", "seek_e_ps"] {
        bench.set(name, 0);
    }
    bench.read(end, 1, 82_080);
    assert!(bench.dispatch(end).is_some());
}

#[test]
fn without_an_arm_it_never_waits_not_even_while_it_learns() {
    for geometry in [Default::default(), hp97560()] {
        let arm = geometry != Default::default();
        let mut bench = Bench::new(&ROW, &Build { geometry, ..Build::default() });
        if arm {
            bench.set("cylinders", 0);
        }
        let clients: Vec<Client> = (0..4).map(|at| Client::reader(at * 500_000, 1000)).collect();
        closed_loop(&mut bench, &clients, 1, 1000, |_, _| 5_000_000);
        assert_eq!(started(&bench), 0);
    }
}

#[test]
fn a_wait_that_a_nearer_request_makes_pointless_is_called_off_and_counts_neither_way() {
    let mut bench = hp();
    bench.set("relearn", 0);
    // P = 4 ms: pays against a seek of 13 ms, not against the 4.3 ms of 7 cylinders.
    let end = bench.stream(ms(1), 0, 0, 20, 3000);
    bench.read(end, 1, FAR);
    assert_eq!(bench.dispatch(end), None);
    bench.read(end + 100_000, 2, FAR + 8);
    assert!(bench.elevator.next_timer().is_some(), "as far: it goes on");
    bench.read(end + 200_000, 3, 9600);
    assert_eq!(bench.elevator.next_timer(), None);
    assert_eq!(bench.dispatch(end + 200_000).unwrap().process, 3);
    let counts = bench.elevator.anticipation().unwrap();
    assert_eq!((counts.started, counts.successes, counts.failures), (1, 0, 0));
}

#[test]
fn after_sixty_four_refusals_one_wait_is_on_trial() {
    for (relearn, trials) in [(64, 3), (10, 18), (0, 0)] {
        let mut bench = with("relearn", relearn);
        let mut now = bench.stream(ms(1), 0, 0, 20, 10_000);
        for at in 20..220 {
            let near = bench.write(now, 1, 9600 + 8 * at);
            if bench.dispatch(now) != Some(near) {
                bench.write(now + 100_000, 2, 12_000);
                assert!(bench.elevator.next_timer().is_some(), "a trial is not called off");
                now = bench.elevator.next_timer().unwrap();
                bench.elevator.on_timer(now);
                bench.serve(now, 1);
                bench.serve(now, 2);
            } else {
                bench.complete(now, near);
            }
            now = now + 10_000_000;
            bench.read(now, 0, 8 * at);
            bench.serve(now, 0);
        }
        assert_eq!(started(&bench), trials, "relearn {relearn}");
    }
}

#[test]
fn a_process_whose_waits_fail_is_waited_for_no_more() {
    let mut bench = with("relearn", 0);
    let mut now = bench.stream(ms(1), 0, 0, 20, 1000);
    for at in 0..60 {
        bench.write(now, 1, FAR + 8 * at);
        if bench.dispatch(now).is_some() {
            break;
        }
        now = bench.elevator.next_timer().unwrap();
        bench.elevator.on_timer(now);
        bench.serve(now, 1);
        // Just too late, each time.
        now = now + 300_000;
        bench.read(now, 0, 160 + 8 * at);
        bench.serve(now, 0);
    }
    let counts = bench.elevator.anticipation().unwrap();
    assert!((3..40).contains(&counts.failures) && counts.successes == 0, "{counts:?}");
}

#[test]
fn the_candidate_is_the_next_in_order_or_the_nearest() {
    for (nearest, waits) in [(0, true), (1, false)] {
        let mut bench = with("nearest", nearest);
        let end = after_a_success(&mut bench, 1_500_000, 2800);
        // The elevator goes 20 cylinders forward rather than 10 back, which count twice: 5.0 ms
        // against 4.5. P is 4 ms, T_as 2.8: 2·(5.0 − 2.8) > 4 and 2·(4.5 − 2.8) < 4.
        bench.read(end, 1, 1_500_168 - 13_680);
        bench.read(end, 2, 1_500_168 + 27_000);
        assert_eq!(bench.dispatch(end).is_none(), waits, "nearest {nearest}");
    }
}

#[test]
fn against_asynchronous_requests_it_compares_with_the_next_of_them_or_waits_as_its_base() {
    for (async_wait, sector, waits) in [(0, 9600, false), (0, FAR, true), (1, 9600, true)] {
        let mut bench = with("async_wait", async_wait);
        let end = bench.stream(ms(1), 0, 0, 20, 3000);
        bench.write(end, 1, sector);
        assert_eq!(
            bench.dispatch(end).is_none(),
            waits,
            "async_wait {async_wait}, sector {sector}"
        );
    }
}

#[test]
fn nearer_than_the_mean_seek_is_close_only_by_its_switch() {
    for (mean_close, close) in [(0, false), (1, true)] {
        let mut bench = with("mean_close", mean_close);
        bench.set("min_samples", 1000);
        let mut now = ms(1);
        for at in 0..20 {
            bench.read(now, 0, at * 100_000);
            bench.serve(now, 0);
            now = now + 1_000_000;
        }
        bench.read(ms(20), 1, 1_950_000);
        assert_eq!(bench.dispatch(ms(20)).is_some(), close, "mean_close {mean_close}");
    }
}

#[test]
fn intervals_run_from_completion_or_from_arrival() {
    for (interval, wait_us) in [(0, 2000), (1, 6000)] {
        let mut bench = with("interval", interval);
        let mut now = ms(1);
        for at in 0..20 {
            now = ms(1 + 5 * at);
            bench.read(now, 0, 8 * at);
            let got = bench.dispatch(now).unwrap();
            bench.complete(now + 4_000_000, got);
        }
        let end = now + 4_000_000;
        bench.read(end, 1, FAR);
        assert_eq!(bench.dispatch(end), None);
        assert_eq!(
            (bench.elevator.next_timer().unwrap() - end) / 1000,
            wait_us,
            "4 ms of service, 1 ms of thinking"
        );
    }
}

#[test]
fn one_class_lets_a_newcomer_profit_from_the_others() {
    for (class, wait_us) in [(0, 6000), (1, 2000)] {
        let mut bench = with("class", class);
        let end = bench.stream(ms(1), 0, 0, 20, 1000);
        bench.read(end + 5_000_000, 5, 160);
        bench.serve(end + 5_000_000, 5);
        bench.read(end + 5_000_000, 1, FAR);
        assert_eq!(bench.dispatch(end + 5_000_000), None);
        let timer = bench.elevator.next_timer().unwrap();
        assert_eq!((timer - end) / 1000 - 5000, wait_us, "class {class}");
    }
}

#[test]
fn recent_intervals_count_although_there_was_no_wait_meanwhile() {
    let mut bench = with("relearn", 0);
    let mid = bench.stream(ms(1), 0, 0, 20, 1000);
    bench.write(mid, 1, 9600);
    bench.serve(mid, 1);
    let end = bench.stream(mid + 5_000_000, 0, 160, 40, 5000);
    bench.read(end, 1, FAR);
    assert_eq!(bench.dispatch(end), None);
    assert_eq!(bench.elevator.next_timer(), Some(end + 6_000_000), "[4, 6) ms, no longer [0, 2)");
}

#[test]
fn a_smaller_window_forgets_sooner_and_a_turned_knob_forgets_nothing() {
    for (window, wait) in [(64, Some(2000)), (16, Some(6000))] {
        let mut bench = with("window", window);
        let mid = bench.stream(ms(1), 0, 0, 41, 1000);
        let end = bench.stream(mid + 5_000_000, 0, 328, 16, 5000);
        // The same window with other bins and back.
        bench.set("bin_us", 100);
        bench.set("bin_us", 1000);
        bench.read(end, 1, FAR);
        assert_eq!(bench.dispatch(end), None);
        let timer = bench.elevator.next_timer().unwrap();
        assert_eq!(
            Some((timer - end) / 1000),
            wait,
            "40 intervals of 1 ms, then 16 of 5 ms, window {window}"
        );
    }
}

#[test]
fn what_all_know_together_is_nobodys_own_history() {
    // Nine requests of process 0 with separate histories: the common class is still unknown, and
    // vice versa.
    for (class, other) in [(0, 1), (1, 0)] {
        let mut bench = with("class", class);
        let end = against_far(&mut bench, 9);
        bench.set("class", other);
        assert_eq!(bench.dispatch(end), None);
        assert_eq!(
            (bench.elevator.next_timer().unwrap() - end) / 1000,
            6000,
            "class {class}, then {other}"
        );
    }
}

#[test]
fn a_number_is_given_anew_without_its_history_also_while_all_are_one_class() {
    let mut bench = hp();
    let end = bench.stream(ms(1), 0, 0, 9, 1000);
    bench.elevator.exited(end, 0);
    bench.set("class", 1);
    let end = bench.stream(ms(30), 0, 0, 1, 1000);
    bench.set("class", 0);
    bench.read(end, 1, FAR);
    assert_eq!(bench.dispatch(end), None);
    assert_eq!(
        (bench.elevator.next_timer().unwrap() - end) / 1000,
        6000,
        "as for an unknown process"
    );
}
