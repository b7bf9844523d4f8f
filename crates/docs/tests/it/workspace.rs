//! What the compiler does not hold of the tree: the layers of its crates, purity, what only one
//! file may do.

use std::path::{Path, PathBuf};
use std::process::Command;

use docs::root;
use serde_json::Value;

/// A crate, and the crates of the workspace that it may use: only those that stand above it.
const LAYERS: &str = "\
text:
elevator:
flash-model:
properties: elevator
trace: text elevator
sim: text elevator flash-model trace
kernel-model: elevator sim
experiment: text
report: text elevator trace experiment
import: text experiment
testbed:
machine: text elevator
load: text elevator sim machine
recorder: text trace machine
guest: text elevator sim machine
fleet: text experiment machine
lab: text elevator trace sim experiment import machine load recorder guest
selfbench: text elevator properties trace sim experiment machine load guest fleet lab report
schedlab: text elevator trace sim experiment import report machine load recorder guest fleet lab
schedlab-python: text elevator properties sim experiment report machine lab
docs:
";

/// Crates whose result depends on their arguments alone.
const PURE: [&str; 8] =
    ["text", "elevator", "flash-model", "trace", "sim", "experiment", "report", "import"];

/// Crates for developers and for tests.
pub(crate) const NOT_SHIPPED: [&str; 4] = ["docs", "selfbench", "testbed", "kernel-model"];

/// What a line of code may have in some files alone.
struct Rule {
    words: &'static [&'static str],
    holds_for: fn(&str) -> bool,
    allowed: &'static [&'static str],
    instead: &'static str,
}

const RULES: [Rule; 5] = [
    Rule {
        words: &[
            "std::fs",
            "std::thread",
            "std::env",
            "std::net",
            "std::process",
            "std::io",
            "Instant::",
            "SystemTime",
            "HashMap",
            "HashSet",
        ],
        holds_for: |name| PURE.contains(&name),
        allowed: &[],
        instead: "a pure crate gets everything as an argument",
    },
    Rule {
        words: &["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "unsafe trait"],
        holds_for: |_| true,
        allowed: &["/sys.rs", "/sys/"],
        instead: "move it to the module sys, behind a safe function",
    },
    Rule {
        words: &[
            "print!",
            "println!",
            "eprint!",
            "eprintln!",
            "dbg!",
            "stdout()",
            "stderr()",
            "ProgressBar",
            "MultiProgress",
        ],
        holds_for: |name| !NOT_SHIPPED.contains(&name),
        allowed: &[
            "crates/schedlab/src/out.rs",
            "crates/schedlab/src/progress.rs",
            // Lines and JSON for the process that has started this one.
            "crates/schedlab/src/command/settings/keeper.rs",
            "crates/lab/src/role.rs",
            "crates/lab/src/inside.rs",
            "crates/guest/src/supervisor.rs",
            "crates/machine/src/confine/process.rs",
            // Constant texts between fork and exec, into a file in memory.
            "crates/machine/src/sys/before_exec.rs",
        ],
        instead: "give the text to crates/schedlab/src/out.rs, which escapes it",
    },
    Rule {
        words: &[
            "Command::new(",
            "execl(",
            "execle(",
            "execlp(",
            "execv(",
            "execve(",
            "execveat(",
            "execvp(",
            "execvpe(",
            "fexecve(",
            "posix_spawn(",
        ],
        holds_for: |name| !NOT_SHIPPED.contains(&name),
        allowed: &["crates/machine/src/files/programs/start.rs"],
        instead: "use machine::files::programs, which gives a program its environment",
    },
    Rule {
        words: &["ArenaKind"],
        holds_for: |_| true,
        allowed: &["crates/lab/src/arena/", "crates/experiment/src/plan/"],
        instead: "ask a fact of plan::ArenaFacts, or add one",
    },
];

/// Every file below `dir` that is ours; paths are relative to the root.
fn collect(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(root().join(dir)).expect("the directory can be read").flatten() {
        let (path, name) = (dir.join(entry.file_name()), entry.file_name());
        if entry.path().is_dir() {
            let is_ours = !["target", "out", "corpus", "book"].iter().any(|other| name == *other);
            if is_ours && !name.to_string_lossy().starts_with('.') {
                collect(&path, found);
            }
        } else {
            found.push(path);
        }
    }
}

pub(crate) fn files(dir: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(Path::new(dir), &mut found);
    found
}

pub(crate) fn has_ending(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|ending| endings.iter().any(|one| ending == *one))
}

/// The workspace's crates, each with the crates of the workspace that it depends on, tests apart.
pub(crate) fn crates() -> Vec<(String, Vec<String>)> {
    let words = ["metadata", "--no-deps", "--offline", "--locked", "--format-version", "1"];
    let output = Command::new(env!("CARGO"))
        .args(words)
        .current_dir(root())
        .output()
        .expect("cargo is there");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let name = |of: &Value| of["name"].as_str().expect("a name").to_owned();
    let list = |of: &Value| of.as_array().expect("a list").clone();
    let is_ours = |used: &Value| !used["path"].is_null() && used["kind"] != "dev";
    let uses = |krate: &Value| {
        list(&krate["dependencies"]).iter().filter(|used| is_ours(used)).map(name).collect()
    };
    list(&metadata["packages"]).iter().map(|krate| (name(krate), uses(krate))).collect()
}

