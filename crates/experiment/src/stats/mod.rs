//! The statistics of verdicts, each part in a file that names its source. Everything is on
//! logarithms: rates and latencies are ratios, and their noise is nearly symmetric there.

pub mod cusum;
pub mod describe;
pub mod discovery;
pub mod fixed;
pub mod futility;
pub mod holm;
pub mod power;
pub mod projection;
pub mod repeats;
pub mod sequence;
pub mod spending;
pub mod three_sigma;

/// A closed interval; infinite ends are unbounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// No information.
    pub const UNBOUNDED: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// Spans `centre` − `half` to `centre` + `half`.
    pub fn around(centre: f64, half: f64) -> Interval {
        Interval { low: centre - half, high: centre + half }
    }

    /// Whether `x` lies in it.
    pub fn contains(&self, x: f64) -> bool {
        self.low <= x && x <= self.high
    }

    /// Whether both ends are finite.
    pub fn is_bounded(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }
}

/// Incremental mean and deviation (Welford 1962).
#[derive(Debug, Clone, Copy, Default)]
pub struct Running {
    n: usize,
    mean: f64,
    squares: f64,
}

impl Running {
    /// Adds a value.
    pub fn push(&mut self, value: f64) {
        self.n += 1;
        let before = value - self.mean;
        self.mean += before / self.n as f64;
        self.squares += before * (value - self.mean);
    }

    /// The moments so far.
    pub fn moments(&self) -> Moments {
        let sd = if self.n < 2 { 0.0 } else { (self.squares / (self.n as f64 - 1.0)).sqrt() };
        Moments { n: self.n, mean: self.mean, sd }
    }
}

/// Count, mean and standard deviation: enough for t intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// How many.
    pub n: usize,
    /// Arithmetic mean; 0 for none.
    pub mean: f64,
    /// Sample standard deviation (n − 1); 0 for fewer than two values.
    pub sd: f64,
}

impl Moments {
    /// Computes in two passes, because one pass loses the digits of small differences.
    pub fn of(values: &[f64]) -> Moments {
        let n = values.len();
        if n == 0 {
            return Moments { n, mean: 0.0, sd: 0.0 };
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let sd = if n < 2 { 0.0 } else { (squares / (n as f64 - 1.0)).sqrt() };
        // Equal values differ from their mean by rounding only, which is not a spread.
        let sd = if sd <= mean.abs() * f64::EPSILON * 4.0 { 0.0 } else { sd };
        Moments { n, mean, sd }
    }
}
