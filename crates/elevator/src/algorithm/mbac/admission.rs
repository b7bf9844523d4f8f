//! Admission by measured use. The inequality is the source's, second-hand: measured use + nominal
//! rate ≤ (1 − margin) · capacity. Windows, the capacity estimate and second chances are proposed.

use crate::flows::Flows;
use crate::vocabulary::Time;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// Bytes per second before any measurement.
const ASSUMED: u64 = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Standing {
    #[default]
    Unknown,
    /// Admitted in this window; counts by its rate.
    New,
    Admitted,
    Refused,
}

#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    standing: Standing,
    served: u64,
    /// Bytes per second in the last window.
    used: u64,
    /// In this window.
    asks: bool,
}

#[derive(Debug)]
pub(super) struct Admission {
    capacity_kib: u64,
    margin_percent: u64,
    window_ms: u64,
    flows: Vec<Flow>,
    /// Bytes per second of a busy device.
    measured: Option<u64>,
    window_start: Time,
    busy_since: Option<Time>,
    busy_ns: u64,
    bytes: u64,
}

impl Default for Admission {
    fn default() -> Admission {
        Admission {
            capacity_kib: 0,
            margin_percent: 10,
            window_ms: 1000,
            flows: Vec::new(),
            measured: None,
            window_start: Time::ZERO,
            busy_since: None,
            busy_ns: 0,
            bytes: 0,
        }
    }
}

impl Admission {
    /// Decides on a flow's first request.
    pub(super) fn is_admitted(&mut self, flows: &Flows, flow: usize) -> bool {
        self.reach(flow);
        self.flows[flow].asks = true;
        if self.flows[flow].standing == Standing::Unknown {
            self.decide(flows, flow);
        }
        matches!(self.flows[flow].standing, Standing::New | Standing::Admitted)
    }

    pub(super) fn reconsider(&mut self, flow: usize) {
        self.reach(flow);
        self.flows[flow].standing = Standing::Unknown;
    }

    pub(super) fn device(&mut self, now: Time, in_flight: u32) {
        match self.busy_since {
            Some(since) if in_flight == 0 => {
                self.busy_ns += now - since;
                self.busy_since = None;
            }
            None if in_flight > 0 => self.busy_since = Some(now),
            _ => {}
        }
    }

    pub(super) fn served(&mut self, flow: usize, bytes: u64) {
        self.reach(flow);
        self.flows[flow].served += bytes;
        self.bytes += bytes;
    }

    /// Ends a window; also gives refused flows another chance.
    pub(super) fn roll(&mut self, now: Time, flows: &Flows) {
        let length = now - self.window_start;
        if length < self.window_ms * MS {
            return;
        }
        if let Some(since) = &mut self.busy_since {
            self.busy_ns += now - *since;
            *since = now;
        }
        // 10 % of the window are enough to measure.
        if self.busy_ns * 10 >= length && self.bytes > 0 {
            let rate = per_second(self.bytes, self.busy_ns);
            self.measured = Some(self.measured.map_or(rate, |before| before / 2 + rate / 2));
        }
        for flow in &mut self.flows {
            flow.used = per_second(flow.served, length);
            flow.served = 0;
            if flow.standing == Standing::New {
                flow.standing = Standing::Admitted;
            }
        }
        (self.window_start, self.busy_ns, self.bytes) = (now, 0, 0);
        for flow in 0..self.flows.len() {
            if self.flows[flow].standing == Standing::Refused && self.flows[flow].asks {
                self.decide(flows, flow);
            }
            self.flows[flow].asks = false;
        }
    }

    fn decide(&mut self, flows: &Flows, flow: usize) {
        let Some(rate) = flows.spec(flow).rate else { return };
        let of = |(number, flow): (usize, &Flow)| match flow.standing {
            Standing::New => flows.spec(number).rate.unwrap_or(0),
            Standing::Admitted => flow.used,
            Standing::Unknown | Standing::Refused => 0,
        };
        let used: u128 = self.flows.iter().enumerate().map(of).map(u128::from).sum();
        let bound = u128::from(self.capacity()) * u128::from(100 - self.margin_percent) / 100;
        let fits = used + u128::from(rate) <= bound;
        self.flows[flow].standing = if fits { Standing::New } else { Standing::Refused };
    }

    /// Bytes per second.
    fn capacity(&self) -> u64 {
        if self.capacity_kib > 0 {
            self.capacity_kib * 1024
        } else {
            self.measured.unwrap_or(ASSUMED)
        }
    }

    fn reach(&mut self, flow: usize) {
        if self.flows.len() <= flow {
            self.flows.resize(flow + 1, Flow::default());
        }
    }

    pub(super) fn get(&self, tunable: &str) -> u64 {
        match tunable {
            "capacity" => self.capacity_kib,
            "margin" => self.margin_percent,
            _ => self.window_ms,
        }
    }

    pub(super) fn set(&mut self, tunable: &str, value: u64) {
        *match tunable {
            "capacity" => &mut self.capacity_kib,
            "margin" => &mut self.margin_percent,
            _ => &mut self.window_ms,
        } = value;
    }
}

fn per_second(bytes: u64, ns: u64) -> u64 {
    let rate = u128::from(bytes) * u128::from(SECOND) / u128::from(ns.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}
