//! Deceptive idleness: two processes that each read a file sequentially.
//!
//! A scheduler that never waits alternates between the files: deadline falls below 40 % of one
//! reader's rate; waiting gives 90 % and more. With cost c of a change of files and T between
//! changes, the share is 1 − c/T; T is 125 ms in the anticipatory family (read_expire), 100 ms in
//! cfq (slice), 125 ms in bfq (budget). On the HP 97560 a seek over 876 cylinders takes 15 ms, more
//! than the 12.5 ms allowed; a higher read_expire reaches it.

use sim::{Outcome, Trial};

use super::common::{MS, Switches, observed, trial, unseen, with};

/// Drives contemporary with these schedulers, and a current one; all take one request at a time.
const DRIVES: [&str; 3] = ["barracuda7200", "cheetah9lp", "wd4tb7200:queue_depth=1"];
const BLOCKS: [&str; 2] = ["4k", "16k"];

/// Readers of adjacent 200 MB or 600 MB files.
fn readers(elevator: &str, drive: &str, clients: &str, block: &str, file: &str) -> Trial {
    let params =
        [("clients", clients), ("block_size", block), ("file_size", file), ("think_time", "0")];
    trial(elevator, drive, "think-mix", &params, 10_000)
}

fn rate(outcome: &Outcome) -> f64 {
    outcome.measured.reads.bytes as f64 * 1e9 / outcome.window_ns as f64
}

fn alone(trial: impl Fn(&str, &str) -> Trial) -> f64 {
    rate(&unseen(trial("none", "1")))
}

fn share(trial: impl Fn(&str, &str) -> Trial, scheduler: &str) -> f64 {
    rate(&unseen(trial(scheduler, "2"))) / alone(trial)
}

#[test]
fn waiting_gets_nine_tenths_of_one_stream_where_deadline_gets_less_than_four() {
    for drive in DRIVES {
        for block in BLOCKS {
            // About 40 turns.
            let trial = |scheduler: &str, clients: &str| Trial {
                duration_ns: 5000 * MS,
                ..readers(scheduler, drive, clients, block, "200m")
            };
            let one = alone(trial);
            let share = |scheduler: &str| rate(&unseen(trial(scheduler, "2"))) / one;
            for scheduler in ["anticipatory", "antic-95", "wpcas", "cfq"] {
                let share = share(scheduler);
                println!("{drive}, {block}: {scheduler} {share:.3}");
                assert!(
                    (0.90..1.0).contains(&share),
                    "{scheduler} on {drive}, {block}: {share:.3} of one stream"
                );
            }
            for scheduler in ["none", "noop", "deadline", "mq-deadline", "kyber"] {
                let share = share(scheduler);
                assert!(share < 0.40, "{scheduler} on {drive}, {block}: {share:.3} of one stream");
            }
        }
    }
}

#[test]
fn bfq_waits_for_streams_but_not_while_all_of_them_are_raised_and_then_they_are_merged_for_good() {
    // Idling boosts throughput only while no weight-raised queue is busy, and guarantees require it
    // only if some queue is not raised. Both readers are new, so both are raised. Queues created
    // within 180 ms and not waited for are merged after 600 ms, and a merged queue has no other to
    // wait for: the loss remains after raising ends.
    for drive in DRIVES {
        for block in BLOCKS {
            let plain =
                |scheduler: &str, clients: &str| readers(scheduler, drive, clients, block, "200m");
            let sober = |scheduler: &str, clients: &str| match scheduler {
                "bfq" => with(plain("bfq", clients), &[("low_latency", 0)]),
                _ => plain(scheduler, clients),
            };
            let warm = |scheduler: &str, clients: &str| Trial {
                warmup_ns: 26_000 * MS,
                ..readers(scheduler, drive, clients, block, "200m")
            };
            let young = |scheduler: &str, clients: &str| Trial {
                duration_ns: 2000 * MS,
                ..plain(scheduler, clients)
            };
            let [low, later, first] =
                [share(sober, "bfq"), share(warm, "bfq"), share(young, "bfq")];
            println!(
                "{drive}, {block}: low_latency 0 {low:.3}, after raising {later:.3}, in the first 2 s {first:.3}"
            );
            assert!(
                low > 0.90 && later < 0.40 && first < 0.40,
                "{drive}, {block}: {low:.3} {later:.3} {first:.3}"
            );
        }
    }
}

