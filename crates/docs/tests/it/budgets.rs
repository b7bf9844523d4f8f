//! Budgets of `ARCHITECTURE.md`: lines of each crate, commands, pages and words of the book.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use docs::root;

use crate::workspace::{NOT_SHIPPED, crates, files, has_ending};

fn map() -> String {
    std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("there is a map")
}

/// Lines of a source without its tests.
fn lines_of_source(path: &Path) -> usize {
    let is_test = |part: &str| {
        ["tests", "benches", "examples"].contains(&part) || part.ends_with("_tests.rs")
    };
    let parts = || path.iter().filter_map(|part| part.to_str());
    if !has_ending(path, &["rs"])
        || parts().any(|part| is_test(part) || part == "tests.rs" || part == "crashpoints")
    {
        return 0;
    }
    let text = std::fs::read_to_string(root().join(path)).expect("a source is text");
    text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().lines().count()
}

/// The map has a budget for every crate that is shipped.
#[test]
fn crates_are_within_the_budgets_of_the_map() {
    let map = map();
    assert!(map.lines().count() <= 80, "ARCHITECTURE.md: if it takes more, the layout is wrong");
    let mut budgets = 0;
    for row in map.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (name, budget) = (cells[1].trim_matches('`'), cells[cells.len() - 2].replace(',', ""));
        let Ok(budget) = budget.parse::<usize>() else { continue };
        let dir = if name == "python" { name.to_owned() } else { format!("crates/{name}") };
        let found: usize =
            files(&format!("{dir}/src")).iter().map(|path| lines_of_source(path)).sum();
        assert!(
            found > 0 && found <= budget,
            "{name}: {found} lines of source, {budget} in ARCHITECTURE.md"
        );
        budgets += 1;
    }
    assert_eq!(
        budgets,
        crates().len() - NOT_SHIPPED.len() - 1,
        "each crate that is shipped has a budget"
    );
}

/// The budgets of the whole: its numbers by the word before or after them.
#[derive(Debug, Default)]
struct Budgets {
    commands: usize,
    pages: usize,
    /// Words of a page that is not generated.
    page: usize,
    /// Words of each part of the book.
    parts: BTreeMap<String, usize>,
}

fn budgets(map: &str) -> Budgets {
    let text = map.split_once("those of the whole: at most").expect("the budgets of the whole").1;
    let text = text.split_once("\n\n").expect("the paragraph ends").0;
    let number = |word: &str| word.replace([',', ';', '.'], "").parse::<usize>().ok();
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut budgets = Budgets::default();
    for pair in words.windows(2) {
        match (number(pair[0]), number(pair[1])) {
            (Some(n), None) if pair[1].starts_with("commands") => budgets.commands = n,
            (Some(n), None) if pair[1].starts_with("pages") => budgets.pages = n,
            (Some(n), None) if pair[1].starts_with("words") => budgets.page = n,
            (None, Some(n)) => {
                budgets.parts.insert(pair[0].to_owned(), n);
            }
            _ => {}
        }
    }
    budgets.parts.remove("most");
    budgets.parts.retain(|part, _| root().join("docs/src").join(part).is_dir() || part == "front");
    budgets
}

/// Words of a page: what has a letter or a digit between blanks.
fn count_words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

/// What of a page, named from `docs/src`, is over its budget or belongs to no part.
fn fault(
    page: &str,
    text: &str,
    budgets: &Budgets,
    spent: &mut BTreeMap<String, usize>,
) -> Option<String> {
    let part = page.split_once('/').map_or("front", |(part, _)| part);
    let words = count_words(text);
    *spent.entry(part.to_owned()).or_default() += words;
    if !budgets.parts.contains_key(part) {
        return Some(format!("{page}: a part without a budget"));
    }
    (!text.contains("<!-- generated") && words > budgets.page)
        .then(|| format!("{page}: {words} words, {} in ARCHITECTURE.md", budgets.page))
}

#[test]
fn the_book_and_its_commands_are_within_their_budgets() {
    let budgets = budgets(&map());
    let reference = std::fs::read_to_string(root().join("docs/src/reference/cli.md"))
        .expect("the page of commands");
    let names: BTreeSet<&str> = reference
        .lines()
        .filter_map(|line| line.strip_prefix("## schedlab ")?.split(' ').next())
        .collect();
    assert!(
        !names.is_empty() && names.len() <= budgets.commands,
        "{} commands: {names:?}",
        names.len()
    );
    let pages: Vec<_> = files("docs/src")
        .into_iter()
        .filter(|path| has_ending(path, &["md"]) && !path.ends_with("SUMMARY.md"))
        .collect();
    assert!(
        pages.len() <= budgets.pages,
        "{} pages, {} in ARCHITECTURE.md",
        pages.len(),
        budgets.pages
    );
    let mut spent = BTreeMap::new();
    let mut faults: Vec<String> = Vec::new();
    for path in &pages {
        let text = std::fs::read_to_string(root().join(path)).expect("a page is text");
        let page = path.strip_prefix("docs/src").expect("below the book");
        faults.extend(fault(&page.to_string_lossy(), &text, &budgets, &mut spent));
    }
    for (part, words) in spent {
        let budget = budgets.parts.get(&part).copied().unwrap_or_default();
        if words > budget {
            faults.push(format!("{part}: {words} words, {budget} in ARCHITECTURE.md"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_page_that_is_too_long_or_has_no_part_is_a_fault() {
    let budgets = budgets(
        "those of the whole: at most 25 commands; 45 pages, 900 words on one; front 650,\nreference 9,000.\n\n",
    );
    assert_eq!((budgets.commands, budgets.pages, budgets.page), (25, 45, 900));
    let parts: Vec<_> = budgets.parts.iter().map(|(part, words)| (part.as_str(), *words)).collect();
    assert_eq!(parts, [("front", 650), ("reference", 9000)]);
    let (long, mut spent) = ("word | - ".repeat(901), BTreeMap::new());
    let mut is_fault = |page, text: &str| fault(page, text, &budgets, &mut spent).is_some();
    assert!(is_fault("README.md", &long) && is_fault("new/page.md", "One."));
    assert!(!is_fault("README.md", &long[9..]));
    assert!(!is_fault("reference/cli.md", &format!("<!-- generated -->{long}")));
    assert_eq!(spent["front"], 1801);
}
