//! The potential gain of anticipation on a recorded trace.
//!
//! A chance is a completion that leaves its process idle while another's request waits in the
//! scheduler; the candidate is the next one issued. With think time T and this trace's service
//! times S by distance, a wait of at most P gains S(candidate) − S(own) − T if T ≤ P, and −P
//! otherwise (WPCAS's Δ with outcomes for expectations). `always` waits 6 ms unless the mean think
//! time is longer (Linux 2.6.20's anticipatory without exit statistics); `wpcas` decides on the
//! history known then; `best` waits only if it pays.

use elevator::wpcas_rule::{Classes, Intervals, Point, Region, Times, Waits as Counters};

use super::service::ServiceTable;
use super::shape;
use super::terms::NEAR;

/// Longer think times are clamped to it.
pub(super) const MAX_THINK: u64 = 20_000_000;

/// The wait of the anticipatory scheduler: 6 ms.
const ALWAYS: u64 = 6_000_000;

const KNOWN: u64 = 8;

/// Negative WPCAS decisions per process before a trial wait.
const RELEARN: u32 = 64;

/// Waits after which WPCAS's counters are halved.
const HALVING: u64 = 1024;

/// WPCAS's intervals: the last 64, in bins of 100 µs.
const CLASSES: Classes = Classes {
    window: 64,
    bin_ns: 100_000,
    width: 20,
    region: Region::Width,
    point: Point::Upper,
    gamma_percent: 50,
    cap_ns: 20_000_000,
};

pub(super) const RULES: [&str; 3] = ["always", "wpcas", "best"];

pub(super) type Target = (bool, u64);

#[derive(Debug, Clone, Copy)]
pub(super) struct Chance {
    pub(super) at: u64,
    /// The end of the completed request.
    pub(super) head: u64,
    /// Wait of each rule; `None`: no wait (for `wpcas` before STE).
    always: Option<u64>,
    wpcas: Option<u64>,
    pub(super) candidate: Option<Target>,
    pub(super) next: Option<(u64, Target)>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    pub(super) chances: u64,
    pub(super) too_late: u64,
    deceived: u64,
    deceived_think_ns: u64,
    deceived_loss_ns: u64,
    /// Loss and time.
    worst: (u64, u64),
    pub(super) open: u64,
    rules: [Rule; RULES.len()],
}

#[derive(Debug, Clone, Copy, Default)]
struct Rule {
    waits: u64,
    successes: u64,
    success_ns: u64,
    failure_ns: u64,
    gain_ns: i64,
    unpriced: u64,
    bound_ns: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct History {
    pub(super) totals: Totals,
    /// The chance whose outcome is not yet known.
    pub(super) chance: Option<Chance>,
    wpcas: Option<Box<Wpcas>>,
}

#[derive(Debug, Clone, Default)]
struct Wpcas {
    intervals: Intervals,
    counters: Counters,
    refusals: u32,
    /// Decaying means with weight 1/8.
    mean_distance: u64,
    mean_think: u64,
}

fn decay(mean: u64, new: u64) -> u64 {
    mean - mean / 8 + new / 8
}

impl History {
    /// Records a request `think` after the process's last outstanding one.
    pub(super) fn record_think(&mut self, think: u64) {
        let wpcas = self.wpcas.get_or_insert_default();
        wpcas.intervals.push(think, &CLASSES);
        wpcas.mean_think = decay(wpcas.mean_think, think.min(MAX_THINK));
    }

    #[inline]
    pub(super) fn record_distance(&mut self, distance: u64) {
        if let Some(wpcas) = &mut self.wpcas {
            wpcas.mean_distance = decay(wpcas.mean_distance, distance);
        }
    }
}

impl Chance {
    pub(super) fn new(history: &mut History, at: u64, head: u64) -> Chance {
        let wpcas = history.wpcas.get_or_insert_default();
        let known = wpcas.intervals.count() >= KNOWN;
        let period = if known {
            wpcas.intervals.period_ns(&CLASSES).or_else(|| wpcas.intervals.mean_ns(&CLASSES))
        } else {
            Some(ALWAYS)
        };
        let always = (wpcas.mean_think <= ALWAYS).then_some(ALWAYS);
        Chance { at, head, always, wpcas: period, candidate: None, next: None }
    }
}

impl Totals {
    pub(super) fn merge(&mut self, other: &Totals) {
        self.chances += other.chances;
        self.too_late += other.too_late;
        self.deceived += other.deceived;
        self.deceived_think_ns += other.deceived_think_ns;
        self.deceived_loss_ns += other.deceived_loss_ns;
        self.worst = self.worst.max(other.worst);
        self.open += other.open;
        for (ours, theirs) in self.rules.iter_mut().zip(other.rules) {
            ours.waits += theirs.waits;
            ours.successes += theirs.successes;
            ours.success_ns += theirs.success_ns;
            ours.failure_ns += theirs.failure_ns;
            ours.gain_ns = ours.gain_ns.saturating_add(theirs.gain_ns);
            ours.unpriced += theirs.unpriced;
            ours.bound_ns = ours.bound_ns.saturating_add(theirs.bound_ns);
        }
    }

