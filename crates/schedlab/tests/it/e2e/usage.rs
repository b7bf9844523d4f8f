//! Usage errors name the fault and the nearest valid word, and exit with status 2.

use std::fs;

use testbed::{Loop, require};

use crate::common::{Lab, Ran};

#[test]
fn mistyped_words_name_the_nearest_right_one() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    let compare =
        |more: &str| lab.run(&format!("compare --device {} {more}", device.path)).expect_status(2);
    compare("--schedulers none,kyver").says(&["kyver", "kyber"]);
    compare("--schedulers none,bfq:slice_idel=0").says(&["slice_idel", "slice_idle"]);
    compare("--workload randraed").says(&["randraed", "randread"]);
    compare("--workload randread:client=3").says(&["client", "clients"]);
    compare("--workload randread:block_size=4q").says(&["4q", "4k"]);
    compare("--workload randread:primary=iosp").says(&["iosp", "iops"]);
    compare("--budget 60parsecs").says(&["parsecs", "60s"]);
    compare("--margin lots").says(&["lots", "1%"]);
    compare("--rounds many").says(&["many", "auto"]);
    compare("--baseline bqf --schedulers none,bfq").says(&["bqf", "bfq"]);
    compare("--schedulers none,none").says(&["none", "a=none,b=none"]);
    compare("--schedulers none").says(&["two"]);
}

#[test]
fn the_usage_in_an_error_leaves_out_options_of_the_environment() {
    // `Lab` sets SCHEDLAB_STATE_DIR.
    let lab = Lab::new();
    let faulty = lab.run("compare --workload randread").expect_status(2);
    let faulty = faulty.says(&["Usage: schedlab compare", "--device <DEVICE>"]);
    assert!(!faulty.stderr.contains("--state-dir"), "{}", faulty.stderr);
    lab.run("compare --workload randread --state-dir x").expect_status(2).says(&["--state-dir"]);
}

#[test]
fn an_unknown_device_is_named_with_what_there_is() {
    if !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 4);
    let slip = device.path.replace("loop", "lop");
    lab.run(&format!("compare --device {slip} --workload randread"))
        .expect_status(2)
        .says(&[&slip, &device.name]);
    lab.run("compare --device loop:12Q").expect_status(2).says(&["12Q", "512M"]);
    lab.run("devices nosuchdisk").expect_status(2).says(&["nosuchdisk"]);
}

#[test]
fn a_slip_in_a_plan_is_named_with_its_line_and_the_nearest_key() {
    let lab = Lab::new();
    let plan = lab.path("plan.toml");
    fs::write(
        &plan,
        "device = \"loop:16M\"\nsead = 3\n[[variant]]\nname = \"none\"\nscheduler = \"none\"\n[[workload]]\nname = \"r\"\nkind = \"randread\"\n",
    )
    .unwrap();
    lab.run(&format!("run {}", plan.display())).expect_status(2).says(&[
        "sead",
        "seed",
        "line 2",
        "plan.toml",
    ]);
    lab.run(&format!("run {}", lab.path("missing.toml").display()))
        .expect_status(2)
        .says(&["missing.toml"]);
}

#[test]
fn devices_and_lists_are_there_for_people_and_programs() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    device.set("scheduler", "bfq");
    let devices = lab.run("devices --json").expect_status(0).json();
    let found =
        devices.as_array().unwrap().iter().find(|d| d["name"] == device.name.as_str()).unwrap();
    assert_eq!((&found["kind"], &found["scheduler"]), (&"loop".into(), &"bfq".into()), "{found}");
    assert_eq!(found["size_bytes"], 16 << 20);
    assert!(found["available_schedulers"].to_string().contains("kyber"), "{found}");
    assert!(found["tunables"].to_string().contains("slice_idle"), "{found}");
    assert!(lab.run("devices").expect_status(0).stdout.contains(&device.name));
    for columns in [60, 80] {
        let ran =
            Ran::from(lab.command("devices").env("COLUMNS", columns.to_string()).output().unwrap())
                .expect_status(0);
        let fits =
            |line: &str| line.chars().count() <= columns || line.split_whitespace().count() < 3;
        assert!(ran.stdout.lines().all(fits), "{columns}: {}", ran.stdout);
        assert!(
            ran.stdout.contains(" mq-deadline") && ran.stdout.contains("[bfq]"),
            "no name is broken: {}",
            ran.stdout
        );
    }
    lab.run("compare --device /dev/no-such-disk --workload randread")
        .expect_status(2)
        .says(&["no-such-disk"]);

    let workloads = lab.run("list workloads --json").expect_status(0).json();
    let names: Vec<_> = workloads
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w["name"].as_str().unwrap().to_owned())
        .collect();
    for name in [
        "seqread",
        "seqwrite",
        "randread",
        "randwrite",
        "oltp",
        "dss",
        "iozone",
        "buffered-read",
        "cached-read",
        "mixed",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} is missing: {names:?}");
    }
    let schedulers = lab.run("list schedulers --json").expect_status(0).json();
    assert!(schedulers.as_array().unwrap().iter().any(|s| s["name"] == "mq-deadline"));
    assert!(lab.run("list metrics").expect_status(0).stdout.contains("latency_p99_us"));
}

