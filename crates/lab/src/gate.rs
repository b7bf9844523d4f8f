//! The reference of a gate: a results file named by the user, or the last good one of a plan.
//!
//! A gate compares two measurements of one plan on one machine to detect changes of kernel,
//! programs or file system. Comparisons with an edited plan, another disk or another build of
//! schedlab are refused.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use experiment::gate::edits::edits;
use experiment::plan::Plan;
use experiment::results::{Environment, Results};
use machine::files::Dir;
use text::build;
use text::limits::RESULTS_BYTES;

use crate::failure::usage;
use crate::store;

pub const LAST_GOOD: &str = "last-good";

/// Maximum number of plan edits to report.
const MOST_EDITS: usize = 5;

const IDENTITY: [(&str, &str); 8] = [
    ("device", "identity"),
    ("device", "size_bytes"),
    ("device", "description"),
    ("traces", "replayed"),
    ("cpu", "model"),
    ("cpu", "count"),
    ("machine", "vendor"),
    ("machine", "product"),
];

/// The last good results of a plan. The file is named after the plan's, so that an edited plan is
/// compared with its old results and refused.
#[derive(Debug, Clone)]
pub struct LastGood {
    dir: PathBuf,
    name: String,
}

impl LastGood {
    pub fn of(dir: &Path, plan: &Path) -> Result<LastGood> {
        let stem = plan.file_stem().unwrap_or_default().to_string_lossy();
        let plain: String =
            stem.chars().filter(|c| c.is_ascii_alphanumeric() || "._-".contains(*c)).collect();
        let name = plain.trim_start_matches('.');
        if name.is_empty() {
            return Err(usage(format!(
                "{}: its name has no letter or digit; rename the plan, so that its last good results file has a name",
                plan.display()
            )));
        }
        Ok(LastGood { dir: dir.to_owned(), name: format!("{name}.jsonl") })
    }

    pub fn path(&self) -> PathBuf {
        self.dir.join(&self.name)
    }

    pub fn read(&self) -> Result<Option<Results>> {
        if !self.path().exists() {
            return Ok(None);
        }
        let unreadable = || format!("{}: remove it to start over", self.path().display());
        store::read(&self.path()).map(Some).with_context(unreadable)
    }

    /// Makes the results file in `results` the last good one. On an error the previous one remains.
    pub fn keep(&self, results: &Path) -> Result<()> {
        let from = Dir::open(results)?;
        let bytes = from
            .read(store::RESULTS)?
            .with_context(|| format!("{}: no results file", results.display()))?;
        RESULTS_BYTES.check(bytes.len())?;
        Dir::make(&self.dir)?.replace(&self.name, &bytes)?;
        Ok(())
    }
}

/// Refuses results of another build or another plan.
pub fn same_plan(now: &Plan, then: &Results, from: &Path) -> Result<()> {
    if let Some(why) = build::difference(&then.header.schedlab, build::identity()) {
        return Err(usage(format!("{}: {why}; measure a new reference", from.display())));
    }
    let found = edits(now, &then.header.plan);
    if found.is_empty() {
        return Ok(());
    }
    let more = if found.len() > MOST_EDITS {
        format!("; and {} more", found.len() - MOST_EDITS)
    } else {
        String::new()
    };
    Err(usage(format!(
        "{}: the plan was edited since: {}{more}; two plans cannot be compared: measure a new reference",
        from.display(),
        found[..found.len().min(MOST_EDITS)].join("; ")
    )))
}

/// Refuses another machine or drive.
pub fn same_machine(plan: &Plan, now: &Environment, then: &Environment, from: &Path) -> Result<()> {
    let of = |environment: &Environment, section: &str, name: &str| {
        environment.get(section)?.get(name).cloned()
    };
    let temporary = plan.has_temporary_device();
    // The identity of a temporary device always changes; only its size belongs to the plan.
    let compared = IDENTITY.iter().filter(|fact| !(temporary && **fact == ("device", "identity")));
    for (section, name) in compared {
        let (found, expected) = (of(now, section, name), of(then, section, name));
        if found != expected {
            let (found, expected) = first_difference(found.as_deref(), expected.as_deref());
            return Err(usage(format!(
                "{}: measured on another machine or drive: {section} {name} (found {found}, expected {expected}); measure a new reference \
                 here, or compare all the same with --other-machine",
                from.display()
            )));
        }
    }
    Ok(())
}

/// The first differing lines; the description of a modelled disk is a whole file.
fn first_difference<'a>(found: Option<&'a str>, expected: Option<&'a str>) -> (&'a str, &'a str) {
    let (found, expected) = (found.unwrap_or("unknown"), expected.unwrap_or("unknown"));
    let (mut new, mut old) = (found.lines(), expected.lines());
    loop {
        match (new.next(), old.next()) {
            (Some(new), Some(old)) if new == old => {}
            (new, old) => return (new.unwrap_or("nothing more"), old.unwrap_or("nothing more")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn last_good_results_are_named_after_their_plan_and_cannot_leave_its_directory() {
        let of =
            |plan: &str| LastGood::of(Path::new("/s"), Path::new(plan)).map(|kept| kept.path());
        assert_eq!(of("ci/oltp.toml").expect("a name"), Path::new("/s/oltp.jsonl"));
        assert_eq!(of("../../x y;z.toml").expect("a name"), Path::new("/s/xyz.jsonl"));
        assert_eq!(of(".hidden.toml").expect("a name"), Path::new("/s/hidden.jsonl"));
        for nameless in ["..toml", "ä.toml", "/"] {
            assert!(of(nameless).unwrap_err().to_string().contains("rename"), "{nameless}");
        }
    }

    #[test]
    fn of_a_long_description_the_first_line_that_differs_is_named() {
        assert_eq!(
            first_difference(Some("a\nrpm = 3\nb"), Some("a\nrpm = 4\nb")),
            ("rpm = 3", "rpm = 4")
        );
        assert_eq!(first_difference(Some("a"), Some("a\nb")), ("nothing more", "b"));
        assert_eq!(first_difference(None, Some("x")), ("unknown", "x"));
    }

    #[test]
    fn it_is_kept_whole_and_what_is_no_results_is_refused_with_its_path() {
        let dir = tempfile::tempdir().expect("a directory");
        let (results, state) = (dir.path().join("out"), dir.path().join("state"));
        fs::create_dir(&results).expect("made");
        let kept = LastGood::of(&state, Path::new("a.toml")).expect("a name");
        assert!(kept.read().expect("nothing is no error").is_none());
        assert!(kept.keep(&results).is_err() && !kept.path().exists());
        fs::write(results.join(store::RESULTS), "no results file\n").expect("written");
        kept.keep(&results).expect("copied");
        let error = format!("{:#}", kept.read().unwrap_err());
        assert!(error.contains("a.jsonl") && error.contains("remove it"), "{error}");
    }
}
