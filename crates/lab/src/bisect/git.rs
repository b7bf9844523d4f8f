//! A git history as steps: the commits along first parents, each as a difference to the good end's
//! tree.
//!
//! The good end's tree is exported and built once; other steps patch a copy, so only changed files
//! are compiled. git runs in a directory writable only by root, with the repository's hooks and
//! fsmonitor disabled, and itself refuses repositories of other users.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use machine::files::{Bounded, programs};
use text::limits::{BISECT_BYTES, BISECT_STEPS, Limit, PATCH_BYTES};

use crate::failure::usage;

pub fn check_number(steps: usize) -> Result<()> {
    BISECT_STEPS.check(steps).map_err(|error| usage(error.to_string()))
}

#[derive(Debug, Clone)]
pub(super) struct Git {
    dir: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Commit {
    pub(super) id: String,
    pub(super) subject: String,
}

impl Git {
    pub(super) fn open(dir: &Path) -> Result<Git> {
        let dir = dir
            .canonicalize()
            .map_err(|cause| usage(format!("git:{}: cannot find: {cause}", dir.display())))?;
        let git = Git { dir };
        git.said(&["rev-parse", "--git-dir"], &BISECT_BYTES)
            .map_err(|error| usage(format!("{error:#}")))?;
        Ok(git)
    }

    /// `good` and the commits after it up to `bad` along first parents, oldest first.
    pub(super) fn commits(&self, good: &str, bad: &str) -> Result<Vec<Commit>> {
        let (good_id, bad_id) = (self.commit(good)?, self.commit(bad)?);
        if good_id == bad_id {
            return Err(usage(format!(
                "--good {good}, --bad {bad}: the same commit; name two different ones"
            )));
        }
        let range = format!("{good_id}..{bad_id}");
        let list = [
            "log",
            "--first-parent",
            "--reverse",
            "--no-show-signature",
            "--format=%H %P%x00%s",
            &range,
            "--",
        ];
        let text = self.text(&list, &BISECT_BYTES)?;
        let lines: Vec<&str> = text.lines().collect();
        check_number(lines.len())?;
        let parent = |line: &&str| {
            line.split('\0').next().and_then(|ids| ids.split(' ').nth(1)).map(str::to_owned)
        };
        if lines.first().and_then(parent) != Some(good_id.clone()) {
            return Err(usage(format!(
                "--good {good}: does not lead to {bad} along first parents; name an ancestor: git -C {} merge-base {good} {bad}",
                self.dir.display()
            )));
        }
        let commit = |line: &&str| {
            let (ids, subject) = line.split_once('\0').unwrap_or((line, ""));
            Commit {
                id: ids.split(' ').next().unwrap_or_default().to_owned(),
                subject: subject.to_owned(),
            }
        };
        let subject = self.text(
            &["log", "-1", "--no-show-signature", "--format=%s", &good_id, "--"],
            &BISECT_BYTES,
        )?;
        let first = Commit { id: good_id, subject: subject.trim().to_owned() };
        Ok(std::iter::once(first).chain(lines.iter().map(commit)).collect())
    }

    pub(super) fn difference(&self, from: &str, to: &str) -> Result<Vec<u8>> {
        let plain =
            ["--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index"];
        let words =
            [&["diff"], plain.as_slice(), &["--src-prefix=a/", "--dst-prefix=b/", from, to, "--"]]
                .concat();
        self.said(&words, &PATCH_BYTES)
    }

    pub(super) fn export(&self, id: &str, to: &Path) -> Result<()> {
        let mut archive = self.command(&["archive", "--format=tar", id]);
        let mut archive = archive.stdout(Stdio::piped()).spawn().context("git: cannot run")?;
        let from = archive.stdout.take().expect("standard output is a pipe");
        let mut tar = programs::helper("tar");
        tar.args(["-x", "--no-same-owner", "--no-same-permissions", "-C"]).arg(to).stdin(from);
        let unpacked = tar.status().context("tar: cannot run")?;
        let written = archive.wait().context("git: lost")?;
        if !(unpacked.success() && written.success()) {
            bail!(
                "{}: cannot write the tree of {id} into {}; is there space?",
                self.dir.display(),
                to.display()
            );
        }
        Ok(())
    }

