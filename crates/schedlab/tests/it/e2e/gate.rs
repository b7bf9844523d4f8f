//! `schedlab gate` passing, failing and refused; parsers of the CI formats read its output.

use std::fs;
use std::process::Command;

use serde_json::Value;
use testbed::{Loop, require};

use crate::common::{Lab, PYTHON, Ran, has_python, kernel_cache, word};

/// Another rotational speed makes another drive.
fn disk(lab: &Lab, rpm: u32) {
    let preset = fs::read_to_string(format!(
        "{}/../sim/src/device/presets/hp97560.toml",
        env!("CARGO_MANIFEST_DIR")
    ));
    let text = preset.unwrap().replace("rpm = 4002", &format!("rpm = {rpm}"));
    fs::write(lab.path("disk.toml"), text).unwrap();
}

fn plan(lab: &Lab, variant: &str, more: &str) {
    let disk = lab.path("disk.toml").display().to_string();
    let text = format!(
        "name = 'readers'\narena = 'sim'\ndevice = '{disk}'\nbudget = {{ rounds = 6 }}\ntrial = {{ duration_ms = 5000 }}\n{more}\n\
         [[variant]]\nname = 'noop'\nscheduler = 'noop'\n[[variant]]\nname = '''{variant}'''\nscheduler = 'deadline'\n\
         [[workload]]\nname = 'oltp'\nkind = 'oltp'\n"
    );
    fs::write(lab.path("plan.toml"), text).unwrap();
}

fn gate(lab: &Lab, out: &str, more: &str) -> Ran {
    let [plan, state, out] =
        ["plan.toml", "kept", out].map(|name| lab.path(name).display().to_string());
    let against = if more.contains("--against") {
        String::new()
    } else {
        format!("--against last-good --state {state}")
    };
    let mut command = lab.command(&format!("gate -q --plan {plan} {against} --out {out} {more}"));
    Ran::from(command.env_remove("GITHUB_ACTIONS").output().unwrap())
}

/// Returns what `code` prints; None, with a message, without the module.
fn python(module: &str, code: &str, file: &std::path::Path) -> Option<String> {
    if !has_python(module) {
        return None;
    }
    let ran = Command::new(PYTHON)
        .args(["-c", &format!("import {module}\n{code}")])
        .arg(file)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(String::from_utf8(ran.stdout).unwrap())
}

const CASES: &str = "import sys
for case in xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter('testcase'):
    print(case.get('name'), [child.tag for child in case], sep='|')";

#[test]
fn a_gate_begins_with_a_last_good_results_stays_green_and_turns_red_on_a_slower_disk() {
    let lab = Lab::new();
    disk(&lab, 4002);
    plan(&lab, "deadline", "");
    let first = gate(&lab, "a", "").expect_status(0);
    assert!(
        first
            .stdout
            .starts_with("gate: no earlier results file of readers; this one is the last good now"),
        "{}",
        first.stdout
    );
    let green = gate(&lab, "b", "--github").expect_status(0);
    assert!(
        green.stdout.starts_with("gate: not worse: 2 equivalent; against "),
        "{}",
        green.stdout
    );
    assert_eq!(green.stdout.lines().count(), 1);
    assert!(
        green
            .stderr
            .lines()
            .any(|line| line.starts_with("::notice title=schedlab::gate: not worse")),
        "{}",
        green.stderr
    );
    let kept = fs::read(lab.path("kept/plan.jsonl")).unwrap();
    assert!(
        kept == fs::read(lab.path("b/results.jsonl")).unwrap(),
        "the green results file is the last good one"
    );

    disk(&lab, 3000);
    gate(&lab, "c", "").expect_status(2).says(&["rpm = 3000", "rpm = 4002", "--other-machine"]);
    assert!(!lab.path("c").exists());
    let xml = lab.path("junit.xml");
    let red = gate(&lab, "c", &format!("--other-machine --github --junit {}", xml.display()))
        .expect_status(5);
    assert!(red.stdout.starts_with("gate: worse: noop on oltp: iops -"), "{}", red.stdout);
    let errors: Vec<&str> =
        red.stderr.lines().filter(|line| line.starts_with("::error title=schedlab%3A ")).collect();
    assert!(
        errors.len() == 2
            && errors[1].contains("deadline is worse on oltp::deadline on oltp: iops -"),
        "{errors:?}"
    );
    assert!(
        kept == fs::read(lab.path("kept/plan.jsonl")).unwrap(),
        "a red results file is never the last good one"
    );
    if let Some(cases) = python("xml.etree.ElementTree", CASES, &xml) {
        assert_eq!(cases, "noop iops|['failure']\ndeadline iops|['failure']\n");
    }
    // The slower disk does not change the ratio to the baseline.
    let json = gate(&lab, "d", "--other-machine --json --variant deadline").expect_status(5).json();
    assert_eq!(
        (&json["comparisons"][0]["verdict"], &json["comparisons"][0]["basis"]),
        (&"worse".into(), &"rounds".into())
    );
    let ratios = gate(&lab, "e", "--other-machine --json --ratios --fail-if not-better").json();
    assert_eq!(ratios["comparisons"][0]["basis"], "ratios");
    assert_ne!(ratios["comparisons"][0]["verdict"], "worse");
    assert_ne!(ratios["status"], 0, "a condition that holds");
}

