//! A realistic synthetic experiment for the renderers' tests.
//!
//! It has one invalid trial and every verdict. The intervals use a plain normal rule; they only
//! have to look right here.

use std::collections::BTreeMap;

use experiment::analysis::{
    Analysis, Comparison, Origin, Recommendation, Summary, VariantSettings, Verdict, WorkloadAdvice,
};
use experiment::metric::{self, Direction};
use experiment::plan::{Criteria, Plan, Variant, WorkloadSpec};
use experiment::results::{
    End, EndReason, Event, Header, InvalidReason, LatencyCurve, Note, Observation, Trial,
};

use super::evidence::Evidence;
use super::invalid;

pub(crate) struct Lab {
    pub(crate) header: Header,
    pub(crate) trials: Vec<Trial>,
    pub(crate) notes: Vec<Note>,
    pub(crate) end: Option<End>,
    pub(crate) analysis: Analysis,
}

const VARIANTS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
const ROUNDS: u32 = 14;

/// Workload, kind, primary metric, baseline throughput in MB/s, request size in bytes, median
/// latency in µs, and each variant's factors on throughput and tail latency.
type Row = (&'static str, &'static str, &'static str, f64, f64, f64, [(f64, f64); 4]);
const WORK: [Row; 3] = [
    (
        "oltp",
        "oltp",
        "iops",
        87.4,
        4096.0,
        310.0,
        [(1.0, 1.0), (1.116, 0.82), (1.001, 0.97), (0.61, 2.3)],
    ),
    (
        "seqread",
        "seqread",
        "throughput_mb_per_s",
        1043.0,
        131_072.0,
        900.0,
        [(1.0, 1.0), (1.0, 1.0), (1.012, 0.99), (0.93, 1.1)],
    ),
    (
        "mixed",
        "mixed",
        "read_latency_p99_us",
        412.0,
        16_384.0,
        1900.0,
        [(1.0, 1.0), (0.99, 0.43), (0.97, 0.23), (0.9, 0.085)],
    ),
];

impl Lab {
    pub(crate) fn typical() -> Lab {
        let mut noise = Noise(7);
        let trials = trials(&mut noise);
        let header = header();
        let (device, environment) = (Some(header.plan.device.clone()), header.environment.clone());
        let origin = Some(Origin { device, environment, ..Origin::default() });
        let variants = header.plan.variants.iter().map(VariantSettings::from).collect();
        let analysis = Analysis { origin, variants, ..analyze(&trials) };
        let notes = vec![Note {
            at_ms: 61_000,
            event: Event::StoppedVariant {
                workload: "oltp".into(),
                variant: "bfq".into(),
                rounds: 12,
            },
        }];
        let end =
            Some(End { at_ms: 131_400, reason: EndReason::BudgetSpent { measured_s: 131.4 } });
        Lab { header, trials, notes, end, analysis }
    }

    /// Long names, one round, open intervals, a hundredfold effect, invalid evidence.
    pub(crate) fn extreme() -> Lab {
        let mut lab = Lab::typical();
        let names: Vec<String> = (0..8)
            .map(|i| format!("variant {i} with slice_idle=0, nr_requests=1024 and more"))
            .collect();
        let factors = [1.0, 107.0, 0.01, 1.0005, 3.0, 0.97, 1.2, 1.0];
        let first: Vec<Trial> =
            lab.trials.iter().filter(|trial| trial.round == 0).cloned().collect();
        lab.trials.clear();
        for (i, name) in names.iter().enumerate() {
            for trial in first.iter().filter(|trial| trial.variant == VARIANTS[i % 4]) {
                let mut trial = Trial { variant: name.clone(), ..trial.clone() };
                trial.observation.metrics.values_mut().for_each(|value| *value *= factors[i]);
                if i == 7 {
                    trial.observation.invalid.push(InvalidReason::DeviceVanished {
                        detail: "the device is gone".into(),
                    });
                }
                lab.trials.push(trial);
            }
        }
        lab.analysis.comparisons.clear();
        for row in WORK {
            for (i, name) in names.iter().enumerate().skip(1) {
                let ratio = Some(factors[i]).filter(|_| i < 7);
                lab.analysis.comparisons.push(Comparison {
                    workload: row.0.into(),
                    metric: row.2.into(),
                    baseline: names[0].clone(),
                    variant_mean: ratio.map(|ratio| ratio * 1000.0),
                    baseline_mean: ratio.map(|_| 1000.0),
                    ratio,
                    low: ratio.filter(|_| i % 3 != 0).map(|r| r / 1.3),
                    high: ratio.filter(|_| i % 2 != 0).map(|r| r * 1.3),
                    verdict: if i < 7 { Verdict::Inconclusive } else { Verdict::Invalid },
                    rounds: 1,
                    log_ratios: ratio.map(f64::ln).into_iter().collect(),
                    reasons: if i == 7 {
                        vec!["every round is invalid".into()]
                    } else {
                        Vec::new()
                    },
                    ..comparison(name)
                });
            }
        }
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let summaries = |row: &Row| {
            all.iter()
                .filter_map(|variant| summary(&lab.trials, row.0, row.2, variant))
                .collect::<Vec<_>>()
        };
        lab.analysis.summaries = WORK.iter().flat_map(summaries).collect();
        lab.header.plan.variants.clear();
        lab
    }

    pub(crate) fn evidence(&self) -> Evidence<'_> {
        Evidence {
            header: &self.header,
            trials: &self.trials,
            notes: &self.notes,
            end: self.end.as_ref(),
            unit_of: |_, _| "",
            actuator: &[],
        }
    }

    pub(crate) fn renamed(mut self, from: &str, to: &str) -> Lab {
        let swap = |name: &mut String| {
            if name == from {
                *name = to.into();
            }
        };
        self.header.plan.variants.iter_mut().for_each(|variant| swap(&mut variant.name));
        self.trials.iter_mut().for_each(|trial| swap(&mut trial.variant));
        for comparison in &mut self.analysis.comparisons {
            swap(&mut comparison.variant);
            swap(&mut comparison.baseline);
        }
        self.analysis.summaries.iter_mut().for_each(|summary| swap(&mut summary.variant));
        self.analysis
            .recommendation
            .workloads
            .iter_mut()
            .filter_map(|w| w.variant.as_mut())
            .for_each(swap);
        self
    }
}

