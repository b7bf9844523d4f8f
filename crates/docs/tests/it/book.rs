//! The book as a whole: links lead somewhere, every page is in the table of contents, and what
//! pages name exists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use docs::{Page, pages, root};

const SUMMARY: &str = "docs/src/SUMMARY.md";

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                assert!(normal.pop(), "{} leaves the repository", path.display())
            }
            Component::CurDir => {}
            part => normal.push(part),
        }
    }
    normal
}

fn is_of_the_book(path: &Path) -> bool {
    path.starts_with("docs/src")
}

/// What is wrong with a link of a page, if anything.
fn fault(page: &Page, link: &str, anchors: &BTreeMap<PathBuf, BTreeSet<String>>) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match target {
        "" => page.path.clone(),
        target => normal(&page.path.parent().expect("a page is a file").join(target)),
    };
    if !root().join(&target).exists() {
        return Some(format!("{} does not exist", target.display()));
    }
    if is_of_the_book(&page.path) && !is_of_the_book(&target) {
        return Some(format!(
            "{} is not part of the book; name the file as code instead",
            target.display()
        ));
    }
    let known = anchors.get(&target);
    match (anchor, known) {
        ("", _) => None,
        (anchor, Some(known)) if known.contains(anchor) => None,
        (anchor, known) => {
            Some(format!("{} has no heading #{anchor}; it has {known:?}", target.display()))
        }
    }
}

