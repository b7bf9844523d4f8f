//! Sharded plans, and the batch systems of the page.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use testbed::{require, skip};

use crate::common::{Lab, Ran, binary};

/// Short trials, so that verdicts come after different numbers of rounds.
pub(crate) const PLAN: &str = r#"
name = "two readers in pieces"
arena = "sim"
device = "cheetah9lp"
seed = 7
baseline = "deadline"
budget = { time_s = 4000.0, rounds = 12 }
trial = { duration_ms = 400, warmup_ms = 100 }
variant = [
    { name = "deadline", scheduler = "deadline" },
    { name = "noop", scheduler = "noop" },
    { name = "anticipatory", scheduler = "anticipatory" },
]
workload = [
    { name = "one reader", kind = "think-mix", params = { clients = 1, block_size = "4k", file_size = "600M", think_time = "100us" } },
    { name = "two readers", kind = "think-mix", params = { clients = 2, block_size = "4k", file_size = "600M", think_time = "100us" } },
]
"#;

/// They must not depend on the number of machines.
const FILES: [&str; 7] = [
    "plan.toml",
    "results.jsonl",
    "analysis.json",
    "report.html",
    "report.md",
    "trials.csv",
    "comparisons.csv",
];

fn lab() -> Lab {
    let lab = Lab::new();
    fs::write(lab.path("plan.toml"), PLAN).unwrap();
    lab
}

/// The plan has the same path in every segment.
fn here(lab: &Lab, words: &str) -> Ran {
    Ran::from(lab.command(words).current_dir(lab.dir.path()).output().unwrap())
}

#[track_caller]
fn same(lab: &Lab, one: &str, other: &str) {
    for name in FILES {
        let read = |dir: &str| {
            fs::read(lab.path(dir).join(name)).unwrap_or_else(|e| panic!("{dir}/{name}: {e}"))
        };
        assert!(read(one) == read(other), "{name} of {one} and {other} differ");
    }
}

#[test]
fn a_plan_on_one_machine_and_by_shards_in_any_order_gives_equal_files() {
    let lab = lab();
    here(&lab, "run plan.toml --out one").expect_status(0);
    for (at, rounds) in ["7..12", "0..3", "3..7", "2..5", "11..400"].iter().enumerate() {
        let ran = here(&lab, &format!("shard run plan.toml --rounds {rounds} --out {at}.segment"))
            .expect_status(0);
        assert!(ran.stdout.contains("identity"), "{}", ran.stdout);
    }
    here(
        &lab,
        "shard merge 3.segment 0.segment 4.segment 2.segment 0.segment 1.segment --out many",
    )
    .expect_status(0);
    same(&lab, "one", "many");
    here(&lab, "shard merge 0.segment --out many")
        .expect_status(2)
        .says(&["many: already holds a results file"]);
    let said = here(&lab, "analyze many --json").expect_status(0);
    assert_eq!(said.stdout, fs::read_to_string(lab.path("one/analysis.json")).unwrap());
}

#[test]
fn missing_rounds_are_named_with_the_commands_that_suffice() {
    let lab = lab();
    here(&lab, "run plan.toml --out one").expect_status(0);
    let ran = here(&lab, "shard run plan.toml --json").expect_status(0).json();
    assert_eq!(
        (ran["rounds"].as_u64(), ran["fixed"].as_bool(), ran["trials_per_round"].as_u64()),
        (Some(12), Some(true), Some(6))
    );
    here(&lab, "shard run plan.toml --rounds 1..3 --out rounds-1-3.segment").expect_status(0);
    let mut segments = vec!["rounds-1-3.segment".to_owned()];
    let ran = here(&lab, &format!("shard merge {} --out many", segments[0])).expect_status(9);
    ran.says(&[
        "segments: incomplete (found 12 trials",
        "0..1",
        "schedlab shard run plan.toml --rounds 0..1 --out rounds-0-1.segment",
    ]);
    assert!(!lab.path("many").exists(), "nothing is written");
    for _ in 0..20 {
        let ran = here(&lab, &format!("shard merge {} --out many --json", segments.join(" ")));
        if ran.status == Some(0) {
            return same(&lab, "one", "many");
        }
        let found = ran.expect_status(9).json();
        for command in found["commands"].as_array().unwrap() {
            let command = command.as_str().unwrap().strip_prefix("schedlab ").unwrap();
            here(&lab, command).expect_status(0);
            segments.push(command.rsplit(' ').next().unwrap().to_owned());
        }
    }
    panic!("the commands do not suffice: {segments:?}");
}