pub(crate) fn comparison(variant: &str) -> Comparison {
    Comparison {
        workload: "oltp".into(),
        metric: "iops".into(),
        primary: true,
        variant: variant.into(),
        baseline: "none".into(),
        variant_mean: Some(1100.0),
        baseline_mean: Some(1000.0),
        ratio: Some(1.1),
        low: Some(1.05),
        high: Some(1.15),
        verdict: Verdict::Better,
        rounds: 5,
        invalid_rounds: 0,
        confidence: 0.983,
        more_rounds: None,
        new_plan_rounds: None,
        reasons: Vec::new(),
        log_ratios: vec![0.1, 0.09, 0.11, 0.08, 0.12],
    }
}

struct Noise(u64);

impl Noise {
    /// Approximately normal, mean 0, deviation 1.
    fn next(&mut self) -> f64 {
        let mut sum = 0.0;
        for _ in 0..12 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            sum += (self.0 >> 11) as f64 / (1u64 << 53) as f64;
        }
        sum - 6.0
    }
}

fn trials(noise: &mut Noise) -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut started_ms = 400;
    for round in 0..ROUNDS {
        for row in WORK {
            let shift = (round as usize * 3 + row.0.len()) % 4;
            for position in 0..4 {
                let index = (position + shift) % 4;
                trials.push(Trial {
                    sequence: trials.len() as u64,
                    workload: row.0.into(),
                    round,
                    position: position as u32,
                    variant: VARIANTS[index].into(),
                    started_ms,
                    observation: observation(&row, index, round, noise),
                });
                started_ms += 780;
            }
        }
    }
    trials
}