    pub(super) fn shape(&self) -> shape::Anticipation {
        let rule = |(name, rule): (&&str, &Rule)| shape::Waits {
            rule: (*name).to_owned(),
            waits: rule.waits,
            successes: rule.successes,
            success_ns: rule.success_ns,
            failure_ns: rule.failure_ns,
            gain_ns: rule.gain_ns,
            unpriced: rule.unpriced,
            bound_ns: rule.bound_ns,
        };
        shape::Anticipation {
            chances: self.chances,
            too_late: self.too_late,
            deceived: self.deceived,
            deceived_think_ns: self.deceived_think_ns,
            deceived_loss_ns: self.deceived_loss_ns,
            worst_at_ns: self.worst.1,
            worst_loss_ns: self.worst.0,
            open: self.open,
            rules: RULES.iter().zip(&self.rules).map(rule).collect(),
        }
    }
}

/// The candidate's service time, and its excess over the own request's.
#[derive(Debug, Clone, Copy)]
struct Price {
    candidate: u64,
    saved: Option<i64>,
}

impl Rule {
    /// `think` is `None` if the process never returned. Returns whether the wait succeeded.
    fn wait(&mut self, period: u64, think: Option<u64>, price: Price) -> bool {
        self.waits += 1;
        match think.filter(|think| *think <= period) {
            Some(think) => {
                self.successes += 1;
                self.success_ns = self.success_ns.saturating_add(think);
                match price.saved {
                    Some(saved) => self.gain_ns = self.gain_ns.saturating_add(saved - think as i64),
                    None => {
                        self.unpriced += 1;
                        self.bound_ns =
                            self.bound_ns.saturating_add(price.candidate.saturating_sub(think));
                    }
                }
                true
            }
            None => {
                self.failure_ns = self.failure_ns.saturating_add(period);
                self.gain_ns = self.gain_ns.saturating_sub(period as i64);
                false
            }
        }
    }
}

/// Scores a chance; without a next request the process never came.
pub(super) fn resolve(history: &mut History, chance: &Chance, service: &ServiceTable) {
    let Some(candidate) = chance.candidate else {
        history.totals.open += 1;
        return;
    };
    let think = chance.next.map(|(think, _)| think);
    let own = chance.next.map(|(_, own)| own);
    // Service times are bounded by the trace, and below 2^50.
    let price = |target: Target| service.mean_ns(target.0, target.1).map(|ns| ns as i64);
    let saved = own.and_then(|own| Some(price(candidate)? - price(own)?));
    let price = Price { candidate: service.mean_ns(candidate.0, candidate.1).unwrap_or(0), saved };
    if let Some(period) = chance.always {
        history.totals.rules[0].wait(period, think, price);
    }
    by_wpcas(history, chance, candidate, price, service);
    if let (Some(think), Some((_, distance))) = (think.filter(|think| *think <= MAX_THINK), own) {
        if saved.is_none_or(|saved| saved > think as i64) && price.candidate > think {
            history.totals.rules[2].wait(MAX_THINK, Some(think), price);
        }
        if distance <= NEAR && distance < candidate.1 {
            history.totals.deceived += 1;
            history.totals.deceived_think_ns += think;
            let loss = saved.map_or(0, |saved| saved.max(0) as u64);
            history.totals.deceived_loss_ns += loss;
            history.totals.worst = history
                .totals
                .worst
                .max((if saved.is_some() { loss } else { price.candidate }, chance.at));
        }
    }
}

fn by_wpcas(
    history: &mut History,
    chance: &Chance,
    candidate: Target,
    price: Price,
    service: &ServiceTable,
) {
    let (Some(period), Some(wpcas)) = (chance.wpcas, history.wpcas.as_mut()) else { return };
    // Without a service time there is nothing to compare, and it behaves like its base.
    let expected = service.mean_ns(candidate.0, wpcas.mean_distance);
    let pays = match (service.mean_ns(candidate.0, candidate.1), expected) {
        (Some(seek_s), Some(seek_a)) => {
            let t_as = wpcas.counters.mean_success_ns().unwrap_or(ALWAYS);
            Times { seek_s, seek_a, t_as, p: period }.pays(&wpcas.counters)
        }
        _ => chance.always.is_some(),
    };
    if !pays && wpcas.refusals < RELEARN {
        wpcas.refusals += 1;
        return;
    }
    wpcas.refusals = 0;
    let think = chance.next.map(|(think, _)| think);
    if history.totals.rules[1].wait(period, think, price) {
        wpcas.counters.succeeded(think.unwrap_or(0), HALVING);
    } else {
        wpcas.counters.failed(period, HALVING);
    }
}
