//! A search: measures its trials, logs them and reports the results to [`Search`].
//!
//! In virtual time a round is a seed, and trials run in parallel. On a real machine a round is
//! measured as a group in shuffled order (default, incumbent and challengers), so that drift
//! affects all alike.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, bail};
use experiment::metric::Direction;
use experiment::notation;
use experiment::plan::Plan;
use experiment::results::{InvalidReason, Trial};
use experiment::search::{BASELINE, Ended, Mode, Outcome, Request, Search};

use super::log::{Line, Log, LoggedSearch};
use super::objective::Constraint;
use super::outcome::{SearchEnd, SearchSummary, Step};
use super::space::Field;
use crate::arena::{Arena, Group, VariantIndex};
use crate::conduct::virtual_time;
use crate::console::Console;
use crate::driver::{Driver, Earlier, Halt, Round, Series, Status, TrialLog};

pub struct Session<'a> {
    pub field: &'a Field,
    pub constraints: &'a [Constraint],
    pub log: &'a mut Log,
    /// Contents of the log at the start.
    pub seen: LoggedSearch,
    /// Limit on the arena's time.
    pub time: Option<Duration>,
}

impl Session<'_> {
    /// Runs the search to its end or until stopped. Trials must carry the objective; the plan's
    /// first variant is the default.
    pub fn run(
        self,
        search: &mut Search,
        plan: &Plan,
        arena: &mut dyn Arena,
        console: Console<'_>,
    ) -> Result<SearchSummary> {
        let (trials, last_ms) = self.seen.last.map_or((0, 0), |(sequence, ms)| (sequence + 1, ms));
        let spent = match plan.arena.is_virtual() {
            true => virtual_time(plan, self.seen.trials.values()),
            false => Duration::from_millis(last_ms),
        };
        let mut driver = Driver::new(plan, arena, console, Earlier { trials, spent });
        driver.errors_are_invalid = true;
        let mut state = SearchState {
            plan,
            torn: 0,
            fresh: !driver.arena.one_seed_a_round(),
            trials: BTreeMap::new(),
            variants: Vec::new(),
            written: self.seen.candidates,
            curve: Vec::new(),
            nr_trials: 0,
            first: Vec::new(),
            session: self,
            search,
        };
        let why = state.walk(&mut driver)?;
        let (SearchState { session, curve, nr_trials: trials, first, .. }, spent) =
            (state, driver.spent());
        if why != SearchEnd::Interrupted && session.seen.ended.is_none() {
            session.log.append(&Line::Chosen { trials, why })?;
        }
        Ok(SearchSummary { why, curve, trials, spent, first })
    }
}

struct SearchState<'a, 's> {
    session: Session<'a>,
    search: &'s mut Search,
    plan: &'s Plan,
    /// Truncated rounds of an earlier session on a real machine, to be skipped.
    torn: u32,
    /// Whether a round is measured once, as a group.
    fresh: bool,
    /// By candidate and round, one per workload.
    trials: BTreeMap<(usize, u32), Vec<Trial>>,
    /// By candidate.
    variants: Vec<(VariantIndex, String)>,
    /// Candidates in the log.
    written: usize,
    curve: Vec<Step>,
    nr_trials: u32,
    first: Vec<u32>,
}

impl SearchState<'_, '_> {
    fn walk(&mut self, driver: &mut Driver<'_>) -> Result<SearchEnd> {
        let mut warm = false;
        loop {
            if let Some((_, why)) =
                self.session.seen.ended.filter(|(trials, _)| self.nr_trials >= *trials)
            {
                return Ok(why);
            }
            let wanted = self.search.next();
            if wanted.is_empty() {
                return Ok(match self.search.ended() {
                    Some(Ended::Exhausted) => SearchEnd::Exhausted,
                    Some(Ended::Patience) => SearchEnd::Patience,
                    Some(Ended::Budget) | None => SearchEnd::Budget,
                });
            }
            self.admit(driver)?;
            if !self.known(&wanted) {
                if self.session.time.is_some_and(|time| driver.spent() >= time) {
                    return Ok(SearchEnd::Time);
                }
                if !warm && driver.arena.preconditions() {
                    self.precondition(driver)?;
                }
                warm = true;
            }
            if !self.measure(driver, &wanted)? {
                return Ok(SearchEnd::Interrupted);
            }
            self.report(&wanted)?;
        }
    }