#[test]
fn the_build_of_the_version_is_that_of_results() {
    let lab = Lab::new();
    let version = lab.run("--version --json").expect_status(0).json();
    let word = |key: &str| version[key].as_str().unwrap().to_owned();
    assert_eq!(word("build"), format!("{}+{}", word("source"), word("tables")));
    assert!(lab.run("--version").expect_status(0).stdout.contains(&format!(
        "{} ({})",
        word("version"),
        word("source")
    )));
    let out = lab.path("out");
    let words = "compare --arena sim --device hp97560 --schedulers none,sstf --workload randread --rounds 4 --trial-time 2s -q";
    lab.run(&format!("{words} --out {}", out.display())).expect_status(0);
    let results = fs::read_to_string(out.join("results.jsonl")).unwrap();
    let header: serde_json::Value = serde_json::from_str(results.lines().next().unwrap()).unwrap();
    let analysis: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("analysis.json")).unwrap()).unwrap();
    assert_eq!(
        (&header["schedlab"], &analysis["origin"]["compared_by"]),
        (&version["build"], &version["build"])
    );
}

#[test]
fn every_command_explains_itself() {
    let lab = Lab::new();
    for command in ["devices", "list", "compare", "run", "analyze", "report", "restore"] {
        let help = lab.run(&format!("{} --help", command)).expect_status(0).stdout;
        assert!(help.contains("Usage:") && help.len() > 200, "{command}: {help}");
    }
}

