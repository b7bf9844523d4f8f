//! Reads results.jsonl, complete or truncated, and writes its lines.
//!
//! A crash or a full disk can truncate only the last line: it is set aside with its offset, where
//! `--resume` truncates the file. Anything unreadable earlier is rejected with its line number,
//! because skipping it could silently lose trials.

use std::collections::{BTreeMap, BTreeSet};

use text::limits::{
    COMPARISONS, Exceeded, NOTES, RESULTS_BYTES, RESULTS_LINE, RESULTS_VALUES, SAMPLES, TRIALS,
};
use thiserror::Error;

use super::{End, Header, Line, Note, Trial};
use crate::plan::{READABLE, SCHEMA};

/// A parsed results file.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// Plan and environment.
    pub header: Header,
    /// Trials in order of execution.
    pub trials: Vec<Trial>,
    /// Events between trials.
    pub notes: Vec<Note>,
    /// `None` if cut off, or resumed after its end.
    pub end: Option<End>,
    /// A truncated last line.
    pub cut: Option<Cut>,
    /// The last line has no line end: write one before appending.
    pub needs_newline: bool,
}

/// A truncated last line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Truncate here before appending.
    pub offset: u64,
    /// Its text.
    pub text: String,
}

/// Why a results file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ResultsError {
    /// An empty file.
    #[error(
        "results file: empty: the experiment ended before its first line was written; start it again"
    )]
    Empty,
    /// The first line is not a header.
    #[error(
        "results file: the first line is not a header (found {found}); name a results.jsonl that schedlab wrote"
    )]
    NoHeader {
        /// The first line found.
        found: String,
    },
    /// Another format.
    #[error("results file: {}; read it with the schedlab that wrote it", text::build::other_format(found, SCHEMA, build.as_deref()))]
    Schema {
        /// The schema found.
        found: String,
        /// The writing build, if known.
        build: Option<String>,
    },
    /// A limit of results files is exceeded.
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
    /// An invalid line before the last.
    #[error(
        "results file, line {line}: {problem}; restore the file from a copy, or remove the line"
    )]
    Garbage {
        /// Line number from 1.
        line: usize,
        /// The problem.
        problem: String,
    },
}

impl Line {
    /// Formats the line without line end; terminal control characters are escaped.
    pub fn to_json_line(&self) -> String {
        let text = serde_json::to_string(self)
            .expect("a line has only text keys and numbers, all of which JSON can write");
        text::escaped(&text).into_owned()
    }

    /// A trial, as most lines are, is recognised by its first bytes; any other line is copied to
    /// find its kind.
    fn from_json(text: &[u8]) -> serde_json::Result<Line> {
        if text.starts_with(b"{\"kind\":\"trial\",") {
            return serde_json::from_slice(text).map(Line::Trial);
        }
        serde_json::from_slice(text)
    }
}

impl Results {
    /// The results of an experiment that has not begun.
    pub fn new(header: Header) -> Results {
        Results {
            header,
            trials: Vec::new(),
            notes: Vec::new(),
            end: None,
            cut: None,
            needs_newline: false,
        }
    }

    /// The last event's time, where the clock continues on resume.
    pub fn last_ms(&self) -> u64 {
        let end = |trial: &Trial| {
            trial.started_ms.saturating_add(trial.observation.duration_ns / 1_000_000)
        };
        let trials = self.trials.iter().map(end);
        let notes = self.notes.iter().map(|note| note.at_ms);
        trials.chain(notes).chain(self.end.iter().map(|end| end.at_ms)).max().unwrap_or(0)
    }

    /// # Errors
    /// [`ResultsError`] if it is empty, of another version, or invalid anywhere but in a truncated
    /// last line.
    pub fn parse(text: &str) -> Result<Results, ResultsError> {
        Results::from_bytes(text.as_bytes())
    }

    /// A line may be truncated within a character.
    pub fn from_bytes(bytes: &[u8]) -> Result<Results, ResultsError> {
        let mut reader = ResultsReader::default();
        bytes.split_inclusive(|byte| *byte == b'\n').try_for_each(|line| reader.line(line))?;
        reader.finish()
    }