/// The uses that the table does not allow.
fn faults_of_layers(crates: &[(String, Vec<String>)]) -> Vec<String> {
    let rows: Vec<(&str, Vec<&str>)> = LAYERS
        .lines()
        .map(|row| row.split_once(':').expect("a name and a colon"))
        .map(|(name, may_use)| (name, may_use.split_whitespace().collect()))
        .collect();
    let mut faults = Vec::new();
    for (at, (name, may_use)) in rows.iter().enumerate() {
        let is_not_above = |used: &&&str| !rows[..at].iter().any(|(other, _)| other == *used);
        faults.extend(
            may_use
                .iter()
                .filter(is_not_above)
                .map(|used| format!("{used} must stand above {name}")),
        );
    }
    for (name, uses) in crates {
        match rows.iter().find(|(row, _)| row == name) {
            Some((_, may_use)) => {
                let forbidden = uses.iter().filter(|used| !may_use.contains(&used.as_str()));
                faults.extend(forbidden.map(|used| format!("{name} must not depend on {used}")));
            }
            None => faults.push(format!("{name}: has no row in LAYERS")),
        }
    }
    faults
}

#[test]
fn crates_use_only_what_stands_above_them() {
    let mut crates = crates();
    assert!(crates.len() > 10, "{crates:?}");
    assert_eq!(faults_of_layers(&crates), [""; 0]);
    crates.push(("sim".into(), vec!["machine".into()]));
    crates.push(("attic".into(), Vec::new()));
    assert_eq!(
        faults_of_layers(&crates),
        ["sim must not depend on machine", "attic: has no row in LAYERS"]
    );
}

/// Whether a line has one of the words, other than as a method or as the end of a longer name.
fn has_word(line: &str, words: &[&str]) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    words.iter().any(|word| line.match_indices(word).any(|(at, _)| !line[..at].ends_with(is_part)))
}

/// The lines of code outside of tests that a rule forbids, from 1.
fn breaches(rule: &Rule, path: &str, text: &str) -> Vec<usize> {
    let krate = path.split('/').nth(1).unwrap_or_default();
    let is_test = ["/tests.rs", "_tests.rs", "/fake_", "/crashpoints/"]
        .iter()
        .any(|part| path.contains(part));
    if !(rule.holds_for)(krate) || is_test || rule.allowed.iter().any(|place| path.contains(place))
    {
        return Vec::new();
    }
    // Up to the tests of the file; `#[cfg(test)] mod NAME;` is a line like others.
    let tests = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let code = text[..tests].lines().enumerate();
    let breach = |line: &str| !line.trim_start().starts_with("//") && has_word(line, rule.words);
    code.filter(|(_, line)| breach(line)).map(|(at, _)| at + 1).collect()
}

#[test]
fn one_file_prints_one_starts_programs_and_sys_is_unsafe() {
    let mut faults = Vec::new();
    for path in files("crates").iter().filter(|path| has_ending(path, &["rs"])) {
        let text = std::fs::read_to_string(root().join(path)).expect("a source is text");
        let is_source = path.components().nth(2).is_some_and(|part| part.as_os_str() == "src");
        let path = path.display().to_string();
        for rule in RULES.iter().filter(|_| is_source) {
            let lines = breaches(rule, &path, &text);
            faults.extend(lines.iter().map(|line| format!("{path}:{line}: {}", rule.instead)));
        }
        if !text.starts_with("//!") {
            faults.push(format!("{path}: does not begin with //! and what the file is"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn planted_breaches_are_found() {
    let [pure, unsafe_code, printing, starting, arenas] = &RULES;
    for (rule, fault) in [
        (pure, "let now = Instant::now();"),
        (pure, "use std::collections::HashMap;"),
        (unsafe_code, "fn f() { unsafe { g() } }"),
        (printing, "eprint!(\"a\")"),
        (printing, "writeln!(std::io::stderr(), \"a\")"),
        (printing, "use indicatif::ProgressBar;"),
        (starting, "std::process::Command::new(\"git\");"),
        (starting, "libc::execvp(file, words);"),
        (arenas, "if plan.arena.kind == ArenaKind::Sim {"),
    ] {
        let find = |text: &str| breaches(rule, "crates/sim/src/a.rs", text);
        assert_eq!(find(&format!("//! A.\n{fault}")), [2], "{fault}");
        assert_eq!(
            find(&format!("//! A.\n// {fault}\n#[cfg(test)]\nmod tests {{\n{fault}")),
            [0; 0],
            "{fault}"
        );
    }
    assert!(!has_word("command.stdout(null()).stderr(null()); child.stdout()", printing.words));
}
