//! The user's patches: changed files, and the hunk that does not apply.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use machine::files::{Bounded, programs};
use text::limits::PATCH_BYTES;

use crate::Error;
use crate::child::Run;

#[derive(Debug, Clone)]
pub(crate) struct Text {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

impl Text {
    /// Fails if the patch names a file outside of the tree.
    pub(crate) fn read(path: &Path) -> Result<Text, Error> {
        let bytes = PATCH_BYTES.read_file(path).map_err(|cause| Error::io("read", path, cause))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(name) = HEADERS
                .iter()
                .find_map(|header| line.strip_prefix(header))
                .filter(|name| leaves_tree(name))
            {
                let name = name.trim();
                let why = format!(
                    "line {number} names {name:?}, which is outside of the tree; correct the patch"
                );
                return Err(Error::Patch { patch: path.to_owned(), why });
            }
        }
        Ok(Text { path: path.to_owned(), text })
    }

    /// Existing files only.
    pub(crate) fn changes(&self) -> Vec<PathBuf> {
        let old = self.text.lines().filter_map(|line| line.strip_prefix("--- "));
        let names = old.filter_map(file_of).collect::<Vec<_>>();
        names.into_iter().map(PathBuf::from).collect()
    }

    /// Added to a `Kconfig`, to be enabled.
    pub(crate) fn options(&self) -> Vec<String> {
        let added = self.text.lines().filter_map(|line| line.strip_prefix("+config "));
        added.map(|name| name.trim().to_owned()).collect()
    }

    /// If only C files and no exported symbol change, modules are the same as without the patch.
    pub(crate) fn is_code_alone(&self) -> bool {
        let is_code = |name: &str| {
            let name = name.split('\t').next().unwrap_or_default().trim();
            name == "/dev/null"
                || Path::new(name).extension().is_some_and(|extension| extension == "c")
        };
        let (mut names, mut plain) = (0, true);
        for line in self.text.lines() {
            match HEADERS.iter().find_map(|header| Some((*header, line.strip_prefix(header)?))) {
                Some(("--- " | "+++ ", name)) => {
                    names += 1;
                    plain &= is_code(name);
                }
                // Git's line repeats the names; anything else is unknown.
                Some(("diff --git ", _)) => {}
                Some(_) => plain = false,
                None => plain &= !(line.starts_with(['+', '-']) && line.contains("EXPORT_")),
            }
        }
        plain && names > 0
    }

    pub(crate) fn configures(&self) -> bool {
        self.changes().iter().any(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("Kconfig"))
        })
    }

    /// The error names file, hunk and line.
    pub(crate) fn apply(&self, tree: &Path, stop: &AtomicBool) -> Result<(), Error> {
        let path =
            fs::canonicalize(&self.path).map_err(|cause| Error::io("read", &self.path, cause))?;
        for dry in [true, false] {
            let mut patch = programs::helper("patch");
            patch.args([
                "-p1",
                "--fuzz=0",
                "--forward",
                "--batch",
                "--no-backup-if-mismatch",
                "--reject-file=-",
            ]);
            patch.args(dry.then_some("--dry-run")).arg("-i").arg(&path).arg("-d").arg(tree);
            let said = Run::new(stop).quiet(patch)?;
            if !said.status.success() {
                return Err(Error::Patch {
                    patch: self.path.clone(),
                    why: explain(&self.text, &said.text),
                });
            }
        }
        Ok(())
    }
}

/// Prefixes of file names, in unified and context diffs and git's.
const HEADERS: [&str; 9] = [
    "--- ",
    "+++ ",
    "*** ",
    "Index: ",
    "rename from ",
    "rename to ",
    "copy from ",
    "copy to ",
    "diff --git ",
];

fn leaves_tree(name: &str) -> bool {
    let words = name.split([' ', '\t', '"']).filter(|word| *word != "/dev/null");
    words.into_iter().any(|word| word.starts_with('/') || word.split('/').any(|part| part == ".."))
}

/// The file without its first directory; `None` for a new file.
fn file_of(name: &str) -> Option<&str> {
    let name = name.split('\t').next()?.trim();
    if name == "/dev/null" { None } else { name.split_once('/').map(|(_, name)| name) }
}

/// The first failed hunk in the output of `patch`, with its line in file and patch.
fn explain(patch: &str, said: &str) -> String {
    let mut file = "";
    for line in said.lines() {
        if let Some(name) =
            line.strip_prefix("checking file ").or_else(|| line.strip_prefix("patching file "))
        {
            file = name;
        } else if let Some(rest) = line.strip_prefix("Hunk #") {
            let mut words = rest.split_whitespace();
            let number = words.next().and_then(|number| number.parse::<usize>().ok());
            let at = rest
                .split(" at ")
                .nth(1)
                .and_then(|at| at.split(|c: char| !c.is_ascii_digit()).next());
            if let (Some(number), Some("FAILED"), Some(at)) = (number, words.next(), at) {
                let place = hunk(patch, file, number)
                    .map_or_else(String::new, |line| format!(" (line {line} of the patch)"));
                return format!(
                    "{file}: hunk {number}, at line {at} of the file{place}, finds other lines there than it expects"
                );
            }
        } else if line.starts_with("can't find file to patch") {
            let name = said
                .lines()
                .find_map(|line| line.strip_prefix("|--- "))
                .and_then(file_of)
                .unwrap_or("a file");
            return format!("{name}: the kernel has no such file");
        } else if line.starts_with("Reversed (or previously applied) patch detected") {
            return format!("{file}: it is applied already");
        } else if let Some(rest) = line.strip_prefix("patch: **** ") {
            return rest.to_owned();
        }
    }
    said.lines().last().unwrap_or("patch said nothing").to_owned()
}

