//! Reads the book and the pages beside it, so that tests can hold them against the tree and the
//! programs.
//!
//! A page names files, anchors, options and commands, and all of them change while the page stays.
//! The tests of this crate follow every link; each program parses the command lines that the pages
//! show with its own parser (`Page::commands`); generated pages are compared with what the tables
//! say now (`check`).
#![forbid(unsafe_code)]

mod command;
mod generated;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

pub use command::Command;
pub use generated::check;

/// Pages that are not part of the book.
const BESIDE: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "kernel/README.md",
];

/// A page with its text.
#[derive(Debug)]
pub struct Page {
    /// From the repository's root, e.g. `docs/src/decide/tune.md`.
    pub path: PathBuf,
    /// The text as it is in the file.
    pub text: String,
}

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the crate is two levels below the root")
}

/// Every page: the book's, in the order of their paths, then those beside it.
pub fn pages() -> Vec<Page> {
    let root = root();
    let mut paths = Vec::new();
    collect(&root, Path::new("docs/src"), &mut paths);
    paths.sort();
    paths.extend(BESIDE.iter().map(PathBuf::from));
    let page = |path: PathBuf| {
        let text = std::fs::read_to_string(root.join(&path));
        Page { text: text.unwrap_or_else(|error| panic!("{}: {error}", path.display())), path }
    };
    paths.into_iter().map(page).collect()
}

fn collect(root: &Path, below: &Path, paths: &mut Vec<PathBuf>) {
    let dir = std::fs::read_dir(root.join(below))
        .unwrap_or_else(|error| panic!("{}: {error}", below.display()));
    for entry in dir {
        let path = below.join(entry.expect("the directory can be read").file_name());
        if root.join(&path).is_dir() {
            collect(root, &path, paths);
        } else if path.extension().is_some_and(|ext| ext == "md") {
            paths.push(path);
        }
    }
}

impl Page {
    fn events(&self) -> Parser<'_> {
        Parser::new_ext(&self.text, Options::ENABLE_TABLES)
    }

    /// The targets of all links and images.
    pub fn links(&self) -> Vec<String> {
        let target = |event| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some(dest_url.into_string())
            }
            _ => None,
        };
        self.events().filter_map(target).collect()
    }

    /// The anchors of its headings, as mdBook and GitHub make them.
    pub fn anchors(&self) -> BTreeSet<String> {
        let (mut anchors, mut heading): (BTreeSet<String>, Option<String>) =
            (BTreeSet::new(), None);
        for event in self.events() {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(text) | Event::Code(text) => {
                    heading.iter_mut().for_each(|heading| heading.push_str(&text))
                }
                Event::End(TagEnd::Heading(_)) => {
                    let anchor =
                        anchor_of(&heading.take().expect("a heading begins before it ends"));
                    let mut unique = anchor.clone();
                    let mut repeated = 0;
                    while !anchors.insert(unique.clone()) {
                        repeated += 1;
                        unique = format!("{anchor}-{repeated}");
                    }
                }
                _ => {}
            }
        }
        anchors
    }

    /// How many headings of the first level it has; a page of the book has one.
    pub fn nr_titles(&self) -> usize {
        let is_title = |event: &Event| {
            matches!(event, Event::Start(Tag::Heading { level: HeadingLevel::H1, .. }))
        };
        self.events().filter(is_title).count()
    }

    /// The text of its code blocks.
    pub fn code_blocks(&self) -> Vec<String> {
        let (mut blocks, mut inside) = (Vec::new(), false);
        for event in self.events() {
            match event {
                Event::Start(Tag::CodeBlock(_)) => {
                    blocks.push(String::new());
                    inside = true;
                }
                Event::End(TagEnd::CodeBlock) => inside = false,
                Event::Text(text) if inside => {
                    blocks.last_mut().expect("a block has begun").push_str(&text)
                }
                _ => {}
            }
        }
        blocks
    }

    /// The command lines of `program` that its code blocks show.
    pub fn commands(&self, program: &str) -> Vec<Command> {
        self.code_blocks().iter().flat_map(|block| command::in_block(block, program)).collect()
    }

    /// The commands of `program` that its running text names, perhaps shortened.
    pub fn mentions(&self, program: &str) -> Vec<Command> {
        self.code_spans().iter().filter_map(|code| command::mention(code, program)).collect()
    }

    /// What its running text and tables show as code.
    pub fn code_spans(&self) -> Vec<String> {
        let code = |event| match event {
            Event::Code(code) => Some(code.into_string()),
            _ => None,
        };
        self.events().filter_map(code).collect()
    }
}

fn anchor_of(heading: &str) -> String {
    let kept = |c: char| match c {
        '_' | '-' => Some(c),
        c if c.is_alphanumeric() => Some(c.to_ascii_lowercase()),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    };
    heading.trim().chars().filter_map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Page {
        Page { path: "docs/src/page.md".into(), text: text.into() }
    }

    #[test]
    fn links_are_found_in_text_and_tables_and_not_in_code() {
        let page =
            page("[a](b.md#c) `[no](x.md)`\n\n| t |\n|---|\n| ![p](p.png) |\n\n    [no](y.md)\n");
        assert_eq!(page.links(), ["b.md#c", "p.png"]);
    }

    #[test]
    fn anchors_are_those_of_mdbook_and_repeated_headings_are_numbered() {
        let page = page("# What `--fs` does (csv)\n## Limits\n## Limits\n");
        assert_eq!(Vec::from_iter(page.anchors()), ["limits", "limits-1", "what---fs-does-csv"]);
    }
}
