//! `selfbench tune`: the search compared with sweeps and random search, on surfaces with a known
//! optimum.
//!
//! A surface is a simulated device and workload with a fully measurable space. The search, a random
//! search with the same race, and one without get a quarter of the trials of one-at-a-time sweeps,
//! with other seeds than truth. The figure is regret: how far the choice's true value is below the
//! optimum.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use anyhow::Result;
use experiment::plan::{self, Plan, TrialLength, Variant};
use experiment::schedule;
use experiment::search::{
    BASELINE, Mode, Options as SearchOptions, Outcome, Point, Proposals, Search,
};
use experiment::stats::describe;
use serde::Serialize;

use lab::arena::VariantIndex;
use lab::arena::model::Model;
use lab::arena::sim::SimArena;
use lab::arena::{Arena, Group, TrialSpec, Upcoming};
use lab::progress::Progress;
use lab::signals::Stop;
use lab::tune::space::{Field, SpaceRequest, build_on, modelled_attributes};

/// The minimum of a confidence sequence for all but the largest effects.
const SWEEP_ROUNDS: u64 = 6;
const SHARE: f64 = 0.25;
/// About the precision of truth.
const TIE: f64 = 0.002;
const GOAL: f64 = 0.02;
/// Seeds per point of the grid.
const COARSE: u32 = 3;
/// Seeds of possible optima, and of choices.
const FINE: u32 = 16;
/// Points measured finely.
const FINALISTS: usize = 24;

/// The logarithm of a trial without a value.
const NOTHING: f64 = -50.0;

struct Surface {
    name: &'static str,
    device: &'static str,
    workload: &'static str,
    baseline: &'static str,
    schedulers: &'static [&'static str],
    tunables: &'static [&'static str],
    trial_ms: u64,
}

static SURFACES: &[Surface] = &[
    Surface {
        name: "transactions on an old disk",
        device: "hp97560",
        workload: "oltp:clients=32",
        baseline: "mq-deadline",
        schedulers: &["mq-deadline", "kyber", "bfq", "deadline"],
        tunables: &[
            "writes_starved",
            "fifo_batch",
            "read_expire",
            "read_lat_nsec",
            "slice_idle",
            "fifo_expire_sync",
            "low_latency",
            "nr_requests",
        ],
        trial_ms: 10_000,
    },
    Surface {
        name: "scans of a disk of the 1990s",
        device: "barracuda7200",
        workload: "dss:clients=6",
        baseline: "mq-deadline",
        schedulers: &["mq-deadline", "cfq", "bfq", "anticipatory"],
        tunables: &[
            "fifo_batch",
            "read_expire",
            "quantum",
            "slice_sync",
            "slice_idle",
            "max_budget",
            "timeout_sync",
            "antic_expire",
            "read_batch_expire",
        ],
        trial_ms: 4_000,
    },
    Surface {
        name: "clients that think",
        device: "atlas10k",
        workload: "think-mix:clients=6:random_share=50:think_time=2ms",
        baseline: "mq-deadline",
        schedulers: &["mq-deadline", "cfq", "bfq", "anticipatory"],
        tunables: &[
            "fifo_batch",
            "quantum",
            "slice_sync",
            "slice_idle",
            "back_seek_max",
            "max_budget",
            "timeout_sync",
            "antic_expire",
            "read_batch_expire",
            "read_expire",
        ],
        trial_ms: 2_000,
    },
    Surface {
        name: "twenty files at once",
        device: "hp97560",
        workload: "iozone:clients=20",
        baseline: "mq-deadline",
        schedulers: &["mq-deadline", "cfq", "bfq", "anticipatory"],
        tunables: &[
            "fifo_batch",
            "quantum",
            "slice_sync",
            "slice_idle",
            "max_budget",
            "timeout_sync",
            "antic_expire",
            "read_batch_expire",
            "read_expire",
        ],
        trial_ms: 10_000,
    },
    Surface {
        name: "a reader and a writer on a queueing disk",
        device: "wd4tb7200",
        workload: "mixed:writers=1:iodepth=8",
        baseline: "mq-deadline",
        schedulers: &["none", "mq-deadline", "kyber", "bfq"],
        tunables: &[
            "writes_starved",
            "read_expire",
            "read_lat_nsec",
            "slice_idle",
            "timeout_sync",
            "low_latency",
            "nr_requests",
        ],
        trial_ms: 4_000,
    },
    Surface {
        name: "transactions on an SSD",
        device: "nvme",
        workload: "oltp:clients=32:read_share=70",
        baseline: "mq-deadline",
        schedulers: &["none", "mq-deadline", "kyber", "bfq"],
        tunables: &[
            "writes_starved",
            "fifo_batch",
            "read_lat_nsec",
            "write_lat_nsec",
            "slice_idle",
            "low_latency",
            "nr_requests",
        ],
        trial_ms: 20,
    },
];

