//! The renderers: one study, shown in a terminal, as a web page, as Markdown, as JSON and as CSV.
//!
//! A renderer computes nothing that judges: every estimate, interval and verdict comes from the [`Study`], and the record
//! only adds what was seen (points, curves, environment). So no two reports of a study can disagree, and a report can be
//! made again from the record alone.

mod csv;
#[cfg(test)]
mod fixture;
mod html;
pub(crate) mod json;
mod markdown;
mod number;
mod plot;
mod reasons;
pub(crate) mod terminal;
mod view;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use experiment::record::{End, Header, Note, Record, Trial};
use experiment::study::Study;

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

/// Writes study.json, report.html, report.md, judgements.csv and, where there is a record, trials.csv into `dir`.
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
    if let Some(evidence) = evidence {
        files.push(("trials.csv", csv::trials(evidence)?));
    }
    files.into_iter().map(|(name, text)| replace(&dir.join(name), &text)).collect()
}

/// Writes `text` beside `path`, flushes it to the disk and renames it over `path`.
fn replace(path: &Path, text: &str) -> anyhow::Result<PathBuf> {
    let dir = path.parent().context("a report file has a directory")?;
    let write = || -> std::io::Result<()> {
        let mut temporary = tempfile::Builder::new().prefix(".report-").tempfile_in(dir)?;
        temporary.write_all(text.as_bytes())?;
        readable_by_all(temporary.as_file())?;
        temporary.as_file().sync_all()?;
        temporary.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                "free some space and repeat `report`"
            }
            _ => "name another directory with --out",
        };
        anyhow::Error::new(error).context(format!("cannot write {}: {hint}", path.display()))
    })?;
    Ok(path.to_path_buf())
}

/// A temporary file is private to its owner; a report is made to be read.
fn readable_by_all(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
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
        let written = write_all(dir.path(), &lab.study, None).expect("the report is written");
        assert_eq!(written.len(), 4);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let lab = fixture::Lab::typical();
        let error = write_all(Path::new("/proc/nowhere"), &lab.study, None).expect_err("there is no such directory");
        assert!(error.to_string().contains("/proc/nowhere/report.html"), "{error}");
    }

    #[test]
    fn who_is_reading_the_former_report_keeps_it_whole() {
        use std::io::Read;
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("report.md");
        replace(&path, "former").expect("the first report is written");
        let mut reader = File::open(&path).expect("the first report is there");
        replace(&path, "new").expect("the second report is written");
        let mut seen = String::new();
        reader.read_to_string(&mut seen).expect("the open file is readable");
        assert_eq!((seen.as_str(), std::fs::read_to_string(&path).ok().as_deref()), ("former", Some("new")));
    }

    #[test]
    fn a_full_disk_leaves_the_former_report_and_names_the_file() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(dir.path())
            .output()
            .is_ok_and(|out| out.status.success());
        if !mounted {
            assert!(std::env::var_os("SCHEDLAB_MUST_RUN_ALL").is_none(), "mounting a tmpfs needs root");
            eprintln!("SKIPPED: mounting a small tmpfs needs root");
            return;
        }
        let path = dir.path().join("report.html");
        let former = replace(&path, "former");
        let answer = replace(&path, &"x".repeat(200_000));
        let found = std::fs::read_to_string(&path);
        let left = std::fs::read_dir(dir.path()).map(Iterator::count);
        let unmounted = std::process::Command::new("umount").arg(dir.path()).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "the tmpfs is unmounted again");
        former.expect("64 KiB are enough for six bytes");
        let error = format!("{:#}", answer.expect_err("200 kB do not fit into 64 KiB"));
        assert!(error.contains("report.html") && error.contains("No space left"), "{error}");
        assert_eq!(found.expect("the former report is there"), "former");
        assert_eq!(left.expect("the directory is readable"), 1, "no temporary file is left behind");
    }
}