#[test]
fn an_edited_plan_is_refused_by_its_keys_and_a_named_results_serves_as_reference() {
    let lab = Lab::new();
    disk(&lab, 4002);
    plan(&lab, "deadline", "");
    let (file, reference) = (lab.path("plan.toml"), lab.path("ref"));
    lab.run(&format!("run {} -q --out {}", file.display(), reference.display())).expect_status(0);
    let against = format!("--against {}", reference.display());
    gate(&lab, "a", &against).expect_status(0).says(&["ended when its own verdicts were reached"]);
    assert!(!lab.path("kept").exists(), "only last-good is kept");
    plan(&lab, "deadline", "[criteria]\nmargin = 0.2");
    gate(&lab, "b", &against).expect_status(2).says(&["criteria.margin: 0.2 (was 0.01)", "edited"]);
    plan(&lab, "deadline", "seed = 2");
    gate(&lab, "b", &against).expect_status(2).says(&["seed: 2 (was 1)"]);
    plan(&lab, "deadline", "");
    gate(&lab, "b", &format!("{against} --variant dealine"))
        .expect_status(2)
        .says(&["dealine", "deadline"]);
    gate(&lab, "b", &format!("{against} --state x"))
        .expect_status(2)
        .says(&["--state", "last-good"]);
    gate(&lab, "b", "--against nowhere").expect_status(2).says(&["nowhere"]);
    let xml = lab.path("made/here/junit.xml");
    gate(&lab, "b", &format!("{against} --junit {}", xml.display())).expect_status(0);
    assert!(xml.is_file(), "its directory is made");
    gate(&lab, "c", &format!("{against} --junit {}/below.xml", xml.display()))
        .expect_status(1)
        .says(&["junit.xml"]);
    assert!(!lab.path("c").exists(), "found before anything is measured");
}

