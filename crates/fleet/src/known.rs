//! What a fleet knows, in one small file: the verdicts by drive model that `devices` and `advise`
//! show.
//!
//! It is written by `fleet learn` into the state directory, and read without a store or a network.

use anyhow::{Context, Result};
use experiment::analysis::Verdict;
use experiment::fleet::{FleetComparison, Ratios};
use experiment::notation::Change;
use machine::files::{Bounded, Dir};
use serde::{Deserialize, Serialize};
use text::limits::FLEET_KNOWN;

use crate::question::FleetAnalysis;

/// The name of the file in the state directory.
pub const KNOWN: &str = "fleet.json";

/// The file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Known {
    /// Version of this format.
    pub schema: u32,
    /// The place of the fleet.
    pub source: String,
    /// When, in milliseconds since 1970.
    pub learnt_unix_ms: u64,
    /// One a variant, question and model.
    pub answers: Vec<KnownAnswer>,
}

/// One verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownAnswer {
    /// The drive as it names itself.
    pub model: String,
    /// The workload in one word.
    pub workload: String,
    /// The metric.
    pub metric: String,
    /// The variant that the other is compared with.
    pub baseline: String,
    /// The variant.
    pub variant: String,
    /// The conclusion.
    pub verdict: Verdict,
    /// Mean ratio over the machines.
    pub ratio: f64,
    /// The prediction for a new machine: the lower end; none: unbounded.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Machines.
    pub machines: usize,
}

impl Known {
    /// What an analysis by model says.
    pub fn of(analysis: &FleetAnalysis, source: &str, now_unix_ms: u64) -> Known {
        let mut answers = Vec::new();
        for group in &analysis.groups {
            let Some((_, model)) = group.keys.iter().find(|(key, _)| *key == "model") else {
                continue;
            };
            for question in &group.questions {
                let compared =
                    question.comparisons.iter().filter_map(|of| Some((of, of.further_machine?)));
                answers.extend(compared.map(
                    |(
                        FleetComparison { variant, verdict, machines, .. },
                        Ratios { ratio, low, high },
                    )| KnownAnswer {
                        model: model.clone(),
                        workload: question.workload.clone(),
                        metric: question.metric.clone(),
                        baseline: question.baseline.clone(),
                        variant: variant.clone(),
                        verdict: *verdict,
                        ratio,
                        low,
                        high,
                        machines: *machines,
                    },
                ));
            }
        }
        Known { schema: 1, source: source.to_owned(), learnt_unix_ms: now_unix_ms, answers }
    }

    /// Writes it into the state directory.
    ///
    /// # Errors
    /// It cannot be written, or is too large.
    pub fn write(&self, state: &Dir) -> Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        let text = text::escaped(&text);
        FLEET_KNOWN
            .check(text.len())
            .context("fleet: knows too much for one file; narrow it with --model")?;
        Ok(state.replace(KNOWN, text.as_bytes())?)
    }

    /// Reads it from a file; none if there is none.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &std::path::Path) -> Result<Option<Known>> {
        let damaged = || {
            format!("{}: cannot be read; make it again: sudo schedlab fleet learn", path.display())
        };
        let file = match std::fs::File::open(path) {
            Ok(file) => file,
            // For root alone, as all of the state: another user is shown everything else.
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(error).with_context(damaged),
        };
        let text = FLEET_KNOWN.read_text(file).with_context(damaged)?;
        serde_json::from_str(&text).map(Some).with_context(damaged)
    }

    /// What is known of a drive, as sentences; verdicts that say something first.
    pub fn sentences(&self, model: &str) -> Vec<String> {
        let rank = |verdict: Verdict| match verdict {
            Verdict::Better => 0,
            Verdict::Worse => 1,
            Verdict::Equivalent => 2,
            Verdict::Inconclusive | Verdict::Invalid => 3,
        };
        let mut of: Vec<&KnownAnswer> =
            self.answers.iter().filter(|answer| answer.model == model).collect();
        of.sort_by_key(|answer| rank(answer.verdict));
        of.into_iter().map(KnownAnswer::sentence).collect()
    }
}

impl KnownAnswer {
    fn sentence(&self) -> String {
        let KnownAnswer { workload, metric, baseline, variant, ratio, machines, .. } = self;
        let verdict = match self.verdict {
            Verdict::Better => "better than",
            Verdict::Worse => "worse than",
            Verdict::Equivalent => "equivalent to",
            Verdict::Inconclusive | Verdict::Invalid => "not decided against",
        };
        let change = Change { ratio: *ratio, low: self.low, high: self.high };
        format!(
            "{workload}: {variant} is {verdict} {baseline} ({metric} {} over {machines} machines; a new machine {})",
            change.estimate(),
            change.interval()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_as_it_was_and_says_what_decides_first() {
        let answer = |variant: &str, verdict| KnownAnswer {
            model: "X".to_owned(),
            workload: "oltp".to_owned(),
            metric: "iops".to_owned(),
            baseline: "none".to_owned(),
            variant: variant.to_owned(),
            verdict,
            ratio: 1.25,
            low: Some(1.1),
            high: None,
            machines: 40,
        };
        let answers = vec![answer("kyber", Verdict::Inconclusive), answer("bfq", Verdict::Better)];
        let known = Known { schema: 1, source: "s".to_owned(), learnt_unix_ms: 5, answers };
        let dir = tempfile::tempdir().expect("a directory");
        known.write(&Dir::open(dir.path()).expect("ours")).expect("written");
        let path = dir.path().join(KNOWN);
        assert_eq!(Known::read(&path).expect("readable"), Some(known.clone()));
        let said = known.sentences("X");
        assert_eq!(
            said[0],
            "oltp: bfq is better than none (iops +25 % over 40 machines; a new machine [+10, +∞])"
        );
        assert!(known.sentences("Y").is_empty());
        std::fs::write(&path, "{").expect("written");
        assert!(format!("{:#}", Known::read(&path).expect_err("damaged")).contains("fleet learn"));
        assert_eq!(Known::read(&dir.path().join("none")).expect("no error"), None);
    }
}
