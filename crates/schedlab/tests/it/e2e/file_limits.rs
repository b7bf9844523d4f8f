//! At a file size limit (`ulimit -f`) writes fail; SIGXFSZ must not end the program.

use std::fs;
use std::path::Path;
use std::process::Command;

use testbed::require;

use crate::common::{Lab, Ran, binary, split, trials};

fn run_after(lab: &Lab, what: &str, words: &str) -> Ran {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!("{what}; exec \"$0\" \"$@\"")]).arg(binary()).args(split(words));
    Ran::from(shell.env("SCHEDLAB_STATE_DIR", lab.state()).env("NO_COLOR", "1").output().unwrap())
}

#[test]
fn a_limit_on_file_sizes_is_an_error_that_names_the_file() {
    let lab = Lab::new();
    let words = |out: &Path, more: &str| {
        format!(
            "compare --arena sim --quiet --device hp97560 --schedulers noop,deadline --workload randread --rounds 30 \
             --figures-only --trial-time 1s --out {} {more}",
            out.display()
        )
    };
    let (whole, out) = (lab.path("whole"), lab.path("out"));
    lab.run(&words(&whole, "")).expect_measured();
    let results = fs::read(whole.join("results.jsonl")).unwrap();
    assert!(results.len() > 40_000, "{}", results.len());
    run_after(&lab, "ulimit -f 40", &words(&out, "")).expect_status(1).says(&[
        "results.jsonl",
        "File too large",
        "ulimit -f",
        "--resume",
    ]);
    let kept = fs::read(out.join("results.jsonl")).unwrap();
    assert!(kept.len() <= 40 * 512 && kept.ends_with(b"\n"), "whole lines are kept");
    assert!(
        trials(&out).len() > 2 && trials(&whole).starts_with(&trials(&out)),
        "the trials before the limit are kept"
    );
    // The first file beyond the limit is named, and not left partially written.
    let pages = lab.path("pages");
    let names = |dir: &Path| {
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
    };
    run_after(
        &lab,
        "ulimit -f 8",
        &format!("analyze {} --out {}", whole.display(), pages.display()),
    )
    .expect_status(1)
    .says(&["report.html: cannot write", "File too large", "ulimit -f"]);
    assert!(names(&pages).is_empty(), "{:?}", names(&pages));
    lab.run(&words(&out, "--resume")).expect_measured();
    let of = |dir: &Path| fs::read_to_string(dir.join("trials.csv")).unwrap();
    assert!(of(&out) == of(&whole), "the results are those of an experiment without a limit");
}

#[test]
fn a_program_that_is_started_has_the_usual_action_of_the_limit() {
    if !require(&["root", "mkfs.ext4"]) {
        return;
    }
    let lab = Lab::new();
    let (seen, script, plan) = (lab.path("seen"), lab.path("look.sh"), lab.path("plan.toml"));
    fs::write(
        &script,
        format!(
            "#!/bin/sh\ngrep ^SigIgn /proc/self/status >{}\necho \"figure 1\"\n",
            seen.display()
        ),
    )
    .unwrap();
    fs::write(
        &plan,
        format!(
            "device = 'loop:64M'\n[budget]\ntime_s = 300\nrounds = 2\nfigures_only = true\n[trial]\nduration_ms = 100\nwarmup_ms = 0\n\
             [[variant]]\nname = 'none'\nscheduler = 'none'\n[[variant]]\nname = 'bfq'\nscheduler = 'bfq'\n[[workload]]\nname = 'mine'\n\
             kind = 'command'\nparams = {{ file = '{}', metric = 'figure', regex = 'figure ([0-9.]+)', better = 'lower' }}\n",
            script.display()
        ),
    )
    .unwrap();
    let (file, dir, out) = (plan.display(), lab.path(""), lab.path("out"));
    // Also if the parent ignores the signal, as Python does.
    let words =
        format!("run {file} --allow-commands --loop-dir {} --out {}", dir.display(), out.display());
    run_after(&lab, "trap '' XFSZ", &words).expect_measured();
    let ignored = fs::read_to_string(&seen).unwrap();
    let mask = u64::from_str_radix(ignored.split_whitespace().nth(1).unwrap(), 16).unwrap();
    // SIGXFSZ is 25, SIGPIPE 13.
    assert_eq!(mask & (1 << 24 | 1 << 12), 0, "{ignored}");
}
