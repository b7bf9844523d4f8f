//! Replay and demerit on synthetic traces: no test depends on a DiskSim tree.

use super::*;

/// A synthetic trace with a model's times: random reads, sequential runs and writes.
fn synthetic(specification: &str) -> Vec<Request> {
    let mut random = sim::stream(17, "requests");
    let mut model = device(specification, 1).unwrap();
    let (sectors, mut sector) = (model.sectors() - 64, 0);
    let mut requests: Vec<Request> = (0..2000)
        .map(|_| {
            let nr_sectors = 1 + random.below(32) as u32;
            sector = if random.below(3) > 0 {
                sector + u64::from(nr_sectors)
            } else {
                random.below(sectors)
            } % sectors;
            let op = if random.below(3) == 0 { Op::Write } else { Op::Read };
            let think_us = random.below(40_000) as f64;
            Request { op, sector, nr_sectors, service_us: 0.0, think_us }
        })
        .collect();
    let times = replay(model.as_mut(), &requests, || 0);
    requests.iter_mut().zip(times).for_each(|(request, ns)| request.service_us = ns as f64 / 1e3);
    requests
}

fn demerit_of(specification: &str, trace: &[Request]) -> f64 {
    let times = replay(device(specification, 1).unwrap().as_mut(), trace, || 0);
    let pairs: Vec<(f64, f64)> = trace
        .iter()
        .zip(times)
        .map(|(request, ns)| (request.service_us / 1e3, ns as f64 / 1e6))
        .collect();
    Direction::of(&pairs).unwrap().demerit_ms
}

#[test]
fn a_model_has_no_demerit_against_itself_and_each_planted_fault_has_one() {
    let preset = "c2247a";
    let trace = synthetic(preset);
    assert!(demerit_of(preset, &trace) < 1e-3);
    for fault in [
        "read_overhead_ns=1558000",
        "write_overhead_ns=2000000",
        "read_ahead=0",
        "segments=0",
        "rpm=5500",
    ] {
        let demerit = demerit_of(&format!("{preset}:{fault}"), &trace);
        assert!(demerit > 0.1, "{fault}: {demerit} ms");
    }
}

#[test]
fn the_next_request_follows_the_completion_after_its_pause() {
    let line = |sector| Request {
        op: Op::Read,
        sector,
        nr_sectors: 8,
        service_us: 0.0,
        think_us: 30_000.0,
    };
    // The first 64 KiB are read ahead during the pause: the second request is a hit.
    let times = replay(device("hp97560", 1).unwrap().as_mut(), &[line(0), line(8)], || 0);
    assert_eq!(times[1], 2_200_000 + 8 * 51_200);
}

#[test]
fn every_drive_has_a_preset_and_a_tree_without_traces_is_named() {
    for drive in DRIVES {
        device(&specification(&drive, ""), 1).unwrap();
    }
    let options = Options { disksim: "/nonexistent".into(), ..Options::default() };
    let error = format!("{:#}", run(&options).unwrap_err());
    assert!(error.contains("cannot open /nonexistent/cheetah9LP.trace"), "{error}");
    let options = Options {
        disksim: "/nonexistent".into(),
        only: Some("no such".to_owned()),
        ..Options::default()
    };
    assert!(format!("{:#}", run(&options).unwrap_err()).contains("--only"));
    let options = Options {
        disksim: "/nonexistent".into(),
        with: vec!["rpmm=3".to_owned()],
        ..Options::default()
    };
    assert!(format!("{:#}", run(&options).unwrap_err()).contains("rpmm"));
}

#[test]
fn the_speed_is_compared_only_with_a_disksim_that_is_built_and_one_that_fails_is_named() {
    let tree = tempfile::tempdir().unwrap();
    let [valid, src] = ["valid", "src"].map(|name| tree.path().join(name));
    [&valid, &src].iter().for_each(|dir| std::fs::create_dir(dir).unwrap());
    assert_eq!(speed::times_disksim(&DRIVES[0], &valid).unwrap(), None);
    std::os::unix::fs::symlink("/bin/false", src.join("disksim")).unwrap();
    let error = format!("{:#}", speed::times_disksim(&DRIVES[0], &valid).unwrap_err());
    assert!(error.contains("false cheetah9LP.parv ended with exit status: 1"), "{error}");
}