/// Where hunk `number` of `file` starts.
fn hunk(patch: &str, file: &str, number: usize) -> Option<usize> {
    let mut within = false;
    let mut seen = 0;
    for (line_number, line) in (1..).zip(patch.lines()) {
        if let Some(name) = line.strip_prefix("+++ ") {
            within = file_of(name) == Some(file);
            seen = 0;
        } else if within && line.starts_with("@@ ") {
            seen += 1;
            if seen == number {
                return Some(line_number);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "\
Two changes.
--- a/block/one.c
+++ b/block/one.c
@@ -1,3 +1,3 @@
 a
-b
+B
 c
@@ -9,3 +9,3 @@
 i
-j
+J
 k
--- /dev/null
+++ b/block/two.c
@@ -0,0 +1 @@
+int two;
";

    fn tree(one: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("block")).unwrap();
        fs::write(dir.path().join("block/one.c"), one).unwrap();
        dir
    }

    fn given(text: &str) -> (tempfile::TempDir, Text) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("two.patch");
        fs::write(&path, text).unwrap();
        let read = Text::read(&path).unwrap();
        (dir, read)
    }

    fn refusal(patch: &str, one: &str) -> String {
        let (_dir, patch) = given(patch);
        let tree = tree(one);
        let error = patch.apply(tree.path(), &AtomicBool::new(false)).unwrap_err().to_string();
        assert_eq!(
            fs::read_to_string(tree.path().join("block/one.c")).unwrap(),
            one,
            "nothing was changed"
        );
        assert_eq!(fs::read_dir(tree.path().join("block")).unwrap().count(), 1, "nothing was left");
        error
    }

    #[test]
    fn a_patch_that_applies_changes_what_it_says() {
        let (_dir, patch) = given(PATCH);
        let tree = tree("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n");
        patch.apply(tree.path(), &AtomicBool::new(false)).unwrap();
        assert_eq!(
            fs::read_to_string(tree.path().join("block/one.c")).unwrap(),
            "a\nB\nc\nd\ne\nf\ng\nh\ni\nJ\nk\n"
        );
        assert_eq!(fs::read_to_string(tree.path().join("block/two.c")).unwrap(), "int two;\n");
        assert_eq!(patch.changes(), [Path::new("block/one.c")]);
    }

    #[test]
    fn the_hunk_that_does_not_apply_is_named_with_its_line() {
        let error = refusal(PATCH, "a\nb\nc\nd\ne\nf\ng\nh\ni\nother\nk\n");
        for part in
            ["two.patch", "block/one.c: hunk 2, at line 9 of the file (line 9 of the patch)"]
        {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn near_lines_are_not_taken_for_the_right_ones() {
        let error = refusal(PATCH, "other\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\n");
        assert!(error.contains("block/one.c: hunk 1, at line 1 of the file"), "{error}");
    }

    #[test]
    fn a_missing_file_a_patch_applied_twice_and_no_patch_at_all_are_reported() {
        let elsewhere = PATCH.replace("block/one.c", "block/none.c");
        assert!(refusal(&elsewhere, "a\n").contains("block/none.c: the kernel has no such file"));
        let twice = refusal(PATCH, "a\nB\nc\nd\ne\nf\ng\nh\ni\nJ\nk\n");
        assert!(twice.contains("block/one.c: it is applied already"), "{twice}");
        let garbage = refusal("not a patch\n", "a\n");
        assert!(garbage.contains("Only garbage was found"), "{garbage}");
    }

    #[test]
    fn a_patch_that_leads_out_of_the_tree_is_refused_when_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.patch");
        let headers = [
            "--- a/../../x",
            "+++ b/block/../../../x",
            "--- /etc/passwd",
            "rename to ../x",
            "diff --git a/x b/../x",
        ];
        for header in headers {
            fs::write(&path, format!("{header}\n")).unwrap();
            let error = Text::read(&path).unwrap_err().to_string();
            assert!(
                error.contains("out.patch")
                    && error.contains("line 1")
                    && error.contains("outside"),
                "{error}"
            );
        }
        fs::write(
            &path,
            "--- /dev/null\t1970-01-01 00:00:00\n+++ b/block/x..y.c\n+#include \"../x.h\"\n",
        )
        .unwrap();
        Text::read(&path).unwrap();
    }

    #[test]
    fn only_patches_of_code_that_exports_nothing_leave_modules_as_they_are() {
        let code = "diff --git a/block/a.c b/block/a.c\n--- a/block/a.c\t2024\n+++ b/block/a.c\n@@ -1 +1 @@\n-a\n+b\n";
        assert!(given(code).1.is_code_alone() && given(PATCH).1.is_code_alone());
        for other in [
            code.replace("a/block/a.c", "a/block/a.h"),
            code.replace("b/block/a.c", "b/block/Kconfig"),
            code.replace("+b", "+EXPORT_SYMBOL_GPL(b);"),
            code.replace("-a", "-EXPORT_SYMBOL(a);"),
            code.replace("@@ -1", "rename from x.c\n@@ -1"),
            format!(
                "{code}--- a/include/linux/x.h\n+++ b/include/linux/x.h\n@@ -1 +1 @@\n-a\n+b\n"
            ),
            format!("{code}Index: x\n"),
            "nothing".to_owned(),
        ] {
            assert!(!given(&other).1.is_code_alone(), "{other}");
        }
    }

    #[test]
    fn options_that_a_patch_adds_are_seen() {
        let (_dir, patch) = given(
            "--- a/block/Kconfig.iosched\n+++ b/block/Kconfig.iosched\n@@ -1 +1,2 @@\n x\n+config IOSCHED_MINE\n",
        );
        assert!(patch.configures());
        assert_eq!(patch.options(), ["IOSCHED_MINE"]);
    }
}
