//! SECURITY.md: each guarantee names a test that exists and performs the attack.

use std::fs;
use std::path::{Path, PathBuf};

use docs::root;

const ATTACKS: &str = "crates/schedlab/tests/it/attacks";

/// The cells of each row of the tables below headings that begin with `Against`, without heads and
/// rules.
fn guarantees(page: &str) -> Vec<Vec<String>> {
    let sections = page.split("\n## ").filter(|section| section.starts_with("Against"));
    let rows = sections
        .flat_map(str::lines)
        .filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    let cells = rows.map(|line| {
        line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_string()).collect()
    });
    cells.filter(|row: &Vec<String>| row[0] != "guarantee").collect()
}

/// What is between backticks and has `::`.
fn tests_of(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).filter(|span| span.contains("::")).collect()
}

/// The files in which `FILE::TEST` or `CRATE::…::TEST` may be.
fn files_of(first: &str) -> Vec<PathBuf> {
    let attack = root().join(ATTACKS).join(first).with_extension("rs");
    if attack.exists() {
        return vec![attack];
    }
    let (mut found, mut directories) = (Vec::new(), vec![root().join("crates").join(first)]);
    while let Some(dir) = directories.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found
}

/// Whether a file has a test of this name.
fn has_test(path: &Path, name: &str) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_test = |at: usize| {
        lines[..at]
            .iter()
            .rev()
            .take_while(|line| line.starts_with("#["))
            .any(|line| *line == "#[test]")
    };
    let start = format!("fn {name}(");
    lines.iter().enumerate().any(|(at, line)| line.starts_with(&start) && is_test(at))
}

fn exists(test: &str) -> bool {
    let (first, name) =
        (test.split("::").next().unwrap_or_default(), test.rsplit("::").next().unwrap_or_default());
    files_of(first).iter().any(|path| has_test(path, name))
}

#[test]
fn every_guarantee_names_its_attack_and_every_attack_exists() {
    let page = fs::read_to_string(root().join("SECURITY.md")).expect("the page can be read");
    let guarantees = guarantees(&page);
    assert!(guarantees.len() >= 20, "the tables were found: {guarantees:?}");
    for row in &guarantees {
        assert_eq!(row.len(), 2, "a guarantee and its attacks: {row:?}");
        let tests = tests_of(&row[1]);
        assert!(!tests.is_empty(), "no test is named: {row:?}");
        let gone: Vec<_> = tests.iter().filter(|test| !exists(test)).collect();
        assert!(gone.is_empty(), "no such test: {gone:?}");
    }
}

#[test]
fn a_test_that_is_gone_or_is_no_test_is_missed() {
    assert!(exists("texts::the_name_of_a_file_cannot_steer_the_terminal"));
    for gone in [
        "texts::no_such_attack",
        "texts::on_a_terminal",
        "nowhere::the_name_of_a_file_cannot_steer_the_terminal",
    ] {
        assert!(!exists(gone), "{gone}");
    }
    let page = "# S\n\n## Against a plan\n\n| guarantee | attack |\n|---|---|\n| it is bounded | `a::b`, `c::d` |\n\n## Reports\n";
    assert_eq!(guarantees(page), [["it is bounded", "`a::b`, `c::d`"]]);
    assert_eq!(tests_of("`a::b`, `c::d`"), ["a::b", "c::d"]);
}
