//! Compares measured coefficients with the descriptions of modelled devices.

use super::*;
use crate::arena::open::OpenOptions;
use crate::progress::Progress;
use crate::signals::Stop;

#[derive(Debug)]
struct Silent;

impl Progress for Silent {
    fn trial(&self, step: &Step<'_>) {
        assert!((0.0..1.0).contains(&step.share) && step.left.is_some());
    }
    fn prepare(&self, _: &str, _: u64, _: u64) {}
    fn phase(&self, _: &str) {}
    fn say(&self, text: &str) {
        panic!("{text}");
    }
    fn remark(&self, _: &str) {}
    fn clear(&self) {}
}

fn simulated(device: &str, reads_only: bool) -> Report {
    let request = Request {
        arena: &experiment::plan::SIM,
        device: device.to_owned(),
        reads_only,
        repetitions: 2,
        trial: None,
        clients: 1,
        seed: 1,
    };
    let root = Root::at("/nonexistent");
    let stop = Stop::install().expect("signals");
    run(&root, &request, &OpenOptions::default(), Console::new(&stop, &Silent)).expect("measured")
}

fn assert_near(found: u64, expected: f64, what: &str) {
    assert!((found as f64 / expected - 1.0).abs() < 0.01, "{what}: {found} instead of {expected}");
}

#[test]
fn four_servers_of_a_tenth_of_a_millisecond_do_forty_thousand_requests_a_second_of_any_kind() {
    let report = simulated("null:service_ns=100000:servers=4:queue_depth=4", false);
    let model = report.model.unwrap_or_else(|| panic!("{report:?}"));
    for rates in [model.read, model.write.expect("writes are measured")] {
        assert_near(rates.seqiops, 40_000.0, "seqiops");
        assert_near(rates.randiops, 40_000.0, "randiops");
        // The simulated kernel splits at 512 KiB, as real ones do at max_sectors_kb.
        assert_near(rates.bps, 40_000.0 * f64::from(512 << 10), "bps");
    }
    let qos = report.qos.expect("all is measured");
    // A histogram bucket.
    assert!(
        [qos.rlat, qos.wlat.expect("writes are measured")]
            .iter()
            .all(|us| (100..=101).contains(us)),
        "{qos:?}"
    );
    // A random 64 KiB read takes as long as a 4 KiB one, but the model charges 15 more pages: 1 +
    // 15 · 4 KiB / 512 KiB.
    assert!((qos.min - 100.0).abs() <= 1.0 && (qos.max - 112.0).abs() <= 1.0, "{qos:?}");
    assert!(report.figures.iter().all(|figure| figure.spread.is_some_and(|spread| spread < 0.01)));
}

#[test]
fn a_flash_of_one_request_at_a_time_reads_as_fast_as_its_cells() {
    let report = simulated("femu:queue_depth=1", true);
    let model = report.model.unwrap_or_else(|| panic!("{report:?}"));
    assert_near(model.read.randiops, 25_000.0, "randiops: 40 us a read");
    assert_eq!((model.write, report.qos.and_then(|qos| qos.wlat)), (None, None));
    assert_eq!(report.figures.len(), 4);
}

#[test]
fn of_a_rotating_disk_random_requests_are_the_dear_ones_and_the_controller_keeps_to_that() {
    let report = simulated("hp97560", true);
    let model = report.model.unwrap_or_else(|| panic!("{report:?}"));
    // 2.3 MB/s under the heads, without head and cylinder switches (HP 97560 in DiskSim's
    // validation).
    assert!((1_500_000..2_400_000).contains(&model.read.bps), "{model:?}");
    assert!(model.read.seqiops > 4 * model.read.randiops && model.read.randiops > 20, "{model:?}");
    assert!(report.qos.expect("reads are measured").rlat > 20_000);
}

#[test]
fn a_figure_without_evidence_gives_no_model_and_says_why() {
    let trials = vec![Trial { invalid: vec!["why".to_owned()], ..Trial::default() }; 2];
    let figure = Figure::of("rbps", &trials);
    assert_eq!((figure.value, figure.spread, figure.invalid), (None, None, vec!["why".to_owned()]));
}
