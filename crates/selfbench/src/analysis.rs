//! Time to analyze a large results file.
//!
//! The synthetic file has two workloads, four variants, and all metrics, latency curves and
//! counters of a real trial, so that parsing costs the same. The figures are wall time of one run,
//! separately for reading and comparing.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

use anyhow::Result;
use experiment::metric::METRICS;
use experiment::plan::Plan;
use experiment::results::{Header, LatencyCurve, Line, Observation, Results, Trial};
use experiment::schedule::trial_seed;
use load::PERCENTILES;

const VARIANTS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
const WORKLOADS: [(&str, &str); 2] = [("oltp", "iops"), ("mixed", "read_iops")];

#[derive(Debug, Clone)]
pub(crate) struct Report {
    trials: usize,
    bytes: usize,
    reading: Duration,
    comparing: Duration,
    comparisons: usize,
}

pub(crate) fn run(trials: u32) -> Result<Report> {
    let text = results(trials)?;
    let start = Instant::now();
    let results = Results::parse(&text)?;
    let reading = start.elapsed();
    let start = Instant::now();
    let analysis = experiment::analyze(&results, None);
    let comparing = start.elapsed();
    let (trials, bytes, comparisons) =
        (results.trials.len(), text.len(), analysis.comparisons.len());
    Ok(Report { trials, bytes, reading, comparing, comparisons })
}

fn results(trials: u32) -> Result<String> {
    let plan = plan()?;
    let header = Header {
        schema: plan.schema,
        schedlab: text::build::identity().to_owned(),
        plan,
        environment: BTreeMap::new(),
        started_unix_ms: 0,
        command: "schedlab bench analysis".to_owned(),
    };
    let mut text = Line::Header(Box::new(header)).to_json_line() + "\n";
    let rounds =
        trials.div_ceil(u32::try_from(VARIANTS.len() * WORKLOADS.len()).expect("a small number"));
    let mut sequence = 0;
    for round in 0..rounds {
        for (workload, _) in WORKLOADS {
            for (position, variant) in (0..).zip(VARIANTS) {
                let observation = observation(workload, round, position);
                let (workload, variant) = (workload.to_owned(), variant.to_owned());
                let trial = Trial {
                    sequence,
                    workload,
                    round,
                    position,
                    variant,
                    started_ms: sequence * 500,
                    observation,
                };
                text += &(Line::Trial(Box::new(trial)).to_json_line() + "\n");
                sequence += 1;
            }
        }
    }
    Ok(text)
}

fn plan() -> Result<Plan> {
    let mut text = "device = \"loop:512M\"\n".to_owned();
    for variant in VARIANTS {
        text += &format!("[[variant]]\nname = \"{variant}\"\nscheduler = \"{variant}\"\n");
    }
    for (kind, primary) in WORKLOADS {
        text += &format!(
            "[[workload]]\nname = \"{kind}\"\nkind = \"{kind}\"\nprimary = \"{primary}\"\n"
        );
    }
    Ok(Plan::from_toml(&text)?)
}

/// Values around 1000 with a few percent of noise derived from the trial's place.
fn observation(workload: &str, round: u32, position: u32) -> Observation {
    let noise =
        |salt: u64| 1.0 + (trial_seed(salt, workload, round, position) % 1000) as f64 / 10_000.0;
    let metrics = (0..)
        .zip(METRICS)
        .map(|(salt, metric)| (metric.name.to_owned(), 1000.0 * noise(salt)))
        .collect();
    let curve = |op: &str| LatencyCurve {
        op: op.to_owned(),
        count: 10_000,
        points: PERCENTILES.iter().map(|&p| (p, (1e5 * noise(99) / (101.0 - p)) as u64)).collect(),
    };
    Observation {
        duration_ns: 400_000_000,
        metrics,
        latency: ["all", "read", "write"].map(curve).to_vec(),
        ..Observation::default()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |duration: Duration| duration.as_secs_f64() * 1000.0;
        writeln!(
            f,
            "{} trials, {:.1} MB: read in {:.0} ms, compared ({} comparisons) in {:.0} ms",
            self.trials,
            self.bytes as f64 / 1e6,
            ms(self.reading),
            self.comparisons,
            ms(self.comparing)
        )
    }
}

#[cfg(test)]
mod tests {
    use experiment::metric::Direction;

    use super::*;

    #[test]
    fn the_made_up_results_are_read_and_compared_whole() {
        let report = run(100).unwrap();
        let compared =
            METRICS.iter().filter(|metric| metric.direction != Direction::Descriptive).count();
        assert_eq!(report.trials, 104, "thirteen rounds of eight trials");
        assert_eq!(report.comparisons, 2 * 3 * compared);
    }
}
