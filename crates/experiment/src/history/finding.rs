//! Whether a watch's verdict has really changed, since verdicts of an unchanged machine may differ
//! by chance.
//!
//! A change from variant X to Y is a finding if Welch's interval of (Y against X now) − (Y against
//! X then) excludes zero. X and Y are chosen by the data, so each pair of variants gets its part of
//! α. From the third test on, the difference must also exceed the scatter between unchanged tests.

use super::{Entry, Measured, Outcome};
use crate::analysis::Comparison;
use crate::plan::Variant;
use crate::stats::{Interval, Moments, fixed};

const MIN_TESTS_FOR_SCATTER: usize = 3;

/// The standing verdict, and the tests since it was reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing<'a> {
    /// The variant.
    pub variant: &'a str,
    /// The tests, starting with the one that reached it.
    pub tests: Vec<&'a Measured>,
}

/// A significant change.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The workload's label.
    pub workload: String,
    /// The metric.
    pub metric: String,
    /// Ratio of new to old variant, now divided by then.
    pub ratio: f64,
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The standing verdict; `None` before the first, or if its variant is not in `variants`.
pub fn standing<'a>(
    entries: &'a [Entry],
    watch: &str,
    variants: &[Variant],
) -> Option<Standing<'a>> {
    let mut standing: Option<Standing<'a>> = None;
    for entry in entries.iter().filter(|entry| entry.watch == watch) {
        let Outcome::Measured(measured) = &entry.outcome else { continue };
        let known = |name: &&str| variants.iter().any(|variant| variant.name == **name);
        match (&mut standing, measured.recommended.as_deref().filter(known)) {
            (Some(standing), _) if !measured.changed => standing.tests.push(measured),
            (_, Some(variant)) => standing = Some(Standing { variant, tests: vec![measured] }),
            (_, None) => {}
        }
    }
    standing
}

impl Standing<'_> {
    /// Tests for a changed verdict at error `alpha`.
    pub fn changed_by(&self, now: &Measured, alpha: f64) -> Option<Finding> {
        let to = now.recommended.as_deref().filter(|to| *to != self.variant)?;
        let mut workloads: Vec<&str> =
            now.effects.iter().map(|one| one.workload.as_str()).collect();
        workloads.dedup();
        let variants = now.effects.iter().filter(|one| one.workload == workloads[0]).count() + 1;
        let pairs = (variants * (variants - 1) / 2).max(1);
        let each = alpha / (pairs * workloads.len()) as f64;
        workloads.iter().find_map(|workload| {
            let contrast = |test: &Measured| Contrast::of(test, workload, to, self.variant);
            let (after, before) = (contrast(now)?, contrast(self.tests.first()?)?);
            let interval = after.minus(&before, each);
            let scatter: Vec<f64> =
                self.tests.iter().filter_map(|test| Some(contrast(test)?.mean)).collect();
            let is_finding =
                excludes_zero(interval) && excludes_zero(prediction(&scatter, after.mean, each));
            let metric = now.effects.iter().find(|one| one.workload == *workload)?.metric.clone();
            is_finding.then(|| Finding {
                workload: (*workload).to_owned(),
                metric,
                ratio: (after.mean - before.mean).exp(),
                low: interval.low.exp(),
                high: interval.high.exp(),
            })
        })
    }
}

/// Excludes zero if there are too few tests.
fn prediction(tests: &[f64], now: f64, alpha: f64) -> Interval {
    let moments = Moments::of(tests);
    if moments.n < MIN_TESTS_FOR_SCATTER {
        return Interval { low: f64::INFINITY, high: f64::INFINITY };
    }
    let n = moments.n as f64;
    Interval::around(
        now - moments.mean,
        fixed::critical(n - 1.0, alpha) * moments.sd * (1.0 + 1.0 / n).sqrt(),
    )
}

fn excludes_zero(interval: Interval) -> bool {
    interval.low > 0.0 || interval.high < 0.0
}

/// Mean log ratio, with its squared errors and their degrees of freedom.
struct Contrast {
    mean: f64,
    errors: Vec<(f64, f64)>,
}

impl Contrast {
    /// `None` without evidence for both. Both ratios share the baseline's noise, so the sum of
    /// their errors is an upper bound.
    fn of(test: &Measured, workload: &str, variant: &str, against: &str) -> Option<Contrast> {
        let of = |wanted: &str| -> Option<Option<Moments>> {
            let all = || test.effects.iter().filter(|one| one.workload == workload);
            if all().any(|one| one.baseline == wanted) {
                return Some(None);
            }
            let found: &Comparison = all().find(|one| one.variant == wanted)?;
            Some(Moments::of(&found.log_ratios)).filter(|moments| moments.n >= 2).map(Some)
        };
        let both = [of(variant)?, of(against)?];
        let mean = |moments: &Option<Moments>| moments.map_or(0.0, |moments| moments.mean);
        let error =
            |moments: &Moments| (moments.sd.powi(2) / moments.n as f64, moments.n as f64 - 1.0);
        let errors = both.iter().flatten().map(error).collect();
        Some(Contrast { mean: mean(&both[0]) - mean(&both[1]), errors })
    }