#[test]
fn what_would_be_ignored_or_make_no_sense_is_refused() {
    if !require(&["root", "blkid"]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(&lab.dir, "disk", 16);
    let compare =
        |more: &str| lab.run(&format!("compare --device {} {more}", device.path)).expect_status(2);
    compare("--workload randread --budget 1s --trial-time 2s").says(&["one round", "--budget"]);
    compare("--workload randread:clients=1024:iodepth=4096").says(&["open requests"]);

    let table = lab.path("table.csv");
    fs::write(&table, "variant,mb_s\na,1\nb,2\n").unwrap();
    let analyze = |more: &str| {
        lab.run(&format!("analyze {} --variant variant --metric mb_s {more}", table.display()))
    };
    analyze("--baseline a").expect_status(0);
    analyze("--alpha 300%").expect_status(2).says(&["alpha"]);
    analyze("--margin 300%").expect_status(2).says(&["margin"]);
    analyze("--lower-is-better mbs").expect_status(2).says(&["mbs", "mb_s"]);
    analyze("--baseline c").expect_status(2).says(&["\"c\""]);
    analyze("--metric mb_s").expect_status(2).says(&["twice"]);
    fs::write(&table, "variant,mb_s\na,1\na,2\n").unwrap();
    analyze("").expect_status(2).says(&["one variant only"]);

    let out = lab.path("out");
    let words =
        "--schedulers none,kyber --workload randread --rounds 2 --figures-only --trial-time 100ms";
    lab.run(&format!("compare --device {} {words} --out {}", device.path, out.display()))
        .expect_measured();
    let results = |more: &str| lab.run(&format!("analyze {} {more}", out.display()));
    for flag in ["--baseline kyber", "--round x", "--metric iops"] {
        results(flag)
            .expect_status(2)
            .says(&["a results file, which has its own plan", flag.split(' ').next().unwrap()]);
    }
    results("--margin 5%").expect_measured();
}

#[test]
fn verdicts_change_the_exit_status_only_where_they_are_named() {
    let lab = Lab::new();
    let table = lab.path("table.csv");
    let mut text = "variant,round,iops\n".to_owned();
    for round in 0..12 {
        let noise = f64::from(round % 3);
        text += &format!("default,{round},{}\n", 1000.0 + noise);
        text += &format!("worse,{round},{}\n", 700.0 + noise);
        text += &format!("better,{round},{}\n", 1500.0 - noise);
        text += &format!("noisy,{round},{}\n", if round % 2 == 0 { 500.0 } else { 1900.0 });
    }
    fs::write(&table, &text).unwrap();
    let analyze = |more: &str| {
        let name = table.display();
        lab.run(&format!(
            "analyze {name} --variant variant --metric iops --round round --baseline default {more}"
        ))
    };
    analyze("").expect_status(0);
    analyze("--fail-if worse").expect_status(5).says(&["worse against default is worse on iops"]);
    analyze("--fail-if not-better").expect_status(6).says(&["noisy", "worse"]);
    analyze("--fail-if inconclusive")
        .expect_status(7)
        .says(&["noisy against default is inconclusive"]);
    analyze("--fail-if inconclusive,partly-invalid --fail-if worse").expect_status(5);
    analyze("--fail-if partly-invalid").expect_status(0);
    analyze("--fail-if bad").expect_status(2).says(&["not-better"]);
    let invalid = |variants: &[&str]| {
        let rows = text.lines().skip(1).map(|row| {
            let variant = row.split(',').next().unwrap();
            format!(
                "{row},{}\n",
                if variants.contains(&variant) { "the switch failed" } else { "" }
            )
        });
        fs::write(&table, format!("variant,round,iops,why\n{}", rows.collect::<String>())).unwrap();
    };
    invalid(&["noisy"]);
    analyze("--invalid-if why").expect_status(0).says(&["1 of 3 deciding comparisons are invalid"]);
    analyze("--invalid-if why --fail-if partly-invalid").expect_status(8).says(&["noisy"]);
    invalid(&["noisy", "better", "worse"]);
    analyze("--invalid-if why --fail-if partly-invalid,worse").expect_status(3);
}

#[test]
fn tables_fit_the_columns_of_the_terminal() {
    let lab = Lab::new();
    let trace = lab.path("tr/traces/interleaved-deadline.csv");
    let words = "compare --arena sim --device hp97560 --schedulers deadline,anticipatory --workload interleaved \
                 --rounds 4 --trial-time 1s --trace csv --quiet";
    lab.run(&format!("{words} --out {}", lab.path("tr").display())).expect_measured();
    let mut commands: Vec<String> =
        ["schedulers", "devices", "workloads", "metrics", "settings", "formats", "traces"]
            .map(|what| format!("list {what}"))
            .to_vec();
    commands.push(format!("trace profile {}", trace.display()));
    commands.push(format!(
        "advise {} --model hp97560 --arena sim --schedulers none,anticipatory --quiet --out {}",
        trace.display(),
        lab.path("advice").display()
    ));
    commands.push(format!(
        "atlas --quick --quiet --devices null --workloads oltp,dss --schedulers bfq,anticipatory --out {}",
        lab.path("atlas").display()
    ));
    for words in commands {
        for columns in [80, 120] {
            let ran = lab.command(&words).env("COLUMNS", columns.to_string()).output().unwrap();
            let text = Ran::from(ran).expect_status(0).stdout;
            let fits = |line: &&str| line.chars().count() <= columns || line.contains('/');
            let wide: Vec<&str> = text.lines().filter(|line| !fits(line)).collect();
            assert_eq!(wide, [] as [&str; 0], "{words}, {columns} columns:\n{text}");
            assert!(text.lines().all(|line| line.trim_end() == line), "{words}: trailing blanks");
            if words.starts_with("advise") {
                fs::remove_dir_all(lab.path("advice")).unwrap();
            }
        }
    }
}

#[test]
fn an_input_that_does_not_exist_has_one_exit_status() {
    let lab = Lab::new();
    for words in [
        "run IN",
        "analyze IN",
        "analyze IN.csv --variant a --metric b",
        "report IN",
        "status IN",
        "gate --plan IN --against IN",
        "trace profile IN.csv",
        "trace convert IN.csv",
        "trace synthesize IN.csv --out x.csv",
        "fit IN.csv",
        "advise IN.csv --model hp97560",
        "persist --from IN loop0",
        "shard merge IN --out x",
        "fleet report --fleet IN",
        "kernel build --source IN",
    ] {
        let missing = lab.path("missing");
        let words = words.replace("IN", &missing.display().to_string());
        lab.run(&words).expect_status(2).says(&["missing"]);
    }
}

#[test]
fn without_a_command_its_help_is_printed_whatever_the_environment_sets() {
    let lab = Lab::new();
    lab.run("").expect_status(2).says(&["Compare:", "Understand:", "Examples:"]);
    lab.run("trace").expect_status(2).says(&["Commands:", "synthesize"]);
}