fn observation(row: &Row, variant: usize, round: u32, noise: &mut Noise) -> Observation {
    let &(workload, _, _, base, size, median_us, factors) = row;
    let (speed, tail) = factors[variant];
    // Slight warm-up, equal for all variants of a round.
    let drift = 1.0 - 0.002 * f64::from(round) + 0.01 * (f64::from(round) * 1.3).sin();
    let spread = match (workload, variant) {
        ("seqread", 2) => 0.02,
        ("seqread", _) => 0.003,
        _ => 0.006,
    };
    let throughput = base * speed * drift * (1.0 + spread * noise.next());
    let iops = throughput * 1e6 / size;
    let wobble = 1.0 + 0.05 * noise.next().abs();
    // Roughly log-logistic: a factor on p99 is partly a shift, partly a thinner tail.
    let slope = 0.28 * (1.0 + 0.4 * tail.ln() / (99f64.ln() * 0.28));
    let middle = median_us / speed * tail.powf(0.6) * wobble;
    let latency = |p: f64| middle * ((p / (1.0 - p)).ln() * slope).exp();
    let mut metrics = BTreeMap::from([
        ("throughput_mb_per_s".to_string(), throughput),
        ("iops".to_string(), iops),
        ("latency_p50_us".to_string(), latency(0.5)),
        ("latency_p99_us".to_string(), latency(0.99)),
        ("latency_p999_us".to_string(), latency(0.999)),
        ("cpu_us_per_io".to_string(), (4.1 + variant as f64 * 0.6) * (1.0 + 0.01 * noise.next())),
    ]);
    if workload == "mixed" {
        metrics.insert("read_latency_p99_us".into(), latency(0.99) * 6.0);
    }
    let count = (iops * 0.5) as u64;
    let grid = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999];
    let points: Vec<(f64, u64)> = grid
        .into_iter()
        .filter(|p| (1.0 - p) * count as f64 >= 1.0)
        .map(|p| (p * 100.0, (latency(p) * 1e3) as u64))
        .collect();
    let mut observation =
        Observation { duration_ns: 500_000_000, metrics, ..Observation::default() };
    observation.latency.push(LatencyCurve { op: "all".into(), count, points: points.clone() });
    if workload == "mixed" {
        let slower = |by: u64| points.iter().map(|(p, ns)| (*p, ns * by)).collect();
        observation.latency.push(LatencyCurve {
            op: "read".into(),
            count: count / 9,
            points: slower(6),
        });
        observation.latency.push(LatencyCurve {
            op: "write".into(),
            count: count / 9 * 8,
            points: slower(2),
        });
    }
    if (workload, variant, round) == ("oltp", 2, 8) {
        observation.invalid.push(InvalidReason::ChangedMeanwhile {
            attribute: "scheduler".into(),
            wanted: "kyber".into(),
            found: "mq-deadline".into(),
        });
    }
    observation
}

fn header() -> Header {
    let variant = |name: &&str| Variant {
        name: name.to_string(),
        scheduler: name.to_string(),
        tunables: BTreeMap::new(),
    };
    let workload = |row: &Row| WorkloadSpec {
        name: row.0.into(),
        kind: row.1.into(),
        primary: Some(row.2.into()),
        params: BTreeMap::from([("clients".into(), "8".into())]),
        share: Default::default(),
        background: Vec::new(),
        flows: Vec::new(),
    };
    let section = |facts: &[(&str, &str)]| {
        facts.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
    };
    Header {
        schema: experiment::plan::SCHEMA,
        schedlab: "0.1.0".into(),
        plan: Plan {
            kernel: None,
            schema: experiment::plan::SCHEMA,
            name: "Example with made-up data: four schedulers on a database server's disk".into(),
            arena: Default::default(),
            device: "/dev/sdb".into(),
            seed: 42,
            baseline: Some("none".into()),
            budget: Default::default(),
            trial: Default::default(),
            criteria: Criteria::default(),
            limits: Default::default(),
            variants: VARIANTS.iter().map(variant).collect(),
            workloads: WORK.iter().map(workload).collect(),
            files: None,
        metrics: Vec::new(),
        published: Vec::new(),
        },
        environment: BTreeMap::from([
            ("kernel".into(), section(&[("release", "6.12.48"), ("command line", "root=/dev/sda1 ro quiet")])),
            ("device".into(), section(&[("model", "SAMSUNG MZ7LH960"), ("firmware", "HXT7904Q"), ("queue depth", "32"), ("size", "960 GB")])),
            ("cpu".into(), section(&[("model", "Intel Xeon Silver 4210"), ("governor", "performance"), ("online", "0-39")])),
            ("memory".into(), section(&[("total", "128 GB")])),
        ]),
        started_unix_ms: 1_795_291_080_000,
        command: "schedlab compare --device /dev/sdb --schedulers none,mq-deadline,kyber,bfq --workload oltp,seqread,mixed --seed 42".into(),
    }
}

