//! Formats a comparison for the recommendation.

use crate::analysis::{Comparison, Verdict};
use crate::metric::{self, Direction};
use crate::plan::{Criteria, Method};

pub(super) struct Words<'a> {
    pub(super) criteria: &'a Criteria,
    pub(super) direction: &'a dyn Fn(&str) -> Direction,
}

impl Words<'_> {
    /// The log ratio, larger is better; 0 without an estimate.
    pub(super) fn gain(&self, comparison: &Comparison) -> f64 {
        let log = comparison.ratio.map_or(0.0, f64::ln);
        match (self.direction)(&comparison.metric) {
            Direction::HigherIsBetter | Direction::Descriptive => log,
            Direction::LowerIsBetter => -log,
        }
    }

    /// Formats `12 % more IO/s than none (between 9 % and 15 %, 95 % sure)`.
    pub(super) fn gain_phrase(&self, comparison: &Comparison) -> String {
        let (Some(ratio), Some(low), Some(high)) =
            (comparison.ratio, comparison.low, comparison.high)
        else {
            return self.change(comparison).unwrap_or_default();
        };
        let baseline = &comparison.baseline;
        let sure = self.sure();
        if ratio >= 2.0 {
            let noun = noun(&comparison.metric);
            return format!(
                "{ratio:.1} times the {noun} of {baseline} (between {low:.1} and {high:.1} times, {sure})"
            );
        }
        let (mut near, mut far) = ((low - 1.0).abs(), (high - 1.0).abs());
        if near > far {
            std::mem::swap(&mut near, &mut far);
        }
        let change = self.change(comparison).unwrap_or_default();
        format!("{change} than {baseline} (between {} and {}, {sure})", percent(near), percent(far))
    }

    /// The verdict on a variant that is not better, to follow its name.
    pub(super) fn state(&self, comparison: &Comparison) -> String {
        let so_far = self.change(comparison);
        match comparison.verdict {
            Verdict::Better => format!("is better ({})", so_far.unwrap_or_default()),
            Verdict::Worse => format!("is worse ({})", so_far.unwrap_or_default()),
            Verdict::Equivalent => {
                format!("is equivalent (within {})", percent(self.criteria.margin))
            }
            Verdict::Invalid => "has invalid evidence".to_string(),
            Verdict::Inconclusive => {
                let more = comparison.more_rounds.map(|more| {
                    let plural = if more == 1 { "" } else { "s" };
                    format!("about {more} more round{plural} would probably settle it")
                });
                let anew = || {
                    let rounds = comparison.new_plan_rounds?;
                    Some(format!("a new run of about {rounds} rounds would probably settle it"))
                };
                let more = more.or_else(anew);
                let known: Vec<String> = so_far
                    .map(|change| format!("{change} so far"))
                    .into_iter()
                    .chain(more)
                    .collect();
                if known.is_empty() {
                    "is undecided".to_string()
                } else {
                    format!("is undecided ({})", known.join("; "))
                }
            }
        }
    }

    /// The verdict on several variants, with the most promising one's figures.
    pub(super) fn group_state(&self, comparison: &Comparison) -> String {
        let group = match comparison.verdict {
            Verdict::Better | Verdict::Worse => "comes nearest and",
            Verdict::Equivalent | Verdict::Invalid => "like the rest",
            Verdict::Inconclusive => "looks most promising and",
        };
        format!("{group} {}", self.state(comparison))
    }

    /// Formats `12 % more IO/s` or `3 % lower p99 latency`.
    fn change(&self, comparison: &Comparison) -> Option<String> {
        // An open end means starvation: only the other end is known.
        let (ratio, least) = match (comparison.low, comparison.high) {
            (Some(end), None) | (None, Some(end)) => (end, "at least "),
            _ => (comparison.ratio?, ""),
        };
        let rate = (self.direction)(&comparison.metric) == Direction::HigherIsBetter;
        let word = match (ratio >= 1.0, rate) {
            (true, true) => "more",
            (false, true) => "less",
            (true, false) => "higher",
            (false, false) => "lower",
        };
        if !least.is_empty() && ratio >= 2.0 {
            return Some(format!(
                "{least}{ratio:.1} times the {} of {}",
                noun(&comparison.metric),
                comparison.baseline
            ));
        }
        Some(format!("{least}{} {word} {}", percent((ratio - 1.0).abs()), noun(&comparison.metric)))
    }

    fn sure(&self) -> String {
        match self.criteria.method {
            Method::Spending | Method::Anytime | Method::Fixed => {
                format!("{} sure", percent(1.0 - self.criteria.alpha))
            }
            Method::ThreeSigma => "by the three-sigma rule, whose error is unknown".to_string(),
        }
    }
}

pub(super) fn percent(fraction: f64) -> String {
    let percent = fraction * 100.0;
    let decimals = if percent >= 9.95 {
        0
    } else if percent >= 0.95 || percent == 0.0 {
        1
    } else {
        2
    };
    let text = format!("{percent:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

fn noun(metric: &str) -> String {
    metric::noun_of(metric).unwrap_or_else(|| metric.replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_have_about_two_digits() {
        for (fraction, text) in [
            (0.1234, "12 %"),
            (0.013, "1.3 %"),
            (0.01, "1 %"),
            (0.0005, "0.05 %"),
            (0.95, "95 %"),
            (0.0, "0 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(percent(fraction), text);
        }
    }
}
