//! Synthesis from a trace of a known workload: recovers its parameters, and the resulting workload
//! has the trace's profile.

use sim::{Recorder, Trial, run};
use trace::profile::{DeviceProfile, profile_trace};
use trace::synthesize::{Limits, Spread, compare, groups};

use super::common::{MS, US, trial};

fn profiled(params: &[(&str, &str)]) -> DeviceProfile {
    let mut recorder = Recorder::default();
    let trial = Trial { duration_ns: 8000 * MS, ..trial("virtual-machines", params) };
    run(trial, &mut recorder, &|| false).expect("a trial");
    profile_trace(&recorder.finish()).devices.remove(0)
}

#[test]
fn a_trace_of_a_known_workload_gives_its_parameters_back() {
    for (dist, spread) in [
        ("fixed", Spread::Fixed),
        ("uniform", Spread::Uniform),
        ("exponential", Spread::Exponential),
        ("bimodal", Spread::Bimodal),
    ] {
        for (clients, read_share, block_size, jump_share) in
            [(1, 70, 16, 50), (3, 20, 4, 90), (2, 100, 128, 5)]
        {
            let text = [
                clients.to_string(),
                read_share.to_string(),
                format!("{block_size}k"),
                jump_share.to_string(),
                "9ms".to_owned(),
            ];
            let names = ["clients", "read_share", "block_size", "jump_share", "think_time"];
            let mut params: Vec<(&str, &str)> =
                names.into_iter().zip(&text).map(|(name, text)| (name, text.as_str())).collect();
            params.extend([("iodepth", "1"), ("think_dist", dist)]);
            let found = groups(&profiled(&params), &Limits { groups: 4, turnaround_ns: 50 * US });
            let [group] = &found.groups[..] else { panic!("{found:?}") };
            assert_eq!(
                (group.clients, group.iodepth, group.block_size),
                (clients, 1, block_size << 10),
                "{group:?}"
            );
            assert!(group.read_share.abs_diff(read_share) <= 5, "{read_share}: {group:?}");
            assert!(group.jump_share.abs_diff(jump_share) <= 5, "{jump_share}: {group:?}");
            assert!(group.think_ns.abs_diff(9 * MS) <= 9 * MS / 8, "{group:?}");
            assert_eq!(group.think_dist, spread, "{group:?}");
        }
    }
}

#[test]
fn a_client_that_keeps_several_open_gives_its_depth_back() {
    let params = [("clients", "2"), ("iodepth", "6"), ("think_time", "0")];
    let found = groups(&profiled(&params), &Limits { groups: 4, turnaround_ns: 50 * US });
    assert_eq!(
        (found.groups[0].clients, found.groups[0].iodepth, found.groups[0].think_ns),
        (2, 6, 0),
        "{found:?}"
    );
}

#[test]
fn the_distance_to_itself_is_nothing_and_to_other_work_it_is_large() {
    let params = |think, share| {
        profiled(&[
            ("iodepth", "1"),
            ("think_time", think),
            ("read_share", share),
            ("think_dist", "fixed"),
        ])
    };
    let one = params("2ms", "100");
    assert!(
        compare(&one, &one).iter().all(|figure| figure.distance == Some(0.0)),
        "{:?}",
        compare(&one, &one)
    );
    let far = compare(&one, &params("20ms", "50"));
    let distance = |name: &str| {
        far.iter().find(|figure| figure.name == name).and_then(|figure| figure.distance)
    };
    assert!(distance("reads").is_some_and(|points| (-60.0..-40.0).contains(&points)), "{far:?}");
    assert!(distance("think time").is_some_and(|ks| ks > 0.9), "{far:?}");
    assert!(distance("requests per second").is_some_and(|percent| percent < -20.0), "{far:?}");
    assert_eq!(distance("request size, mean"), Some(0.0));
}
