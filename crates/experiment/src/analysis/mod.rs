//! The analysis of a results file: summaries, comparisons and the recommendation.
//!
//! What `analysis.json` holds. Everything a report prints is here; a renderer computes nothing.

use serde::{Deserialize, Serialize};

use crate::metric::Direction;
use crate::plan::Criteria;
use crate::pooled::Pooled;
use crate::sweep::Response;

mod build;
mod origin;

pub use crate::comparison::{Comparison, Verdict};
pub(crate) use build::of_results;
pub use build::{Options, analyze, analyze_samples};
pub use origin::{MetricMeaning, Origin, VariantSettings, WorkloadSettings, sha256_of};

/// The version of analysis.json that this build writes. Fields are added within a version; none is
/// removed or changes its meaning.
pub const SCHEMA: u32 = 1;

/// What analysis.json holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// Version of this format.
    pub schema: u32,
    /// `host`, `sim`, or `foreign` for a table that somebody else measured.
    pub arena: String,
    /// Title of the plan, or the file's name.
    pub name: String,
    /// Where the evidence comes from; none in analyses written before this was noted, as the three
    /// lists below are empty there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Every variant with what it sets, in the order of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantSettings>,
    /// Every workload with its parameters, in the order of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadSettings>,
    /// Unit, direction and meaning of each metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricMeaning>,
    /// One per workload × metric × variant other than the baseline; primary metrics first.
    pub comparisons: Vec<Comparison>,
    /// The answer.
    pub recommendation: Recommendation,
    /// One per workload × metric × variant.
    pub summaries: Vec<Summary>,
    /// How each tunable of a sweep acts, workload by workload; empty where the experiment is no
    /// sweep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub responses: Vec<Response>,
    /// What a reader must know before believing any of it (missing rounds, a single repeat, cut
    /// results file, …).
    pub cautions: Vec<String>,
    /// The rules that were applied.
    pub criteria: Criteria,
    /// What differs between repeats, where the analysis is one of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooled: Option<Pooled>,
}

/// What one variant's trials look like on one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The workload's label.
    pub workload: String,
    /// The metric.
    pub metric: String,
    /// Which way is better.
    #[serde(with = "direction")]
    pub direction: Direction,
    /// The variant.
    pub variant: String,
    /// Number of valid trials.
    pub n: u32,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation, n-1 in the denominator; none with fewer than two trials.
    pub sd: Option<f64>,
    /// sd / mean in percent.
    pub cv_percent: Option<f64>,
    /// Median.
    pub median: f64,
    /// Geometric mean of the positive values; none without one, and in analyses written before this
    /// was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geometric_mean: Option<f64>,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Trials more than 3.5 scaled median absolute deviations from the median: flagged, shown and
    /// kept.
    pub outliers: u32,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// The variant to use for everything that was measured; none when the workloads disagree or the
    /// evidence is invalid.
    pub variant: Option<String>,
    /// In one sentence.
    pub sentence: String,
    /// Where the variant is worse than the baseline, the largest factor first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<Cost>,
    /// Per workload.
    pub workloads: Vec<WorkloadAdvice>,
}

/// A metric on which a variant is worse than the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The workload's label.
    pub workload: String,
    /// The metric.
    pub metric: String,
    /// variant / baseline; none without an estimate.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The baseline's geometric mean.
    pub baseline_mean: Option<f64>,
    /// The variant's.
    pub variant_mean: Option<f64>,
}

/// What to do for one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadAdvice {
    /// The workload's label.
    pub workload: String,
    /// The metric that decides.
    pub metric: String,
    /// The variant to use; none when the evidence is invalid.
    pub variant: Option<String>,
    /// Why, in one sentence.
    pub why: String,
}

mod direction {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::metric::Direction;

    pub(super) fn serialize<S: Serializer>(value: &Direction, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(match value {
            Direction::HigherIsBetter => "higher",
            Direction::LowerIsBetter => "lower",
            Direction::Descriptive => "descriptive",
        })
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Direction, D::Error> {
        match String::deserialize(d)?.as_str() {
            "higher" => Ok(Direction::HigherIsBetter),
            "lower" => Ok(Direction::LowerIsBetter),
            "descriptive" => Ok(Direction::Descriptive),
            other => Err(serde::de::Error::custom(format!(
                "direction is higher, lower or descriptive, not {other:?}"
            ))),
        }
    }
}
