//! A fleet's verdicts by drive model in one small file, for `devices` and `advise`. `fleet learn`
//! writes it to the state directory; reading needs no store or network.

use anyhow::{Context, Result};
use experiment::analysis::Verdict;
use experiment::fleet::{FleetComparison, Ratios};
use experiment::notation::Change;
use machine::files::{Bounded, Dir};
use serde::{Deserialize, Serialize};
use text::limits::FLEET_KNOWN;

use crate::question::FleetAnalysis;

pub const KNOWN: &str = "fleet.json";

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Known {
    pub schema: u32,
    pub source: String,
    pub learnt_unix_ms: u64,
    /// One answer per variant, question and model.
    pub answers: Vec<KnownAnswer>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownAnswer {
    pub model: String,
    pub workload: String,
    pub metric: String,
    pub baseline: String,
    pub variant: String,
    pub verdict: Verdict,
    pub ratio: f64,
    /// Lower end of the prediction for a new machine; `None`: unbounded.
    pub low: Option<f64>,
    /// Its upper end.
    pub high: Option<f64>,
    pub machines: usize,
}

impl Known {
    /// Summarizes an analysis by model.
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

    pub fn write(&self, state: &Dir) -> Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        let text = text::escaped(&text);
        FLEET_KNOWN
            .check(text.len())
            .context("fleet: too many verdicts for one file; narrow them with --model")?;
        Ok(state.replace(KNOWN, text.as_bytes())?)
    }

    pub fn read(path: &std::path::Path) -> Result<Option<Known>> {
        let damaged = || {
            format!("{}: cannot be read; recreate it: sudo schedlab fleet learn", path.display())
        };
        let file = match std::fs::File::open(path) {
            Ok(file) => file,
            // The state is readable by root only; other users see everything else.
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

    /// Statements about a drive, conclusive verdicts first.
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
