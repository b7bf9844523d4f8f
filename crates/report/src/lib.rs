//! The renderers: one analysis, shown in a terminal, as a web page, as Markdown, as JSON and as
//! CSV.
//!
//! A renderer computes nothing that compares: every estimate, interval and verdict comes from the
//! [`Analysis`], and the record only adds what was measured (points, curves, environment). So no
//! two reports of an analysis can disagree, and a report can be made again from the results file
//! alone.
//!
//! Pure: no clock, file, thread or environment variable. Functions return text; the caller prints
//! it or writes it.
#![forbid(unsafe_code)]

mod actuator;
mod answer;
pub mod atlas;
mod columns;
mod cpu;
mod csv;
mod error;
mod evidence;
pub mod export;
mod figures;
pub mod gate;
mod grid;
pub mod history;
mod html;
mod invalid;
mod json;
mod markdown;
mod method;
pub mod number;
mod page;
pub mod paper;
mod place;
mod plot;
pub mod profile;
mod remarks;
mod repeats;
pub mod running;
pub mod search;
mod sweep;
mod table;
mod tables;
mod template;
pub mod terminal;
mod verdict;
mod view;
mod words;

use experiment::analysis::Analysis;

use page::Page;
#[cfg(test)]
use tests::fixture;

pub use actuator::{ActuatorPath, Visit};
pub use answer::headline;
pub use columns::Columns;
pub use error::{Error, Result};
pub use evidence::{Evidence, UnitOf};
pub use figures::{Figure, FigureKind, figures};
pub use grid::{folded, wrapped};
pub use json::{render as json, render_all as json_of_all};

/// A file of a report. A new format is a file of this crate and a row of [`FORMATS`].
struct Format {
    name: &'static str,
    /// Whether a report has it.
    is_made: fn(&Page<'_>) -> bool,
    render: fn(&Page<'_>) -> Result<String>,
}

const FORMATS: [Format; 6] = [
    Format { name: "report.html", is_made: |_| true, render: html::render },
    Format { name: "report.md", is_made: |_| true, render: markdown::render },
    Format { name: "analysis.json", is_made: |_| true, render: |page| json::render(page.analysis) },
    Format { name: "comparisons.csv", is_made: |_| true, render: csv::comparisons },
    Format {
        name: "sweep.csv",
        is_made: |page| !page.analysis.responses.is_empty(),
        render: csv::sweep,
    },
    Format { name: "trials.csv", is_made: |page| page.evidence.is_some(), render: csv::trials },
];

/// Returns the name and the text of each file of a report: analysis.json, report.html, report.md,
/// comparisons.csv, for a sweep sweep.csv and, where there is a results file, trials.csv.
///
/// # Errors
/// When a template or a plot fails, which no input should cause.
pub fn files(
    analysis: &Analysis,
    evidence: Option<&Evidence<'_>>,
) -> Result<Vec<(&'static str, String)>> {
    let page = Page::of(analysis, evidence);
    let made = FORMATS.iter().filter(|format| (format.is_made)(&page));
    made.map(|format| Ok((format.name, words::escape_file((format.render)(&page)?)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) mod fixture;

    #[test]
    fn every_file_is_there_and_no_other() {
        let lab = fixture::Lab::typical();
        let mut names: Vec<&str> = files(&lab.analysis, Some(&lab.evidence()))
            .expect("the report is made")
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["analysis.json", "comparisons.csv", "report.html", "report.md", "trials.csv"]
        );
    }

    #[test]
    fn an_analysis_without_results_is_reported_too() {
        assert_eq!(
            files(&fixture::Lab::typical().analysis, None).expect("the report is made").len(),
            4
        );
    }

    /// For the eye: `SCHEDLAB_KEEP_REPORT=DIR` keeps the reports of the fixtures.
    #[test]
    fn reports_of_the_fixtures_can_be_saved() {
        let Some(keep) = std::env::var_os("SCHEDLAB_KEEP_REPORT") else { return };
        for (name, lab) in
            [("typical", fixture::Lab::typical()), ("extreme", fixture::Lab::extreme())]
        {
            let dir = std::path::Path::new(&keep).join(name);
            std::fs::create_dir_all(&dir).expect("the directory is made");
            for (name, text) in
                files(&lab.analysis, Some(&lab.evidence())).expect("the report is made")
            {
                std::fs::write(dir.join(name), text).expect("the kept report is written");
            }
        }
    }
}
