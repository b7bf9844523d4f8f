//! What the end-to-end tests share: the built binary, a real loop device, a place for files, and a loud skip.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The program under test: the built one, or the one that `SCHEDLAB_UNDER_ATTACK` names (see the tests in `attacks`).
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("SCHEDLAB_UNDER_ATTACK").unwrap_or_else(|| env!("CARGO_BIN_EXE_schedlab").into()).into()
}

/// A temporary directory on a real disk (never tmpfs: loop devices with direct I/O live in it) with a state directory
/// of its own.
pub(crate) struct Lab {
    pub(crate) dir: tempfile::TempDir,
}

impl Lab {
    pub(crate) fn new() -> Lab {
        Lab { dir: tempfile::Builder::new().prefix("schedlab-test-").tempdir_in("/var/tmp").unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// The built binary with this lab's state directory; the words are split at white space, see [`word`].
    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = Command::new(binary());
        command.args(split(words)).env("SCHEDLAB_STATE_DIR", self.state()).env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, words: &str) -> Ran {
        Ran::from(self.command(words).output().unwrap())
    }

    pub(crate) fn start(&self, words: &str) -> Child {
        self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

/// Stands for a space in a word.
const SPACE: &str = "\u{1}";

/// A path outside of the lab, such as one in the repository, as one of the words of [`Lab::command`]: it can have spaces.
pub(crate) fn word(path: &Path) -> String {
    path.display().to_string().replace(' ', SPACE)
}

/// The words of a command.
pub(crate) fn split(words: &str) -> impl Iterator<Item = String> {
    words.split_whitespace().map(|word| word.replace(SPACE, " "))
}

/// What a run of the binary printed, and its exit status.
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

    /// Asserts that the experiment was carried out. On a machine whose disk stalls for a tenth of a second some of a test's few
    /// short trials can be void, and the verdict with them (3): that is another test's matter.
    #[track_caller]
    pub(crate) fn expect_measured(self) -> Ran {
        assert!(matches!(self.status, Some(0 | 3)), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts that standard error holds each of these words.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Ran {
        for word in words {
            assert!(self.stderr.contains(word), "expected {word:?} on standard error:\n{}", self.stderr);
        }
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {}\n{}", self.stdout, self.stderr))
    }
}

/// A loop device of our own over a file of our own; detached when dropped.
pub(crate) struct Loop {
    pub(crate) path: String,
    pub(crate) name: String,
    pub(crate) file: PathBuf,
}

impl Loop {
    pub(crate) fn new(lab: &Lab, name: &str, mib: usize) -> Loop {
        let file = lab.path(name);
        // Real data: holes and unwritten extents are read without any I/O.
        let data: Vec<u8> = (0..mib << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        fs::write(&file, data).unwrap();
        Loop::over(&file)
    }

    pub(crate) fn over(file: &Path) -> Loop {
        let out = Command::new("losetup").args(["-f", "--show", "--direct-io=on"]).arg(file).output().unwrap();
        assert!(out.status.success(), "losetup: {}", String::from_utf8_lossy(&out.stderr));
        let path = String::from_utf8(out.stdout).unwrap().trim().to_owned();
        Loop { name: path.trim_start_matches("/dev/").to_owned(), path, file: file.to_owned() }
    }

    pub(crate) fn queue(&self) -> PathBuf {
        PathBuf::from(format!("/sys/block/{}/queue", self.name))
    }

    pub(crate) fn scheduler(&self) -> String {
        let line = fs::read_to_string(self.queue().join("scheduler")).unwrap();
        line.split(['[', ']']).nth(1).unwrap_or(line.trim()).to_owned()
    }

    /// Reads that it has completed.
    pub(crate) fn reads(&self) -> u64 {
        let stat = fs::read_to_string(format!("/sys/block/{}/stat", self.name)).unwrap();
        stat.split_whitespace().next().unwrap().parse().unwrap()
    }

    pub(crate) fn set(&self, attribute: &str, value: &str) {
        fs::write(self.queue().join(attribute), value).unwrap_or_else(|e| panic!("{attribute}={value}: {e}"));
    }

    /// Every readable file of the queue and its scheduler: what must be the same before and after.
    pub(crate) fn snapshot(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for dir in [self.queue(), self.queue().join("iosched")] {
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                if let Ok(text) = fs::read_to_string(entry.path()) {
                    all.push((entry.path().display().to_string(), text));
                }
            }
        }
        all.sort();
        all
    }
}

impl Drop for Loop {
    /// A test may have detached the device itself; by now its number may be another test's.
    fn drop(&mut self) {
        let over = fs::read_to_string(format!("/sys/block/{}/loop/backing_file", self.name)).unwrap_or_default();
        // The directory of a test's files may be gone before its device.
        if Path::new(over.trim_end().trim_end_matches(" (deleted)")) == self.file {
            let _ = fs::write(self.queue().join("scheduler"), "none");
            let _ = Command::new("losetup").args(["-d", &self.path]).status();
        }
    }
}

/// Whether a test that needs root and these programs can run. If not, it prints why; where every test must run, it fails.
#[must_use]
pub(crate) fn can_run(programs: &[&str]) -> bool {
    let root = fs::metadata("/proc/self").map(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0).unwrap_or(false);
    let mut missing: Vec<String> =
        programs.iter().filter(|program| !installed(program)).map(ToString::to_string).collect();
    if !root {
        missing.push("root".to_owned());
    }
    if missing.is_empty() {
        return true;
    }
    let reason = format!("SKIPPED: this test needs {}", missing.join(", "));
    assert!(std::env::var_os("SCHEDLAB_MUST_RUN_ALL").is_none(), "{reason}");
    eprintln!("{reason}");
    false
}

/// The same for PostgreSQL's server, whose programs are not in PATH.
#[must_use]
pub(crate) fn has_postgresql() -> bool {
    let bin = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let there = bin.into_iter().any(|entry| entry.path().join("bin/initdb").is_file());
    if !there {
        let reason = "SKIPPED: this test needs PostgreSQL (package postgresql)";
        assert!(std::env::var_os("SCHEDLAB_MUST_RUN_ALL").is_none(), "{reason}");
        eprintln!("{reason}");
    }
    there
}

/// A study.json that the published schema allows, read. Without Python's jsonschema it is only read, which is said aloud.
#[track_caller]
pub(crate) fn valid_study(file: &Path) -> serde_json::Value {
    let complaints = against_schema(file);
    assert!(complaints.as_ref().is_none_or(String::is_empty), "{}: {}", file.display(), complaints.unwrap_or_default());
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Debian's own, for which scripts/need installs modules; another one that comes first in PATH lacks them.
pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// What the published schema has against a file: one line each. None where that cannot be checked.
pub(crate) fn against_schema(file: &Path) -> Option<String> {
    const CHECK: &str = "import json, sys, jsonschema\n\
        schema, file = (json.load(open(name)) for name in sys.argv[1:])\n\
        for error in jsonschema.Draft202012Validator(schema).iter_errors(file): print(error.json_path, error.message[:200])";
    let python = |words: &[&str]| Command::new(PYTHON).args(words).output();
    if !python(&["-c", "import jsonschema"]).is_ok_and(|output| output.status.success()) {
        let reason = "SKIPPED: the schema of study.json needs python3-jsonschema";
        assert!(std::env::var_os("SCHEDLAB_MUST_RUN_ALL").is_none(), "{reason}");
        eprintln!("{reason}");
        return None;
    }
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/reference/study.schema.json");
    let output = python(&["-c", CHECK, schema, file.to_str().unwrap()]).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The cache with the laboratory's kernel: `$SCHEDLAB_CACHE_DIR`, the user's own, or the one that the tests of `guest` build into. A
/// test that needs it is skipped with a message where there is none yet; where every test must run, it fails.
#[must_use]
pub(crate) fn kernel_cache() -> Option<PathBuf> {
    let own = std::env::var_os("SCHEDLAB_CACHE_DIR").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/schedlab"));
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kernels");
    // A kernel's command line cannot hold a name with a blank: a cache there is refused.
    let is_usable =
        |dir: &PathBuf| !dir.display().to_string().contains(char::is_whitespace) && plain_kernel(dir).is_some();
    let found = [own, home, Some(built)].into_iter().flatten().find(is_usable);
    if found.is_none() {
        let reason =
            "SKIPPED: this test needs the kernel arena's kernel, in a directory without blanks: schedlab kernel build";
        assert!(std::env::var_os("SCHEDLAB_MUST_RUN_ALL").is_none(), "{reason}");
        eprintln!("{reason}");
    }
    found
}

/// The directory of Debian's 6.1 without patch or checks in a cache.
pub(crate) fn plain_kernel(cache: &Path) -> Option<PathBuf> {
    let kernels = fs::read_dir(cache.join("kernels")).ok()?.flatten().map(|entry| entry.path());
    kernels.into_iter().find(|dir| {
        let text = fs::read_to_string(dir.join("kernel.json")).unwrap_or_default();
        let record: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        record["source"] == "debian:6.1" && record["debug"] == false && record["patches"] == serde_json::json!([])
    })
}

pub(crate) fn installed(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    path.split(':').any(|dir| Path::new(dir).join(program).is_file())
}

/// Waits until something holds; a test that waits forever fails with the sentence.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited a minute until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The process of schedlab's that does the work of a trial of the CPU arena, while there is one.
pub(crate) fn worker(schedlab: u32) -> Option<u32> {
    let threads = fs::read_dir(format!("/proc/{schedlab}/task")).ok()?.flatten();
    let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let all: String = children.collect();
    all.split_whitespace().filter_map(|pid| pid.parse().ok()).find(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == b"cpu-work")
    })
}

/// Trials of the record of an experiment that is on its way or has ended.
pub(crate) fn trials(dir: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(dir.join("record.jsonl")).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|line| line["kind"] == "trial")
        .collect()
}