fn analyze(trials: &[Trial]) -> Analysis {
    let mut comparisons = Vec::new();
    let mut summaries = Vec::new();
    for row in WORK {
        let mut names: Vec<&str> = metric::METRICS.iter().map(|metric| metric.name).collect();
        names.retain(|name| {
            trials.iter().any(|t| t.workload == row.0 && t.observation.metrics.contains_key(*name))
        });
        for name in names {
            summaries.extend(
                VARIANTS.iter().filter_map(|variant| summary(trials, row.0, name, variant)),
            );
            comparisons.extend(
                VARIANTS[1..]
                    .iter()
                    .map(|variant| compared(trials, row.0, name, variant, row.2 == name)),
            );
        }
    }
    comparisons.sort_by_key(|comparison| !comparison.primary);
    let advice = |workload: &str, metric: &str, variant: &str, why: &str| WorkloadAdvice {
        workload: workload.into(),
        metric: metric.into(),
        variant: Some(variant.into()),
        why: why.into(),
    };
    Analysis {
        schema: 1,
        arena: "disk".into(),
        name: "Example with made-up data: four schedulers on a database server's disk".into(),
        origin: None,
        variants: Vec::new(),
        workloads: Vec::new(),
        metrics: Vec::new(),
        comparisons,
        recommendation: Recommendation {
            variant: Some("mq-deadline".into()),
            costs: Vec::new(),
            sentence: "Use mq-deadline: better than none for oltp and mixed, equivalent for seqread.".into(),
            workloads: vec![
                advice("oltp", "iops", "mq-deadline", "mq-deadline gives the most IOPS, 11.1 % above none"),
                advice("seqread", "throughput_mb_per_s", "none", "no scheduler is better than none"),
                advice("mixed", "read_latency_p99_us", "bfq", "bfq has the shortest read latency p99"),
            ],
        },
        summaries,
        responses: Vec::new(),
        cautions: vec![
            "the device's write cache is on and volatile: writes are acknowledged before they are safe".into(),
        ],
        criteria: Criteria::default(),
        pooled: None,
    }
}

fn values(trials: &[Trial], workload: &str, metric: &str, variant: &str) -> Vec<(u32, f64)> {
    trials
        .iter()
        .filter(|t| {
            t.workload == workload && t.variant == variant && !invalid::is_invalid(t, metric)
        })
        .filter_map(|t| Some((t.round, *t.observation.metrics.get(metric)?)))
        .collect()
}

fn summary(trials: &[Trial], workload: &str, metric: &str, variant: &str) -> Option<Summary> {
    let mut values: Vec<f64> =
        values(trials, workload, metric, variant).into_iter().map(|(_, v)| v).collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n as f64 - 1.0)).sqrt();
    Some(Summary {
        workload: workload.into(),
        metric: metric.into(),
        direction: metric::direction_of(metric).expect("a metric of schedlab"),
        variant: variant.into(),
        n: n as u32,
        mean,
        sd: Some(sd).filter(|_| n > 1),
        cv_percent: Some(sd / mean * 100.0).filter(|_| n > 1),
        median: *values.get(n / 2)?,
        geometric_mean: Some((values.iter().map(|v| v.ln()).sum::<f64>() / n as f64).exp()),
        min: values[0],
        max: values[n - 1],
        outliers: u32::from(variant == "bfq" && metric == "iops"),
    })
}

fn compared(
    trials: &[Trial],
    workload: &str,
    metric: &str,
    variant: &str,
    primary: bool,
) -> Comparison {
    let base = values(trials, workload, metric, VARIANTS[0]);
    let pairs: Vec<(f64, f64)> = values(trials, workload, metric, variant)
        .iter()
        .filter_map(|(round, v)| {
            base.iter().find(|(b, _)| b == round).map(|(_, b)| (v.ln(), b.ln()))
        })
        .collect();
    let logs: Vec<f64> = pairs.iter().map(|(variant, base)| variant - base).collect();
    let n = logs.len() as f64;
    let centre =
        |of: &dyn Fn(&(f64, f64)) -> f64| Some((pairs.iter().map(of).sum::<f64>() / n).exp());
    let mean = logs.iter().sum::<f64>() / n;
    let half = 3.1 * (logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
    let (low, high) = ((mean - half).exp(), (mean + half).exp());
    let good = if metric::direction_of(metric) == Some(Direction::HigherIsBetter) {
        (low, high)
    } else {
        (1.0 / high, 1.0 / low)
    };
    let verdict = match good {
        (low, _) if low > 1.01 => Verdict::Better,
        (_, high) if high < 0.99 => Verdict::Worse,
        (low, high) if low > 0.99 && high < 1.01 => Verdict::Equivalent,
        _ => Verdict::Inconclusive,
    };
    let invalid_rounds = ROUNDS - logs.len() as u32;
    Comparison {
        workload: workload.into(),
        metric: metric.into(),
        variant_mean: centre(&|pair| pair.0),
        baseline_mean: centre(&|pair| pair.1),
        ratio: Some(mean.exp()),
        low: Some(low),
        high: Some(high),
        primary,
        verdict,
        rounds: logs.len() as u32,
        invalid_rounds,
        more_rounds: (verdict == Verdict::Inconclusive).then_some(23),
        new_plan_rounds: None,
        reasons: if invalid_rounds > 0 {
            vec!["1 of 14 rounds is invalid and left out".into()]
        } else {
            Vec::new()
        },
        log_ratios: logs,
        ..comparison(variant)
    }
}
