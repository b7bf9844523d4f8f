//! io.cost's linear model: coefficients, the cost of a request, and configuration lines.
//!
//! Sources: block/blk-iocost.c of Linux 6.1 (formula); systemd's rules.d/90-iocost.rules (hwdb key)
//! and the commit that added its tool (properties).

use serde::Serialize;

/// The unit of the model, in bytes.
const PAGE: f64 = 4096.0;

/// For one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rates {
    /// Bytes per second, sequential.
    pub bps: u64,
    /// Sequential 4 KiB requests per second.
    pub seqiops: u64,
    /// Random 4 KiB requests per second.
    pub randiops: u64,
}

impl Rates {
    /// Prefixed with `r` or `w`.
    pub const NAMES: [&'static str; 3] = ["bps", "seqiops", "randiops"];

    pub fn all(&self) -> [u64; 3] {
        [self.bps, self.seqiops, self.randiops]
    }

    /// Seconds of device time.
    pub fn random_cost_s(&self, bytes: f64) -> f64 {
        let page = PAGE / self.bps.max(1) as f64;
        let first = (1.0 / self.randiops.max(1) as f64).max(page);
        first + (bytes / PAGE - 1.0).max(0.0) * page
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Model {
    pub read: Rates,
    pub write: Option<Rates>,
}

/// QoS targets: latency percentiles and bounds on the speed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Qos {
    pub rpct: f64,
    /// Microseconds.
    pub rlat: u64,
    pub wpct: f64,
    /// Microseconds; None without writes.
    pub wlat: Option<u64>,
    /// Percent of the model's speed.
    pub min: f64,
    pub max: f64,
}

impl Model {
    /// `rbps=… rseqiops=…`, for io.cost.model and hwdb.
    pub fn words(&self) -> String {
        let of = |letter: char, rates: &Rates| {
            let pairs = Rates::NAMES.iter().zip(rates.all());
            pairs
                .map(|(name, value)| format!("{letter}{name}={value}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let write = self.write.as_ref().map(|rates| format!(" {}", of('w', rates)));
        format!("{}{}", of('r', &self.read), write.unwrap_or_default())
    }
}

impl Qos {
    /// `rpct=… rlat=…`, for io.cost.qos and hwdb.
    pub fn words(&self) -> String {
        let Qos { rpct, rlat, wpct, wlat, min, max } = self;
        let write = wlat.map(|wlat| format!(" wpct={wpct:.2} wlat={wlat}")).unwrap_or_default();
        format!("rpct={rpct:.2} rlat={rlat}{write} min={min:.2} max={max:.2}")
    }
}

pub fn model_line(number: &str, model: &Model) -> String {
    format!("{number} ctrl=user model=linear {}", model.words())
}

/// The line that enables the model.
pub fn qos_line(number: &str, qos: &Qos) -> String {
    format!("{number} enable=1 ctrl=user {}", qos.words())
}

/// For a file in /etc/udev/hwdb.d. Characters other than letters, digits, `.`, `-` and `_` become
/// wildcards: udev replaces blanks by underscores, and some characters are special.
pub fn hwdb_lines(name: &str, model: &Model, qos: &Qos) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '?' };
    let name: String = name.trim().chars().map(plain).collect();
    format!(
        "block::name:{name}:fwrev:*:\n IOCOST_SOLUTIONS=schedlab\n IOCOST_MODEL_SCHEDLAB={}\n IOCOST_QOS_SCHEDLAB={}\n",
        model.words(),
        qos.words()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const HDD: Rates = Rates { bps: 174_019_176, seqiops: 41_708, randiops: 370 };

    #[test]
    fn a_random_request_costs_what_the_kernel_computes() {
        let us = |bytes| HDD.random_cost_s(bytes) * 1e6;
        assert!((us(4096.0) - 2702.7).abs() < 0.1, "{}", us(4096.0));
        assert!((us(65_536.0) - (2702.7 + 15.0 * 23.54)).abs() < 0.5, "{}", us(65_536.0));
    }

    #[test]
    fn lines_are_those_of_the_kernel_and_of_systemd_and_without_writes_they_name_none() {
        let write = Rates { bps: 1, seqiops: 2, randiops: 3 };
        let model = Model { read: HDD, write: Some(write) };
        let line = model_line("8:0", &model);
        assert_eq!(
            line,
            "8:0 ctrl=user model=linear rbps=174019176 rseqiops=41708 rrandiops=370 wbps=1 wseqiops=2 wrandiops=3"
        );
        let qos = Qos { rpct: 99.0, rlat: 5000, wpct: 99.0, wlat: None, min: 75.0, max: 100.0 };
        assert_eq!(
            qos_line("8:0", &qos),
            "8:0 enable=1 ctrl=user rpct=99.00 rlat=5000 min=75.00 max=100.00"
        );
        assert!(!Model { write: None, ..model }.words().contains('w'));
        let lines = hwdb_lines("ACME X*\n1", &model, &qos);
        assert!(
            lines.starts_with("block::name:ACME?X??1:fwrev:*:\n IOCOST_SOLUTIONS=schedlab\n"),
            "{lines}"
        );
    }
}
