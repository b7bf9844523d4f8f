//! `schedlab bisect` on patches of the real Kyber, generated from the cached kernel's source.
//!
//! Built kernels stay in the cache under the hash of patches, configuration and compiler, so later
//! runs only boot them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testbed::require;

use crate::common::{Lab, Ran, kernel_cache, plain_kernel};

const KYBER: &str = "block/kyber-iosched.c";
const DISPATCH: &str = "static struct request *kyber_dispatch_request(";

const PLAN: &str = "name = 'kyber under random reads'\narena = 'kernel'\ndevice = 'null:service_ns=500000:distribution=exponential:queue_depth=32'\n\
                    [budget]\nrounds = 6\n[trial]\nduration_ms = 200\n[[variant]]\nname = 'kyber'\nscheduler = 'kyber'\n[[variant]]\nname = 'none'\nscheduler = 'none'\n\
                    [[workload]]\nname = 'reads'\nkind = 'randread'\n";

#[derive(Clone, Copy, PartialEq)]
enum Change {
    Harmless,
    /// Delays the dispatch function.
    Slow,
    Broken,
    Repaired,
}

struct Bench {
    lab: Lab,
    cache: PathBuf,
}

impl Bench {
    fn new(changes: &[Change]) -> Option<Bench> {
        if !require(&["root", "diff", "patch", "gcc", "make"]) {
            return None;
        }
        let bench = Bench { cache: kernel_cache()?, lab: Lab::new() };
        fs::write(bench.lab.path("plan.toml"), PLAN).unwrap();
        let source = plain_kernel(&bench.cache)?.join("tree").join(KYBER);
        make_series(&fs::read_to_string(source).unwrap(), changes, &bench.lab.path("series"));
        Some(bench)
    }