#[test]
fn on_the_hp_97560_a_switch_every_eighth_of_a_second_bounds_what_waiting_can_reach() {
    // 600 MB are 876 cylinders: 8.00 + 0.008 · 876 = 15.0 ms; a revolution takes 15.0 ms, the
    // controller 2.2 ms.
    let (seek_ms, turn_ms, controller_ms) = (15.008, 14.9925, 2.2);
    for block in ["4k", "16k", "64k"] {
        let one = rate(&unseen(readers("none", "hp97560", "1", block, "600m")));
        for scheduler in ["anticipatory", "antic-95", "wpcas"] {
            let default = readers(scheduler, "hp97560", "2", block, "600m");
            let (outcome, switches) = observed(default, Switches::default());
            let share = rate(&outcome) / one;
            let period_ms = 10_000.0 / switches.count as f64;
            let cost_ms = (1.0 - share) * period_ms;
            println!(
                "{scheduler}, {block}: {share:.3}, a switch every {period_ms:.0} ms costs {cost_ms:.1} ms"
            );
            assert!(share < 0.90, "{scheduler}, {block}: {share:.3}: the ceiling is gone");
            assert!(
                share > 1.0 - (seek_ms + turn_ms + controller_ms) / 125.0,
                "{scheduler}, {block}: {share:.3}"
            );
            assert!((125.0..252.0).contains(&period_ms), "{scheduler}, {block}: {period_ms:.1} ms");
            if block == "4k" {
                // Checked every 125 ms, expired one tick later: found by the first check or the
                // second. With larger blocks the first check is late enough.
                let turns = switches.lengths_ns.iter().map(|ns| ns / MS);
                let [first, second] = [125..160, 249..255]
                    .map(|ms| turns.clone().filter(|turn| ms.contains(turn)).count());
                println!("{first} switches after one look, {second} after two");
                assert!(first > 5 && second > 5, "{scheduler}: {:?}", switches.lengths_ns);
                assert!(
                    first + second + 4 >= switches.lengths_ns.len(),
                    "{scheduler}: {:?}",
                    switches.lengths_ns
                );
            }
            assert!(
                (seek_ms..seek_ms + turn_ms + controller_ms).contains(&cost_ms),
                "{scheduler}, {block}: {cost_ms}"
            );
            let patient = readers(scheduler, "hp97560", "2", block, "600m");
            let patient = rate(&unseen(with(patient, &[("read_expire", 1000)]))) / one;
            assert!(patient > 0.95, "{scheduler}, {block}: {patient:.3} with read_expire 1 s");
        }
        // cfq switches after a slice of 100 ms, bfq (without weight raising) after the 125 ms of a
        // budget.
        for (scheduler, turn_at_least_ms, tunables) in
            [("cfq", 100.0, &[][..]), ("bfq", 125.0, &[("low_latency", 0)])]
        {
            let trial = with(readers(scheduler, "hp97560", "2", block, "600m"), tunables);
            let share = rate(&unseen(trial)) / one;
            println!("{scheduler}, {block}: {share:.3}");
            let floor = 1.0 - (seek_ms + turn_ms + controller_ms) / turn_at_least_ms;
            assert!((floor..0.90).contains(&share), "{scheduler}, {block}: {share:.3}");
        }
        let deadline = rate(&unseen(readers("deadline", "hp97560", "2", block, "600m"))) / one;
        println!("deadline, {block}: {deadline:.3}");
        assert!(
            if block == "64k" { deadline < 0.60 } else { deadline < 0.40 },
            "deadline, {block}: {deadline:.3}"
        );
    }
}

#[test]
fn equal_streams_get_equal_shares_of_cfq_and_bfq() {
    for (scheduler, drive) in
        [("cfq", "hp97560"), ("cfq", "barracuda7200"), ("bfq", "barracuda7200")]
    {
        for clients in ["2", "4", "8"] {
            let trial = Trial {
                duration_ns: 60_000 * MS,
                ..readers(scheduler, drive, clients, "16k", "100m")
            };
            let fair = unseen(trial).jain_fairness.expect("there are several clients");
            println!("{scheduler} on {drive}, {clients} clients: Jain {fair:.4}");
            assert!(fair >= 0.99, "{scheduler} on {drive}, {clients} clients: {fair:.4}");
        }
    }
}

