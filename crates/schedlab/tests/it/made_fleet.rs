//! Synthetic results of a fleet with known effects.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use experiment::plan::Plan;
use experiment::results::{Environment, Header, Line, Observation, Results, Trial};
use fleet::{Machine, MachineResult};

const PLAN: &str = "device = '/dev/sdb'
baseline = 'none'
[budget]
no_early_stop = true
[[variant]]
name = 'none'
scheduler = 'none'
[[variant]]
name = 'bfq'
scheduler = 'bfq'
[[workload]]
name = 'readers'
kind = 'randread'
primary = 'iops'
";

/// Pseudo-random, in −1..1.
fn noise(a: u64, b: u64) -> f64 {
    let mixed = (a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xd1b5_4a32_d192_ed03))
        .wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// Approximately standard normal.
fn normal(a: u64, b: u64) -> f64 {
    (0..12).map(|part| noise(a * 12 + part, b)).sum::<f64>() / 2.0
}

/// On this machine bfq has `ratio` times the requests of none.
pub(crate) fn results(number: u64, ratio: f64, rounds: u32) -> Results {
    let mut environment = Environment::new();
    let mut put = |section: &str, facts: &[(&str, &str)]| {
        let facts = facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        environment.insert(section.to_owned(), facts.collect());
    };
    put("cpu", &[("model", "Some CPU"), ("count", "8")]);
    put(
        "machine",
        &[("vendor", "Maker"), ("product", "Box 2"), ("hostname", format!("db{number}").as_str())],
    );
    put("kernel", &[("release", "6.12.9-lab"), ("boot_id", format!("boot {number}").as_str())]);
    let identity = format!("wwid eui.{number:016x}");
    put(
        "device",
        &[
            ("kind", "nvme"),
            ("model", "FAST 980"),
            ("firmware", "2B4Q"),
            ("identity", identity.as_str()),
            ("size_bytes", "1000"),
        ],
    );
    let header = Header {
        schema: experiment::plan::SCHEMA,
        schedlab: "0.1.0".to_owned(),
        plan: Plan::from_toml(PLAN).expect("a plan"),
        environment,
        started_unix_ms: 1_700_000_000_000 + number,
        command: String::new(),
    };
    let mut results = Results::new(header);
    for trial in 0..u64::from(rounds) * 2 {
        let (round, is_bfq) = ((trial / 2) as u32, trial % 2 == 1);
        let value =
            10_000.0 * (0.02 * normal(number, trial)).exp() * if is_bfq { ratio } else { 1.0 };
        let metrics: BTreeMap<String, f64> =
            [("iops".to_owned(), value), ("latency_p99_us".to_owned(), 1e6 / value)].into();
        results.trials.push(Trial {
            sequence: trial,
            workload: "readers".to_owned(),
            round,
            position: (trial % 2) as u32,
            variant: if is_bfq { "bfq" } else { "none" }.to_owned(),
            started_ms: trial * 10,
            observation: Observation { duration_ns: 5_000_000, metrics, ..Observation::default() },
        });
    }
    results
}

pub(crate) fn write(dir: &Path, results: &Results) -> PathBuf {
    fs::create_dir_all(dir).expect("made");
    let mut text = Line::Header(Box::new(results.header.clone())).to_json_line() + "\n";
    for trial in &results.trials {
        text += &Line::Trial(Box::new(trial.clone())).to_json_line();
        text.push('\n');
    }
    fs::write(dir.join("results.jsonl"), text).expect("written");
    dir.to_path_buf()
}

pub(crate) fn file(number: u64, ratio: f64, rounds: u32) -> (String, Vec<u8>) {
    let machine = Machine { name: format!("m{number:04}") };
    MachineResult::of(&results(number, ratio, rounds), &machine)
        .and_then(|of| of.to_file())
        .expect("a result")
}

/// Mean effect −20 %, SD between machines 6 %; the first `liars` machines claim the opposite.
pub(crate) fn fleet(dir: &Path, machines: u64, liars: u64, rounds: u32) {
    fs::create_dir_all(dir.join("results")).expect("made");
    for number in 0..machines {
        let effect =
            -0.223 + 0.06 * normal(number, 77_777) + if number < liars { 0.8 } else { 0.0 };
        let (name, bytes) = file(number, effect.exp(), rounds);
        fs::write(dir.join(format!("results/{name}.parquet")), bytes).expect("written");
    }
}
