//! The distance between a model's latencies and a device's.
//!
//! Source: Ruemler & Wilkes, An Introduction to Disk Drive Modeling, IEEE Computer 27(3), 1994: the
//! demerit figure is the root mean square of the horizontal distance between the two latency
//! distributions, relative to the device's mean. 0 is perfect; the article reaches 0.02 to 0.05
//! with a full model, and 0.35 to 1.12 with a constant time.

use serde::Serialize;

/// Latencies of a device and its model for the same reads.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Error {
    pub reads: usize,
    /// Relative to the device's mean.
    pub demerit: f64,
    pub device: Summary,
    pub model: Summary,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    pub mean_ns: f64,
    pub median_ns: f64,
    pub p99_ns: f64,
}

impl Error {
    /// Returns `None` if one set is empty.
    pub fn compare(device: &[u64], model: &[u64]) -> Option<Error> {
        let (device, model) = (sort(device), sort(model));
        if device.is_empty() || model.is_empty() {
            return None;
        }
        let steps = device.len().max(model.len());
        let squares = (0..steps).map(|at| {
            let p = (at as f64 + 0.5) / steps as f64;
            (quantile(&device, p) - quantile(&model, p)).powi(2)
        });
        let rms = (squares.sum::<f64>() / steps as f64).sqrt();
        let (device_of, model_of) = (Summary::new(&device), Summary::new(&model));
        Some(Error {
            reads: device.len(),
            demerit: rms / device_of.mean_ns,
            device: device_of,
            model: model_of,
        })
    }

    pub fn mean(&self) -> f64 {
        self.model.mean_ns / self.device.mean_ns - 1.0
    }

    pub fn median(&self) -> f64 {
        self.model.median_ns / self.device.median_ns - 1.0
    }

    pub fn p99(&self) -> f64 {
        self.model.p99_ns / self.device.p99_ns - 1.0
    }
}

impl Summary {
    fn new(sorted: &[u64]) -> Summary {
        let mean_ns = sorted.iter().map(|ns| *ns as f64).sum::<f64>() / sorted.len() as f64;
        Summary { mean_ns, median_ns: quantile(sorted, 0.5), p99_ns: quantile(sorted, 0.99) }
    }
}

fn sort(latencies: &[u64]) -> Vec<u64> {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable();
    sorted
}

/// The quantile of sorted, non-empty values, interpolated.
pub(crate) fn quantile(sorted: &[u64], p: f64) -> f64 {
    let at = (p * sorted.len() as f64 - 0.5).clamp(0.0, (sorted.len() - 1) as f64);
    let (low, rest) = (at.floor() as usize, at.fract());
    let high = (low + 1).min(sorted.len() - 1);
    sorted[low] as f64 * (1.0 - rest) + sorted[high] as f64 * rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_is_late_by_a_tenth_has_a_demerit_of_a_tenth() {
        let device = vec![1000; 50];
        let found = Error::compare(&device, &vec![1100; 50]).unwrap();
        assert!(
            (found.demerit - 0.1).abs() < 1e-9 && (found.median() - 0.1).abs() < 1e-9,
            "{found:?}"
        );
        assert_eq!(Error::compare(&device, &device).unwrap().demerit, 0.0);
        assert!(Error::compare(&[], &device).is_none());
    }

    #[test]
    fn the_order_of_the_latencies_does_not_matter_and_their_spread_does() {
        let device = [100, 200, 300, 400];
        assert_eq!(Error::compare(&device, &[400, 100, 300, 200]).unwrap().demerit, 0.0);
        let constant = Error::compare(&device, &[250; 4]).unwrap();
        assert!((constant.demerit - 0.447).abs() < 0.01, "same mean, no spread: {constant:?}");
    }
}
