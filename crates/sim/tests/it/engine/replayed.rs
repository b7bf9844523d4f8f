//! Replay of a known workload's trace: the closed loop recovers its think times, and on the same
//! disk the same trial.

use std::sync::Arc;

use sim::{Recorder, Trial, run};
use trace::Trace;
use trace::replay::{LoopMode, Options, Replay, Start};

use super::common::{MS, Server, US, trial};

fn recorded(trial: Trial) -> Trace {
    let mut recorder = Recorder::default();
    run(trial, &mut recorder, &|| false).expect("a trial");
    let trace = recorder.finish();
    assert_eq!(trace.check(), Ok(()));
    trace
}

fn replay_of(trace: &Trace, loop_mode: LoopMode) -> Trial {
    let plain = trial("replay", &[]);
    let options = Options { loop_mode, ..Options::default() };
    let mut params = plain
        .params
        .clone()
        .with_trace(Arc::new(Replay::from_trace(trace, &options).expect("it can be replayed")));
    params.replay.loop_mode = loop_mode;
    Trial { params, duration_ns: 400 * MS, ..plain }
}

fn asked(trace: &Trace) -> Vec<(u64, u64, u32)> {
    trace.ios.iter().map(|io| (io.queued, io.sector, io.process)).collect()
}

#[test]
fn a_closed_loop_gives_back_the_think_times_of_a_known_workload() {
    for (think, think_ns) in [("3ms", 3 * MS), ("0", 0), ("170us", 170 * US)] {
        let trace = recorded(trial("randread", &[("clients", "3"), ("think_time", think)]));
        let options = Options { loop_mode: LoopMode::Closed, ..Options::default() };
        let replay = Replay::from_trace(&trace, &options).expect("it can be replayed");
        assert_eq!(replay.lanes().len(), 3);
        let answers = replay.requests().iter().filter(|request| request.start == Start::Answer);
        // The client's wake-up, 50 µs here, is part of it.
        let thought: Vec<u64> = answers.map(|request| request.wait_ns - 50 * US).collect();
        assert!(
            thought.len() > 20 && thought.iter().all(|ns| *ns == think_ns),
            "{think}: {thought:?}"
        );
        assert!(replay.lanes().iter().all(|lane| lane.depth == 1));
    }
}

#[test]
fn on_the_same_disk_a_closed_loop_is_the_recorded_trial_again() {
    for params in [
        &[("think_time", "2ms"), ("clients", "2")][..],
        &[("iodepth", "4")],
        &[("iodepth", "3"), ("clients", "2")],
    ] {
        let trace = recorded(trial("randread", params));
        let again = recorded(replay_of(&trace, LoopMode::Closed));
        let count = asked(&trace).len().min(asked(&again).len());
        assert!(count > 20 && count == trace.ios.len(), "{params:?}: {count}");
        assert_eq!(asked(&again)[..count], asked(&trace)[..count], "{params:?}");
    }
}

#[test]
fn on_another_disk_the_open_loop_keeps_the_times_and_the_closed_one_the_thinking() {
    let trace = recorded(trial("randread", &[("think_time", "2ms"), ("clients", "1")]));
    let on = |loop_mode, service_ns: u64| {
        let trial = replay_of(&trace, loop_mode);
        asked(&recorded(Trial { device: Box::new(Server::new(1, move || service_ns)), ..trial }))
    };
    assert_eq!(on(LoopMode::Open, 300 * US), asked(&trace));
    for service_ns in [300 * US, 4 * MS] {
        let times: Vec<u64> = on(LoopMode::Closed, service_ns).iter().map(|(at, ..)| *at).collect();
        assert!(
            times.windows(2).all(|pair| pair[1] - pair[0] == service_ns + 2 * MS + 50 * US),
            "{times:?}"
        );
    }
}