#[test]
fn cfq_gives_each_process_the_disk_for_a_slice_in_turn() {
    let trial = readers("cfq", "barracuda7200", "4", "4k", "100m");
    let (_, switches) = observed(trial, Switches::default());
    let mut lengths = switches.lengths_ns;
    assert!(lengths.len() > 95, "{} turns in ten seconds", lengths.len());
    // A client that ends as the window closes ends its turn.
    lengths.truncate(95);
    let order = &switches.order[..95];
    assert!(order.windows(4).all(|four| (0..4).all(|client| four.contains(&client))), "{order:?}");
    // A slice ends with the first completion after its time.
    for length in lengths {
        assert!((100 * MS..106 * MS).contains(&length), "a turn of {} µs", length / 1000);
    }
}

#[test]
fn waiting_on_flash_can_only_lose_and_who_asks_the_arm_does_not_wait() {
    for block in ["4k", "64k"] {
        let nvme = |scheduler: &str| {
            unseen(Trial {
                duration_ns: 1000 * MS,
                ..readers(scheduler, "nvme", "2", block, "200m")
            })
        };
        let none = nvme("none");
        for scheduler in ["anticipatory", "antic-95", "wpcas", "cfq", "bfq"] {
            let outcome = nvme(scheduler);
            let [this, best] = [&outcome, &none].map(rate);
            let waits = outcome.anticipation.expect("it can wait").started;
            println!("nvme, {block}: {scheduler} {:.3} of none, {waits} waits", this / best);
            assert!(this <= best, "{scheduler}, {block}: {this} of {best}");
            match scheduler {
                // One stream at a time, where two fit.
                "anticipatory" | "cfq" => {
                    assert!(this < 0.6 * best && waits > 1000, "{scheduler}, {block}")
                }
                // No arm, so waiting gains nothing.
                "antic-95" | "wpcas" => {
                    assert!(waits == 0 && this == best, "{scheduler}, {block}: {waits} waits")
                }
                _ => assert!(this > 0.95 * best, "{scheduler}, {block}: {this} of {best}"),
            }
        }
    }
}

#[test]
fn a_reader_alone_loses_nothing_to_any_scheduler() {
    let trial = |scheduler: &str| Trial {
        duration_ns: 3000 * MS,
        ..readers(scheduler, "barracuda7200", "1", "16k", "200m")
    };
    let none = rate(&unseen(trial("none")));
    for scheduler in elevator::ELEVATORS {
        let (outcome, switches) = observed(trial(scheduler.name), Switches::default());
        assert!(rate(&outcome) > 0.99 * none, "{}: {} of {none}", scheduler.name, rate(&outcome));
        assert_eq!(switches.count, 0);
    }
}

#[test]
fn direct_writers_are_waited_for_as_readers_are_and_write_back_is_not() {
    let writers = |scheduler: &str, direct: &str, clients: &str| {
        let params = [
            ("clients", clients),
            ("block_size", "16k"),
            ("file_size", "600m"),
            ("think_time", "0"),
            ("read_share", "0"),
            ("direct", direct),
        ];
        // Without the write cache, because the writers of the claim wait for the medium: with it a
        // change of writers costs more.
        trial(
            scheduler,
            "barracuda7200:write_cache=0:immediate_reporting=0",
            "think-mix",
            &params,
            2_000,
        )
    };
    let written = |trial: Trial| {
        let outcome = unseen(trial);
        let bytes = outcome.measured.writes.bytes as f64;
        (
            bytes * 1e9 / outcome.window_ns as f64,
            outcome.anticipation.map_or(0, |seen| seen.started),
        )
    };
    let (one, _) = written(writers("none", "true", "1"));
    let (deadline, _) = written(writers("deadline", "true", "2"));
    for scheduler in ["anticipatory", "antic-95", "wpcas", "cfq"] {
        let (two, waits) = written(writers(scheduler, "true", "2"));
        println!(
            "{scheduler}: {:.3} of one writer, deadline {:.3}; {waits} waits",
            two / one,
            deadline / one
        );
        assert!(
            waits > 50 && two > 0.9 * one && two > deadline,
            "{scheduler}: {two} of {one}, deadline {deadline}"
        );
        let (_, waits) = written(writers(scheduler, "false", "2"));
        assert_eq!(waits, 0, "{scheduler}: no scheduler waits for write-back");
    }
}
