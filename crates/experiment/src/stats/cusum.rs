//! Change points of a sequence of tests at a given false alarm rate, by a self-starting CUSUM (Page
//! 1954; Hawkins 1987).
//!
//! Without a change `T = (x − mean) / sd · √((n−1)/n)`, against all earlier values, is Student's t
//! with n − 2 degrees of freedom, and `U = Φ⁻¹(F(T))` is standard normal. A sum
//! `max(0, sum ± U − k)` above h is an alarm, with run length `(e^(2kb) − 2kb − 1) / 2k²`, b = h +
//! 1.166 (Siegmund 1985), halved for two sides. U is winsorised at ±3, as Hawkins proposes, against
//! heavy tails; autocorrelation breaks the rate (0.8: 24 times). After an alarm the detector
//! restarts.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::Moments;

/// Half of the change, in standard deviations, that is to be detected fastest.
const K: f64 = 0.5;
/// Limit of a single test's influence.
const MAX_INFLUENCE: f64 = 3.0;
const FIRST: usize = 2;
/// Siegmund's correction for discrete time.
const OVERSHOOT: f64 = 1.166;

/// A change in a sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The first value after the change.
    pub first: usize,
    /// The value at which it was detected.
    pub noticed: usize,
    /// Mean from the previous change until this one.
    pub before: f64,
    /// Mean from this change until its detection.
    pub after: f64,
}

/// Finds changes, with one false alarm per `run_length` values on average.
pub fn changes(values: &[f64], run_length: f64) -> Vec<Change> {
    let threshold = threshold(run_length);
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(noticed) = alarm(&values[start..], threshold).map(|at| start + at) {
        let first = start + split(&values[start..=noticed]);
        let mean = |range: &[f64]| Moments::of(range).mean;
        let (before, after) = (mean(&values[start..first]), mean(&values[first..=noticed]));
        found.push(Change { first, noticed, before, after });
        // Values selected by an alarm are not representative: a false alarm would cause the next
        // one.
        start = noticed + 1;
    }
    found
}

fn alarm(values: &[f64], threshold: f64) -> Option<usize> {
    let (mut up, mut down) = (0.0_f64, 0.0_f64);
    // Welford's sums, so that a long history costs one pass.
    let (mut mean, mut squares) = (0.0, 0.0);
    for (n, value) in values.iter().enumerate() {
        if n >= FIRST {
            let sd = (squares / (n as f64 - 1.0)).sqrt();
            let u = surprise(&Moments { n, mean, sd }, *value);
            up = (up + u - K).max(0.0);
            down = (down - u - K).max(0.0);
            if up > threshold || down > threshold {
                return Some(n);
            }
        }
        let distance = value - mean;
        mean += distance / (n as f64 + 1.0);
        squares += distance * (value - mean);
    }
    None
}

/// The deviation as a standard normal value.
fn surprise(before: &Moments, value: f64) -> f64 {
    let n = before.n as f64;
    let distance = value - before.mean;
    let rounding = before.mean.abs() * f64::EPSILON * 16.0;
    if before.sd <= rounding {
        // Equal values so far: another value is a maximal deviation, the same none.
        return if distance.abs() <= rounding { 0.0 } else { MAX_INFLUENCE.copysign(distance) };
    }
    let t = distance / before.sd * (n / (n + 1.0)).sqrt();
    let student =
        StudentsT::new(0.0, 1.0, n - 1.0).expect("two values or more have a degree of freedom");
    let tail = student.sf(t.abs());
    let normal = Normal::standard();
    // From the tail, for precision where the other side rounds to 1.
    let u = if tail < 1e-12 { MAX_INFLUENCE } else { -normal.inverse_cdf(tail) };
    u.min(MAX_INFLUENCE).copysign(t)
}

/// The first index after the split with the largest standardised difference of means.
fn split(values: &[f64]) -> usize {
    let n = values.len();
    let gain = |at: usize| {
        let (before, after) = (Moments::of(&values[..at]).mean, Moments::of(&values[at..]).mean);
        (at * (n - at)) as f64 * (before - after).powi(2)
    };
    (1..n).max_by(|a, b| gain(*a).total_cmp(&gain(*b))).unwrap_or(n - 1)
}