    fn push(&mut self, line: Line, number: usize) -> Result<(), ResultsError> {
        match line {
            Line::Header(_) => {
                let problem = "a second header: two results files were joined".to_string();
                return Err(ResultsError::Garbage { line: number, problem });
            }
            Line::Trial(trial) => {
                self.reject_unknown(&trial, number)?;
                // A trial after the end: the experiment was resumed.
                self.end = None;
                self.trials.push(*trial);
            }
            Line::Note(note) => self.notes.push(note),
            Line::End(end) => self.end = Some(end),
        }
        Ok(())
    }
}

impl Results {
    /// Rejects a trial outside the plan: two results files were mixed.
    fn reject_unknown(&self, trial: &Trial, line: usize) -> Result<(), ResultsError> {
        // No results file has more rounds than trials, and later numbers are computed from the
        // trial's.
        if u64::from(trial.round) >= TRIALS.most || trial.sequence >= u64::MAX / 2 {
            let problem =
                format!("trial number {} in round {} is out of range", trial.sequence, trial.round);
            return Err(ResultsError::Garbage { line, problem });
        }
        let plan = &self.header.plan;
        let (variant, workload) = (&trial.variant, &trial.workload);
        let stranger = if !plan.variants.iter().any(|known| known.name == *variant) {
            format!("variant {variant}")
        } else if !plan.workloads.iter().any(|known| known.name == *workload) {
            format!("workload {workload}")
        } else {
            return Ok(());
        };
        Err(ResultsError::Garbage {
            line,
            problem: format!("a trial of {stranger}, which is not in the header's plan"),
        })
    }
}

/// Reads a results file line by line.
#[derive(Default)]
pub struct ResultsReader {
    /// `None` before the header.
    read: Option<(Results, Size)>,
    number: usize,
    offset: u64,
}

impl ResultsReader {
    /// Includes the line end if any.
    pub fn line(&mut self, line: &[u8]) -> Result<(), ResultsError> {
        RESULTS_LINE.check(line.len())?;
        let offset = self.offset;
        self.offset += line.len() as u64;
        RESULTS_BYTES.check(usize::try_from(self.offset).unwrap_or(usize::MAX))?;
        self.number += 1;
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let complete = line.ends_with(b"\n");
        let line = RawLine {
            number: self.number,
            content: &line[..line.len() - usize::from(complete)],
            complete,
        };
        let Some((results, size)) = &mut self.read else {
            let header = read_header(&line)?;
            let size = Size::of(&header);
            self.read = Some((Results { needs_newline: !complete, ..Results::new(header) }, size));
            return Ok(());
        };
        results.needs_newline = !complete;
        match Line::from_json(line.content) {
            Ok(parsed) => {
                results.push(parsed, line.number)?;
                size.grow(results)?;
            }
            Err(_) if !complete => {
                let text = String::from_utf8_lossy(line.content).into_owned();
                results.cut = Some(Cut { offset, text });
                results.needs_newline = false;
            }
            Err(error) => {
                return Err(ResultsError::Garbage {
                    line: line.number,
                    problem: error.to_string(),
                });
            }
        }
        Ok(())
    }

    /// The results after the last line.
    pub fn finish(self) -> Result<Results, ResultsError> {
        self.read.map(|(results, _)| results).ok_or(ResultsError::Empty)
    }
}

struct Size {
    variants: usize,
    trials: usize,
    values: usize,
    /// Compared metrics and number of trials per workload.
    metrics: BTreeMap<String, (BTreeSet<String>, usize)>,
}

impl Size {
    fn of(header: &Header) -> Size {
        let metrics = header.plan.workloads.iter().map(|workload| {
            let primary = workload.primary.iter().cloned().collect();
            (workload.name.clone(), (primary, 0))
        });
        Size {
            variants: header.plan.variants.len(),
            trials: 0,
            values: 0,
            metrics: metrics.collect(),
        }
    }

    fn grow(&mut self, results: &Results) -> Result<(), Exceeded> {
        NOTES.check(results.notes.len())?;
        TRIALS.check(results.trials.len())?;
        let Some(trial) = results.trials.last().filter(|_| results.trials.len() > self.trials)
        else {
            return Ok(());
        };
        self.trials = results.trials.len();
        let seen = &trial.observation;
        let points: usize = seen.latency.iter().map(|curve| 1 + curve.points.len()).sum();
        self.values += seen.metrics.len() + seen.counters.len() + seen.invalid.len() + points;
        RESULTS_VALUES.check(self.values)?;
        let (metrics, trials) = self.metrics.entry(trial.workload.clone()).or_default();
        *trials += 1;
        for name in seen.metrics.keys().filter(|name| !metrics.contains(*name)).collect::<Vec<_>>()
        {
            metrics.insert(name.clone());
        }
        let of = |sizes: fn(&(BTreeSet<String>, usize)) -> usize| {
            self.metrics.values().map(sizes).sum::<usize>()
        };
        COMPARISONS.check(of(|(metrics, _)| metrics.len()).saturating_mul(self.variants))?;
        SAMPLES.check(of(|(metrics, trials)| metrics.len().saturating_mul(*trials)))
    }
}

