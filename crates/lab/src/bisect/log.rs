//! The log of a bisection, `bisect.jsonl`: the search and every answer, one JSON line each.
//!
//! A bisection resumes by taking answers from the log. A line is on disk before the next experiment
//! begins; a truncated line is dropped. The first line identifies the plan, patches and commits, so
//! that another bisection is not continued.

use anyhow::{Context, Result};
use experiment::plan::Plan;
use machine::files::Dir;
use serde::{Deserialize, Serialize};
use text::build;
use text::limits::BISECT_BYTES;

use super::evidence::Evidence;
use super::steps::Step;
use crate::failure::usage;
use crate::log_file::LogFile;

pub const LOG: &str = "bisect.jsonl";
pub(super) const SCHEMA: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum LogLine {
    Begin(Box<Begin>),
    Answer(Answer),
    /// A kernel built for a step; it was not in the cache.
    Built {
        step: usize,
        key: String,
    },
    Resumed {
        answers: usize,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Begin {
    pub(super) schema: u32,
    pub(super) schedlab: String,
    /// Without --out and --resume.
    pub(super) command: String,
    /// The plan of every experiment, with only the variant under test and the error level of the
    /// whole bisection.
    pub(super) plan: Plan,
    pub(super) source: String,
    pub(super) steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub baseline: usize,
    pub step: usize,
    /// 2 for the larger experiment after an inconclusive one, else 1.
    pub attempt: u32,
    /// The verdict's share of the bisection's alpha; 0 without a verdict.
    pub alpha: f64,
    /// Relative to the bisection's directory.
    pub directory: String,
    pub result: AnswerResult,
    /// Wall-clock time of building and measuring.
    pub seconds: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum AnswerResult {
    Compared(Evidence),
    DoesNotBuild {
        message: String,
    },
    DoesNotBoot {
        message: String,
    },
    /// The guest panicked, hung or died under the workload.
    GuestFailed {
        message: String,
    },
}

#[derive(Debug)]
pub(super) struct Log {
    file: LogFile,
    pub(super) answers: Vec<Answer>,
    /// Kernels built by this bisection: step and cache key.
    pub(super) built: Vec<(usize, String)>,
}

impl Log {
    /// Begins a log, or continues an existing one of the same search if `resume` is set.
    pub(super) fn open(dir: &Dir, begin: &Begin, resume: bool) -> Result<Log> {
        let path = dir.file(LOG);
        let there = dir.has(LOG);
        if resume && !there {
            return Err(usage(format!(
                "{}: cannot resume: there is no log; leave out --resume",
                path.display()
            )));
        }
        let mut log = Log {
            file: LogFile::open(dir, LOG, &BISECT_BYTES)?,
            answers: Vec::new(),
            built: Vec::new(),
        };
        if log.file.is_empty() {
            log.append(&LogLine::Begin(Box::new(begin.clone())))?;
            return Ok(log);
        }
        if !resume {
            return Err(usage(format!(
                "{}: already holds a bisection; add --resume to continue it, or name another --out",
                dir.path().display()
            )));
        }
        let text = log.file.read_lines()?;
        log.read(&text, begin).with_context(|| path.display().to_string())?;
        log.file.cut(text.len() as u64)?;
        log.append(&LogLine::Resumed { answers: log.answers.len() })?;
        Ok(log)
    }

    fn read(&mut self, text: &str, begin: &Begin) -> Result<()> {
        for (number, line) in (1..).zip(text.lines()) {
            let read: LogLine = serde_json::from_str(line).map_err(|cause| {
                usage(format!("line {number}: not a line of a bisection log: {cause}"))
            })?;
            match (number, read) {
                (1, LogLine::Begin(then)) => same_search(&then, begin)?,
                (1, _) | (_, LogLine::Begin(_)) => {
                    return Err(usage(format!(
                        "line {number}: only the first line begins a bisection; start again with another --out"
                    )));
                }
                (_, LogLine::Answer(answer)) => self.answers.push(answer),
                (_, LogLine::Built { step, key }) => self.built.push((step, key)),
                (_, LogLine::Resumed { .. }) => {}
            }
        }
        if text.is_empty() {
            return Err(usage("line 1: unfinished; remove the directory and begin again"));
        }
        Ok(())
    }

    pub(super) fn append(&mut self, line: &LogLine) -> Result<()> {
        let text = serde_json::to_string(line).expect("plain values can be written as JSON");
        self.file.append(&text::escaped(&text))?;
        match line {
            LogLine::Answer(answer) => self.answers.push(answer.clone()),
            LogLine::Built { step, key } => self.built.push((*step, key.clone())),
            LogLine::Begin(_) | LogLine::Resumed { .. } => {}
        }
        Ok(())
    }

    pub(super) fn answer(&self, baseline: usize, step: usize, attempt: u32) -> Option<&Answer> {
        self.answers.iter().find(|answer| {
            (answer.baseline, answer.step, answer.attempt) == (baseline, step, attempt)
        })
    }
}

fn same_search(then: &Begin, now: &Begin) -> Result<()> {
    let other = |what: String| {
        Err(usage(format!(
            "--resume: {what}, and answers of different searches cannot be combined; name another --out"
        )))
    };
    if then.schema != now.schema {
        let why = build::other_format(then.schema, now.schema, Some(&then.schedlab));
        return Err(usage(format!("--resume: {why}; name another --out")));
    }
    if let Some(why) = build::difference(&then.schedlab, &now.schedlab) {
        return Err(usage(format!(
            "--resume: {why}; continue it with that build, or name another --out"
        )));
    }
    if then.plan != now.plan {
        return other("another plan, variant or workload".to_owned());
    }
    if then.steps.len() != now.steps.len() {
        return other(format!(
            "another number of steps (found {}, expected {})",
            now.steps.len() - 1,
            then.steps.len() - 1
        ));
    }
    match then.steps.iter().zip(&now.steps).position(|(then, now)| then.sum != now.sum) {
        Some(step) => other(format!(
            "step {step}, {}: changed since the bisection began",
            now.steps[step].name
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn begin(sums: &[&str]) -> Begin {
        let plan = "device = 'hp97560'\narena = 'kernel'\n[[variant]]\nname = 'a'\nscheduler = 'none'\n[[variant]]\nname = 'b'\n\
                    scheduler = 'bfq'\n[[workload]]\nname = 'w'\nkind = 'randread'\n";
        let step = |sum: &&str| Step {
            name: format!("{sum}.patch"),
            subject: String::new(),
            sum: (*sum).to_owned(),
        };
        Begin {
            schema: SCHEMA,
            schedlab: "1".to_owned(),
            command: "schedlab bisect".to_owned(),
            plan: Plan::from_toml(plan).unwrap(),
            source: "patches".to_owned(),
            steps: sums.iter().map(step).collect(),
        }
    }

    fn answer(step: usize) -> LogLine {
        LogLine::Answer(Answer {
            baseline: 0,
            step,
            attempt: 1,
            alpha: 0.01,
            directory: format!("experiment-{step}"),
            result: AnswerResult::DoesNotBuild { message: "x.c:1: error: \u{1b}[2J".to_owned() },
            seconds: 1.5,
        })
    }

    #[test]
    fn a_hostile_step_is_one_line_and_steers_nothing() {
        let at = tempfile::tempdir().unwrap();
        let dir = Dir::open(at.path()).unwrap();
        let begun = begin(&["a\n{}\u{1b}]0;owned\u{7}", "\u{9b}2J\u{202e}\u{2028}"]);
        let mut log = Log::open(&dir, &begun, false).unwrap();
        log.append(&answer(1)).unwrap();
        drop(log);
        let text = fs::read_to_string(at.path().join(LOG)).unwrap();
        assert!(text.lines().count() == 2 && !text.contains(text::controls_terminal), "{text:?}");
        Log::open(&dir, &begun, true).expect("it means the same, and is of the same search");
    }

    #[test]
    fn a_log_is_continued_with_its_answers_and_without_a_line_that_was_cut_off() {
        let at = tempfile::tempdir().unwrap();
        let dir = Dir::open(at.path()).unwrap();
        let begun = begin(&["a", "b", "c"]);
        let mut log = Log::open(&dir, &begun, false).unwrap();
        log.append(&answer(2)).unwrap();
        log.append(&LogLine::Built { step: 2, key: "6.1-x".to_owned() }).unwrap();
        assert!(
            Log::open(&dir, &begun, true).unwrap_err().to_string().contains("another schedlab")
        );
        drop(log);
        let path = at.path().join(LOG);
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}{{\"kind\":\"ans")).unwrap();
        let again = Log::open(&dir, &begun, false).unwrap_err().to_string();
        assert!(again.contains("add --resume"), "{again}");
        let log = Log::open(&dir, &begun, true).unwrap();
        assert_eq!((log.answers.len(), log.built.len()), (1, 1));
        assert!(
            log.answer(0, 2, 1).is_some()
                && log.answer(0, 2, 2).is_none()
                && log.answer(1, 2, 1).is_none()
        );
        drop(log);
        assert!(
            fs::read_to_string(&path).unwrap().ends_with("{\"kind\":\"resumed\",\"answers\":1}\n")
        );
    }

    #[test]
    fn a_log_of_another_plan_or_of_edited_patches_is_not_continued() {
        let at = tempfile::tempdir().unwrap();
        let dir = Dir::open(at.path()).unwrap();
        let begun = begin(&["a", "b", "c"]);
        let none = Log::open(&dir, &begun, true).unwrap_err().to_string();
        assert!(none.contains("there is no log"), "{none}");
        drop(Log::open(&dir, &begun, false).unwrap());
        let refused = |now: &Begin| format!("{:#}", Log::open(&dir, now, true).unwrap_err());
        let mut other = begun.clone();
        other.plan.criteria.margin = 0.2;
        assert!(refused(&other).contains("another plan"));
        assert!(refused(&begin(&["a", "x", "c"])).contains("step 1, x.patch: changed since"));
        assert!(refused(&begin(&["a", "b"])).contains("found 1, expected 2"));
        let of_build = |build: &str| Begin { schedlab: build.to_owned(), ..begun.clone() };
        assert!(
            refused(&of_build("2")).contains("another build of schedlab (found 1, expected 2)")
        );
        Log::open(&dir, &begun, true).unwrap();
    }

    #[test]
    fn lines_that_are_none_of_a_bisection_are_named() {
        let at = tempfile::tempdir().unwrap();
        let dir = Dir::open(at.path()).unwrap();
        for (text, says) in [
            ("x\n", "line 1"),
            ("{\"kind\":\"resumed\",\"answers\":1}\n", "first line"),
            ("half", "unfinished"),
        ] {
            fs::write(at.path().join(LOG), text).unwrap();
            let refused = format!("{:#}", Log::open(&dir, &begin(&["a", "b"]), true).unwrap_err());
            assert!(refused.contains(says), "{text}: {refused}");
        }
    }
}
