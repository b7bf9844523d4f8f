//! Synthetic results files with known effects, for tests.

use std::collections::BTreeMap;

use experiment::plan::Plan;
use experiment::results::{Environment, Header, InvalidReason, Observation, Results, Trial};

use crate::result::{Machine, MachineResult};

const PLAN: &str = "device = '/dev/sdb'
baseline = 'none'
[budget]
no_early_stop = true
[[variant]]
name = 'none'
scheduler = 'none'
[[variant]]
name = 'fair'
scheduler = 'bfq'
tunables = { slice_idle = '0' }
[[workload]]
name = 'readers'
kind = 'randread'
primary = 'iops'
params = { clients = '4' }
";

pub(crate) fn environment(number: u64) -> Environment {
    let mut environment = Environment::new();
    let mut put = |section: &str, facts: &[(&str, String)]| {
        let facts = facts.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        environment.insert(section.to_owned(), facts.collect());
    };
    put("cpu", &[("model", "Some CPU".to_owned()), ("count", "8".to_owned())]);
    put(
        "machine",
        &[
            ("vendor", "Maker".to_owned()),
            ("product", "Box 2".to_owned()),
            ("hostname", format!("db{number}")),
        ],
    );
    put("kernel", &[("release", "6.12.9-lab".to_owned()), ("boot_id", format!("boot {number}"))]);
    put(
        "device",
        &[
            ("kind", "nvme".to_owned()),
            ("model", "FAST  980  ".to_owned()),
            ("firmware", "2B4Q".to_owned()),
            ("identity", format!("wwid eui.{number:016x}")),
            ("size_bytes", "1000204886016".to_owned()),
        ],
    );
    environment
}

/// `fair` has `ratio` times the requests of `none` in each round.
pub(crate) fn results(number: u64, ratio: f64, rounds: u32) -> Results {
    let plan = Plan::from_toml(PLAN).expect("a plan");
    let header = Header {
        schema: experiment::plan::SCHEMA,
        schedlab: "0.1.0".to_owned(),
        plan,
        environment: environment(number),
        started_unix_ms: 1_700_000_000_000 + number * 1_000,
        command: String::new(),
    };
    let mut results = Results::new(header);
    for round in 0..rounds {
        for (position, variant) in ["none", "fair"].into_iter().enumerate() {
            // Varies by round and machine without a generator.
            let wobble = 1.0
                + 0.004
                    * (f64::from(round * 7 + number as u32 % 11).sin()
                        + position as f64 * f64::from(round).cos());
            let value = 10_000.0 * wobble * if variant == "fair" { ratio } else { 1.0 };
            let metrics: BTreeMap<String, f64> =
                [("iops".to_owned(), value), ("latency_p99_us".to_owned(), 1e6 / value)].into();
            results.trials.push(Trial {
                sequence: u64::from(round) * 2 + position as u64,
                workload: "readers".to_owned(),
                round,
                position: position as u32,
                variant: variant.to_owned(),
                started_ms: u64::from(round) * 100,
                observation: Observation {
                    duration_ns: 50_000_000,
                    metrics,
                    ..Observation::default()
                },
            });
        }
    }
    results
}

pub(crate) fn with_invalid(mut results: Results, round: u32) -> Results {
    let trial = results
        .trials
        .iter_mut()
        .find(|trial| trial.round == round && trial.variant == "fair")
        .expect("such a round");
    trial
        .observation
        .invalid
        .push(InvalidReason::Foreign { text: "another program wrote".to_owned() });
    results
}

pub(crate) fn result(number: u64, ratio: f64, rounds: u32) -> MachineResult {
    let machine = Machine { name: format!("m{number:03}") };
    MachineResult::of(&results(number, ratio, rounds), &machine).expect("a real arena")
}
