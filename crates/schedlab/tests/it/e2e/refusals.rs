//! The form of errors: `schedlab: subject: problem (found X, expected Y); remedy`.
//!
//! One error of each kind is checked as printed. None needs root.

use std::fs;

use crate::common::Lab;

/// A command, and the subject of its error; `DIR/` has the files of [`prepare`].
const REFUSALS: &[(&str, &str)] = &[
    // Unknown names.
    ("compare SIM --schedulers noop,kyver --workload randread", "scheduler \"kyver\""),
    ("compare SIM --schedulers noop,cfq:slice_idel=0", "variant cfq:slice_idel=0"),
    ("compare SIM --schedulers noop,deadline --workload randraed", "workload \"randraed\""),
    (
        "compare SIM --schedulers noop,deadline --workload randread:client=3",
        "workload randread:client=3",
    ),
    (
        "compare SIM --schedulers noop,deadline --workload randread:primary=iosp",
        "workload randread",
    ),
    ("compare SIM --schedulers noop,deadline --workload randread --baseline bqf", "plan"),
    ("compare --arena sim --device hp97650", "device model \"hp97650\""),
    ("compare --arena sim --device hp97560:queue_dept=8", "in the device's specification"),
    ("tune SIM --workload randread --schedulers deadline --tunables nonsense", "--tunables"),
    (
        "tune SIM --workload randread --schedulers deadline --objective iosp --budget 60s",
        "--objective",
    ),
    ("sweep SIM --scheduler deadline --workload randread --values fifo=1,2", "--values"),
    ("set nosuchdisk nr_requests=12", "nosuchdisk"),
    ("analyze DIR/table.csv --variant nosuch --metric b", "DIR/table.csv"),
    // Invalid values.
    ("compare SIM --schedulers noop,deadline --budget 60parsecs", "--budget"),
    ("compare SIM --schedulers noop,deadline --margin lots", "--margin"),
    ("compare SIM --schedulers noop,deadline --rounds many", "--rounds"),
    ("compare SIM --schedulers noop", "plan"),
    ("compare --device loop:12Q", "--device loop:12Q"),
    ("tune SIM --workload randread --schedulers deadline --fix nonsense", "--fix nonsense"),
    (
        "sweep SIM --scheduler deadline --workload randread --values fifo_batch",
        "--values fifo_batch",
    ),
    // Incompatible options.
    ("compare SIM --schedulers noop,deadline --destroy-data /dev/sda", "--destroy-data"),
    ("compare SIM --schedulers noop,deadline --workload replay", "workload replay"),
    ("compare SIM --schedulers noop,deadline --workload command:run=x", "workload command:run=x"),
    ("analyze DIR/table.csv --variant a --metric b --baseline zzz", "DIR/table.csv"),
    ("analyze DIR/table.csv", "DIR/table.csv"),
    // Files.
    ("run DIR/slip.toml", "DIR/slip.toml"),
    ("run DIR/missing.toml", "DIR/missing.toml"),
    ("analyze DIR/empty.csv --variant a --metric b", "DIR/empty.csv"),
    ("report DIR/missing", "DIR/missing"),
    ("report DIR/table.csv", "DIR/table.csv"),
    ("kernel build --source DIR", "DIR"),
];

fn prepare(lab: &Lab) {
    fs::write(lab.path("table.csv"), "a,b\n1,2\n").unwrap();
    fs::write(lab.path("empty.csv"), "").unwrap();
    fs::write(lab.path("slip.toml"), "device = \"hp97560\"\nsead = 3\n").unwrap();
}

fn fault(refusal: &str, subject: &str) -> Option<&'static str> {
    let Some(rest) = refusal.strip_prefix("schedlab: ").and_then(|rest| rest.strip_prefix(subject))
    else {
        return Some("it does not begin with its subject");
    };
    let Some(what) = rest.strip_prefix(": ") else { return Some("no colon ends the subject") };
    let says_what_to_do = ["; ", "expected ", "(os error "].iter().any(|sign| what.contains(sign));
    let sentences = what
        .match_indices(". ")
        .filter(|(at, _)| what[at + 2..].starts_with(|c: char| c.is_uppercase()));
    if !says_what_to_do {
        Some("it does not say what to do or what was expected")
    } else if what.ends_with(['.', '!']) || sentences.count() > 0 {
        Some("it is not one sentence without a full stop")
    } else if what.to_lowercase().contains("there are") {
        Some("alternatives are listed as \"expected one of\"")
    } else {
        None
    }
}

#[test]
fn every_refusal_names_its_subject_and_says_what_to_do() {
    let lab = Lab::new();
    prepare(&lab);
    let dir = lab.path("x").parent().unwrap().display().to_string();
    for (words, subject) in REFUSALS {
        let here = |text: &str| match text {
            "DIR" => dir.clone(),
            text => text
                .replace("SIM", "--arena sim --device hp97560")
                .replace("DIR/", &format!("{dir}/")),
        };
        let words = words.split(' ').map(here).collect::<Vec<_>>().join(" ");
        let ran = lab.run(&words);
        assert!(matches!(ran.status, Some(1 | 2)), "{words} is refused");
        let refusal =
            ran.stderr.lines().find(|line| line.starts_with("schedlab: ")).unwrap_or_default();
        assert_eq!(fault(refusal, &here(subject)), None, "{words}\n{}", ran.stderr);
    }
}

#[test]
fn a_planted_fault_of_form_is_found() {
    for refusal in [
        "schedlab: cannot read x.toml: No such file",
        "schedlab: x.toml is no plan; name another",
        "schedlab: x.toml: not a plan",
        "schedlab: x.toml: not a plan. Name another; see --help",
        "schedlab: x.toml: not a plan; name another.",
        "schedlab: x.toml: not a plan; There are: a, b",
    ] {
        assert!(fault(refusal, "x.toml").is_some(), "{refusal}");
    }
    assert_eq!(fault("schedlab: x.toml: not a plan (found a table); name another", "x.toml"), None);
}
