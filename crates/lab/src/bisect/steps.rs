//! The steps of a bisection: a patch series, commits of a git tree, or Debian source packages.
//!
//! Step 0 is the good end, the last step the bad one. Patches are copied into the bisection's
//! directory so that the result can be reproduced. The log stores their checksums, and a bisection
//! of edited patches is not continued.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use experiment::plan::Variant;
use machine::files::{Bounded, Dir};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use text::limits::PATCH_BYTES;
use text::{did_you_mean, hex};

use super::git::{Commit, Git, check_number};
use crate::arena::kernel;
use crate::failure::usage;

const PATCHES: &str = "patches";
/// The exported tree of the good end of a git history.
const TREE: &str = "tree";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// A patch file, commit id or package.
    pub name: String,
    /// The first line of a commit's message or a patch's subject.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// Identifies the step: SHA-256 of a patch, a commit id or a package name.
    pub sum: String,
}

#[derive(Debug)]
pub(super) struct Steps {
    pub(super) list: Vec<Step>,
    source: StepSource,
}

#[derive(Debug)]
enum StepSource {
    /// All files of the series, and how many of them the good end includes.
    Patches {
        files: Vec<PathBuf>,
        first: usize,
    },
    Git {
        git: Git,
    },
    Versions,
}

impl Steps {
    /// Parses the command line.
    pub(super) fn of(source: &str, good: Option<&str>, bad: Option<&str>) -> Result<Steps> {
        let steps = if let Some(dir) = source.strip_prefix("git:") {
            of_git(Path::new(dir), good, bad)
        } else if source.starts_with("debian:") {
            of_versions(source, good, bad)
        } else {
            of_patches(source.strip_prefix("patches:").unwrap_or(source), good, bad)
        }?;
        check_number(steps.last())?;
        Ok(steps)
    }

    pub(super) fn last(&self) -> usize {
        self.list.len() - 1
    }

    /// A notice that kernels are built from something other than packages.
    pub(super) fn announced(&self) -> Option<String> {
        match &self.source {
            StepSource::Patches { files, .. } => {
                Some(format!("kernels with {} patches are built", files.len()))
            }
            StepSource::Git { .. } => {
                Some("kernels of the git tree are built, by its own makefiles".to_owned())
            }
            StepSource::Versions => None,
        }
    }

    /// Copies the patches into the directory, or exports the tree of the good end there.
    pub(super) fn copy_into(&self, dir: &Dir) -> Result<()> {
        match &self.source {
            StepSource::Patches { files, .. } => {
                let patches = dir.subdir(PATCHES)?;
                for (number, file) in files.iter().enumerate() {
                    patches.replace(&copied(number, file), &read_patch(file)?)?;
                }
                Ok(())
            }
            StepSource::Git { git } => {
                dir.subdir(PATCHES)?;
                let tree = dir.subdir(TREE)?;
                if tree.names()?.is_empty() {
                    git.export(&self.list[0].sum, tree.path())
                } else {
                    Ok(())
                }
            }
            StepSource::Versions => Ok(()),
        }
    }

    /// The variant that runs `base` on a step's kernel.
    pub(super) fn variant(&self, step: usize, base: &Variant, dir: &Dir) -> Result<Variant> {
        let mut variant = Variant { name: format!("step-{step}"), ..base.clone() };
        let below =
            |name: &str| std::path::absolute(dir.file(name)).map(|path| path.display().to_string());
        match &self.source {
            StepSource::Patches { first, .. } => {
                let count = first + step;
                if count > 0 {
                    variant.scheduler = format!("{}@{}#{count}", base.scheduler, below(PATCHES)?);
                }
            }
            StepSource::Git { git } => {
                variant.tunables.insert(kernel::KERNEL.to_owned(), below(TREE)?);
                if step > 0 {
                    let name = format!("{step}-{}.patch", &self.list[step].sum[..12]);
                    let patches = dir.subdir(PATCHES)?;
                    if !patches.has(&name) {
                        patches.replace(
                            &name,
                            &git.difference(&self.list[0].sum, &self.list[step].sum)?,
                        )?;
                    }
                    variant.scheduler =
                        format!("{}@{}", base.scheduler, below(&format!("{PATCHES}/{name}"))?);
                }
            }
            StepSource::Versions => {
                variant.tunables.insert(kernel::KERNEL.to_owned(), self.list[step].sum.clone());
            }
        }
        Ok(variant)
    }
}

/// The name of a copied patch; its number keeps the order.
fn copied(number: usize, file: &Path) -> String {
    let name =
        file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.+".contains(c) { c } else { '_' };
    let name: String = name.chars().map(plain).take(180).collect();
    format!("{:04}-{}.patch", number + 1, name.trim_end_matches(".patch"))
}

