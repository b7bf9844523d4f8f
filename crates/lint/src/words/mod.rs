//! The words of the house (`table.rs`), over names, comments, strings, help texts, templates and pages.
//!
//! In Rust and C files, comments and strings are held against the phrases and names against the words of names; everything else is held
//! against the phrases line by line. A quotation or another program's own word has a row in the table of exceptions.

mod table;

use std::path::Path;

use anyhow::{Context, Result};
use regex::{Regex, RegexBuilder};

use crate::finding::Finding;
use crate::lexer::{Kind, pieces};
use crate::workspace::{Workspace, files, read};

pub use table::{EXCEPTIONS, Exception, MODULES, NAMES, Name, PHRASES, Phrase, REMAINING, WHOLE_NAMES};

/// Files that are held against the table: by extension, or by a whole name where there is none.
const READ: &[&str] =
    &["rs", "c", "h", "md", "html", "css", "toml", "sh", "py", "yml", "Makefile", "Kbuild", "snap", "patch"];

/// Files that are not ours to word, and this table itself.
const NOT_OURS: &[&str] = &["crates/lint/", "Cargo.lock", "fuzz/Cargo.lock", "LICENSE-"];

/// A part of every phrase of the table.
const KEYS: &[&str] = &[
    "processor",
    "works",
    "hear",
    "told",
    "whoever",
    "nobody",
    "for ever",
    "grief",
    "mend",
    "right",
    "as you",
    "cost",
    "verdicts",
    "loud",
    "wish",
    "silence",
    "after",
    "furnish",
    "there are",
];

/// What fails: a word in a string, a template or a page, and more words in the comments and names of a directory than [`REMAINING`] has.
pub fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let (mut failures, others): (Vec<_>, Vec<_>) = all(workspace)?.into_iter().partition(is_read_by_users);
    let allowed = |finding: &Finding| REMAINING.iter().find(|(dir, _)| finding.path.to_string_lossy().starts_with(dir));
    for (dir, number) in REMAINING {
        let there: Vec<&Finding> =
            others.iter().filter(|finding| allowed(finding).is_some_and(|row| row.0 == *dir)).collect();
        if there.len() > *number {
            failures.extend(there.into_iter().cloned());
        }
    }
    failures.extend(others.iter().filter(|finding| allowed(finding).is_none()).cloned());
    Ok(failures)
}

fn is_read_by_users(finding: &Finding) -> bool {
    finding.text.starts_with("a string") || finding.text.starts_with("the text")
}

/// Every place where a word of the table stands.
pub fn all(workspace: &Workspace) -> Result<Vec<Finding>> {
    let checker = Checker::new()?;
    let mut found = Vec::new();
    for path in files(&workspace.root, &is_read)? {
        let relative = workspace.relative(&path);
        let name = relative.to_string_lossy();
        if !NOT_OURS.iter().any(|start| name.starts_with(start)) {
            found.extend(checker.check(&relative, &read(&path)?));
        }
    }
    Ok(found)
}

fn is_read(path: &Path) -> bool {
    let kind = path.extension().or(path.file_name()).expect("a file has a name").to_string_lossy().into_owned();
    READ.contains(&kind.as_str())
        || path.extension().is_none() && path.parent().is_some_and(|dir| dir.ends_with("scripts"))
}