    fn commit(&self, word: &str) -> Result<String> {
        let wanted = format!("{word}^{{commit}}");
        let words = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
        let id =
            self.text(&words, &BISECT_BYTES).map(|id| id.trim().to_owned()).unwrap_or_default();
        if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(usage(format!(
                "{word:?}: no commit of {}; name a revision of it",
                self.dir.display()
            )));
        }
        Ok(id)
    }

    fn text(&self, words: &[&str], limit: &'static Limit) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.said(words, limit)?).into_owned())
    }

    fn said(&self, words: &[&str], limit: &'static Limit) -> Result<Vec<u8>> {
        let mut child = self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let child = child
            .as_mut()
            .map_err(|cause| usage(format!("git: cannot run: {cause}; apt-get install git")))?;
        let output = child.stdout.take().expect("standard output is a pipe");
        // If reading stops early, the closed pipe ends git.
        let bytes = limit.read(output);
        let mut message = String::new();
        let errors = child.stderr.take().expect("standard error is a pipe");
        // Non-text messages are ignored.
        let _ = errors.take(4096).read_to_string(&mut message);
        let status = child.wait().context("git: lost")?;
        let bytes = bytes.with_context(|| format!("git {}", words.first().unwrap_or(&"")))?;
        if !status.success() {
            bail!("{}: git: {}", self.dir.display(), message.lines().next().unwrap_or("failed"));
        }
        Ok(bytes)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut git = programs::helper("git");
        // Under sudo, git trusts repositories of the calling user.
        programs::pass_env(&mut git, &["SUDO_UID"]);
        git.args([
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
            "--no-pager",
            "-C",
        ]);
        git.arg(&self.dir).args(words).env("GIT_OPTIONAL_LOCKS", "0").stdin(Stdio::null());
        git
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A repository of four commits with a merge, whose file `x` holds the commit's number; None
    /// without git.
    fn repository() -> Option<tempfile::TempDir> {
        programs::find("git")?;
        let dir = tempfile::tempdir().unwrap();
        let git = |words: &[&str]| {
            let who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
            let mut command = programs::helper("git");
            command
                .current_dir(dir.path())
                .args(who)
                .args(words)
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            assert!(command.status().unwrap().success(), "{words:?}");
        };
        git(&["init", "-q", "-b", "main"]);
        for number in 0..3 {
            fs::write(dir.path().join("x"), format!("{number}\n")).unwrap();
            git(&["add", "x"]);
            git(&["commit", "-q", "-m", &format!("number {number}\n\nmore")]);
        }
        git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
        fs::write(dir.path().join("y"), "side\n").unwrap();
        git(&["add", "y"]);
        git(&["commit", "-q", "-m", "side"]);
        git(&["checkout", "-q", "main"]);
        git(&["merge", "-q", "--no-ff", "-m", "merge", "side"]);
        Some(dir)
    }

    #[test]
    fn commits_are_those_along_first_parents_and_differences_are_patches() {
        let Some(dir) = repository() else { return };
        let git = Git::open(dir.path()).unwrap();
        let commits = git.commits("main~3", "main").unwrap();
        let subjects: Vec<&str> = commits.iter().map(|commit| commit.subject.as_str()).collect();
        assert_eq!(subjects, ["number 0", "number 1", "number 2", "merge"]);
        let patch =
            String::from_utf8(git.difference(&commits[0].id, &commits[3].id).unwrap()).unwrap();
        assert!(patch.contains("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-0\n+2\n"), "{patch}");
        assert!(patch.contains("--- /dev/null\n+++ b/y\n"), "the merge brought it: {patch}");
        let tree = tempfile::tempdir().unwrap();
        git.export(&commits[1].id, tree.path()).unwrap();
        assert_eq!(fs::read_to_string(tree.path().join("x")).unwrap(), "1\n");
    }

    #[test]
    fn ends_that_are_no_way_are_refused_by_what_is_wrong() {
        let Some(dir) = repository() else { return };
        let git = Git::open(dir.path()).unwrap();
        for (good, bad, says) in [
            ("main", "main", "the same commit"),
            ("main", "main~2", "does not lead to"),
            ("side", "main", "does not lead to"),
            ("nowhere", "main", "no commit of"),
            ("--output=/tmp/x", "main", "no commit of"),
        ] {
            let refused = git.commits(good, bad).unwrap_err().to_string();
            assert!(refused.contains(says), "{good} {bad}: {refused}");
        }
        let none = tempfile::tempdir().unwrap();
        assert!(Git::open(none.path()).unwrap_err().to_string().contains("git"));
    }
}