    fn admit(&mut self, driver: &mut Driver<'_>) -> Result<()> {
        for number in self.variants.len()..self.search.candidates().len() {
            let variant = match &self.search.candidates()[number].point {
                Some(point) if number != BASELINE => self.session.field.variant(point),
                _ => self.plan.variants[0].clone(),
            };
            self.variants.push((driver.arena.admit(&variant)?, variant.name.clone()));
            if number >= self.written {
                self.session.log.append(&Line::Candidate { number, variant })?;
                self.written = number + 1;
            }
            self.first.push(self.nr_trials);
        }
        Ok(())
    }

    fn kept(&self, candidate: usize, workload: usize, round: u32) -> Option<&Trial> {
        let (variant, workload) =
            (self.variants[candidate].1.clone(), self.plan.workloads[workload].name.clone());
        self.session.seen.trials.get(&(variant, workload, round))
    }

    /// Whether all trials are in the log. Skips truncated rounds.
    fn known(&mut self, wanted: &[Request]) -> bool {
        let workloads = self.plan.workloads.len();
        loop {
            let is_kept = |request: &Request, workload| {
                self.kept(request.candidate, workload, request.round + self.torn).is_some()
            };
            let of =
                |request| (0..workloads).filter(|workload| is_kept(request, *workload)).count();
            let there: usize = wanted.iter().map(of).sum();
            if there == wanted.len() * workloads {
                return true;
            }
            if there == 0 || !self.fresh {
                return false;
            }
            self.torn += 1;
        }
    }

    /// Returns false if stopped.
    fn measure(&mut self, driver: &mut Driver<'_>, wanted: &[Request]) -> Result<bool> {
        let mut rounds: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for request in wanted {
            rounds.entry(request.round).or_default().push(request.candidate);
        }
        let workloads = 0..self.plan.workloads.len();
        let lacking: Vec<Vec<Group>> =
            workloads.clone().map(|workload| self.lacking(workload, &rounds)).collect();
        // Announce all at once, to measure candidates in parallel.
        for (workload, groups) in lacking.iter().enumerate() {
            driver.announce(workload, groups.clone(), 0..0)?;
        }
        for workload in workloads {
            for (&round, candidates) in &rounds {
                let number = round + self.torn;
                for &candidate in candidates {
                    if let Some(trial) = self.kept(candidate, workload, number).cloned() {
                        self.trials.entry((candidate, round)).or_default().push(trial);
                    }
                }
                let Some(group) = lacking[workload].iter().find(|group| group.round == number)
                else {
                    continue;
                };
                let variants: Vec<_> =
                    candidates.iter().map(|candidate| self.variants[*candidate].clone()).collect();
                let variants: Vec<_> =
                    variants.iter().map(|(variant, name)| (*variant, name.as_str())).collect();
                match driver.round(
                    &Round { workload, number, variants: &variants, missing: &group.variants },
                    self,
                )? {
                    Some(Halt::Interrupted { .. }) => return Ok(false),
                    Some(Halt::DeviceVanished { detail }) => {
                        bail!("device: disappeared ({detail}); earlier trials are retained")
                    }
                    None if driver.stop.signal().is_some() => return Ok(false),
                    None => {}
                }
            }
        }
        Ok(true)
    }

    fn lacking(&self, workload: usize, rounds: &BTreeMap<u32, Vec<usize>>) -> Vec<Group> {
        let of = |(round, candidates): (&u32, &Vec<usize>)| {
            let number = round + self.torn;
            let missing = candidates
                .iter()
                .filter(|candidate| self.kept(**candidate, workload, number).is_none());
            Group {
                round: number,
                variants: missing.map(|candidate| self.variants[*candidate].0).collect(),
            }
        };
        rounds.iter().map(of).filter(|group| !group.variants.is_empty()).collect()
    }

    fn precondition(&mut self, driver: &mut Driver<'_>) -> Result<()> {
        let name = self.plan.variants[0].name.as_str();
        (0..self.plan.workloads.len()).try_for_each(|workload| {
            driver.precondition(workload, self.variants[BASELINE].0, name, self).map(drop)
        })
    }

    fn report(&mut self, wanted: &[Request]) -> Result<()> {
        self.nr_trials += (wanted.len() * self.plan.workloads.len()) as u32;
        for request in wanted {
            let own = &self.trials[&(request.candidate, request.round)];
            let default =
                self.trials.get(&(BASELINE, request.round)).expect("the default is in every round");
            if request.candidate == BASELINE && request.round == 0 {
                check_default(self.plan, self.session.constraints, own)?;
            }
            let effect = effect(self.plan, own, default);
            let excess = excess(self.session.constraints, own);
            self.search.report(*request, &Outcome { effect, excess });
        }
        let incumbent = self.search.incumbent();
        let effect = self.search.candidates()[incumbent].effect();
        let step = Step { trials: self.nr_trials, candidate: incumbent, effect };
        if self
            .curve
            .last()
            .is_none_or(|last| (last.candidate, last.effect) != (step.candidate, step.effect))
        {
            self.curve.push(step);
        }
        Ok(())
    }
}