fn read_patch(file: &Path) -> Result<Vec<u8>> {
    PATCH_BYTES
        .read_file(file)
        .with_context(|| format!("{}: cannot read the patch", file.display()))
}

fn of_patches(words: &str, good: Option<&str>, bad: Option<&str>) -> Result<Steps> {
    let mut files: Vec<PathBuf> = Vec::new();
    for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let path = Path::new(word);
        let is_series = path.is_dir() || path.file_name().is_some_and(|name| name == "series");
        match is_series {
            true => files.extend(kernel::series(path)?),
            false if path.is_file() => files.push(path.to_owned()),
            false => {
                return Err(usage(format!(
                    "--source {word}: there is no such directory or patch; expected DIR, PATCH,…, git:DIR or debian:X.Y,debian:X.Z"
                )));
            }
        }
    }
    if files.is_empty() {
        return Err(usage(
            "--source: holds no patch; name a directory of patches, or patches separated by commas",
        ));
    }
    let names: Vec<String> = files
        .iter()
        .map(|file| file.file_name().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    let count = |flag: &str, word: &str| -> Result<usize> {
        let by_number = word.parse::<usize>().ok().filter(|count| *count <= files.len());
        by_number.or_else(|| names.iter().position(|name| name == word).map(|at| at + 1)).ok_or_else(|| {
            usage(format!(
                "{flag} {word}: expected a number of patches from 0 to {}, or the name of a patch{}",
                files.len(),
                did_you_mean(word, names.iter().map(String::as_str))
            ))
        })
    };
    let first = good.map_or(Ok(0), |word| count("--good", word))?;
    let last = bad.map_or(Ok(files.len()), |word| count("--bad", word))?;
    check_order(first, last, &format!("with {first} patches"), &format!("with {last} patches"))?;
    files.truncate(last);
    let mut list = vec![match first {
        0 => Step { name: "no patch".to_owned(), subject: String::new(), sum: "none".to_owned() },
        count => step_of(&files[count - 1])?,
    }];
    for file in &files[first..] {
        list.push(step_of(file)?);
    }
    // The identity covers the patches that the good end includes.
    let mut before = Sha256::new();
    for file in &files[..first] {
        before.update(read_patch(file)?);
    }
    if first > 0 {
        list[0].sum = hex(&before.finalize());
    }
    Ok(Steps { list, source: StepSource::Patches { files, first } })
}

fn step_of(file: &Path) -> Result<Step> {
    let bytes = read_patch(file)?;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]).into_owned();
    let head =
        text.lines().take_while(|line| !line.starts_with("--- ") && !line.starts_with("diff "));
    let subject = head.filter_map(|line| line.strip_prefix("Subject: ")).next().unwrap_or_default();
    Ok(Step {
        name: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        subject: subject.chars().take(200).collect(),
        sum: hex(&Sha256::digest(&bytes)),
    })
}

fn of_git(dir: &Path, good: Option<&str>, bad: Option<&str>) -> Result<Steps> {
    let (Some(good), Some(bad)) = (good, bad) else {
        return Err(usage(
            "--source git: has no default ends; name both, --good REVISION --bad REVISION",
        ));
    };
    let git = Git::open(dir)?;
    let step = |Commit { id, subject }| Step { name: id[..12].to_owned(), subject, sum: id };
    let list = git.commits(good, bad)?.into_iter().map(step).collect();
    Ok(Steps { list, source: StepSource::Git { git } })
}

fn of_versions(words: &str, good: Option<&str>, bad: Option<&str>) -> Result<Steps> {
    let mut versions: Vec<String> = Vec::new();
    for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        match word.parse::<guest::Source>() {
            Ok(guest::Source::Debian(version)) => versions.push(format!("debian:{version}")),
            _ => {
                return Err(usage(format!(
                    "--source {word}: no version of a package; write debian:X.Y, as in debian:6.1,debian:6.12"
                )));
            }
        }
    }
    if let Some(again) = (1..versions.len()).find(|at| versions[..*at].contains(&versions[*at])) {
        return Err(usage(format!(
            "--source: {} is named twice; name each version once, in order",
            versions[again]
        )));
    }
    let at = |flag: &str, word: &str| {
        let named =
            |version: &String| version == word || version.strip_prefix("debian:") == Some(word);
        versions.iter().position(named).ok_or_else(|| {
            let expected = versions.join(", ");
            usage(format!(
                "{flag} {word}: none of the versions of --source (expected one of {expected}); name one of these"
            ))
        })
    };
    let first = good.map_or(Ok(0), |word| at("--good", word))?;
    let last = bad.map_or(Ok(versions.len().saturating_sub(1)), |word| at("--bad", word))?;
    check_order(first, last, &versions[first], &versions[last])?;
    let step = |version: &String| Step {
        name: version.clone(),
        subject: String::new(),
        sum: version.clone(),
    };
    Ok(Steps {
        list: versions[first..=last].iter().map(step).collect(),
        source: StepSource::Versions,
    })
}

