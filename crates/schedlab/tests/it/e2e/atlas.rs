//! `schedlab atlas`: whole, interrupted, in parts, with holes, in a changed environment.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testbed::eventually;

use crate::common::{Lab, Ran};

/// Six cells.
const SMALL: &str = "--quick --devices hp97560,nvme --schedulers none,bfq,sptf,edf --workloads two-readers,oltp,real-time";

const FILES: [&str; 5] = ["atlas.toml", "atlas.html", "atlas.json", "atlas.csv", "atlas.md"];

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

fn all_results(dir: &Path) -> usize {
    fs::read_dir(dir.join("cells")).map_or(0, |all| {
        all.flatten().filter(|one| one.path().join("results.jsonl").exists()).count()
    })
}

#[test]
fn a_map_that_was_killed_or_measured_in_parts_has_the_bytes_of_one_that_was_not() {
    let lab = Lab::new();
    let said = here(&lab, &format!("atlas --out one {SMALL}")).expect_status(0);
    assert!(said.stdout.contains("one scheduler for everything"), "{}", said.stdout);
    for part in ["3/3", "1/3", "2/3"] {
        let out = format!("part-{}", &part[..1]);
        here(&lab, &format!("atlas --out {out} --quiet --shard {part} {SMALL}")).expect_status(0);
    }
    here(&lab, "atlas --out parts --quiet --merge part-1 part-2").expect_status(9);
    here(&lab, "atlas --out parts --quiet --merge part-3 part-1").expect_status(0);
    same(&lab, "one", "parts");
    // The options are stored.
    let mut first = true;
    for signal in [Signal::KILL, Signal::INT, Signal::KILL] {
        let choice = if first { SMALL } else { "" };
        let done = all_results(&lab.path("cut"));
        let mut child = lab
            .command(&format!("atlas --out cut --quiet {choice}"))
            .current_dir(lab.dir.path())
            .spawn()
            .unwrap();
        eventually("another cell begins", || {
            all_results(&lab.path("cut")) > done || child.try_wait().unwrap().is_some()
        });
        let _ = kill_process(Pid::from_child(&child), signal);
        let status = child.wait().unwrap();
        assert!(
            signal == Signal::KILL || [Some(130), Some(0)].contains(&status.code()),
            "{status}"
        );
        first = false;
    }
    here(&lab, "atlas --out cut --quiet").expect_status(0);
    same(&lab, "one", "cut");
    // A cell is an ordinary experiment.
    here(&lab, "analyze one/cells/sim.hp97560.oltp").expect_measured();
    here(&lab, "run one/cells/sim.nvme.oltp/plan.toml --out again --quiet").expect_measured();
    here(&lab, "status one/cells/sim.nvme.oltp").expect_status(0);
    here(&lab, "status one").expect_status(2).says(&["contains an atlas"]);
}

