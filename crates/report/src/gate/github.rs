//! Annotations for GitHub Actions, and text that is not one.
//!
//! The runner takes a line of a step's output that begins with `::` (after spaces) for a command,
//! and `##[` anywhere in a line for one of the older form (actions/runner, ActionCommand.cs). A
//! pull request chooses the names in a plan, so a name could stop later commands, hide text in the
//! log (`add-mask`) or forge annotations. In an annotation of ours `%`, line ends and, in its
//! title, `:` and `,` are escaped; all other output goes through [`defanged`].

use experiment::analysis::Verdict;

use super::{Gate, effect, line, word};
use crate::words::clean;

/// One annotation for each comparison that fails or is invalid, else one notice with the line.
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

/// The text after the second `::`.
fn data(text: &str) -> String {
    clean(text).replace('%', "%25")
}

/// The value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Text in which the runner finds no command: what would be one gets a space.
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
    // The runner also ends a line at a carriage return.
    text.split_inclusive(['\n', '\r']).map(line).collect()
}
