//! Realtime programs cannot lock up the machine, and messages for refused placements.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use machine::placement::{Placement, Policy};
use machine::session::{Ended, Launch};
use machine::{Error, Session};
use testbed::skip;

use super::{begin, is_alive, numbers};
use crate::common::Bench;

fn placed(script: &str, placement: Placement) -> Launch {
    Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        placement,
        ..Launch::default()
    }
}

fn with_policy(policy: &str) -> Placement {
    Placement { policy: Some(policy.parse().expect("a policy")), ..Placement::default() }
}

fn run_for(session: &Session, launch: &Launch, deadline: Duration) -> Result<Ended, Error> {
    session.start(launch)?.wait(deadline, &AtomicBool::new(false))
}

#[test]
fn realtime_spinners_on_every_cpu_are_ended_at_their_deadline() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let session = begin(&bench);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    // More than there are CPUs.
    let script = format!(
        "for n in $(seq {}); do (while :; do :; done) & echo $!; done; while :; do :; done",
        cpus + 1
    );
    let deadline = Duration::from_secs(2);
    let began = Instant::now();
    let ended = match run_for(&session, &placed(&script, with_policy("fifo:98")), deadline) {
        Ok(ended) => ended,
        Err(error) if error.to_string().contains("control group") => {
            skip(&error.to_string());
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert!(ended.too_long);
    assert!(began.elapsed() >= deadline);
    let pids = numbers(&ended.stdout);
    assert_eq!(pids.len(), cpus + 1, "{}", ended.stdout);
    assert!(pids.iter().all(|pid| !is_alive(*pid)), "{pids:?}");
}

#[test]
fn the_kernel_bounds_a_realtime_program_and_ends_it_with_its_parent() {
    let Some(bench) = Bench::set_up(&["prlimit"]) else { return };
    let session = begin(&bench);
    let script = "prlimit --pid $$ --rttime --output SOFT,HARD --noheadings --raw; sleep 0.3; \
                  prlimit --pid $$ --rttime --output SOFT,HARD --noheadings --raw";
    let shown = |placement| {
        run_for(&session, &placed(script, placement), Duration::from_secs(30))
            .expect("it runs")
            .stdout
    };
    let realtime = shown(with_policy("rr:1"));
    let lines: Vec<&str> = realtime.lines().collect();
    assert_eq!(lines[1], "40000000 50000000", "its deadline with a grace: {realtime}");
    assert!(["60000000 unlimited", lines[1]].contains(&lines[0]), "{realtime}");
    let fair = shown(with_policy("batch"));
    assert!(fair.lines().all(|line| line == "unlimited unlimited"), "{fair}");
}

#[test]
fn a_deadline_program_can_start_others_which_get_fair_shares() {
    let Some(bench) = Bench::set_up(&["chrt"]) else { return };
    let session = begin(&bench);
    let launch = placed(
        "chrt -p $$; sh -c 'chrt -p $$' & wait; echo x | cat",
        with_policy("deadline:5ms/10ms/10ms"),
    );
    let ended = run_for(&session, &launch, Duration::from_secs(30)).expect("it is admitted");
    let policies: Vec<&str> = ended
        .stdout
        .lines()
        .filter(|line| line.contains("policy"))
        .filter_map(|line| line.rsplit(' ').next())
        .collect();
    assert!(policies[0].starts_with("SCHED_DEADLINE"), "{}", ended.stdout);
    assert_eq!(
        (policies[1], ended.stdout.lines().last()),
        ("SCHED_OTHER", Some("x")),
        "{}",
        ended.stderr
    );
    assert!(ended.placement_deviations.is_empty(), "{:?}", ended.placement_deviations);
}

#[test]
fn a_program_has_what_it_was_given_and_what_differs_is_found() {
    let Some(bench) = Bench::set_up(&["renice"]) else { return };
    let session = begin(&bench);
    let run = |script: &str, placement| {
        run_for(&session, &placed(script, placement), Duration::from_secs(30))
            .expect("it runs")
            .placement_deviations
    };
    let fair =
        |policy: Option<Policy>| Placement { nice: Some(-3), policy, ..Placement::default() };
    for policy in [None, Some(Policy::Other), Some(Policy::Batch)] {
        assert!(
            run("true", fair(policy)).is_empty(),
            "{policy:?}: {:?}",
            run("true", fair(policy))
        );
    }
    assert_eq!(run("renice -n 5 -p $$", fair(None)), [("nice", "-3".to_string(), "5".to_string())]);
    let sliced = Placement { slice: Some(7_000_000), ..Placement::default() };
    let shown = run("true", sliced);
    let release = bench.root.kernel_release();
    let mut parts = release.split('.').filter_map(|part| part.parse::<u32>().ok());
    if (parts.next(), parts.next()) >= (Some(6), Some(12)) {
        assert!(shown.is_empty(), "{shown:?}");
    } else {
        assert!(shown.iter().all(|(what, ..)| *what == "slice"), "{shown:?}");
    }
}

#[test]
fn what_the_kernel_refuses_is_told_with_the_next_step() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let session = begin(&bench);
    let refused = |placement| match session.start(&placed("true", placement)) {
        Ok(_) => "it was started".to_string(),
        Err(error) => error.to_string(),
    };
    let offline =
        Placement { affinity: Some("8000".parse().expect("a list")), ..Placement::default() };
    for (placement, said) in [
        (offline, "is both online ("),
        (with_policy("deadline:2us/10us/10us"), "a period has to be between"),
    ] {
        let message = refused(placement.clone());
        assert!(message.contains(said), "{placement:?}: {message}");
    }
}