#[test]
fn what_cannot_be_a_piece_is_refused_before_anything_is_measured() {
    let lab = lab();
    for (words, says) in [
        ("shard run plan.toml --rounds 3..3 --out s", "no round"),
        ("shard run plan.toml --rounds 3 --out s", "write A..B"),
        ("shard run plan.toml --rounds 0..2", "--out"),
        ("shard run plan.toml --rounds 0..20000 --out s", "too many (found 20000"),
        ("shard run missing.toml --rounds 0..2 --out s", "missing.toml"),
        ("shard merge plan.toml", "--out"),
    ] {
        here(&lab, words).expect_status(2).says(&[says]);
        assert!(!lab.path("s").exists(), "{words}");
    }
    here(&lab, "shard merge plan.toml --out many")
        .expect_status(1)
        .says(&["plan.toml: not a segment"]);
    fs::write(
        lab.path("disk.toml"),
        PLAN.replace("\"sim\"", "\"disk\"").replace("cheetah9lp", "loop:64M"),
    )
    .unwrap();
    here(&lab, "shard run disk.toml --rounds 0..2 --out s").expect_status(2);
}

#[test]
fn segments_of_an_edited_plan_and_torn_ones_are_named() {
    let lab = lab();
    here(&lab, "shard run plan.toml --rounds 0..6 --out a.segment").expect_status(0);
    fs::write(lab.path("plan.toml"), PLAN.replace("seed = 7", "seed = 8")).unwrap();
    here(&lab, "shard run plan.toml --rounds 6..12 --out b.segment").expect_status(0);
    here(&lab, "shard merge a.segment b.segment --out many")
        .expect_status(2)
        .says(&["b.segment: of another plan than a.segment: plan.seed: found 8, expected 7"]);
    let whole = fs::read(lab.path("a.segment")).unwrap();
    fs::write(lab.path("torn.segment"), &whole[..whole.len() / 2]).unwrap();
    here(&lab, "shard merge torn.segment --out many").expect_status(1).says(&[
        "torn.segment: segment: cut off",
        "schedlab shard run PLAN --rounds 0..6 --out torn.segment",
    ]);
    assert!(!lab.path("many").exists());
}

/// Finds a code block by the file name in its first line.
fn recipe(name: &str) -> String {
    let page = include_str!("../../../../../docs/src/develop/clusters.md");
    let rounds = page.split("```").skip(1).step_by(2);
    let mut found = rounds
        .filter_map(|round| round.split_once('\n'))
        .filter(|(_, text)| text.contains(&format!("# {name}\n")));
    let (_, text) = found.next().unwrap_or_else(|| panic!("no block of the page is {name}"));
    text.to_owned()
}

fn path_with_schedlab(lab: &Lab) -> String {
    let dir = lab.path("bin");
    fs::create_dir_all(&dir).unwrap();
    let _ = std::os::unix::fs::symlink(binary(), dir.join("schedlab"));
    format!("{}:{}", dir.display(), std::env::var("PATH").unwrap_or_default())
}

fn shell(lab: &Lab, script: &Path) -> Ran {
    let mut command = Command::new("bash");
    command
        .arg(script)
        .current_dir(lab.dir.path())
        .env("PATH", path_with_schedlab(lab))
        .env("SCHEDLAB_STATE_DIR", lab.state());
    Ran::from(command.output().unwrap())
}

#[test]
fn gnu_parallel_measures_the_pieces_as_the_page_says() {
    if !require(&["parallel"]) {
        return;
    }
    let lab = lab();
    here(&lab, "run plan.toml --out one").expect_status(0);
    fs::write(lab.path("parallel.sh"), recipe("parallel.sh")).unwrap();
    shell(&lab, &lab.path("parallel.sh")).expect_status(0);
    same(&lab, "one", "results");
}

