//! The kernel of a variant: source and patches.
//!
//! Patches follow the scheduler's name: `kyber@my.patch` is a file, `kyber@DIR` a series, and
//! `kyber@DIR#3` its first three patches. A series is a quilt `series` file (one name per line, `#`
//! starts a comment), otherwise the directory's `*.patch` files in alphabetical order. The
//! attribute `kernel` selects another source.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use guest::{Request, Source};
use machine::files::Bounded;
use text::limits::{SERIES_BYTES, SERIES_PATCHES};

use crate::failure::usage;

const SERIES: &str = "series";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KernelChoice {
    /// None: the plan's.
    pub source: Option<Source>,
    /// The patches as written.
    pub word: Option<String>,
    /// In order of application.
    pub patches: Vec<PathBuf>,
}

impl KernelChoice {
    /// Parses the text after `@` and the attribute `kernel`.
    pub fn of(word: Option<&str>, source: Option<&str>) -> Result<KernelChoice> {
        Ok(KernelChoice {
            source: source.map(read_source).transpose()?,
            word: word.map(str::to_owned),
            patches: word.map_or(Ok(Vec::new()), patches)?,
        })
    }

    /// What is to be built: of `source`, the plan's, unless it has its own.
    pub(crate) fn request(&self, source: &Source) -> Request {
        Request {
            source: self.source.as_ref().unwrap_or(source).clone(),
            patches: self.patches.clone(),
            ..Request::default()
        }
    }

    /// Identifies the kernel in plans and results files.
    #[must_use]
    pub fn label(&self) -> String {
        let source =
            self.source.as_ref().map_or_else(String::new, |source| format!(" of {source}"));
        let patches = self.word.as_ref().map_or_else(String::new, |word| format!(" with {word}"));
        format!("release{source}{patches}")
    }

    /// None for an unpatched Debian kernel.
    pub(crate) fn built(&self) -> Option<String> {
        let Some(Source::Directory(tree)) = &self.source else {
            return self.word.as_ref().map(|patches| format!("a kernel with {patches:?}"));
        };
        let with = self.word.as_ref().map_or_else(String::new, |word| format!(" with {word:?}"));
        Some(format!("the directory {:?}{with}", tree.display().to_string()))
    }
}

/// On the command line `debian/6.12` means `debian:6.12`, as a colon ends a value.
fn read_source(word: &str) -> Result<Source> {
    let word = word
        .strip_prefix("debian/")
        .map_or_else(|| word.to_owned(), |version| format!("debian:{version}"));
    source(&word)
}

/// The source that a word names, else `$SCHEDLAB_KERNEL` or the default.
///
/// # Errors
/// Wrong usage: the word is no source.
pub fn usual_source(word: Option<&str>) -> Result<Source> {
    match word {
        Some(word) => source(word),
        None => Source::usual().map_err(|error| usage(format!("SCHEDLAB_KERNEL: {error}"))),
    }
}

pub fn source(word: &str) -> Result<Source> {
    word.parse().map_err(|error: guest::Error| usage(error.to_string()))
}

/// Splits `DIR#3`. A file of that exact name takes precedence.
fn split(word: &str) -> (&str, Option<&str>) {
    match word.rsplit_once('#') {
        Some((path, number)) if !Path::new(word).exists() => (path, Some(number)),
        _ => (word, None),
    }
}

#[must_use]
pub fn path_of(word: &str) -> &Path {
    Path::new(split(word).0)
}

/// A missing file is reported only when it is read.
fn patches(word: &str) -> Result<Vec<PathBuf>> {
    let (path, number) = split(word);
    let path = Path::new(path);
    if !path.is_dir() && number.is_none() {
        return Ok(vec![path.to_owned()]);
    }
    let mut all = series(path)?;
    if let Some(number) = number {
        let count =
            number.parse::<usize>().ok().filter(|count| *count <= all.len()).ok_or_else(|| {
                usage(format!(
                    "{word}: {} has {} patches; write #0 to #{} behind it",
                    path.display(),
                    all.len(),
                    all.len()
                ))
            })?;
        all.truncate(count);
    }
    Ok(all)
}

