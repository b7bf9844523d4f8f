//! Renderers: one analysis as terminal text, web page, Markdown, JSON and CSV.
//!
//! Every estimate, interval and verdict is taken from the [`Analysis`]; the results file only adds
//! measured values. Reports of one analysis therefore cannot disagree. Pure: no clock, file, thread
//! or environment variable.
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

/// To add a format, add a module and a row to [`FORMATS`].
struct Format {
    name: &'static str,
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

/// Name and text of each file. sweep.csv requires a sweep, trials.csv a results file.
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

    /// `SCHEDLAB_KEEP_REPORT=DIR` saves the fixtures' reports for inspection.
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