/// The threshold of two sums with this average run length without change.
pub fn threshold(run_length: f64) -> f64 {
    let length = |h: f64| {
        let twice = 2.0 * K * (h + OVERSHOOT);
        (twice.exp() - twice - 1.0) / (2.0 * K * K) / 2.0
    };
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if length(middle) < run_length { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha8Rng;
    use chacha20::rand_core::SeedableRng;
    use rand_distr::{Distribution, StandardNormal, StudentT};

    use super::*;

    const TESTS: usize = 400;
    const SEQUENCES: u64 = 500;
    const RUN_LENGTH: f64 = 500.0;

    fn normal(seed: u64) -> Vec<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        (0..TESTS).map(|_| StandardNormal.sample(&mut random)).collect()
    }

    fn heavy(seed: u64) -> Vec<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let student = StudentT::new(3.0).expect("three degrees");
        (0..TESTS).map(|_| student.sample(&mut random)).collect()
    }

    /// Counts false alarms in 10,000 tests.
    fn rate(noise: fn(u64) -> Vec<f64>, find: impl Fn(&[f64]) -> usize) -> f64 {
        let alarms: usize = (0..SEQUENCES).map(|seed| find(&noise(seed))).sum();
        alarms as f64 * 10_000.0 / (SEQUENCES as f64 * TESTS as f64)
    }

    #[test]
    fn thresholds_are_those_of_the_printed_tables() {
        // Two-sided, k = 0.5: h = 4 has 168 tests between false alarms, h = 5 has 465 (Montgomery).
        assert!((threshold(168.0) - 4.0).abs() < 0.02, "{}", threshold(168.0));
        assert!((threshold(465.0) - 5.0).abs() < 0.02, "{}", threshold(465.0));
    }

    #[test]
    fn false_alarms_are_as_rare_as_guaranteed_and_a_mutant_that_forgets_students_law_is_caught() {
        // 20 of 10,000 guaranteed; 200,000 tests count 400, and three deviations of that are 60.
        let most = 23.0;
        for (name, noise) in [("normal", normal as fn(u64) -> Vec<f64>), ("heavy-tailed", heavy)] {
            let found = rate(noise, |values| changes(values, RUN_LENGTH).len());
            println!("{name}: {found:.1} false alarms in 10,000 tests, 20 guaranteed");
            assert!(found <= most, "{name}: {found}");
        }
        // Planted fault: the distance in estimated deviations is taken for a normal value.
        let first = |values: &[f64]| {
            let (mut up, mut down, h) = (0.0_f64, 0.0_f64, threshold(RUN_LENGTH));
            (FIRST..values.len()).find(|n| {
                let before = Moments::of(&values[..*n]);
                let u = (values[*n] - before.mean) / before.sd;
                up = (up + u - K).max(0.0);
                down = (down - u - K).max(0.0);
                up > h || down > h
            })
        };
        let naive = |values: &[f64]| {
            let (mut alarms, mut start) = (0, 0);
            while let Some(at) = first(&values[start..]) {
                alarms += 1;
                start += at + 1;
            }
            alarms
        };
        let found = rate(normal, naive);
        assert!(found > most, "the mutant: {found}");
    }

    #[test]
    fn a_change_is_noticed_after_some_tests_and_placed_where_it_was() {
        for (shift, at, slowest, farthest) in
            [(1.0, 60, 40.0, 8.0), (2.0, 30, 8.0, 1.5), (-2.0, 30, 8.0, 1.5)]
        {
            let (mut delays, mut misplaced) = (Vec::new(), Vec::new());
            for seed in 0..100 {
                let mut values = normal(seed);
                values.truncate(at + 100);
                values[at..].iter_mut().for_each(|value| *value += shift);
                let found = changes(&values, RUN_LENGTH);
                let Some(change) = found.iter().find(|change| change.noticed >= at) else {
                    continue;
                };
                delays.push((change.noticed - at + 1) as f64);
                misplaced.push(change.first.abs_diff(at) as f64);
                assert_eq!(change.after > change.before, shift > 0.0);
            }
            let (delay, distance) = (Moments::of(&delays).mean, Moments::of(&misplaced).mean);
            println!(
                "shift {shift} after {at}: noticed after {delay:.1} tests, {distance:.1} from its place, {} of 100",
                delays.len()
            );
            assert!(
                delays.len() >= 90 && delay < slowest && distance < farthest,
                "{delay} {distance} {}",
                delays.len()
            );
        }
    }

    #[test]
    fn few_and_equal_values_show_nothing_and_a_step_between_equal_values_shows() {
        assert!(changes(&[], 500.0).is_empty() && changes(&[1.0, 5.0], 500.0).is_empty());
        assert!(changes(&[3.0; 50], 500.0).is_empty());
        let step: Vec<f64> = (0..20).map(|i| if i < 12 { 3.0 } else { 2.0 }).collect();
        let found = changes(&step, 500.0);
        assert_eq!((found.len(), found[0].first), (1, 12));
        assert_eq!((found[0].before, found[0].after), (3.0, 2.0));
        // Two changes, one after the other.
        let twice: Vec<f64> =
            (0..60).map(|i| [1.0, 5.0, 2.0][i / 20] + f64::from(i as u32 % 3) * 0.1).collect();
        let found: Vec<usize> = changes(&twice, 500.0).iter().map(|change| change.first).collect();
        assert_eq!(found, [20, 40]);
    }
}