fn check_order(first: usize, last: usize, good: &str, bad: &str) -> Result<()> {
    if first == last {
        return Err(usage(format!(
            "--good and --bad: the same step, {good}; name two different ones"
        )));
    }
    if first > last {
        return Err(usage(format!(
            "--good and --bad: the good end ({good}) comes after the bad one ({bad}); to find an improvement, exchange the \
             ends"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn patches(count: usize) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for number in 1..=count {
            fs::write(
                dir.path().join(format!("{number:02}.patch")),
                format!("Subject: change {number}\n--- a/x\n"),
            )
            .unwrap();
        }
        dir
    }

    fn refused(source: &str, good: Option<&str>, bad: Option<&str>) -> String {
        let error = Steps::of(source, good, bad).unwrap_err();
        assert!(crate::failure::is_usage(&error), "{error:#}");
        error.to_string()
    }

    #[test]
    fn a_step_of_a_series_is_the_kernel_with_the_first_patches() {
        let from = patches(5);
        let word = from.path().display().to_string();
        let steps = Steps::of(&word, Some("01.patch"), Some("4")).unwrap();
        let names: Vec<&str> = steps.list.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(
            (names, steps.last()),
            (vec!["01.patch", "02.patch", "03.patch", "04.patch"], 3)
        );
        assert_eq!(steps.list[2].subject, "change 3");
        let to = tempfile::tempdir().unwrap();
        let dir = Dir::open(to.path()).unwrap();
        steps.copy_into(&dir).unwrap();
        let base = experiment::plan::parse_variant("kyber:nr_requests=64").unwrap();
        let variant = |step| steps.variant(step, &base, &dir).unwrap();
        assert_eq!(variant(2).scheduler, format!("kyber@{}/patches#3", to.path().display()));
        let setting = kernel::Setting::of(&variant(2)).unwrap();
        assert_eq!((setting.kernel.patches.len(), setting.nr_requests), (3, Some(64)));
        assert!(setting.kernel.patches[2].ends_with("0003-03.patch"), "{setting:?}");
        let whole = Steps::of(&format!("{word}/02.patch,{word}/01.patch"), None, None).unwrap();
        assert_eq!(
            whole.variant(0, &base, &dir).unwrap().scheduler,
            "kyber",
            "the good end is the kernel itself"
        );
        assert_eq!(whole.list[1].name, "02.patch", "the order is the user's");
    }

    #[test]
    fn versions_are_steps_in_the_order_in_which_they_are_named() {
        let steps = Steps::of("debian:6.1,debian:6.6,debian:6.12", Some("6.6"), None).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let dir = Dir::open(dir.path()).unwrap();
        let base = experiment::plan::parse_variant("bfq").unwrap();
        assert_eq!(steps.last(), 1);
        assert_eq!(steps.variant(1, &base, &dir).unwrap().tunables["kernel"], "debian:6.12");
    }

    #[test]
    fn sources_and_ends_that_make_no_sense_are_refused_by_name() {
        let from = patches(3);
        let word = from.path().display().to_string();
        let empty = tempfile::tempdir().unwrap();
        assert!(refused(&word, Some("2"), Some("2")).contains("the same step"));
        assert!(refused(&word, Some("3"), Some("1")).contains("comes after the bad one"));
        assert!(refused(&word, Some("03.pach"), None).contains("did you mean \"03.patch\""));
        assert!(refused(&word, None, Some("4")).contains("0 to 3"));
        assert!(
            refused(&empty.path().display().to_string(), None, None).contains("holds no patch")
        );
        assert!(refused(",", None, None).contains("holds no patch"));
        assert!(refused("/nowhere", None, None).contains("no such directory or patch"));
        assert!(refused("debian:6.1", None, None).contains("the same step"));
        assert!(refused("debian:6.1,debian:6.1", None, None).contains("named twice"));
        assert!(
            refused("debian:6.1,debian:6.12", Some("5.10"), None).contains("none of the versions")
        );
        assert!(refused("debian:six", None, None).contains("debian:X.Y"));
        assert!(refused("git:/nowhere", Some("a"), None).contains("name both, --good"));
        assert!(refused("git:/nowhere", Some("a"), Some("b")).contains("/nowhere"));
    }

    #[test]
    fn the_name_of_a_copied_patch_is_a_plain_file_in_its_place() {
        assert_eq!(copied(0, Path::new("/x/a b;c.patch")), "0001-a_b_c.patch");
        assert_eq!(copied(11, Path::new("../d.diff")), "0012-d.diff.patch");
        let long = copied(1, Path::new(&"x".repeat(255)));
        assert!(long.len() < 200, "{long}");
    }
}
