//! Words and phrases that are not written: a list of words that are nowhere, and a list of phrases
//! whose number may only fall.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use docs::root;

use crate::workspace::{files, has_ending};

/// A row of words.txt.
struct Row {
    phrases: Vec<Vec<&'static str>>,
    instead: &'static str,
}

fn words_of(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect()
}

#[test]
fn words_of_the_list_are_nowhere() {
    let (mut rows, mut exceptions) = (Vec::new(), Vec::new());
    for line in include_str!("words.txt").lines().filter(|line| !line.starts_with('#')) {
        match (line.strip_prefix("except "), line.split_once(" => ")) {
            (Some(part), _) => exceptions.push(part),
            (None, Some((phrases, instead))) => {
                rows.push(Row { phrases: phrases.split(", ").map(words_of).collect(), instead });
            }
            (None, None) => panic!("no => in {line:?}"),
        }
    }
    let phrases: Vec<_> =
        rows.iter().flat_map(|row| row.phrases.iter().map(move |phrase| (phrase, row))).collect();
    let lasts: BTreeSet<&str> =
        phrases.iter().map(|(phrase, _)| *phrase.last().expect("a word")).collect();
    let endings = ["rs", "c", "h", "md", "html", "css", "toml", "sh", "py", "yml", "snap"];
    let is_read =
        |path: &&PathBuf| has_ending(path, &endings) && !path.starts_with("./crates/docs/tests");
    let mut faults = Vec::new();
    for path in files(".").iter().filter(is_read) {
        let text =
            std::fs::read_to_string(root().join(path)).unwrap_or_default().to_ascii_lowercase();
        for (at, line) in text.lines().enumerate() {
            let words = words_of(line);
            if !words.iter().any(|word| lasts.contains(word))
                || exceptions.iter().any(|part| line.contains(part))
            {
                continue;
            }
            let found = phrases
                .iter()
                .find(|(phrase, _)| words.windows(phrase.len()).any(|part| part == *phrase));
            if let Some((phrase, row)) = found {
                faults.push(format!(
                    "{}:{}: {}; write {}",
                    path.display(),
                    at + 1,
                    phrase.join(" "),
                    row.instead
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The list of phrases: a number, an expression, and what to write instead.
const PHRASES: &str = "crates/docs/tests/it/phrases.txt";
/// Whose prose is not held to the list: lab books, decisions, and this crate's own lists.
const APART: [&str; 4] = ["research", "docs/decisions", "crates/docs/tests", "./target"];

/// The lines of a file that people read: Markdown without code, comments, and lines with a string.
fn prose(path: &Path, text: &str) -> Vec<(usize, String)> {
    let mut fenced = false;
    let is_read = |line: &&str| {
        let start = line.trim_start();
        if has_ending(path, &["md"]) {
            let is_fence = start.starts_with("```");
            fenced ^= is_fence;
            !fenced && !is_fence
        } else if has_ending(path, &["rs"]) {
            start.starts_with("//") || start.contains('"')
        } else {
            has_ending(path, &["c", "h"]) && (start.starts_with("/*") || start.starts_with('*'))
        }
    };
    let lines = text.lines().enumerate();
    let mut is_read = is_read;
    lines.filter(|(_, line)| is_read(line)).map(|(nr, line)| (nr + 1, line.to_owned())).collect()
}

struct Phrase {
    most: usize,
    /// Alternatives of each word.
    words: Vec<Vec<String>>,
    at_start: bool,
    row: String,
}

impl Phrase {
    fn is_at(&self, words: &[&str], place: usize) -> bool {
        let Some(found) = words.get(place..place + self.words.len()) else { return false };
        (place == 0 || !self.at_start)
            && self.words.iter().zip(found).all(|(any, word)| any.iter().any(|one| one == word))
    }
}

fn phrases(list: &str) -> Vec<Phrase> {
    let rows = list.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let phrase = |line: &str| {
        let (most, row) = line.split_once(' ').expect("a number and words");
        let words = row.split(" => ").next().expect("words").split_whitespace();
        let alternatives = |word: &str| word.split('|').map(str::to_owned).collect();
        Phrase {
            most: most.parse().unwrap_or_else(|_| panic!("no number in {line:?}")),
            at_start: row.starts_with("^ "),
            words: words.filter(|word| *word != "^").map(alternatives).collect(),
            row: row.to_owned(),
        }
    };
    rows.map(phrase).collect()
}

/// The places of each phrase in lines of lower case.
fn places(phrases: &[Phrase], lines: &[(PathBuf, usize, String)]) -> Vec<Vec<String>> {
    let mut by_first: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (nr, phrase) in phrases.iter().enumerate() {
        for word in &phrase.words[0] {
            by_first.entry(word).or_default().push(nr);
        }
    }
    let mut places = vec![Vec::new(); phrases.len()];
    for (path, line_nr, line) in lines {
        let words = words_of(line);
        for (place, word) in words.iter().enumerate() {
            for nr in by_first.get(word).into_iter().flatten() {
                if phrases[*nr].is_at(&words, place) {
                    places[*nr].push(format!("{}:{line_nr}", path.display()));
                }
            }
        }
    }
    places
}

#[test]
fn phrases_of_the_list_become_fewer() {
    let list = std::fs::read_to_string(root().join(PHRASES)).expect("the list");
    let mut lines = Vec::new();
    for path in files(".") {
        let plain = path.strip_prefix(".").unwrap_or(&path).to_owned();
        if APART.iter().any(|apart| plain.starts_with(apart)) {
            continue;
        }
        let text = std::fs::read_to_string(root().join(&path)).unwrap_or_default();
        let text = text.to_ascii_lowercase();
        lines.extend(prose(&plain, &text).into_iter().map(|(nr, line)| (plain.clone(), nr, line)));
    }
    let (mut faults, mut lowered) = (String::new(), list.clone());
    let phrases = phrases(&list);
    for (phrase, places) in phrases.iter().zip(places(&phrases, &lines)) {
        if places.len() > phrase.most {
            let shown = places[..places.len().min(20)].join(" ");
            writeln!(
                faults,
                "{}: {} times, at most {}: {shown}",
                phrase.row,
                places.len(),
                phrase.most
            )
            .expect("a string takes all");
        }
        let (old, new) =
            (format!("{} {}", phrase.most, phrase.row), format!("{} {}", places.len(), phrase.row));
        lowered = lowered.replace(&format!("\n{old}\n"), &format!("\n{new}\n"));
    }
    assert!(faults.is_empty(), "write what stands after =>:\n{faults}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(root().join(PHRASES), lowered).expect("the list can be written");
    }
}

#[test]
fn phrases_are_found_in_prose_and_not_in_code() {
    let list = phrases("# A comment.\n1 is|are beside => with\n2 ^ else it => otherwise\n");
    let find = |name: &str, text: &str| {
        let path = PathBuf::from(name);
        let numbered = prose(&path, text).into_iter();
        let lines: Vec<_> = numbered.map(|(nr, line)| (path.clone(), nr, line)).collect();
        places(&list, &lines).concat()
    };
    assert_eq!(
        find("a.md", "is beside, are beside\n```\nis beside\n```\nelse it, or else it"),
        ["a.md:1", "a.md:1", "a.md:5"]
    );
    assert_eq!(find("a.rs", "// is beside\nis(beside)\nf(\"is beside\")\n"), ["a.rs:1", "a.rs:3"]);
    assert_eq!(find("a.c", "/* is beside\n * is beside\n */\nis(beside);\n"), ["a.c:1", "a.c:2"]);
}
