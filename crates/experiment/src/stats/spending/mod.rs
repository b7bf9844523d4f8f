//! Group-sequential bounds for a budget of N rounds, more powerful than a confidence sequence
//! ([`super::sequence`]).
//!
//! Alpha spending: the bound at each look leaves a(f) = alpha (1 − e^(−γf))/(1 − e^(−γ)) spent at
//! share f of the budget, γ = [`GAMMA`]; looks follow every round from [`FIRST_LOOK`] on. The
//! repeated confidence interval is mean ± bound · sd/√n. If time ends before N, the rest is spent
//! there ([`Look::Last`]). Source: Lan & DeMets 1983, Hwang, Shih & DeCani 1990, Jennison &
//! Turnbull 1989. Departures: bounds of t for this N ([`recursion`]) instead of z; γ is ours.

mod recursion;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

pub use recursion::Sides;
use recursion::{Law, State, Step};

use super::sequence::MIN_WITHOUT_SPREAD;
use super::{Interval, Moments};

/// First look: with fewer values almost no alpha is available.
pub const FIRST_LOOK: usize = 4;

/// Chosen by power and mean rounds at N = 24 for effects of 0.5, 1 and 2 round SDs (20,000
/// experiments each): −1: 56 %, 99 %, 6.6 rounds at 2; −2: 58 %, 99 %, 7.0; −3: 60 %, 99 %, 7.5;
/// −4: 61 %, 99 %, 8.0.
pub const GAMMA: f64 = -2.0;

const MAX_TABLES: usize = 64;

/// The look of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// A planned look; after the last one alpha is spent.
    Planned,
    /// The end of the time budget, which spends the rest.
    Last,
}

/// The plan of a variant's looks, and the current one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Design {
    /// The budget's number of values N.
    pub planned: usize,
    /// The current look.
    pub look: Look,
}

/// The share of alpha spent at the share `f` of the budget.
pub fn spent(gamma: f64, f: f64) -> f64 {
    let f = f.clamp(0.0, 1.0);
    if gamma == 0.0 { f } else { (-gamma * f).exp_m1() / (-gamma).exp_m1() }
}

/// The critical value, two-sided at `alpha`; for [`Sides::One`] one-sided. `None` before the first
/// look and after the last.
pub fn critical_t(design: Design, n: usize, alpha: f64, sides: Sides) -> Option<f64> {
    let Design { planned, look } = design;
    if n < FIRST_LOOK || n > planned || !(1e-9..1.0).contains(&alpha) {
        return None;
    }
    let table = table(planned, alpha, sides);
    let mut table = table.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    table.extend_to(n);
    match look {
        Look::Planned => Some(table.critical[n - FIRST_LOOK]),
        Look::Last => Some(table.last(n)),
    }
}

/// The interval, two-sided at `alpha`, or with both one-sided bounds at `alpha` each.
pub fn interval(moments: &Moments, design: Design, alpha: f64, sides: Sides) -> Interval {
    if moments.n < MIN_WITHOUT_SPREAD && moments.sd == 0.0 {
        return Interval::UNBOUNDED;
    }
    match critical_t(design, moments.n, alpha, sides) {
        Some(t) => Interval::around(moments.mean, t * moments.sd / (moments.n as f64).sqrt()),
        None => Interval::UNBOUNDED,
    }
}

struct Table {
    planned: usize,
    alpha: f64,
    gamma: f64,
    law: Law,
    sides: Sides,
    states: Vec<State>,
    critical: Vec<f64>,
}

type Key = (usize, u64, Sides);

/// Reads the cache; bounds depend only on the key, so the order of computation does not matter.
fn table(planned: usize, alpha: f64, sides: Sides) -> Arc<Mutex<Table>> {
    static TABLES: OnceLock<Mutex<BTreeMap<Key, Arc<Mutex<Table>>>>> = OnceLock::new();
    let tables = TABLES.get_or_init(Mutex::default);
    let mut tables = tables.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let key = (planned, alpha.to_bits(), sides);
    if !tables.contains_key(&key) && tables.len() >= MAX_TABLES {
        tables.clear();
    }
    let new = || Arc::new(Mutex::new(Table::new(planned, alpha, GAMMA, Law::Student, sides)));
    tables.entry(key).or_insert_with(new).clone()
}

impl Table {
    fn new(planned: usize, alpha: f64, gamma: f64, law: Law, sides: Sides) -> Table {
        Table { planned, alpha, gamma, law, sides, states: Vec::new(), critical: Vec::new() }
    }

    fn spent(&self, n: usize) -> f64 {
        if n < FIRST_LOOK {
            0.0
        } else {
            self.alpha * spent(self.gamma, n as f64 / self.planned as f64)
        }
    }

    fn step(&self, n: usize) -> Step<'_> {
        match n.checked_sub(FIRST_LOOK + 1) {
            Some(before) => Step::after(&self.states[before]),
            None => Step::first(self.law, self.sides, n),
        }
    }

    fn extend_to(&mut self, n: usize) {
        for n in FIRST_LOOK + self.states.len()..=n {
            let step = self.step(n);
            let bound = step.bound(self.spent(n) - self.spent(n - 1), self.guess(n));
            let state = step.state(bound);
            self.critical.push(state.statistic());
            self.states.push(state);
        }
    }

    /// Continues the two bounds before `n`.
    fn guess(&self, n: usize) -> Option<f64> {
        match &self.critical[..n - FIRST_LOOK] {
            [.., before, last] => Some(2.0 * last - before),
            other => other.last().copied(),
        }
    }

    /// The critical value at `n` as the last look: at most the planned one.
    fn last(&self, n: usize) -> f64 {
        let step = self.step(n);
        step.state(step.bound(self.alpha - self.spent(n - 1), self.guess(n))).statistic()
    }
}

#[cfg(test)]
mod tests;