#[test]
fn every_link_leads_to_a_page_and_a_heading_that_exist() {
    let pages = pages();
    let anchors = pages.iter().map(|page| (page.path.clone(), page.anchors())).collect();
    let faults: Vec<String> = pages
        .iter()
        .flat_map(|page| page.links().into_iter().map(move |link| (page, link)))
        .filter_map(|(page, link)| {
            Some(format!("{}: {link}: {}", page.path.display(), fault(page, &link, &anchors)?))
        })
        .collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn a_link_to_a_missing_page_heading_or_to_outside_of_the_book_is_a_fault() {
    let page = Page { path: "docs/src/decide/tune.md".into(), text: String::new() };
    let anchors = BTreeMap::from([(page.path.clone(), BTreeSet::from(["budget".to_owned()]))]);
    for link in ["gone.md", "#nowhere", "tune.md#nowhere", "../../../README.md"] {
        assert!(fault(&page, link, &anchors).is_some(), "{link}");
    }
    for link in ["tune.md", "#budget", "tune.md#budget", "https://example.org/gone.md"] {
        assert_eq!(fault(&page, link, &anchors), None, "{link}");
    }
}

#[test]
fn every_page_of_the_book_is_in_the_table_of_contents_and_has_one_title() {
    let pages = pages();
    let of_the_book = || pages.iter().filter(|page| is_of_the_book(&page.path));
    let summary =
        of_the_book().find(|page| page.path == Path::new(SUMMARY)).expect("the book has a summary");
    let listed: BTreeSet<PathBuf> =
        summary.links().iter().map(|link| Path::new("docs/src").join(link)).collect();
    let unlisted: Vec<_> = of_the_book()
        .map(|page| &page.path)
        .filter(|path| *path != Path::new(SUMMARY) && !listed.contains(*path))
        .collect();
    assert!(unlisted.is_empty(), "not in {SUMMARY}: {unlisted:?}");
    let untitled: Vec<_> = of_the_book()
        .filter(|page| page.path != Path::new(SUMMARY) && page.nr_titles() != 1)
        .map(|page| &page.path)
        .collect();
    assert!(untitled.is_empty(), "not exactly one title: {untitled:?}");
}

/// Where a path that a page names as code begins.
const TOP: &[&str] = &["plans/", "data/", "scripts/", "crates/", "kernel/", "docs/", "fuzz/"];

#[test]
fn files_and_packages_that_pages_name_exist() {
    let mut faults = Vec::new();
    for page in pages() {
        let blocks = page.code_blocks();
        let lines = blocks.iter().flat_map(|block| block.lines()).map(str::to_owned);
        for line in lines.chain(page.code_spans()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            // Capitals stand for a name; shortest_first.rs is the reader's own file.
            let is_path = |word: &&&str| {
                TOP.iter().any(|top| word.starts_with(top))
                    && !word.contains(|c: char| c.is_ascii_uppercase() || "*[$".contains(c))
                    && !word.ends_with("/shortest_first.rs")
            };
            for file in words.iter().filter(is_path) {
                let file = file.trim_end_matches([',', ';']);
                if !root().join(file).exists() {
                    faults.push(format!("{}: no file {file}: {line}", page.path.display()));
                }
            }
            let packages = words
                .windows(2)
                .filter(|pair| words[0] == "cargo" && pair[0] == "-p")
                .map(|pair| pair[1]);
            for package in packages.filter(|package| !root().join("crates").join(package).exists())
            {
                faults.push(format!("{}: no crate {package}: {line}", page.path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Files whose comments and messages may name a page.
fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir)
        .expect("a directory of the repository")
        .map(|entry| entry.expect("readable"))
    {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_none_or(|ext| {
            ["rs", "c", "h", "toml", "sh", "patch", "html"].iter().any(|one| ext == *one)
        }) {
            found.push(path);
        }
    }
}

#[test]
fn paths_of_the_map_exist() {
    let pages = pages();
    let map = pages
        .iter()
        .find(|page| page.path == Path::new("ARCHITECTURE.md"))
        .expect("there is a map");
    let is_path =
        |word: &String| word.contains('/') && !word.contains(' ') && !word.contains("NAME");
    let exists =
        |word: &String| root().join(word).exists() || root().join("crates").join(word).exists();
    let missing: Vec<String> =
        map.code_spans().into_iter().filter(|word| is_path(word) && !exists(word)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn pages_that_the_sources_name_exist() {
    let mut files = Vec::new();
    ["crates", "kernel", "plans", "scripts"]
        .iter()
        .for_each(|dir| sources(&root().join(dir), &mut files));
    // The checks of pages have made-up pages in their tests.
    let is_checked = |file: &&PathBuf| !file.starts_with(root().join("crates/docs"));
    let mut faults = Vec::new();
    for file in files.iter().filter(is_checked) {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        for rest in text.split("docs/").skip(1) {
            let end = rest
                .find(|c: char| !c.is_ascii_alphanumeric() && !"/._-".contains(c))
                .unwrap_or(rest.len());
            let page = rest[..end].trim_end_matches('.');
            if page.ends_with(".md") && !root().join("docs").join(page).exists() {
                faults.push(format!("{}: docs/{page}", file.display()));
            }
        }
    }
    assert!(faults.is_empty(), "pages that do not exist:\n{}", faults.join("\n"));
}

#[test]
fn lines_of_prose_are_at_most_100_columns() {
    // Tables, command lines and generated pages apart: they cannot be wrapped.
    let is_ours = |page: &&Page| {
        let path = &page.path;
        !page.text.contains("<!-- generated")
            && !path.starts_with("kernel")
            && !path.starts_with("docs/src/decisions")
    };
    let mut faults = Vec::new();
    for page in pages().iter().filter(is_ours) {
        let (mut fenced, mut indented) = (false, false);
        for (nr, line) in page.text.lines().enumerate() {
            fenced ^= line.trim_start().starts_with("```");
            indented = line.starts_with("    ") || (indented && line.is_empty());
            let excepted = fenced
                || indented
                || line.starts_with('|')
                || line.contains("](")
                || line.contains("://");
            if !excepted && line.chars().count() > 100 {
                faults.push(format!("{}:{}", page.path.display(), nr + 1));
            }
        }
    }
    assert!(faults.is_empty(), "longer than 100 columns:\n{}", faults.join("\n"));
}
