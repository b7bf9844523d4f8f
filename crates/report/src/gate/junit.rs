//! JUnit XML with one test case per comparison, for Jenkins, GitLab and Azure.
//!
//! There is no standard; all three support the elements used here. XML 1.0 does not allow control
//! characters, even as references, so they are removed.

use experiment::analysis::Verdict;
use minijinja::{Value, context};

use super::{Gate, basis, changed, effect, word};
use crate::template;
use crate::words::clean;

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

fn text(text: &str) -> String {
    clean(text).replace(['\u{fffe}', '\u{ffff}'], " ")
}
