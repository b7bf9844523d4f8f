//! Hostile fleets: decompression bombs, names with control characters, pipes and links.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::Arc;

use fleet::{Machine, MachineResult, Value};
use testbed::require;

use crate::common::{Lab, Ran, binary};
use crate::made_fleet::{fleet, results};

fn bounded(lab: &Lab, words: &str) -> Ran {
    let mut command = Command::new("prlimit");
    command
        .args(["--as=1500000000", "timeout", "--kill-after=1", "300"])
        .arg(binary())
        .args(words.split_whitespace());
    Ran::from(
        command
            .env("SCHEDLAB_STATE_DIR", lab.state())
            .env("NO_COLOR", "1")
            .output()
            .expect("prlimit runs"),
    )
}

#[test]
fn a_bomb_in_a_fleet_is_refused_and_the_others_are_compared() {
    if !require(&["root", "prlimit", "timeout"]) {
        return;
    }
    let lab = Lab::new();
    let place = lab.path("fleet");
    fleet(&place, 10, 0, 8);
    // Two million rows repeating one reason compress well.
    let put = |bomb: &MachineResult| {
        let (name, bytes) = bomb.to_file().expect("it is small");
        assert!(bytes.len() < 20 << 20, "{}", bytes.len());
        fs::write(place.join(format!("results/{name}.parquet")), bytes).expect("written");
    };
    let mut bomb = MachineResult::of(&results(99, 0.8, 8), &Machine { name: "bomb".to_owned() })
        .expect("a result");
    for length in [300, 4_000] {
        let reason: Arc<str> = "x".repeat(length).into();
        bomb.groups[0] =
            vec![Value { series: 0, round: 1, value: Some(1.0), invalid: Some(reason) }; 1_900_000];
        // Another name with the first one's hash.
        bomb.header.host = format!("reasons of {length}");
        if length == 300 {
            bomb = bomb.with_hashes();
        }
        put(&bomb);
    }
    // A file that claims more rows than any result, and one of zeros.
    bomb.header.groups[0].rows = u64::MAX;
    put(&bomb);
    fs::write(place.join(format!("results/{}.parquet", "0".repeat(64))), vec![0; 70 << 20])
        .expect("written");
    let ran = bounded(&lab, &format!("fleet verdict --fleet {} --json", place.display()))
        .expect_status(0);
    let json = ran.json();
    assert_eq!(json["damaged"].as_array().map(Vec::len), Some(3), "{}", json["damaged"]);
    assert!(
        json["damaged"].to_string().contains("a reason is longer than 300 characters"),
        "{}",
        json["damaged"]
    );
    assert_eq!(json["groups"][0]["questions"][0]["comparisons"][0]["machines"], 10);
}

#[test]
fn names_of_a_fleet_cannot_steer_the_terminal_and_a_pipe_in_it_is_not_waited_for() {
    if !require(&["root", "mkfifo", "timeout", "prlimit"]) {
        return;
    }
    let lab = Lab::new();
    let place = lab.path("fleet");
    fleet(&place, 10, 0, 8);
    let mut hostile = results(99, 9.0, 8);
    let title = "\u{1b}]0;owned\u{7}\u{202e}";
    let device = hostile.header.environment.get_mut("device").expect("facts");
    device.insert("firmware".to_owned(), title.to_owned());
    let machine = Machine { name: format!("{title}\nschedlab: all is well") };
    let (name, bytes) =
        MachineResult::of(&hostile, &machine).and_then(|of| of.to_file()).expect("a result");
    fs::write(place.join(format!("results/{name}.parquet")), bytes).expect("written");
    let results = place.join("results");
    let named = |digit: &str| results.join(format!("{}.parquet", digit.repeat(64)));
    assert!(Command::new("mkfifo").arg(named("a")).status().expect("it runs").success());
    symlink("/etc/shadow", named("b")).expect("made");
    symlink("/dev/zero", named("c")).expect("made");
    for words in ["verdict", "report --by model,firmware", "verdict --by firmware --json"] {
        let ran = bounded(&lab, &format!("fleet {words} --fleet {}", place.display()));
        let ran = if words.starts_with("report") { ran.expect_status(0) } else { ran };
        let printed = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!printed.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{printed:?}");
        assert!(matches!(ran.status, Some(0 | 3)), "{printed}");
        assert!(!printed.contains("root:"), "{printed}");
    }
    let json = bounded(&lab, &format!("fleet report --json --fleet {}", place.display()))
        .expect_status(0)
        .json();
    assert_eq!(
        (&json["results"], &json["others"]),
        (&11.into(), &3.into()),
        "the pipe and the links are no results"
    );
}
