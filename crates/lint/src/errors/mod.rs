//! The form of an error: `subject: what is wrong (found X, expected Y); what to do`.
//!
//! What is checked is what a template shows before anything is filled in:
//!
//! 1. it begins with its subject, and a colon ends the subject: `{device}: …`, `plan, line {line}: …`, `--schedulers: …`, `journal: …`.
//!    The subject is at most six words and does not begin as a sentence does (`cannot …`, `there is …`, `no …`);
//! 2. it begins in lower case, unless with a name or an abbreviation (`CPU {cpu}: …`);
//! 3. it has no full stop at its end and no sentence after a full stop;
//! 4. alternatives are listed as `expected one of …`, not as "there are: …";
//! 5. a refusal of what the user wrote (`usage(…)`) says what to do, after a semicolon.
//!
//! Held against it are `#[error("…")]`, `bail!`, `anyhow!`, `ensure!` and `usage(…)`; of `.context(…)`, which names what the error below it
//! is about, only that it does not begin as a sentence does. A template that is placeholders alone hands on another's error.

mod rule;
mod templates;

use anyhow::Result;

use crate::finding::Finding;
use crate::workspace::{Workspace, files, is_rust, is_test_file};

pub use rule::faults;
pub use templates::{Template, Use};

/// Crates whose errors no user of schedlab reads: for its developers only.
const NOT_SHOWN: &[&str] = &["lint", "docs", "selfbench", "elevator-laws"];

/// Every error of the workspace that is not in the form.
pub fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for krate in workspace.crates()? {
        if NOT_SHOWN.contains(&krate.name.as_str()) {
            continue;
        }
        for path in files(&krate.dir.join("src"), &is_rust)? {
            if is_test_file(&path) {
                continue;
            }
            for template in templates::of_file(&path)? {
                for fault in faults(&template) {
                    let text = format!("an error {fault}: {:?}", template.text);
                    found.push(Finding { path: workspace.relative(&path), line: template.line, text });
                }
            }
        }
    }
    Ok(found)
}
