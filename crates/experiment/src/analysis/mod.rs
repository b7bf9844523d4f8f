//! The analysis of a results file (analysis.json): summaries, comparisons and the recommendation.
//! Renderers compute nothing.

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

/// Fields may be added within a version, but not removed or redefined.
pub const SCHEMA: u32 = 1;

/// The content of analysis.json.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Analysis {
    /// Format version.
    pub schema: u32,
    /// `host`, `sim`, or `foreign` for a table from elsewhere.
    pub arena: String,
    /// The plan's title, or the file's name.
    pub name: String,
    /// The origin. Missing in old analyses, as are the three lists below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Variants and their settings, in plan order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantSettings>,
    /// Workloads and their parameters, in plan order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadSettings>,
    /// Unit, direction and meaning of each metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricMeaning>,
    /// Comparisons by workload × metric × variant other than the baseline; primary metrics first.
    pub comparisons: Vec<Comparison>,
    /// The answer.
    pub recommendation: Recommendation,
    /// Summaries by workload × metric × variant.
    pub summaries: Vec<Summary>,
    /// The effects of a sweep's tunables by workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub responses: Vec<Response>,
    /// Cautions: missing rounds, a single repeat, a truncated file, …
    pub cautions: Vec<String>,
    /// The criteria applied.
    pub criteria: Criteria,
    /// Differences between repeats, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooled: Option<Pooled>,
}

/// A variant's values of one metric.
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
    /// Standard deviation with n − 1; `None` with fewer than two trials.
    pub sd: Option<f64>,
    /// Coefficient of variation, sd / mean in percent.
    pub cv_percent: Option<f64>,
    /// Median.
    pub median: f64,
    /// Geometric mean of the positive values; missing in old analyses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geometric_mean: Option<f64>,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Values more than 3.5 scaled median absolute deviations from the median: marked and kept.
    pub outliers: u32,
}

/// The recommendation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// The recommended variant; `None` if workloads disagree or the evidence is invalid.
    pub variant: Option<String>,
    /// The recommendation in one sentence.
    pub sentence: String,
    /// Costs, the largest factor first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costs: Vec<Cost>,
    /// The recommendation for each workload.
    pub workloads: Vec<WorkloadAdvice>,
}

/// A metric on which a variant is worse than the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The workload's label.
    pub workload: String,
    /// The metric.
    pub metric: String,
    /// variant / baseline, if estimated.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The baseline's geometric mean.
    pub baseline_mean: Option<f64>,
    /// The variant's geometric mean.
    pub variant_mean: Option<f64>,
}

/// The recommendation for one workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadAdvice {
    /// The workload's label.
    pub workload: String,
    /// The primary metric.
    pub metric: String,
    /// The recommended variant; `None` if the evidence is invalid.
    pub variant: Option<String>,
    /// The reason, in one sentence.
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