#[test]
fn hostile_names_stay_text_in_every_output_of_a_gate_and_an_export() {
    let lab = Lab::new();
    disk(&lab, 4002);
    plan(&lab, "x\"]]>,title=z::add-mask::y##[error]no%0A</script>{}", "");
    let xml = lab.path("junit.xml");
    gate(&lab, "a", "").expect_status(0);
    disk(&lab, 3000);
    let more = format!("--other-machine --github --junit {}", xml.display());
    let mut command = lab.command(&format!(
        "gate --plan {} --against last-good --state {} --out {} {more}",
        lab.path("plan.toml").display(),
        lab.path("kept").display(),
        lab.path("b").display()
    ));
    let red = Ran::from(command.env("GITHUB_ACTIONS", "true").output().unwrap()).expect_status(5);
    let is_command = |line: &&str| line.trim_start().starts_with("::") || line.contains("##[");
    assert_eq!(red.stdout.lines().filter(is_command).count(), 0, "{}", red.stdout);
    let commands: Vec<&str> = red.stderr.lines().filter(is_command).collect();
    assert!(
        commands.len() == 2
            && commands.iter().all(|line| line.starts_with("::error title=schedlab%3A ")),
        "{commands:?}"
    );
    assert!(
        commands[1].contains("%2Ctitle=z%3A%3Aadd-mask") && commands[1].contains("%250A"),
        "{commands:?}"
    );
    if let Some(cases) = python("xml.etree.ElementTree", CASES, &xml) {
        assert!(
            cases.contains("x\"]]>,title=z::add-mask::y##[error]no%0A</script>{} iops|['failure']"),
            "{cases}"
        );
    }
    for format in ["bencher", "customBiggerIsBetter", "customSmallerIsBetter", "openmetrics"] {
        let text = lab
            .run(&format!("report {} --export {format}", lab.path("b").display()))
            .expect_status(0)
            .stdout;
        fs::write(lab.path(format), &text).unwrap();
        assert!(format == "openmetrics" || serde_json::from_str::<Value>(&text).is_ok(), "{text}");
    }
    let code = "import sys
families = list(prometheus_client.openmetrics.parser.text_string_to_metric_families(open(sys.argv[1]).read()))
old = list(prometheus_client.parser.text_string_to_metric_families(open(sys.argv[1]).read()))
variants = {sample.labels.get('variant') for family in families for sample in family.samples}
print(len(families) == len(old), [variant for variant in variants if variant and variant != 'noop'][0])";
    if let Some(said) = python(
        "prometheus_client.openmetrics.parser, prometheus_client.parser",
        code,
        &lab.path("openmetrics"),
    ) {
        assert_eq!(said, "True x\"]]>,title=z::add-mask::y##[error]no%0A</script>{}\n");
    }
    lab.run(&format!("report {} --export xml", lab.path("b").display()))
        .expect_status(2)
        .says(&["bencher"]);
}

#[test]
fn on_a_real_device_a_program_that_became_slower_is_red() {
    if !require(&["root", "mkfs.ext4"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 32);
    let script = lab.path("work.sh");
    // The image under test reads past the page cache. It avoids the journal, since other tests use
    // that disk.
    let work = |times: u32| {
        let text = format!(
            "#!/bin/sh\n[ -e data ] || dd if=/dev/urandom of=data bs=1M count=1 oflag=direct 2>/dev/null\n\
             for i in $(seq {times}); do dd if=data of=/dev/null bs=64k iflag=direct 2>/dev/null; done\n"
        );
        fs::write(&script, text).unwrap();
    };
    work(2);
    let text = format!(
        "device = '{}'\nbudget = {{ rounds = 6 }}\ncriteria = {{ margin = 0.2 }}\n[[variant]]\nname = 'none'\nscheduler = 'none'\n\
         [[variant]]\nname = 'bfq'\nscheduler = 'bfq'\n[[workload]]\nname = 'image'\nkind = 'command'\nprimary = 'wall_s'\n\
         params = {{ run = 'sh {}' }}\n",
        device.path,
        script.display()
    );
    fs::write(lab.path("plan.toml"), text).unwrap();
    let more = format!("--allow-commands --destroy-data {}", device.path);
    gate(&lab, "a", &more).expect_status(0);
    // Next to a load of 19, 15 times the reads took 3.3× [1.0, 11.3] as long: most of a trial is its
    // start.
    work(120);
    let red = gate(&lab, "b", &more).expect_status(5);
    assert!(
        ["gate: worse: ", "wall_s ", "× ["].iter().all(|word| red.stdout.contains(word)),
        "{}",
        red.stdout
    );
    assert!(red.stdout.contains("values of two repeats"), "{}", red.stdout);
}

#[test]
fn in_the_kernel_arena_another_kernel_is_what_a_gate_is_for() {
    let Some(cache) = kernel_cache() else { return };
    let lab = Lab::new();
    let text = "name = 'kyber'\narena = 'kernel'\ndevice = 'hp97560'\nbudget = { rounds = 6 }\ntrial = { duration_ms = 2000 }\n\
                [[variant]]\nname = 'none'\nscheduler = 'none'\n[[variant]]\nname = 'kyber'\nscheduler = 'kyber'\n\
                [[workload]]\nname = 'r'\nkind = 'randread'\n";
    fs::write(lab.path("plan.toml"), text).unwrap();
    let more = format!("--cache-dir {}", word(&cache));
    gate(&lab, "a", &more).expect_status(0);
    let green = gate(&lab, "b", &more).expect_status(0);
    assert!(
        green.stdout.contains("2 equivalent") && green.stdout.contains("same seed"),
        "{}",
        green.stdout
    );
}