impl Series for SearchState<'_, '_> {
    fn log(&mut self) -> &mut dyn TrialLog {
        self.session.log
    }

    fn status(&self, driver: &Driver<'_>, workload: &str) -> Status {
        let total = f64::from(self.search.trials()) * self.plan.workloads.len() as f64;
        let share = (f64::from(self.nr_trials) / total.max(1.0)).min(1.0);
        let pace = driver.wall().as_secs_f64() / (driver.sequence().max(1) as f64);
        let left = Duration::from_secs_f64(pace * (total - f64::from(self.nr_trials)).max(0.0));
        let best = match self.search.incumbent() {
            BASELINE => "nothing better yet".to_owned(),
            best => {
                let effect = self.search.candidates()[best].effect();
                format!("{} {}", self.search.key(best), notation::change(effect.exp()))
            }
        };
        Status {
            share,
            left: Some(left),
            label: workload.to_owned(),
            standing: format!("best so far: {best}"),
        }
    }

    fn measured(
        &mut self,
        _driver: &Driver<'_>,
        variant: VariantIndex,
        trial: &Trial,
    ) -> Result<()> {
        let round = trial.round - self.torn;
        let of_variant =
            self.variants.iter().enumerate().filter(|(_, (known, _))| *known == variant);
        for (candidate, _) in of_variant {
            self.trials.entry((candidate, round)).or_default().push(trial.clone());
        }
        Ok(())
    }
}

/// Rejects a default without a valid primary or constrained metric, as nothing could be compared
/// with it. Ignores trials that are invalid for reasons other than too few requests.
fn check_default(plan: &Plan, constraints: &[Constraint], own: &[Trial]) -> Result<()> {
    let thin = |reason: &InvalidReason| matches!(reason, InvalidReason::TooFewIos { .. });
    if !own.iter().all(|trial| trial.observation.invalid.iter().all(thin)) {
        return Ok(());
    }
    let lacks = |trial: &Trial, metric: &str| {
        let invalid = trial.observation.invalid.iter().any(|reason| reason.applies_to(metric));
        invalid || !trial.observation.metrics.contains_key(metric)
    };
    let refuse = |workload: &str, metric: &str| {
        let there: Vec<&str> = own[0].observation.metrics.keys().map(String::as_str).collect();
        crate::failure::usage(format!(
            "workload {workload}: a trial has no valid {metric} (found {}); make trials longer (--trial-time), since a percentile \
             takes many requests, or name another metric",
            there.join(", ")
        ))
    };
    for (trial, workload) in own.iter().zip(&plan.workloads) {
        let metric = workload.primary.as_deref().unwrap_or_default();
        if lacks(trial, metric) {
            return Err(refuse(&workload.name, metric));
        }
    }
    match constraints.iter().find(|c| own.iter().all(|trial| lacks(trial, c.metric))) {
        Some(constraint) => Err(refuse(&own[0].workload, constraint.metric)),
        None => Ok(()),
    }
}

/// log(own ÷ default) of the primary metric, positive when better. The mean over workloads makes
/// the objective the geometric mean of ratios. None unless every workload has both.
pub fn effect(plan: &Plan, own: &[Trial], default: &[Trial]) -> Option<f64> {
    let mut sum = 0.0;
    for workload in &plan.workloads {
        let metric = workload.primary.as_deref()?;
        let value = |trials: &[Trial]| {
            let trial = trials.iter().find(|trial| trial.workload == workload.name)?;
            let sample = experiment::samples::sample(trial, metric);
            Some(sample.value)
                .filter(|value| sample.invalid.is_empty() && value.is_finite() && *value > 0.0)
        };
        let ratio = (value(own)? / value(default)?).ln();
        sum += if plan.direction_of(metric) == Direction::LowerIsBetter { -ratio } else { ratio };
    }
    Some(sum / plan.workloads.len() as f64)
}

/// Largest violation in any workload; None without constraints.
pub fn excess(constraints: &[Constraint], own: &[Trial]) -> Option<f64> {
    let all = constraints
        .iter()
        .flat_map(|c| own.iter().filter_map(|trial| c.excess(&trial.observation)));
    all.max_by(f64::total_cmp)
}

pub fn mode(plan: &Plan) -> Mode {
    if plan.arena.is_virtual() { Mode::Reused } else { Mode::Fresh }
}
