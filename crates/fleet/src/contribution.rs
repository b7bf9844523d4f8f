//! An anonymised line of a result, for a list that everybody may read, in the manner of systemd's
//! data base of drives.
//!
//! It has what the drive, the kernel and the comparison are, and nothing of whose they are: no
//! machine, host, serial number, time, path or label, and of the kernel's release its numbers only.
//! Names of variants and workloads are made of schedulers and parameters; a result whose parameters
//! are the user's own words (programs, files, scripts) is refused.

use anyhow::{Result, bail, ensure};
use experiment::plan::Criteria;
use serde::{Deserialize, Serialize};

use crate::result::{MachineResult, Value};
use crate::select::Selection;
use crate::summary::variants_of;

/// Kinds of devices that say nothing of a drive.
const NO_DRIVES: [&str; 3] = ["loop", "zram", "ram"];

/// What begins a value that may be a path, a command or an address.
const OWN_WORDS: [&str; 6] = ["file=", "run=", "script=", "dir=", "/", "\\"];

/// The line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contribution {
    /// Version of this format.
    pub contribution: u32,
    /// The build of schedlab that measured.
    pub schedlab: String,
    /// The drive as it names itself.
    pub model: String,
    /// Its firmware.
    pub firmware: String,
    /// The numbers of the kernel's release.
    pub kernel: String,
    /// disk or cpu.
    pub arena: String,
    /// One a question and variant.
    pub effects: Vec<ContributedEffect>,
}

/// What one variant did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContributedEffect {
    /// Hash of the workload with all that is done beside it.
    pub plan: String,
    /// The workload in one word.
    pub workload: String,
    /// The metric that decides.
    pub metric: String,
    /// The variant that the other is compared with.
    pub baseline: String,
    /// The variant.
    pub variant: String,
    /// The conclusion.
    pub verdict: String,
    /// Mean ratio.
    pub ratio: f64,
    /// Standard error of its logarithm; none for a single round.
    pub error: Option<f64>,
    /// Rounds.
    pub rounds: usize,
}

/// The line of a result; `verdict_of` says what was concluded of (workload's word, metric,
/// variant's word).
///
/// # Errors
/// It says nothing of a drive, or would say something of its owner.
pub fn line_of(
    result: &MachineResult,
    criteria: &Criteria,
    verdict_of: &dyn Fn(&str, &str, &str) -> String,
) -> Result<Contribution> {
    let header = &result.header;
    ensure!(
        !NO_DRIVES.iter().any(|kind| header.kind.contains(kind)) && !header.model.starts_with('('),
        "results file: measured on {}, which is no model of a drive; contribute what a drive with a name has measured",
        header.model
    );
    let words = || header.series.iter().flat_map(|series| [&series.workload, &series.variant]);
    if let Some(word) = words().find(|word| OWN_WORDS.iter().any(|own| word.contains(own))) {
        bail!(
            "results file: {word} may be a path or a command of yours; contribute a comparison with workloads of `schedlab list workloads`"
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
        "results file: no variant has evidence that can be used; there is nothing to contribute"
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

/// The numbers that a release begins with: what comes after them may name who built it.
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