    fn bisect(&self, more: &str) -> Ran {
        let words = format!("bisect --plan {} {more}", self.lab.path("plan.toml").display());
        let mut command = self.lab.command(&words);
        Ran::from(command.env("SCHEDLAB_CACHE_DIR", &self.cache).output().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.lab.path(name).display().to_string()
    }

    fn log(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.lab.path("out/bisect.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn answers(&self) -> Vec<(u64, u64, String)> {
        let answers = self.log().into_iter().filter(|line| line["kind"] == "answer");
        let row = |line: Value| {
            let result = &line["result"];
            let what = result["verdict"].as_str().or(result["result"].as_str()).unwrap().to_owned();
            (line["baseline"].as_u64().unwrap(), line["step"].as_u64().unwrap(), what)
        };
        answers.map(row).collect()
    }
}

/// Each on top of the previous ones.
fn make_series(source: &str, changes: &[Change], dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    let mut text = source.to_owned();
    for (number, change) in (1..).zip(changes) {
        let new = changed(&text, number, *change);
        let [old_file, new_file] = [("old.c", &text), ("new.c", &new)].map(|(name, text)| {
            let path = dir.join(name);
            fs::write(&path, text).unwrap();
            path
        });
        let labels = [format!("--label=a/{KYBER}"), format!("--label=b/{KYBER}")];
        let diff = std::process::Command::new("diff")
            .arg("-u")
            .args(labels)
            .args([&old_file, &new_file])
            .output()
            .unwrap();
        let patch =
            format!("Subject: change {number}\n\n{}", String::from_utf8(diff.stdout).unwrap());
        fs::write(dir.join(format!("{number:04}-change.patch")), patch).unwrap();
        fs::remove_file(old_file).unwrap();
        fs::remove_file(new_file).unwrap();
        text = new;
    }
}

fn changed(text: &str, number: u32, change: Change) -> String {
    let constant =
        format!("static const int __maybe_unused schedlab_step_{number} = {number};\n{DISPATCH}");
    match change {
        Change::Harmless => text.replacen(DISPATCH, &constant, 1),
        Change::Slow => {
            let at = text.find(DISPATCH).unwrap();
            let lock = at + text[at..].find("\tspin_lock(&khd->lock);").unwrap();
            let slow = format!("{}\tmdelay(5);\n{}", &text[..lock], &text[lock..]);
            slow.replacen(
                "#include <linux/blkdev.h>",
                "#include <linux/delay.h>\n#include <linux/blkdev.h>",
                1,
            )
        }
        Change::Broken => {
            text.replacen(DISPATCH, &format!("int schedlab_broken = nothing;\n{DISPATCH}"), 1)
        }
        Change::Repaired => text.replacen("int schedlab_broken = nothing;\n", "", 1),
    }
}

#[test]
fn the_planted_patch_is_found_and_a_step_that_does_not_build_is_skipped() {
    use Change::{Broken, Harmless, Repaired, Slow};
    // The middle step does not build.
    let Some(bench) = Bench::new(&[Harmless, Broken, Repaired, Slow]) else { return };
    let words = format!("--source {} --out {}", bench.path("series"), bench.path("out"));
    let ran = bench.bisect(&format!("{words} --json --quiet")).expect_status(0);
    let result = ran.json();
    assert_eq!(
        (result["conclusion"].as_str(), result["bad"].as_u64()),
        (Some("found"), Some(4)),
        "{result}"
    );
    assert_eq!(result["blamed"][0]["name"], "0004-change.patch");
    assert_eq!(result["blamed"][0]["subject"], "change 4");
    for (which, verdict) in [
        ("ends", "worse"),
        ("last_good", "equivalent"),
        ("first_bad", "worse"),
        ("neighbours", "worse"),
    ] {
        assert_eq!(result[which]["verdict"], verdict, "{which}: {result}");
    }
    let answers = bench.answers();
    let row = |baseline, step, what: &str| (baseline, step, what.to_owned());
    assert_eq!(answers[..2], [row(0, 4, "worse"), row(0, 2, "does-not-build")], "{answers:?}");
    assert_eq!(answers.last(), Some(&row(3, 4, "worse")));
    let spent: f64 = bench.log().iter().filter_map(|line| line["alpha"].as_f64()).sum();
    assert!(spent <= 0.05, "the parts of alpha are {spent}");

    let ran = bench.bisect(&format!("{words} --resume --quiet")).expect_status(0);
    for part in [
        "Step 4 of 4 made it worse: 0004-change.patch (change 4)",
        "the first bad against the last good",
        "found.toml",
    ] {
        assert!(ran.stdout.contains(part), "{}", ran.stdout);
    }
    assert_eq!(bench.answers(), answers);
    bench.bisect(&words).expect_status(2).says(&["--resume"]);
    fs::write(bench.lab.path("series/0002-change.patch"), "edited").unwrap();
    bench.bisect(&format!("{words} --resume")).expect_status(2).says(&["step 2", "changed since"]);

    let again = format!("run {} --dry-run --allow-commands", bench.path("out/found.toml"));
    let plan = Ran::from(
        bench.lab.command(&again).env("SCHEDLAB_CACHE_DIR", &bench.cache).output().unwrap(),
    );
    let plan = plan.expect_status(0);
    assert!(
        plan.stdout.contains("patches#3") && plan.stdout.contains("patches#4"),
        "{}",
        plan.stdout
    );
}

#[test]
fn ends_that_do_not_differ_end_the_search_before_it_begins() {
    let Some(bench) = Bench::new(&[Change::Harmless, Change::Harmless]) else { return };
    let words = format!("--source {} --out {}", bench.path("series"), bench.path("out"));
    let ran = bench.bisect(&format!("{words} --quiet"));
    assert!(ran.status != Some(0), "{ran:?}");
    for part in [
        "No step to find",
        "is not worse than the good end",
        "earlier one with --good",
        "equivalent",
    ] {
        assert!(ran.stdout.contains(part), "{}", ran.stdout);
    }
    assert_eq!(bench.answers().len(), 1);
}

#[test]
fn a_patch_that_does_not_apply_is_named_with_its_hunk() {
    let Some(bench) = Bench::new(&[Change::Harmless, Change::Harmless]) else { return };
    let second = bench.lab.path("series/0002-change.patch");
    let text = fs::read_to_string(&second)
        .unwrap()
        .replace(" static const int __maybe_unused schedlab_step_1", " static int other");
    fs::write(&second, text).unwrap();
    let words = format!("--source {} --out {} --quiet", bench.path("series"), bench.path("out"));
    bench
        .bisect(&words)
        .expect_status(1)
        .says(&["0002-0002-change.patch: does not apply", "hunk 1"]);
}

#[test]
fn sources_plans_and_ends_that_make_no_sense_are_refused_before_anything_is_built() {
    let lab = Lab::new();
    let plan = |text: &str| {
        fs::write(lab.path("plan.toml"), text).unwrap();
        format!(
            "bisect --plan {} --out {}",
            lab.path("plan.toml").display(),
            lab.path("out").display()
        )
    };
    fs::create_dir(lab.path("empty")).unwrap();
    fs::create_dir(lab.path("one")).unwrap();
    fs::write(lab.path("one/a.patch"), "--- a/x\n+++ b/x\n").unwrap();
    let (empty, one) =
        (lab.path("empty").display().to_string(), lab.path("one").display().to_string());
    for (source, says) in [
        (format!("--source {empty}"), "holds no patch"),
        (format!("--source {one} --good 1"), "the same step"),
        (format!("--source {one} --bad 2"), "from 0 to 1"),
        ("--source debian:6.1".to_owned(), "the same step"),
        (format!("--source git:{empty} --good a --bad b"), "git"),
        (format!("--source {one} --variant other"), "expected one of kyber"),
        (format!("--source {one} --workload other"), "expected one of reads"),
    ] {
        lab.run(&format!("{} {source}", plan(PLAN))).expect_status(2).says(&[says]);
    }
    let simulated = PLAN.replace("arena = 'kernel'", "arena = 'sim'");
    lab.run(&format!("{} --source {one}", plan(&simulated)))
        .expect_status(2)
        .says(&["in the kernel arena"]);
    fs::write(
        lab.path("one/a.patch"),
        "--- a/../../etc/passwd\n+++ b/../../etc/passwd\n@@ -1 +1 @@\n-a\n+b\n",
    )
    .unwrap();
    if kernel_cache().is_some() {
        lab.run(&format!("{} --source {one}", plan(PLAN)))
            .expect_status(1)
            .says(&["outside of the tree"]);
    }
}

/// Takes minutes and reports its time.
#[test]
fn one_of_sixty_four_patches_is_found() {
    if !testbed::is_soak() {
        return;
    }
    let mut changes = [Change::Harmless; 64];
    changes[36] = Change::Slow;
    let Some(bench) = Bench::new(&changes) else { return };
    let begun = std::time::Instant::now();
    let ran = bench
        .bisect(&format!("--source {} --out {} --json", bench.path("series"), bench.path("out")))
        .expect_status(0);
    let result = ran.json();
    eprintln!("{:.0} s, {:?}", begun.elapsed().as_secs_f64(), bench.answers());
    assert_eq!(
        (result["conclusion"].as_str(), result["bad"].as_u64()),
        (Some("found"), Some(37)),
        "{result}"
    );
}