#[test]
fn a_slurm_job_array_measures_the_pieces_as_the_page_says() {
    if !require(&["root", "slurmctld", "slurmd", "sbatch", "munged", "python3"]) {
        return;
    }
    let lab = lab();
    here(&lab, "run plan.toml --out one").expect_status(0);
    let node = super::slurm::Node::start(&lab);
    fs::write(lab.path("shards.sbatch"), recipe("shards.sbatch")).unwrap();
    let submit = recipe("submit.sh");
    fs::write(lab.path("submit.sh"), submit).unwrap();
    let mut command = Command::new("bash");
    command.arg("submit.sh").current_dir(lab.dir.path()).env("PATH", path_with_schedlab(&lab));
    let ran = Ran::from(node.client(&mut command).output().unwrap());
    let logs = || {
        let text = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
        let outputs = fs::read_dir(lab.dir.path()).unwrap().flatten().map(|entry| entry.path());
        outputs
            .filter(|path| path.extension().is_some_and(|ending| ending == "out"))
            .map(text)
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(ran.status, Some(0), "{}\n{}\n{}\n{}", ran.stdout, ran.stderr, logs(), node.log());
    same(&lab, "one", "results");
}

#[test]
fn the_manifest_of_the_page_is_an_indexed_job_and_its_script_measures_the_pieces() {
    let lab = lab();
    here(&lab, "run plan.toml --out one").expect_status(0);
    let manifest = recipe("job.yaml");
    fs::write(lab.path("job.yaml"), &manifest).unwrap();
    let tools =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/kubernetes/bin/python");
    if !tools.exists() {
        return skip("kubernetes-validate needed (scripts/need test)");
    }
    let check = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kubernetes.py");
    let output = Command::new(&tools)
        .args([check, "job.yaml"])
        .current_dir(lab.dir.path())
        .output()
        .unwrap();
    let ran = Ran::from(output).expect_status(0);
    let job = ran.json();
    let (completions, script) =
        (job["completions"].as_u64().unwrap(), job["script"].as_str().unwrap());
    // A node's work, in an order that a cluster might choose.
    let data = lab.path("data");
    fs::create_dir(&data).unwrap();
    fs::copy(lab.path("plan.toml"), data.join("plan.toml")).unwrap();
    for index in (0..completions).rev() {
        let mut command = Command::new("sh");
        command.args(["-ceu", script]).current_dir(&data).env("PATH", path_with_schedlab(&lab));
        Ran::from(command.env("JOB_COMPLETION_INDEX", index.to_string()).output().unwrap())
            .expect_status(0);
    }
    let mut command = lab.command("shard merge");
    let segments = fs::read_dir(data.join("segments")).unwrap().flatten().map(|entry| entry.path());
    Ran::from(
        command.args(segments).args(["--out", "../results"]).current_dir(&data).output().unwrap(),
    )
    .expect_status(0);
    same(&lab, "one", "results");
}

#[test]
fn a_plan_of_the_kernel_arena_in_pieces_gives_equal_files() {
    let Some(cache) = crate::common::kernel_cache() else { return };
    let lab = Lab::new();
    let kernel = |words: &str| {
        let mut command = lab.command(words);
        Ran::from(
            command.env("SCHEDLAB_CACHE_DIR", &cache).current_dir(lab.dir.path()).output().unwrap(),
        )
        .expect_status(0)
    };
    let design = "--arena kernel --device hp97560 --schedulers none,kyber --workload randread --trial-time 500ms";
    let plan = kernel(&format!("compare {design} --rounds 3 --figures-only --dry-run")).stdout;
    fs::write(lab.path("plan.toml"), plan).unwrap();
    kernel("run plan.toml --out one");
    for rounds in [2, 0, 1] {
        kernel(&format!(
            "shard run plan.toml --rounds {rounds}..{} --out {rounds}.segment",
            rounds + 1
        ));
    }
    kernel("shard merge 2.segment 0.segment 1.segment --out many");
    same(&lab, "one", "many");
}
