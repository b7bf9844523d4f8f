//! A gate as JUnit XML: one test case a comparison. Jenkins, GitLab and Azure read it.
//!
//! There is no standard; elements and attributes here are those that all three know. XML 1.0 cannot
//! hold control characters even as references, so they are taken out; everything else is escaped by
//! the template.

use experiment::analysis::Verdict;
use minijinja::{Value, context};

use super::{Gate, basis, changed, effect, word};
use crate::template;
use crate::words::clean;

/// The gate as JUnit XML.
///
/// # Errors
/// When the template fails, which no input should cause.
pub fn junit(gate: &Gate<'_>) -> crate::Result<String> {
    let cases: Vec<Value> = gate
        .comparisons
        .iter()
        .map(|one| {
            let kind = match one.verdict {
                Verdict::Invalid => "error",
                verdict if gate.fails(verdict) => "failure",
                Verdict::Inconclusive => "skipped",
                _ => "",
            };
            context! {
                kind,
                class => text(&format!("{}.{}", gate.plan, one.workload)),
                name => text(&format!("{} {}", one.variant, one.metric)),
                verdict => word(one.verdict),
                message => text(&effect(one)),
            }
        })
        .collect();
    let count = |kind: &str| {
        cases
            .iter()
            .filter(|case| case.get_attr("kind").is_ok_and(|k| k.as_str() == Some(kind)))
            .count()
    };
    let page = context! {
        suite => text(&format!("schedlab gate: {}", gate.plan)),
        against => text(gate.against),
        basis => gate.comparisons.first().map_or("", |one| basis(one.basis)),
        differences => gate.differences.iter().map(|one| text(&changed(one))).collect::<Vec<_>>(),
        tests => cases.len(),
        failures => count("failure"),
        errors => count("error"),
        skipped => count("skipped"),
        cases => &cases,
    };
    Ok(template::fill(&[("junit.xml", include_str!("../templates/junit.xml"))], page)? + "\n")
}

/// What XML can hold.
fn text(text: &str) -> String {
    clean(text).replace(['\u{fffe}', '\u{ffff}'], " ")
}