#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) runs: u32,
    /// Only surfaces whose name contains this.
    pub(crate) only: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Regrets {
    pub(crate) median: f64,
    pub(crate) p90: f64,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(crate) surface: String,
    pub(crate) points: u64,
    /// The best point, and its ratio to the default.
    pub(crate) optimum: String,
    pub(crate) advantage: f64,
    /// Share of points within 2 % of the optimum.
    pub(crate) near: f64,
    pub(crate) sweep_trials: u64,
    pub(crate) trials: u32,
    pub(crate) tune: Regrets,
    /// The same race with random proposals.
    pub(crate) random_raced: Regrets,
    /// Random points, three trials each.
    pub(crate) random: Regrets,
}

impl Row {
    fn met(&self) -> bool {
        let no_worse = |other: &Regrets| {
            self.tune.median <= other.median + TIE && self.tune.p90 <= other.p90 + TIE
        };
        self.tune.median <= GOAL && no_worse(&self.random)
    }
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    pub(crate) runs: u32,
}

impl Report {
    pub(crate) fn broken(&self) -> usize {
        self.rows.iter().filter(|row| !row.met()).count()
    }
}

pub(crate) fn run(options: &Options, stop: &Stop, progress: &dyn Progress) -> Result<Report> {
    let mut rows = Vec::new();
    for surface in SURFACES
        .iter()
        .filter(|s| options.only.as_ref().is_none_or(|only| s.name.contains(only.as_str())))
    {
        rows.push(Bench::open(surface, stop)?.row(surface, options.runs, progress)?);
    }
    progress.clear();
    Ok(Report { rows, runs: options.runs })
}

struct Bench<'a> {
    arena: SimArena,
    plan: Plan,
    field: Field,
    metric: String,
    sign: f64,
    known: BTreeMap<(String, u64), f64>,
    stop: &'a Stop,
}

