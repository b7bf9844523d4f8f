//! `--repeat` and `analyze --pool`: several days, one verdict.

use std::fs;

use testbed::{Loop, require};

use crate::common::Lab;

const SIM: &str = "compare --arena sim --device hp97560 --schedulers noop,deadline,cfq --workload dss --rounds 4 --trial-time 5s --quiet";

#[test]
fn repeats_in_virtual_time_are_measured_at_once_and_pooled_and_a_further_one_can_be_added() {
    let lab = Lab::new();
    let out = lab.path("out");
    let dir = out.display();
    let ran = lab.run(&format!("{SIM} --repeat 3 --out {dir}")).expect_status(0);
    assert!(ran.stdout.starts_with("Over 3 repeats: "), "{}", ran.stdout);
    for words in [
        "change in each repeat",
        "repeat-3",
        "use other seeds: they do not replace",
        "Student's t over the means",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    let seeds: Vec<String> = (1..4)
        .map(|k| {
            let plan = fs::read_to_string(out.join(format!("repeat-{k}/plan.toml"))).unwrap();
            plan.lines().find(|line| line.starts_with("seed")).unwrap().to_owned()
        })
        .collect();
    assert_eq!(seeds, ["seed = 1", "seed = 2", "seed = 3"]);
    // Pooling by hand gives the same result.
    let before = fs::read_to_string(out.join("repeat-1/results.jsonl")).unwrap();
    let json = lab.run(&format!("analyze {dir} --pool --json")).expect_status(0).json();
    assert_eq!(json["pooled"]["repeats"].as_array().unwrap().len(), 3);
    let shown: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(out.join("analysis.json")).unwrap()).unwrap();
    assert_eq!(shown["comparisons"], json["comparisons"]);
    let more =
        lab.run(&format!("run {dir}/plan.toml --repeat 4 --quiet --out {dir}")).expect_status(0);
    assert!(more.stdout.starts_with("Over 4 repeats: "), "{}", more.stdout);
    assert_eq!(fs::read_to_string(out.join("repeat-1/results.jsonl")).unwrap(), before);
    let results = out.join("repeat-4/results.jsonl");
    let whole = fs::read_to_string(&results).unwrap();
    let torn: Vec<&str> = whole.lines().take(6).collect();
    fs::write(&results, torn.join("\n") + "\n").unwrap();
    lab.run(&format!("run {dir}/plan.toml --repeat 4 --quiet --out {dir}")).expect_status(0);
    let trials = |text: &str| {
        text.lines()
            .filter(|line| line.contains("\"kind\":\"trial\""))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        trials(&fs::read_to_string(&results).unwrap()),
        trials(&whole),
        "virtual time is the same every time"
    );
    let other = lab.run(&format!("{} --repeat 3 --out {dir}", SIM.replace("noop,", "")));
    other.expect_status(2).says(&["repeats of another plan", "--repeat"]);
}

#[test]
fn results_of_other_questions_and_flags_that_make_no_sense_are_refused() {
    let lab = Lab::new();
    let (a, b) = (lab.path("a"), lab.path("b"));
    lab.run(&format!("{SIM} --out {}", a.display())).expect_status(0);
    lab.run(&format!("{} --seed 2 --out {}", SIM.replace("dss", "oltp"), b.display()));
    let pool =
        |more: &str| lab.run(&format!("analyze {} {} --pool {more}", a.display(), b.display()));
    pool("")
        .expect_status(2)
        .says(&["b: list of workloads differs from a (found oltp, expected dss)"]);
    pool("--variant x").expect_status(2).says(&["--variant"]);
    lab.run(&format!("analyze {0} {0} --pool", a.display())).expect_status(2).says(&["same seed"]);
    lab.run(&format!("analyze {} --pool", a.display())).expect_status(2).says(&["nothing to pool"]);
    lab.run(&format!("{SIM} --repeat 2 --every 1s --out {}", lab.path("c").display()))
        .expect_status(2)
        .says(&["--every 1s"]);
    lab.run(&format!("{SIM} --repeat 1")).expect_status(2);
    lab.run(&format!("{SIM} --repeat 2 --out {}", a.display()))
        .expect_status(2)
        .says(&["holds one experiment"]);
}

#[test]
fn tables_of_several_days_are_pooled() {
    let lab = Lab::new();
    for (day, factor) in [("mon", 1.10), ("tue", 1.11), ("wed", 1.12)] {
        let mut text = "variant,run,iops\n".to_owned();
        for run in 0..6 {
            let base = 100.0 + f64::from(run * 7 % 5);
            text += &format!(
                "none,{run},{base}\nbfq,{run},{}\n",
                base * factor * (1.0 + 0.001 * f64::from(run % 3))
            );
        }
        fs::write(lab.path(&format!("{day}.csv")), text).unwrap();
    }
    let [mon, tue, wed] =
        ["mon", "tue", "wed"].map(|day| lab.path(&format!("{day}.csv")).display().to_string());
    let words = format!(
        "analyze {mon} {tue} {wed} --pool --variant variant --metric iops --round run --baseline none"
    );
    let ran = lab.run(&words).expect_status(0);
    assert!(ran.stdout.starts_with("Over 3 repeats: use bfq"), "{}", ran.stdout);
    assert!(ran.stdout.contains("mon.csv"), "{}", ran.stdout);
    fs::write(&wed, "variant,run,iops\nnone,1,5\nkyber,1,6\n").unwrap();
    lab.run(&words).expect_status(2).says(&["wed.csv: list of variants differs from", "kyber"]);
}

#[test]
fn on_a_real_device_the_first_repeat_is_measured_now_and_the_next_is_named_or_timed() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    let before = device.snapshot();
    let out = lab.path("out");
    let words = format!(
        "compare --device {} --schedulers none,mq-deadline --workload randread --rounds 4 --trial-time 60ms --quiet --repeat 2 --out {}",
        device.path,
        out.display()
    );
    let ran = lab.run(&words).expect_measured();
    assert_eq!(device.snapshot(), before);
    assert!(out.join("repeat-1/results.jsonl").exists() && !out.join("repeat-2").exists());
    assert!(
        out.join("report.html").exists() && ran.stderr.contains("repeat 1 of 2 is measured"),
        "{}",
        ran.stderr
    );
    if std::path::Path::new("/run/systemd/system").exists() {
        return;
    }
    // Without systemd, the printed command measures the next repeat.
    let command =
        ran.stderr.lines().find_map(|line| line.split_once("by hand): schedlab ")).unwrap().1;
    let second = lab.run(command).expect_measured();
    assert!(second.stdout.starts_with("Over 2 repeats: "), "{}\n{}", second.stdout, second.stderr);
    assert!(!second.stderr.contains("is measured"), "nothing is left to do: {}", second.stderr);
    assert_eq!(device.snapshot(), before);
}
