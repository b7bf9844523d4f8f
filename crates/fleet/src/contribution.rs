//! An anonymised line of a result for a public list, like systemd's hardware database.
//!
//! It describes drive, kernel and comparison, but not their owner: no machine, host, serial number,
//! time, path or label, and only the numbers of the kernel's release. Names consist of schedulers
//! and parameters; results whose parameters are free text (programs, files, scripts) are rejected.

use anyhow::{Result, bail, ensure};
use experiment::plan::Criteria;
use serde::{Deserialize, Serialize};

use crate::result::{MachineResult, Value};
use crate::select::Selection;
use crate::summary::variants_of;

/// Device kinds that are not drives.
const NO_DRIVES: [&str; 3] = ["loop", "zram", "ram"];

/// Prefixes of values that may be a path, command or address.
const OWN_WORDS: [&str; 6] = ["file=", "run=", "script=", "dir=", "/", "\\"];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contribution {
    pub contribution: u32,
    pub schedlab: String,
    pub model: String,
    pub firmware: String,
    /// The numbers of the kernel's release.
    pub kernel: String,
    pub arena: String,
    pub effects: Vec<ContributedEffect>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContributedEffect {
    /// Hash of the workload with its background.
    pub plan: String,
    pub workload: String,
    pub metric: String,
    pub baseline: String,
    pub variant: String,
    pub verdict: String,
    pub ratio: f64,
    /// Standard error of its logarithm; `None` for a single round.
    pub error: Option<f64>,
    pub rounds: usize,
}

/// A result's line; `verdict_of` gives the verdict on (workload, metric, variant) in compact form.
///
/// # Errors
/// It does not describe a drive, or would identify its owner.
pub fn line_of(
    result: &MachineResult,
    criteria: &Criteria,
    verdict_of: &dyn Fn(&str, &str, &str) -> String,
) -> Result<Contribution> {
    let header = &result.header;
    ensure!(
        !NO_DRIVES.iter().any(|kind| header.kind.contains(kind)) && !header.model.starts_with('('),
        "results file: measured on {}, which is not a drive model; contribute results of a drive with a model name",
        header.model
    );
    let words = || header.series.iter().flat_map(|series| [&series.workload, &series.variant]);
    if let Some(word) = words().find(|word| OWN_WORDS.iter().any(|own| word.contains(own))) {
        bail!(
            "results file: {word} may be one of your paths or commands; contribute a comparison with workloads of `schedlab list workloads`"
        );
    }
    let rows: &[Value] = &result.groups[0];
    let variants = variants_of(&header.series, rows, &Selection::default(), criteria);
    let effects = variants.into_iter().filter_map(|variant| {
        let effect = variant.effect?;
        Some(ContributedEffect {
            verdict: verdict_of(
                &variant.series.workload,
                &variant.series.metric,
                &variant.series.variant,
            ),
            plan: variant.series.question,
            workload: variant.series.workload,
            metric: variant.series.metric,
            baseline: variant.baseline?,
            variant: variant.series.variant,
            ratio: effect.mean.exp(),
            error: effect.variance.map(f64::sqrt),
            rounds: variant.rounds,
        })
    });
    let effects: Vec<ContributedEffect> = effects.collect();
    ensure!(
        !effects.is_empty(),
        "results file: no variant has usable evidence; there is nothing to contribute"
    );
    Ok(Contribution {
        contribution: 1,
        schedlab: header.schedlab.clone(),
        model: header.model.clone(),
        firmware: header.firmware.clone(),
        kernel: numbers(&header.kernel),
        arena: header.arena.clone(),
        effects,
    })
}

/// The leading numbers of a release: the rest may identify who built it.
fn numbers(release: &str) -> String {
    release
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect::<String>()
        .trim_end_matches('.')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_release_only_its_numbers_leave() {
        assert_eq!(numbers("6.12.9-bank-db7"), "6.12.9");
        assert_eq!(numbers("6.1.-x"), "6.1");
        assert_eq!(numbers("custom"), "");
    }
}
