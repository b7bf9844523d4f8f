//! The renderers: one study, shown in a terminal, as a web page, as Markdown, as JSON and as CSV.
//!
//! A renderer computes nothing that judges: every estimate, interval and verdict comes from the [`Study`], and the record
//! only adds what was seen (points, curves, environment). So no two reports of a study can disagree, and a report can be
//! made again from the record alone.

mod answer;
mod csv;
#[cfg(test)]
mod fixture;
mod grid;
pub(crate) mod history;
mod html;
pub(crate) mod json;
mod markdown;
mod method;
pub(crate) mod number;
mod older;
pub(crate) mod plot;
mod processors;
mod reasons;
mod remarks;
mod side;
mod sweep;
pub(crate) mod terminal;
mod view;

pub(crate) use number::span_ms;

use std::path::{Path, PathBuf};

use anyhow::Context;
use experiment::record::{End, Header, Note, Record, Trial};
use experiment::study::Study;

use crate::whole_file;

/// What a report shows of the record. A study of foreign data has none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence<'a> {
    /// Plan, machine and command.
    pub(crate) header: &'a Header,
    /// Every trial, void ones included.
    pub(crate) trials: &'a [Trial],
    /// What happened between trials.
    pub(crate) notes: &'a [Note],
    /// How the experiment ended; none: it was cut off.
    pub(crate) end: Option<&'a End>,
}

impl<'a> Evidence<'a> {
    /// What a record shows.
    pub(crate) fn of(record: &'a Record) -> Evidence<'a> {
        Evidence { header: &record.header, trials: &record.trials, notes: &record.notes, end: record.end.as_ref() }
    }
}

/// Writes study.json, report.html, report.md, judgements.csv, for a sweep sweep.csv and, where there is a record, trials.csv into `dir`, which is made
/// if need be.
///
/// Returns what was written. Each file is replaced as a whole: a reader never sees half of one, and a full disk leaves the
/// former report in place.
///
/// # Errors
/// When a file cannot be written (the message names it) or a template or plot fails.
pub(crate) fn write_all(dir: &Path, study: &Study, evidence: Option<&Evidence<'_>>) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = vec![
        ("report.html", html::render(study, evidence)?),
        ("report.md", markdown::render(study, evidence)),
        ("study.json", json::render(study)?),
        ("judgements.csv", csv::judgements(study)?),
    ];
    if !study.responses.is_empty() {
        files.push(("sweep.csv", csv::sweep(study)?));
    }
    if let Some(evidence) = evidence {
        files.push(("trials.csv", csv::trials(evidence)?));
    }
    std::fs::create_dir_all(dir)
        .with_context(|| format!("cannot make {}: name another directory with --out", dir.display()))?;
    let write = |(name, text): (&str, String)| {
        let path = dir.join(name);
        whole_file::replace(&path, &text).map(|()| path)
    };
    files.into_iter().map(write).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_written_whole_and_nothing_else_is_left_behind() {
        let lab = fixture::Lab::typical();
        let dir = tempfile::tempdir().expect("a temporary directory");
        let written = write_all(dir.path(), &lab.study, Some(&lab.evidence())).expect("the report is written");
        let mut names: Vec<String> = std::fs::read_dir(dir.path())
            .expect("the directory is readable")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a UTF-8 name"))
            .collect();
        names.sort();
        assert_eq!(names, ["judgements.csv", "report.html", "report.md", "study.json", "trials.csv"]);
        assert_eq!(written.len(), names.len());
        // For the eye: SCHEDLAB_KEEP_REPORT=DIR keeps the report of the fixture.
        if let Some(keep) = std::env::var_os("SCHEDLAB_KEEP_REPORT") {
            for (name, lab) in [("typical", lab), ("extreme", fixture::Lab::extreme())] {
                let dir = Path::new(&keep).join(name);
                std::fs::create_dir_all(&dir).expect("the directory is made");
                write_all(&dir, &lab.study, Some(&lab.evidence())).expect("the kept report is written");
            }
        }
    }

    #[test]
    fn a_study_without_a_record_is_reported_too() {
        let lab = fixture::Lab::typical();
        let dir = tempfile::tempdir().expect("a temporary directory");
        let written = write_all(&dir.path().join("not/yet/there"), &lab.study, None).expect("the report is written");
        assert_eq!(written.len(), 4);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let lab = fixture::Lab::typical();
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(dir.path().join("report.html")).expect("a directory is in the way");
        let error = write_all(dir.path(), &lab.study, None).expect_err("a directory cannot be replaced");
        assert!(error.to_string().contains("report.html"), "{error}");
        let error = write_all(Path::new("/proc/nowhere"), &lab.study, None).expect_err("there is no such directory");
        assert!(error.to_string().contains("/proc/nowhere"), "{error}");
    }
}