/// The patches of a series, given its directory or `series` file. All must be below the directory.
pub fn series(path: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |cause: std::io::Error| {
        usage(format!("{}: cannot read the series: {cause}", path.display()))
    };
    let (dir, list) = match path.is_dir() {
        true => (path, path.join(SERIES)),
        false => (path.parent().unwrap_or(Path::new("")), path.to_owned()),
    };
    let found = if list.is_file() {
        let text = SERIES_BYTES.read_text_file(&list).map_err(unreadable)?;
        listed(&list, dir, &text)?
    } else {
        let mut found: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(dir).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?.path();
            if entry
                .extension()
                .is_some_and(|extension| extension == "patch" || extension == "diff")
                && entry.is_file()
            {
                found.push(entry);
            }
        }
        found.sort();
        found
    };
    if found.is_empty() {
        return Err(usage(format!(
            "{}: holds no patch (expected a file series, or files NAME.patch); name the directory of a series",
            path.display()
        )));
    }
    SERIES_PATCHES
        .check(found.len())
        .map_err(|error| usage(format!("{}: {error}", path.display())))?;
    Ok(found)
}

fn listed(list: &Path, dir: &Path, text: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split(" #").next().unwrap_or_default().trim();
        // Options such as -p1 follow the name.
        let mut words = line.split_whitespace();
        let Some(name) = words.next().filter(|name| !name.starts_with('#')) else { continue };
        if words.any(|option| option.starts_with("-p") && option != "-p1" || option == "-R") {
            return Err(usage(format!(
                "{}: line {number}: patches are applied with -p1 only (found {line:?}); regenerate {name} from the parent of the tree",
                list.display()
            )));
        }
        let outside = Path::new(name)
            .components()
            .any(|part| !matches!(part, std::path::Component::Normal(_)));
        if outside {
            return Err(usage(format!(
                "{}: line {number}: {name:?} is outside the directory; correct the series",
                list.display()
            )));
        }
        let file = dir.join(name);
        if !file.is_file() {
            return Err(usage(format!(
                "{}: line {number}: patch {} not found",
                list.display(),
                file.display()
            )));
        }
        found.push(file);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(dir.path().join(name), text).unwrap();
        }
        dir
    }

    fn names(word: &str) -> Vec<String> {
        let choice = KernelChoice::of(Some(word), None).unwrap();
        choice
            .patches
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn a_word_is_a_file_a_series_or_the_first_patches_of_one() {
        let dir = dir(&[
            ("b.patch", ""),
            ("a.patch", ""),
            ("c.diff", ""),
            ("notes.txt", ""),
            ("d#1", ""),
        ]);
        let word = dir.path().display().to_string();
        assert_eq!(names(&word), ["a.patch", "b.patch", "c.diff"]);
        assert_eq!(names(&format!("{word}#2")), ["a.patch", "b.patch"]);
        assert_eq!(names(&format!("{word}#0")), [""; 0]);
        assert_eq!(names(&format!("{word}/b.patch")), ["b.patch"]);
        assert_eq!(names(&format!("{word}/d#1")), ["d#1"], "a file may have such a name");
        for number in ["4", "-1", "x", ""] {
            let refused =
                KernelChoice::of(Some(&format!("{word}#{number}")), None).unwrap_err().to_string();
            assert!(refused.contains("has 3 patches"), "{refused}");
        }
    }

    #[test]
    fn a_series_file_decides_the_order_and_cannot_lead_outside() {
        let dir = dir(&[
            ("series", "# mine\nb.patch -p1\n\na.patch # last\n"),
            ("a.patch", ""),
            ("b.patch", ""),
        ]);
        assert_eq!(names(&dir.path().display().to_string()), ["b.patch", "a.patch"]);
        assert_eq!(names(&format!("{}/series#1", dir.path().display())), ["b.patch"]);
        for (text, says) in [
            ("../x.patch\n", "outside"),
            ("/etc/passwd\n", "outside"),
            ("none.patch\n", "none.patch not found"),
            ("a.patch -p0\n", "-p1 only"),
            ("# nothing\n", "holds no patch"),
        ] {
            fs::write(dir.path().join("series"), text).unwrap();
            let refused = series(dir.path()).unwrap_err().to_string();
            assert!(refused.contains(says), "{text}: {refused}");
        }
    }

    #[test]
    fn a_kernel_of_its_own_is_named_with_a_slash_where_a_colon_ends_a_value() {
        let choice = KernelChoice::of(None, Some("debian/6.12")).unwrap();
        assert_eq!(choice.source, Some(Source::Debian("6.12".to_owned())));
        assert_eq!(choice.label(), "release of debian:6.12");
        assert_eq!(KernelChoice::default().label(), "release");
        assert!(KernelChoice::of(None, Some("fedora:40")).is_err());
    }
}