impl<'a> Bench<'a> {
    fn open(surface: &Surface, stop: &'a Stop) -> Result<Bench<'a>> {
        let model = Model::read(surface.device)?;
        let owned = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        let request = SpaceRequest {
            schedulers: owned(surface.schedulers),
            tunables: owned(surface.tunables),
            fixed: BTreeMap::new(),
        };
        let field = Field::of(&request, &build_on(&model), |scheduler| {
            modelled_attributes(&model, scheduler)
        })?;
        let baseline = lab::resolve::bare(surface.baseline);
        let mut plan: Plan = toml::from_str(&format!(
            "arena = \"sim\"\ndevice = \"{}\"\nvariant = [{{ name = \"other\", scheduler = \"none\" }}]\nworkload = []",
            surface.device
        ))?;
        plan.variants.insert(0, baseline);
        plan.workloads = plan::parse_workloads(&[surface.workload])?;
        plan.trial = TrialLength {
            duration_ms: Some(surface.trial_ms),
            warmup_ms: Some(surface.trial_ms / 5),
        };
        let resolved = lab::resolve::resolve(plan, &mut |_| ())?;
        let plan = resolved.plan.clone();
        let metric = plan.workloads[0].primary.clone().expect("a checked plan names what decides");
        let lower = plan.direction_of(&metric) == experiment::metric::Direction::LowerIsBetter;
        let sign = if lower { -1.0 } else { 1.0 };
        Ok(Bench {
            arena: crate::arenas::sim(resolved, stop)?,
            plan,
            field,
            metric,
            sign,
            known: BTreeMap::new(),
            stop,
        })
    }

    fn prepare(&mut self, variants: &[Variant], seeds: &[u64]) -> Result<()> {
        let duration =
            Duration::from_millis(self.plan.trial.duration_ms.expect("a checked plan says so"));
        let warmup =
            Duration::from_millis(self.plan.trial.warmup_ms.expect("a checked plan says so"));
        let workload = 0;
        for &seed in seeds {
            let missing: Vec<&Variant> = variants
                .iter()
                .filter(|variant| !self.known.contains_key(&(variant.name.clone(), seed)))
                .collect();
            let variants: Vec<VariantIndex> =
                missing.iter().map(|variant| self.arena.admit(variant)).collect::<Result<_>>()?;
            let next = vec![Group { round: 0, variants: variants.clone() }];
            self.arena.announce(&Upcoming {
                workload,
                next,
                then: 0..0,
                seed: &|_| seed,
                duration,
                warmup,
            })?;
            for (variant, index) in missing.into_iter().zip(variants) {
                self.arena.apply(index)?;
                let seen = self.arena.measure(&TrialSpec { workload, seed, duration, warmup })?;
                if let Some(signal) = self.stop.signal() {
                    anyhow::bail!("stopped by {signal}");
                }
                let value = seen.metrics.get(&self.metric).copied().filter(|value| *value > 0.0);
                // A trial without completions is worse than any other.
                self.known.insert(
                    (variant.name.clone(), seed),
                    value.map_or(NOTHING, |value| self.sign * value.ln()),
                );
            }
        }
        Ok(())
    }

    fn value(&self, variant: &Variant, seed: u64) -> f64 {
        self.known[&(variant.name.clone(), seed)]
    }

    fn mean(&self, variant: &Variant, seeds: &[u64]) -> f64 {
        seeds.iter().map(|seed| self.value(variant, *seed)).sum::<f64>() / seeds.len() as f64
    }

    fn row(&mut self, surface: &Surface, runs: u32, progress: &dyn Progress) -> Result<Row> {
        let seeds = |run: u32, n: u32| -> Vec<u64> {
            (0..n)
                .map(|round| schedule::trial_seed(u64::from(run), surface.name, round, 0))
                .collect()
        };
        let (coarse, fine) = (seeds(u32::MAX, COARSE), seeds(u32::MAX, FINE));
        let points: Vec<Point> = self.field.space.points().collect();
        let variants: Vec<Variant> = points.iter().map(|point| self.field.variant(point)).collect();
        for (i, chunk) in variants.chunks(64).enumerate() {
            let done = (i * 64) as u64;
            progress.prepare(
                &format!("{}: the whole grid", surface.name),
                done,
                variants.len() as u64,
            );
            self.prepare(chunk, &coarse)?;
        }
        let mut order: Vec<&Variant> = variants.iter().collect();
        order.sort_by(|a, b| self.mean(b, &coarse).total_cmp(&self.mean(a, &coarse)));
        let finalists: Vec<Variant> = order.into_iter().take(FINALISTS).cloned().collect();
        let baseline = self.plan.variants[0].clone();
        self.prepare(&finalists, &fine)?;
        self.prepare(std::slice::from_ref(&baseline), &fine)?;
        let best =
            finalists.iter().max_by(|a, b| self.mean(a, &fine).total_cmp(&self.mean(b, &fine)));
        let best = best.expect("there are finalists").clone();
        let optimum = self.mean(&best, &fine);
        let near =
            variants.iter().filter(|variant| self.mean(variant, &coarse) >= optimum - GOAL).count();
        let sweep_trials = self.field.space.one_at_a_time() * SWEEP_ROUNDS;
        let trials = (SHARE * sweep_trials as f64) as u32;
        let mut regrets: [Vec<f64>; 3] = Default::default();
        for run in 0..runs {
            progress.prepare(&format!("{}: searches", surface.name), run.into(), runs.into());
            let rounds = seeds(run, 64);
            for (kind, proposals) in [Proposals::Mixed, Proposals::Random].into_iter().enumerate() {
                let chosen = self.search(&rounds, run, trials, proposals)?;
                regrets[kind].push(self.regret(&chosen, &fine, optimum)?);
            }
            let chosen = self.plain_random(&rounds, run, trials)?;
            regrets[2].push(self.regret(&chosen, &fine, optimum)?);
        }
        let [tune, random_raced, random] = regrets.map(|all| Regrets::of(&all));
        Ok(Row {
            surface: format!("{} ({} on {})", surface.name, surface.workload, surface.device),
            points: points.len() as u64,
            optimum: best.name.clone(),
            advantage: (optimum - self.mean(&baseline, &fine)).exp(),
            near: near as f64 / points.len() as f64,
            sweep_trials,
            trials,
            tune,
            random_raced,
            random,
        })
    }

    fn regret(&mut self, chosen: &Variant, fine: &[u64], optimum: f64) -> Result<f64> {
        self.prepare(std::slice::from_ref(chosen), fine)?;
        Ok(1.0 - (self.mean(chosen, fine) - optimum).exp())
    }

    /// The default if nothing better was found.
    fn search(
        &mut self,
        rounds: &[u64],
        run: u32,
        trials: u32,
        proposals: Proposals,
    ) -> Result<Variant> {
        let baseline = self.plan.variants[0].clone();
        let options = SearchOptions {
            seed: run.into(),
            mode: Mode::Reused,
            // A plan's margin of 5 % is more than there is to gain on some surfaces.
            margin: GOAL.ln_1p(),
            trials,
            width: 4,
            patience: None,
            proposals,
        };
        let mut search =
            Search::new(self.field.space.clone(), self.field.plain(&baseline.scheduler), options);
        loop {
            let wanted = search.next();
            if wanted.is_empty() {
                break;
            }
            for request in wanted {
                let seed = rounds[request.round as usize];
                let variant = match &search.candidates()[request.candidate].point {
                    Some(point) if request.candidate != BASELINE => self.field.variant(point),
                    _ => baseline.clone(),
                };
                self.prepare(&[variant.clone(), baseline.clone()], &[seed])?;
                let effect = self.value(&variant, seed) - self.value(&baseline, seed);
                search.report(
                    request,
                    &Outcome { effect: Some(effect).filter(|e| e.is_finite()), excess: None },
                );
            }
        }
        let chosen = search.chosen().and_then(|number| search.candidates()[number].point.clone());
        Ok(chosen.map_or(baseline, |point| self.field.variant(&point)))
    }

    /// Runs three trials per random point; the best mean wins.
    fn plain_random(&mut self, rounds: &[u64], run: u32, trials: u32) -> Result<Variant> {
        const EACH: u32 = 3;
        let baseline = self.plan.variants[0].clone();
        let points: Vec<Point> = self.field.space.points().collect();
        let names: Vec<String> = (0..points.len()).map(|i| i.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let drawn = schedule::order(u64::from(run) ^ 0x5eed, "random", 0, &names);
        let seeds = &rounds[..EACH as usize];
        let mut best = (0.0, baseline.clone());
        self.prepare(std::slice::from_ref(&baseline), seeds)?;
        for name in drawn.into_iter().take((trials / EACH).saturating_sub(1) as usize) {
            let variant = self
                .field
                .variant(&points[name.parse::<usize>().expect("it was made of a number")]);
            self.prepare(std::slice::from_ref(&variant), seeds)?;
            let effect = self.mean(&variant, seeds) - self.mean(&baseline, seeds);
            if effect > best.0 {
                best = (effect, variant);
            }
        }
        Ok(best.1)
    }
}

impl Regrets {
    fn of(all: &[f64]) -> Regrets {
        let mut sorted = all.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| describe::quantile(&sorted, share).expect("there is a search");
        Regrets { median: at(0.5), p90: at(0.9) }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        writeln!(
            f,
            "Regret of what {} searches choose, each with a quarter of a sweep's trials (median, 90 %)\n",
            self.runs
        )?;
        for row in &self.rows {
            writeln!(f, "{}", row.surface)?;
            writeln!(
                f,
                "  {} points, {} of them within 2 % of the best, {} ({:+.1} % over the default)",
                row.points,
                percent(row.near),
                row.optimum,
                (row.advantage - 1.0) * 100.0
            )?;
            writeln!(f, "  sweeps need {} trials, a search got {}", row.sweep_trials, row.trials)?;
            for (name, regrets) in
                [("tune", &row.tune), ("random, raced", &row.random_raced), ("random", &row.random)]
            {
                writeln!(
                    f,
                    "  {name:<14} {:>8} {:>8}",
                    percent(regrets.median),
                    percent(regrets.p90)
                )?;
            }
            writeln!(f, "  {}\n", if row.met() { "kept" } else { "NOT KEPT" })?;
        }
        writeln!(
            f,
            "Guaranteed: a median within 2 %, and neither median nor 90 % worse than random's: {}",
            match self.broken() {
                0 => "kept on every surface".to_owned(),
                n => format!("not kept on {n} of {}", self.rows.len()),
            }
        )
    }
}
