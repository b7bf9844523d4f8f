//! Shared by the end-to-end tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use testbed::{Directory, skip};

/// `SCHEDLAB_UNDER_ATTACK` replaces the built one (see `attacks`).
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("SCHEDLAB_UNDER_ATTACK")
        .unwrap_or_else(|| env!("CARGO_BIN_EXE_schedlab").into())
        .into()
}

/// The kernel of the tests, unless they name another: one to build, and known figures.
pub(crate) const KERNEL: &str = "debian:6.1";
pub(crate) const KERNEL_VARIABLE: &str = "SCHEDLAB_KERNEL";

pub(crate) struct Lab {
    pub(crate) dir: Directory,
}

impl Lab {
    pub(crate) fn new() -> Lab {
        Lab { dir: Directory::new() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// `words` are split at white space; see [`word`].
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = Command::new(binary());
        command
            .args(split(words))
            .env("SCHEDLAB_STATE_DIR", self.state())
            .env("NO_COLOR", "1")
            .env(KERNEL_VARIABLE, KERNEL)
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &str) -> Ran {
        Ran::from(self.command(words).output().unwrap())
    }

    pub(crate) fn start(&self, words: &str) -> Child {
        self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

const SPACE: &str = "\u{1}";

/// Encodes a path that may contain spaces for [`Lab::command`].
pub(crate) fn word(path: &Path) -> String {
    path.display().to_string().replace(' ', SPACE)
}

pub(crate) fn split(words: &str) -> impl Iterator<Item = String> {
    words.split_whitespace().map(|word| word.replace(SPACE, " "))
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        Ran {
            status: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn expect_status(self, status: i32) -> Ran {
        assert_eq!(self.status, Some(status), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// A stalled disk can invalidate short trials, and with them the verdict (status 3), which is
    /// not this test's concern.
    #[track_caller]
    pub(crate) fn expect_measured(self) -> Ran {
        assert!(
            matches!(self.status, Some(0 | 3)),
            "stdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }

    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Ran {
        for word in words {
            assert!(
                self.stderr.contains(word),
                "expected {word:?} on standard error:\n{}",
                self.stderr
            );
        }
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}\n{}", self.stdout, self.stderr))
    }
}

/// Checks it against the published schema; without Python's jsonschema, only reads it.
#[track_caller]
pub(crate) fn valid_analysis(file: &Path) -> serde_json::Value {
    let complaints = against_schema(file);
    assert!(
        complaints.as_ref().is_none_or(String::is_empty),
        "{}: {}",
        file.display(),
        complaints.unwrap_or_default()
    );
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Debian's own, for which scripts/need installs modules.
pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// Otherwise skips this part of the test.
#[must_use]
#[track_caller]
pub(crate) fn has_python(module: &str) -> bool {
    let found = Command::new(PYTHON).args(["-c", &format!("import {module}")]).output();
    let found = found.is_ok_and(|ran| ran.status.success());
    if !found {
        skip(&format!("{PYTHON} with {module} needed (scripts/need test)"));
    }
    found
}

/// One violation per line; None if it cannot be checked.
pub(crate) fn against_schema(file: &Path) -> Option<String> {
    const CHECK: &str = "import json, sys, jsonschema\n\
        schema, file = (json.load(open(name)) for name in sys.argv[1:])\n\
        for error in jsonschema.Draft202012Validator(schema).iter_errors(file): print(error.json_path, error.message[:200])";
    if !has_python("jsonschema") {
        return None;
    }
    let schema =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/reference/analysis.schema.json");
    let output = Command::new(PYTHON).args(["-c", CHECK, schema]).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `$SCHEDLAB_CACHE_DIR`, the user's, or that of `guest`'s tests. Without one a test is skipped, or
/// fails if every test must run.
#[must_use]
pub(crate) fn kernel_cache() -> Option<PathBuf> {
    let own = std::env::var_os("SCHEDLAB_CACHE_DIR").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/schedlab"));
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kernels");
    // A kernel's command line cannot contain paths with blanks.
    let is_usable = |dir: &PathBuf| {
        !dir.display().to_string().contains(char::is_whitespace) && plain_kernel(dir).is_some()
    };
    let found = [own, home, Some(built)].into_iter().flatten().find(is_usable);
    if found.is_none() {
        skip(
            "the kernel arena's kernel needed, in a directory without blanks (schedlab kernel build)",
        );
    }
    found
}

/// The directory of the tests' kernel in a cache.
pub(crate) fn plain_kernel(cache: &Path) -> Option<PathBuf> {
    kernel_in(cache, KERNEL)
}

/// The directory of a source's kernel without patch or checks in a cache.
pub(crate) fn kernel_in(cache: &Path, source: &str) -> Option<PathBuf> {
    any_kernel(cache, |about| {
        about["source"] == source && about["debug"] == false && about["hz"].is_null()
    })
}

/// The directory of a kernel without patch whose record satisfies `wanted`.
fn any_kernel(cache: &Path, wanted: impl Fn(&serde_json::Value) -> bool) -> Option<PathBuf> {
    let kernels = fs::read_dir(cache.join("kernels")).ok()?.flatten().map(|entry| entry.path());
    kernels.into_iter().find(|dir| {
        let text = fs::read_to_string(dir.join("kernel.json")).unwrap_or_default();
        let about: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        about["patches"] == serde_json::json!([]) && wanted(&about)
    })
}

/// The newest kernel that the conformance table covers.
pub(crate) const NEWEST: &str = "debian:7.3";

/// A cache that has the kernel for CPU experiments with several CPUs.
pub(crate) fn kernel_with_cpus() -> Option<PathBuf> {
    kernel_cache().filter(|cache| {
        any_kernel(cache, |about| {
            about["source"] == NEWEST && about["hz"] == 1000 && about["smp"] == true
        })
        .is_some()
    })
}

/// The tests' kernel and newer ones, those that are in a cache: `make kernels` builds one, `make
/// soak` all.
pub(crate) fn kernels_in(cache: &Path) -> Vec<&'static str> {
    let releases = [KERNEL, "debian:6.12", "debian:7.2", NEWEST];
    releases.into_iter().filter(|source| kernel_in(cache, source).is_some()).collect()
}

/// The process that does the work of a CPU-arena trial.
pub(crate) fn worker(schedlab: u32) -> Option<u32> {
    let threads = fs::read_dir(format!("/proc/{schedlab}/task")).ok()?.flatten();
    let children =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let all: String = children.collect();
    all.split_whitespace().filter_map(|pid| pid.parse().ok()).find(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == b"cpu-work")
    })
}

pub(crate) fn trials(dir: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(dir.join("results.jsonl")).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|line| line["kind"] == "trial")
        .collect()
}