#[derive(Debug)]
pub struct Checker {
    phrases: Vec<(Regex, &'static str)>,
    exceptions: Vec<(&'static str, Regex)>,
}

impl Checker {
    pub fn new() -> Result<Checker> {
        let compile = |pattern: &str| {
            RegexBuilder::new(pattern)
                .case_insensitive(true)
                .build()
                .with_context(|| format!("{pattern}: not a pattern"))
        };
        Ok(Checker {
            phrases: PHRASES.iter().map(|row| Ok((compile(row.pattern)?, row.instead))).collect::<Result<_>>()?,
            exceptions: EXCEPTIONS.iter().map(|row| Ok((row.path, compile(row.line)?))).collect::<Result<_>>()?,
        })
    }

    /// The findings in one file; `path` is relative to the root.
    pub fn check(&self, path: &Path, text: &str) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut add = |line: usize, word: &str, instead: &str, what: &str| {
            found.push(Finding {
                path: path.to_path_buf(),
                line,
                text: format!("{what} has the word {word:?}; write {instead:?}"),
            });
        };
        let is_code = path.extension().is_some_and(|extension| ["rs", "c", "h"].iter().any(|code| extension == *code));
        if is_code {
            for piece in pieces(text) {
                match piece.kind {
                    Kind::Name => {
                        if let Some(row) = name_row(piece.text).or_else(|| module_row(piece.text, piece.after)) {
                            add(piece.line, piece.text, row.instead, "a name");
                        }
                    }
                    Kind::Comment => {
                        self.phrases_in(piece.text, &mut |word, to| add(piece.line, word, to, "a comment"))
                    }
                    Kind::Text => self.phrases_in(piece.text, &mut |word, to| add(piece.line, word, to, "a string")),
                }
            }
        } else {
            for (at, line) in text.lines().enumerate() {
                self.phrases_in(line, &mut |word, to| add(at + 1, word, to, "the text"));
            }
        }
        let lines: Vec<&str> = text.lines().collect();
        let name = path.to_string_lossy();
        found.retain(|finding| {
            let line = lines.get(finding.line - 1).copied().unwrap_or_default();
            !self.exceptions.iter().any(|(start, pattern)| name.starts_with(start) && pattern.is_match(line))
        });
        found
    }

    fn phrases_in(&self, text: &str, add: &mut dyn FnMut(&str, &str)) {
        // Nearly every line has none of these, and twenty expressions are slow in a build for tests.
        let lower = text.to_lowercase();
        if !KEYS.iter().any(|key| lower.contains(key)) {
            return;
        }
        for (pattern, instead) in &self.phrases {
            for hit in pattern.find_iter(text) {
                add(hit.as_str(), instead);
            }
        }
    }
}

fn name_row(name: &str) -> Option<&'static Name> {
    let words = words_of(name);
    WHOLE_NAMES
        .iter()
        .find(|row| row.word == name)
        .or_else(|| NAMES.iter().find(|row| is_type_word(row.word, name, &words)))
}

/// A module is named where it is declared and where a path goes through it.
fn module_row(name: &str, after: &str) -> Option<&'static Name> {
    let is_module = after.starts_with("::") || after.starts_with(';');
    MODULES.iter().find(|row| is_module && row.word == name)
}

/// `seen` and `noted` are plain participles in a variable's name; in a type's name they stand for the noun that is missing.
fn is_type_word(word: &str, name: &str, words: &[String]) -> bool {
    let has = words.iter().any(|part| part == word);
    let is_type = name.starts_with(|c: char| c.is_ascii_uppercase());
    has && (is_type || !["seen", "noted", "told", "works"].contains(&word))
}

/// `NeedsCpu`, `needs_cpu` and `NEEDS_CPU` are all `["needs", "cpu"]`.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_lower = false;
    for c in name.chars() {
        if c == '_' {
            was_lower = false;
            words.push(String::new());
            continue;
        }
        if words.is_empty() || c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        words.last_mut().expect("one was just pushed").extend(c.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let checker = Checker::new().expect("the table's patterns compile");
        checker
            .check(Path::new(path), text)
            .into_iter()
            .map(|finding| format!("{}:{}", finding.line, finding.text))
            .collect()
    }

    #[test]
    fn a_planted_word_is_found_in_every_kind_of_place() {
        let planted = [
            ("a/help.rs", "/// Hears which trials come next.\n"),
            ("a/error.rs", "const E: &str = \"two\n processors\";"),
            ("a/name.rs", "fn nr_processors() {}"),
            ("a/kind.rs", "struct TaskSeen;"),
            ("a/whole.rs", "struct Order;"),
            ("a/module.rs", "use crate::kept::Rule;"),
            ("docs/page.md", "A client is told when its last step has completed.\n"),
            ("a/template.html", "<p>nobody</p>"),
            ("kernel/x.c", "/* whoever asks */"),
        ];
        for (path, text) in planted {
            assert_eq!(found(path, text).len(), 1, "{path}: {text}");
        }
        assert_eq!(found("a/error.rs", "const E: &str = \"two\n processors\";")[0].split(':').next(), Some("2"));
    }

    #[test]
    fn words_that_only_look_like_it_pass() {
        let innocent = "// A microprocessor; it works; requests are kept; an ordering; seen twice.\nlet seen = Ordering::Less; fn replace(kept: u8) {}";
        assert_eq!(found("a/b.rs", innocent), Vec::<String>::new());
        assert_eq!(found("a/b.md", "cat /proc/cpuinfo, and what was seen is kept in order\n"), Vec::<String>::new());
    }

    #[test]
    fn every_phrase_has_a_key() {
        for row in PHRASES {
            let pattern = row.pattern.to_lowercase();
            assert!(KEYS.iter().any(|key| pattern.contains(key)), "{pattern}");
        }
    }

    #[test]
    fn names_fall_into_words() {
        assert_eq!(words_of("NeedsCpu2"), ["needs", "cpu2"]);
        assert_eq!(words_of("nr_CPUS"), ["nr", "cpus"]);
    }
}