    /// Returns Welch's interval of the difference between two tests.
    fn minus(&self, before: &Contrast, alpha: f64) -> Interval {
        let difference = self.mean - before.mean;
        let errors = || self.errors.iter().chain(&before.errors);
        let squared: f64 = errors().map(|(error, _)| error).sum();
        if squared == 0.0 {
            return Interval::around(difference, 0.0);
        }
        let degrees =
            squared.powi(2) / errors().map(|(error, degrees)| error.powi(2) / degrees).sum::<f64>();
        Interval::around(difference, fixed::critical(degrees, alpha) * squared.sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VARIANTS: [&str; 3] = ["mq-deadline", "kyber", "bfq"];

    /// Approximately standard normal; repeatable.
    struct Noise(u64);

    impl Noise {
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

    /// A test of `rounds` noisy rounds that recommends the variant with the largest mean, the worst
    /// case.
    fn measure(noise: &mut Noise, sd: f64, rounds: usize, gains: [f64; 3]) -> Measured {
        let baseline: Vec<f64> = (0..rounds).map(|_| sd * noise.next()).collect();
        let mut best = ("none", 0.0);
        let mut effects = Vec::new();
        for (variant, gain) in VARIANTS.into_iter().zip(gains) {
            let log_ratios: Vec<f64> =
                baseline.iter().map(|none| gain + sd * noise.next() - none).collect();
            let mean = Moments::of(&log_ratios).mean;
            if mean > best.1 {
                best = (variant, mean);
            }
            let text = format!(
                r#"{{"workload":"w","metric":"iops","primary":true,"variant":"{variant}","baseline":"none","ratio":null,"low":null,"high":null,
                    "verdict":"inconclusive","rounds":{rounds},"invalid_rounds":0,"confidence":0.95,"more_rounds":null,"reasons":[],
                    "log_ratios":[]}}"#
            );
            let comparison: Comparison = serde_json::from_str(&text).expect("a comparison");
            effects.push(Comparison { log_ratios, ..comparison });
        }
        Measured { recommended: Some(best.0.to_owned()), effects, ..Measured::default() }
    }

    #[test]
    fn unchanged_machines_give_findings_at_most_at_the_level() {
        let (mut noise, pairs, alpha) = (Noise(1), 3000, 0.05);
        for rounds in [4, 12] {
            let (mut differ, mut found) = (0, 0);
            for i in 0..pairs {
                // Foreign load: the second test is five times as noisy every other time.
                let loaded = if i % 2 == 0 { 0.02 } else { 0.1 };
                let (then, now) = (
                    measure(&mut noise, 0.02, rounds, [0.0; 3]),
                    measure(&mut noise, loaded, rounds, [0.0; 3]),
                );
                let variant = then.recommended.clone().expect("a variant");
                let standing = Standing { variant: &variant, tests: vec![&then] };
                differ += usize::from(now.recommended != then.recommended);
                found += usize::from(standing.changed_by(&now, alpha).is_some());
            }
            assert!(differ * 2 > pairs, "the words differ in most pairs: {differ}");
            assert!(
                found as f64 <= alpha * pairs as f64,
                "{found} findings of {pairs} pairs, {rounds} rounds"
            );
        }
    }

    #[test]
    fn a_change_beyond_the_noise_is_a_finding_with_its_interval() {
        let mut noise = Noise(2);
        let then = measure(&mut noise, 0.01, 8, [0.0, 0.2, 0.0]);
        let now = measure(&mut noise, 0.01, 8, [0.0, 0.0, 0.2]);
        let standing = Standing { variant: "kyber", tests: vec![&then] };
        let found = standing.changed_by(&now, 0.05).expect("bfq gained and kyber lost");
        assert!(
            found.low < 0.4_f64.exp() && 0.4_f64.exp() < found.high && found.low > 1.3,
            "{found:?}"
        );
        assert_eq!(
            Standing { variant: "bfq", tests: vec![&then] }.changed_by(&now, 0.05),
            None,
            "the same variant"
        );
        let invalid = Measured { recommended: None, ..now };
        assert_eq!(standing.changed_by(&invalid, 0.05), None, "no advice is no change");
    }

    #[test]
    fn scatter_between_earlier_tests_bounds_what_is_a_change() {
        let mut noise = Noise(3);
        let gains =
            [[0.0, 0.3, 0.0], [0.0, -0.1, 0.1], [0.0, 0.4, 0.1], [0.0, 0.0, 0.2], [0.0, 0.25, 0.0]];
        let tests: Vec<Measured> = gains.map(|gains| measure(&mut noise, 0.005, 12, gains)).into();
        let now = measure(&mut noise, 0.005, 12, [0.0, 0.0, 0.1]);
        let steady = Standing { variant: "kyber", tests: vec![&tests[0]] };
        assert!(steady.changed_by(&now, 0.05).is_some(), "against one test it exceeds the noise");
        let scattered = Standing { variant: "kyber", tests: tests.iter().collect() };
        assert_eq!(scattered.changed_by(&now, 0.05), None, "from test to test it differs as much");
    }

    #[test]
    fn the_standing_verdict_is_the_last_that_was_a_finding() {
        let entry = |recommended: Option<&str>, changed: bool| Entry {
            at: String::new(),
            watch: "w".into(),
            device: "d".into(),
            outcome: Outcome::Measured(Box::new(Measured {
                recommended: recommended.map(str::to_owned),
                changed,
                ..Measured::default()
            })),
        };
        let entries = [
            entry(None, false),
            entry(Some("bfq"), false),
            entry(Some("kyber"), false),
            entry(None, false),
            entry(Some("none"), true),
            entry(Some("bfq"), false),
        ];
        let variant = |name: &str| crate::plan::parse_variant(name).expect("a variant");
        let variants = ["bfq", "kyber", "none"].map(variant);
        let found = |n: usize| {
            standing(&entries[..n], "w", &variants)
                .map(|standing| (standing.variant, standing.tests.len()))
        };
        assert_eq!(
            [1, 2, 4, 6].map(found),
            [None, Some(("bfq", 1)), Some(("bfq", 3)), Some(("none", 2))]
        );
        assert_eq!(standing(&entries, "another", &variants), None);
        assert_eq!(
            standing(&entries[..4], "w", &variants[1..]).map(|standing| standing.variant),
            Some("kyber"),
            "bfq is gone"
        );
    }
}
