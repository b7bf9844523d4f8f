//! Annotations for GitHub Actions, and escaping of all other output.
//!
//! The runner executes lines that begin with `::` (after spaces), and `##[` anywhere in a line
//! (actions/runner, ActionCommand.cs). A pull request chooses the names in a plan, so a name could
//! stop later commands, hide log text (`add-mask`) or forge annotations. All output outside
//! annotations must pass through [`defanged`].

use experiment::analysis::Verdict;

use super::{Gate, effect, line, word};
use crate::words::clean;

/// One for each failing or invalid comparison, otherwise a notice with the line.
pub fn annotations(gate: &Gate<'_>) -> Vec<String> {
    let level = |verdict: Verdict| match verdict {
        verdict if gate.fails(verdict) => Some("error"),
        Verdict::Invalid | Verdict::Inconclusive | Verdict::Worse => Some("warning"),
        Verdict::Better | Verdict::Equivalent => None,
    };
    let mut all: Vec<String> = gate
        .comparisons
        .iter()
        .filter_map(|one| {
            let title =
                format!("schedlab: {} is {} on {}", one.variant, word(one.verdict), one.workload);
            Some(format!(
                "::{} title={}::{}",
                level(one.verdict)?,
                property(&title),
                data(&effect(one))
            ))
        })
        .collect();
    if all.is_empty() {
        all.push(format!("::notice title=schedlab::{}", data(&line(gate))));
    }
    all
}

fn data(text: &str) -> String {
    clean(text).replace('%', "%25")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Inserts spaces so that the runner recognises no command.
pub fn defanged(text: &str) -> String {
    let line = |line: &str| {
        let line = line.replace("##[", "# #[");
        let start = line.len() - line.trim_start().len();
        if line[start..].starts_with("::") {
            format!("{}: {}", &line[..start], &line[start + 1..])
        } else {
            line
        }
    };
    // The runner also ends lines at a carriage return.
    text.split_inclusive(['\n', '\r']).map(line).collect()
}