#[test]
fn cells_that_are_missing_foreign_or_impossible_are_named_and_the_rest_is_drawn() {
    let lab = Lab::new();
    here(&lab, &format!("atlas --out map --quiet {SMALL}")).expect_status(0);
    let json = |lab: &Lab| -> Value {
        serde_json::from_slice(&fs::read(lab.path("map/atlas.json")).unwrap()).unwrap()
    };
    assert_eq!(
        (
            json(&lab)["cells"].as_array().unwrap().len(),
            json(&lab)["holes"].as_array().unwrap().len()
        ),
        (6, 0)
    );
    let special =
        json(&lab)["regret"].as_array().unwrap().iter().any(|row| row["variant"] == "edf");
    assert!(!special, "a scheduler of deadlines alone has no regret over everything");
    // Missing, of another plan, truncated within a line, not a results file.
    let cell = |name: &str| lab.path("map/cells").join(name).join("results.jsonl");
    fs::remove_file(cell("sim.nvme.oltp")).unwrap();
    fs::copy(cell("sim.hp97560.oltp"), cell("sim.hp97560.two-readers")).unwrap();
    let text = fs::read(cell("sim.nvme.two-readers")).unwrap();
    fs::write(cell("sim.nvme.two-readers"), &text[..text.len() * 2 / 3]).unwrap();
    fs::write(cell("sim.nvme.real-time"), "{}\n").unwrap();
    here(&lab, "atlas --out map --render --quiet").expect_status(9);
    let holes: Vec<String> = json(&lab)["holes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hole| hole["why"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(holes.len(), 4, "{holes:?}");
    for why in [
        "results file of another plan",
        "not measured yet",
        "not measured to its end yet",
        "not a readable results file",
    ] {
        assert!(holes.iter().any(|hole| hole.contains(why)), "{why}: {holes:?}");
    }
    let page = fs::read_to_string(lab.path("map/atlas.html")).unwrap();
    assert!(page.contains("oltp on nvme: not measured yet") && page.contains("Who wins where"));
    // Foreign files are never overwritten.
    here(&lab, "atlas --out map --quiet").expect_status(9);
    assert_eq!(json(&lab)["holes"].as_array().unwrap().len(), 2);
    assert_eq!(fs::read_to_string(cell("sim.nvme.real-time")).unwrap(), "{}\n");
}

#[test]
fn another_choice_another_version_and_unknown_names_are_refused_before_anything_is_measured() {
    let lab = Lab::new();
    for (words, says) in [
        ("--schedulers bfk", "bfq"),
        ("--workloads nothing", "two-readers"),
        ("--devices nvm", "nvme"),
        ("--devices ./none.toml", "cannot read the device"),
        ("--shard 4/3", "K/N"),
        ("--arenas disk", "sim"),
    ] {
        let ran = here(&lab, &format!("atlas --out map --quick {words}"));
        assert!(
            ran.stderr.contains(says) && !lab.path("map/cells").exists(),
            "{words}: {}",
            ran.stderr
        );
    }
    let choice = "--quick --devices null --schedulers none,bfq --workloads oltp";
    here(&lab, &format!("atlas --out map --quiet {choice}")).expect_status(0);
    here(&lab, "atlas --out map --quick").expect_status(2).says(&["atlas of another choice"]);
    let design = lab.path("map/atlas.toml");
    let text = fs::read_to_string(&design).unwrap();
    fs::write(&design, text.replace("schema = 3", "schema = 7")).unwrap();
    here(&lab, "atlas --out map").expect_status(2).says(&["another format (found 7, of build "]);
    fs::write(&design, text.replace("\"bfq\"", "\"../../../etc\"")).unwrap();
    here(&lab, "atlas --out map").expect_status(2).says(&["unknown to this schedlab"]);
    fs::write(&design, "#".repeat(300 << 10)).unwrap();
    here(&lab, "atlas --out map").expect_status(2).says(&["design of an atlas: too large"]);
}

#[test]
fn a_fitted_device_with_a_strange_name_is_a_device_as_any_other() {
    let lab = Lab::new();
    let devices = here(&lab, "list devices --json").json();
    let null = devices.as_array().unwrap().iter().find(|row| row["name"] == "null").unwrap();
    fs::write(lab.path("a <b>|'disk.toml"), null["description"].as_str().unwrap()).unwrap();
    let mut command = lab.command(
        "atlas --out map --quick --quiet --schedulers none,bfq --workloads oltp --devices",
    );
    let ran =
        Ran::from(command.arg("./a <b>|'disk.toml").current_dir(lab.dir.path()).output().unwrap());
    ran.expect_status(0);
    let page = fs::read_to_string(lab.path("map/atlas.html")).unwrap();
    assert!(page.contains("a &lt;b&gt;|") && !page.contains("<b>|"), "the name is escaped");
    let names: Vec<String> = fs::read_dir(lab.path("map/cells"))
        .unwrap()
        .flatten()
        .map(|one| one.file_name().into_string().unwrap())
        .collect();
    assert!(
        names.len() == 1 && names[0].starts_with("sim.abdisk-") && names[0].ends_with(".oltp"),
        "{names:?}"
    );
}

#[test]
fn interrupted_it_says_what_is_kept_and_the_command_that_goes_on_goes_on() {
    let lab = Lab::new();
    let choice = "--devices hp97560 --schedulers none,bfq --workloads random-readers,weights,virtual-machines --threads 1";
    let mut command = lab.command(&format!("atlas --out map --shard 1/1 {choice}"));
    let child = command
        .current_dir(lab.dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually("the second cell begins", || all_results(&lab.path("map")) > 1);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = Ran::from(child.wait_with_output().unwrap()).expect_status(130);
    said.says(&[
        "interrupted: SIGINT; ",
        "of 3 cells to measure",
        "the one that was begun keeps its rounds",
        "schedlab atlas --out map --shard 1/1",
    ]);
    here(&lab, "atlas --out map --shard 1/1 --quiet").expect_status(0);
    assert_eq!(all_results(&lab.path("map")), 3);
}

#[test]
fn links_pipes_and_directories_in_the_place_of_results_are_named_and_neither_followed_nor_waited_for()
 {
    let lab = Lab::new();
    here(&lab, &format!("atlas --out map --quiet {SMALL}")).expect_status(0);
    let cell = |name: &str| lab.path("map/cells").join(name);
    let results = |name: &str| cell(name).join("results.jsonl");
    // A link to a valid results file, a pipe, a directory, a linked cell.
    fs::rename(results("sim.nvme.oltp"), lab.path("elsewhere.jsonl")).unwrap();
    symlink(lab.path("elsewhere.jsonl"), results("sim.nvme.oltp")).unwrap();
    fs::remove_file(results("sim.nvme.two-readers")).unwrap();
    assert!(
        Command::new("mkfifo").arg(results("sim.nvme.two-readers")).status().unwrap().success()
    );
    fs::remove_file(results("sim.nvme.real-time")).unwrap();
    fs::create_dir(results("sim.nvme.real-time")).unwrap();
    fs::rename(cell("sim.hp97560.oltp"), lab.path("elsewhere")).unwrap();
    symlink(lab.path("elsewhere"), cell("sim.hp97560.oltp")).unwrap();
    // Neither rendered, nor overwritten, nor merged.
    let refused =
        ["sim.nvme.oltp", "sim.nvme.two-readers", "sim.nvme.real-time", "sim.hp97560.oltp"];
    for words in ["atlas --out map --render --quiet", "atlas --out map --quiet"] {
        let said = here(&lab, words).expect_status(9);
        refused.iter().for_each(|name| {
            assert!(said.stderr.contains(&format!("cell {name}: left out")), "{}", said.stderr)
        });
        assert!(said.stderr.contains("link") && said.stderr.contains("pipe"), "{}", said.stderr);
    }
    here(&lab, "atlas --out whole --quiet --merge map")
        .expect_status(1)
        .says(&["in the way (found "]);
    assert!(
        lab.path("elsewhere.jsonl").metadata().unwrap().len() > 0
            && lab.path("elsewhere/results.jsonl").exists()
    );
    fs::rename(lab.path("map/atlas.toml"), lab.path("design")).unwrap();
    symlink(lab.path("design"), lab.path("map/atlas.toml")).unwrap();
    here(&lab, "atlas --out map --render").expect_status(1).says(&["atlas.toml", "link"]);
}