struct RawLine<'a> {
    number: usize,
    content: &'a [u8],
    complete: bool,
}

fn read_header(line: &RawLine<'_>) -> Result<Header, ResultsError> {
    let value: serde_json::Value = serde_json::from_slice(line.content).map_err(|error| {
        let found = if line.complete {
            format!("not JSON: {error}")
        } else {
            "its first line was cut off".to_string()
        };
        ResultsError::NoHeader { found }
    })?;
    if value["kind"] != "header" {
        let found = value["kind"]
            .as_str()
            .map_or("a line of no kind".to_string(), |kind| format!("a line of kind {kind}"));
        return Err(ResultsError::NoHeader { found });
    }
    // Checked first: a header of another version may have unknown parts.
    if !READABLE.clone().any(|schema| value["schema"] == schema) {
        let build = value["schedlab"].as_str().map(str::to_string);
        return Err(ResultsError::Schema { found: value["schema"].to_string(), build });
    }
    let garbage = |problem: String| ResultsError::Garbage { line: line.number, problem };
    let header: Header =
        serde_json::from_value(value).map_err(|error| garbage(error.to_string()))?;
    header.plan.check().map_err(|error| garbage(error.to_string()))?;
    Ok(header)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{EndReason, Event, InvalidReason, Observation};
    use super::*;
    use crate::plan::{Plan, parse_variants, parse_workloads};

    fn header() -> Header {
        let mut plan: Plan = toml::from_str("device = 'sda'\nvariant = []\nworkload = []").unwrap();
        plan.variants = parse_variants(&["none", "quick=bfq:slice_idle=0"]).unwrap();
        plan.workloads = parse_workloads(&["oltp — größer=oltp:clients=8:primary=iops"]).unwrap();
        Header {
            schema: SCHEMA,
            schedlab: "0.1.0".to_string(),
            plan,
            environment: [(
                "kernel".to_string(),
                [("release".to_string(), "6.12".to_string())].into(),
            )]
            .into(),
            started_unix_ms: 1,
            command: "schedlab compare".to_string(),
        }
    }

    fn trial(sequence: u64) -> Trial {
        let metrics =
            [("iops".to_string(), 100.5), ("latency_p99_us".to_string(), f64::NAN)].into();
        let invalid = vec![InvalidReason::TooFewIos {
            metric: "latency_p99_us".to_string(),
            count: 3,
            needed: 1000,
        }];
        let observation =
            Observation { duration_ns: 5, metrics, invalid, ..Observation::default() };
        let (workload, variant) = ("oltp — größer".to_string(), "none".to_string());
        Trial { sequence, workload, round: 0, position: 0, variant, started_ms: 7, observation }
    }

    fn text(lines: &[Line]) -> String {
        lines.iter().map(|line| line.to_json_line() + "\n").collect()
    }

    fn whole() -> String {
        text(&[
            Line::Header(Box::new(header())),
            Line::Trial(Box::new(trial(0))),
            Line::Note(Note { at_ms: 3, event: Event::Resumed { trials: 1, at: None } }),
            Line::Trial(Box::new(trial(1))),
            Line::End(End { at_ms: 9, reason: EndReason::BudgetSpent { measured_s: 0.009 } }),
        ])
    }

    #[test]
    fn results_survive_being_written_and_read_again_even_with_values_that_json_does_not_have() {
        let results = Results::parse(&whole()).unwrap();
        assert_eq!(results.header, header());
        assert_eq!((results.trials.len(), results.notes.len()), (2, 1));
        assert_eq!(results.end.unwrap().reason, EndReason::BudgetSpent { measured_s: 0.009 });
        assert_eq!(results.notes[0].event, Event::Resumed { trials: 1, at: None });
        assert_eq!((results.cut, results.needs_newline), (None, false));
        assert_eq!(results.trials[1].observation.metrics["iops"], 100.5);
        assert!(results.trials[1].observation.metrics["latency_p99_us"].is_nan());
        assert_eq!(results.trials[1].observation.invalid, trial(1).observation.invalid);
    }

    proptest! {
        #[test]
        fn cut_anywhere_after_the_header_results_keep_every_whole_line_and_says_where_the_cut_one_starts(share in 0.0..1.0) {
            let whole = whole();
            let header_end = whole.find('\n').unwrap() + 1;
            let at = header_end + ((whole.len() - header_end) as f64 * share) as usize;
            let results = Results::from_bytes(&whole.as_bytes()[..at]).unwrap();
            let before = &whole.as_bytes()[..at];
            let lines = before.iter().filter(|byte| **byte == b'\n').count();
            let read = 1 + results.trials.len() + results.notes.len() + usize::from(results.end.is_some());
            let line_start = before.iter().rposition(|byte| *byte == b'\n').unwrap() as u64 + 1;
            if line_start == at as u64 {
                prop_assert_eq!((read, results.cut, results.needs_newline), (lines, None, false));
            } else if results.needs_newline {
                prop_assert_eq!((read, results.cut), (lines + 1, None));
            } else {
                prop_assert_eq!(read, lines);
                prop_assert_eq!(results.cut.unwrap().offset, line_start);
            }
        }
    }

    #[test]
    fn garbage_in_the_middle_is_an_error_that_names_the_line() {
        let mut lines: Vec<String> = whole().lines().map(str::to_string).collect();
        lines[2] = "{\"kind\":\"trial\",\"sequen".to_string();
        let error = Results::parse(&(lines.join("\n") + "\n")).unwrap_err();
        assert!(matches!(error, ResultsError::Garbage { line: 3, .. }), "{error}");
        lines[2] = lines[0].clone();
        let error = Results::parse(&(lines.join("\n") + "\n")).unwrap_err();
        assert!(
            error.to_string().contains("line 3") && error.to_string().contains("second header"),
            "{error}"
        );
    }

    #[test]
    fn trials_that_the_plan_does_not_know_and_a_plan_that_is_none_are_refused() {
        for (from, to, words) in [
            (
                "\"variant\":\"none\",\"started",
                "\"variant\":\"noop\",\"started",
                "trial of variant noop",
            ),
            ("\"workload\":\"oltp", "\"workload\":\"dss", "trial of workload dss"),
            ("\"margin\":0.01", "\"margin\":7.0", "criteria.margin"),
        ] {
            let other = whole().replace(from, to);
            let message = Results::parse(&other).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
    }

    #[test]
    fn a_file_of_schema_2_keeps_its_look_after_each_round() {
        let each = |text: &str| {
            let results = Results::parse(text).unwrap();
            crate::compare::Looks::of(&results, &results.header.plan.criteria).each_round
        };
        let old = whole().replace("\"schema\":3", "\"schema\":2");
        assert!(each(&old) && !each(&whole()));
    }

    #[test]
    fn another_format_is_an_error_that_names_both_builds() {
        let other = whole().replacen("\"schema\":3", "\"schema\":4,\"new\":true", 1);
        let message = Results::parse(&other).unwrap_err().to_string();
        assert!(
            message.contains("found 4, of build 0.1.0")
                && message.contains("expected 3, of this build unnamed"),
            "{message}"
        );
    }

    #[test]
    fn results_without_their_header_are_refused() {
        assert_eq!(Results::parse(""), Err(ResultsError::Empty));
        assert_eq!(Results::parse("\n \n"), Err(ResultsError::Empty));
        let headless: String =
            whole().lines().skip(1).map(|line| line.to_string() + "\n").collect();
        for (text, words) in [
            (headless.as_str(), "kind trial"),
            ("a,b\n1,2\n", "not JSON"),
            ("{\"kind\":\"hea", "cut off"),
        ] {
            let message = Results::parse(text).unwrap_err().to_string();
            assert!(message.contains(words) && message.contains("header"), "{message}");
        }
    }

    #[test]
    fn a_trial_after_the_end_means_that_the_experiment_was_resumed() {
        let resumed = whole() + &text(&[Line::Trial(Box::new(trial(2)))]);
        let results = Results::parse(&resumed).unwrap();
        assert_eq!((results.trials.len(), results.end), (3, None));
    }
}
