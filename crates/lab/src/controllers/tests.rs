//! Parsing settings, and comparing them with the kernel's files.

use super::*;

fn one(word: &str, text: &str) -> Control {
    read("a", word, text)
        .unwrap_or_else(|e| panic!("{word} = {text}: {e}"))
        .expect("it is a controller's")
}

fn refused(word: &str, text: &str) -> String {
    read("a", word, text).expect_err(word).to_string()
}

#[test]
fn values_take_the_kernels_own_form() {
    for (word, text, line) in [
        ("io.weight@reader", "400", "default 400"),
        ("io.bfq.weight@reader", "1_000", "default 1000"),
        ("io.max@w", "wbps=10M+wiops=5", "8:0 wbps=10485760 wiops=5"),
        ("io.max@w", "rbps=max", "8:0 rbps=max"),
        ("io.latency@reader", "10ms", "8:0 target=10000"),
        ("io.latency@reader", "max", "8:0 target=max"),
        ("io.prio.class@w", "restrict-to-be", "restrict-to-be"),
        ("ioprio@reader", "realtime/0", "realtime:0"),
        (
            "io.cost.qos",
            "enable=1 rpct=95 rlat=5000 min=50 max=150.5",
            "8:0 enable=1 rpct=95 rlat=5000 min=50 max=150.5",
        ),
        ("io.cost.model", "ctrl=user+rbps=100000+wbps=1", "8:0 ctrl=user rbps=100000 wbps=1"),
        ("wbt_lat_usec", "-1", "-1"),
        ("cdl_enable", "on", "1"),
    ] {
        assert_eq!(one(word, text).line("8:0"), line, "{word}");
        assert_eq!(one(word, text).word(), word);
    }
    assert_eq!(read("a", "slice_idle", "0").unwrap(), None, "a tunable of a scheduler");
}

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    for (word, text, says) in [
        ("io.wight@r", "1", "did you mean \"io.weight\""),
        ("io.wait", "1", "expected one of"),
        ("iopriority@r", "idle", "did you mean \"ioprio\""),
        ("io.weight", "100", "io.weight@FLOW"),
        ("io.cost.qos@r", "enable=1", "remove @r"),
        ("io.weight@r", "0", "1 to 10000"),
        ("io.bfq.weight@r", "1001", "1 to 1000"),
        ("io.max@r", "", "wbps=10M"),
        ("io.max@r", "wbps=1 wbps=2", "wbps=10M"),
        ("io.max@r", "bps=1", "wbps=10M"),
        ("io.latency@r", "5", "10ms"),
        ("io.latency@r", "1ns", "10ms"),
        ("io.prio.class@r", "none-to-be", "restrict-to-be"),
        ("ioprio@r", "realtime:8", "realtime:7"),
        ("io.cost.qos", "enable=2", "enable=0 or 1"),
        ("io.cost.qos", "rpct=-1", "rpct"),
        ("io.cost.model", "rbps=0", "rbps"),
        ("wbt_lat_usec", "-2", "-1"),
    ] {
        let error = refused(word, text);
        assert!(error.contains(says), "{word} = {text}: {error}");
    }
}

#[test]
fn a_flow_that_would_be_a_path_or_a_line_is_no_flow_and_no_value_brings_a_second_line() {
    for flow in ["", "..", "a/b", "a\nb", "a b", "ä", "a.b", &"x".repeat(65)] {
        assert!(check_name(flow).is_err(), "{flow:?}");
        assert!(
            refused(&format!("io.weight@{flow}"), "1").contains("invalid flow name"),
            "{flow:?}"
        );
    }
    check_name("Reader-2_x").unwrap();
    for (word, text) in [
        ("io.max@r", "wbps=1\n9:0 wbps=1"),
        ("io.prio.class@r", "idle\nidle"),
        ("io.cost.qos", "enable=1\n8:16 enable=1"),
        ("io.cost.qos", "max=1\t2"),
        ("ioprio@r", "realtime:0\n"),
    ] {
        let read = read("a", word, text);
        assert!(
            read.as_ref().map_or(true, |found| !found
                .as_ref()
                .unwrap()
                .value
                .contains(['\n', '\t'])),
            "{text:?}"
        );
    }
}

#[test]
fn a_flow_that_no_workload_has_is_refused_with_the_nearest() {
    let controls = [one("io.weight@reader", "400"), one("io.max@writters", "wbps=1M")];
    check_flows("a", &controls[..1], &["reader", "writers"]).unwrap();
    let error = check_flows("a", &controls, &["reader", "writers"]).unwrap_err().to_string();
    assert!(
        error.contains("io.max@writters") && error.contains("did you mean \"writers\""),
        "{error}"
    );
    let error = check_flows("a", &controls, &[]).unwrap_err().to_string();
    assert!(error.contains("no workload has flows"), "{error}");
    check_flows("a", &[one("wbt_lat_usec", "0")], &[]).unwrap();
}

#[test]
fn a_weight_that_the_scheduler_ignores_is_a_loud_remark() {
    let weight = one("io.weight@r", "400");
    let cost = one("io.cost.qos", "enable=1");
    for (scheduler, controls, says) in [
        ("none", vec![weight.clone()], "io.cost is off"),
        ("bfq", vec![weight.clone()], "bfq reads io.bfq.weight"),
        ("none", vec![weight.clone(), one("io.cost.qos", "enable=0")], "io.cost is off"),
        ("kyber", vec![one("io.bfq.weight@r", "400")], "only bfq reads it"),
        ("none", vec![one("ioprio@r", "idle")], "only bfq and mq-deadline"),
        ("bfq", vec![one("ioprio@r", "realtime:0")], "within a control group"),
    ] {
        let said = remarks("a", scheduler, &controls);
        assert!(
            said.len() == 1
                && said[0].starts_with("WARNING: variant a: ")
                && said[0].contains(says),
            "{said:?}"
        );
    }
    for (scheduler, controls) in [
        ("none", vec![weight, cost]),
        ("bfq", vec![one("io.bfq.weight@r", "400"), one("ioprio@r", "idle")]),
        ("mq-deadline", vec![one("io.prio.class@r", "idle"), one("io.max@r", "wbps=1")]),
        ("adios", vec![one("ioprio@r", "idle")]),
    ] {
        assert_eq!(remarks("a", scheduler, &controls), [] as [String; 0]);
    }
}

#[test]
fn what_the_kernel_shows_is_compared_by_its_numbers() {
    let qos = one("io.cost.qos", "enable=1 rpct=95 max=150");
    let shown = "8:16 enable=0\n8:0 enable=1 ctrl=user rpct=95.00 rlat=0 wpct=0.00 wlat=0 min=1.00 max=150.00\n";
    assert!(qos.is_in("8:0", shown) && !qos.is_in("8:16", shown) && !qos.is_in("8:1", shown));
    assert!(
        !qos.is_in("8:0", "8:0 enable=1 rpct=95.00 max=151.00\n"),
        "one of the numbers is another one"
    );
    let max = one("io.max@w", "wbps=10M");
    assert!(max.is_in("8:0", "8:0 rbps=max wbps=10485760 riops=max wiops=max\n"));
    assert!(
        !max.is_in("8:0", "8:0 rbps=max wbps=10485761 riops=max wiops=max\n")
            && !max.is_in("8:0", "")
    );
    assert!(one("io.max@w", "wbps=max").is_in("8:0", ""), "no line is no bound");
    let weight = one("io.weight@r", "400");
    assert!(
        weight.is_in("8:0", "default 400\n")
            && weight.is_in("8:0", "400")
            && !weight.is_in("8:0", "default 40\n")
    );
    assert!(one("io.latency@r", "75ms").is_in("8:0", "8:0 target=75000\n"));
    assert!(one("io.prio.class@r", "idle").is_in("8:0", "idle\n"));
    let wbt = one("wbt_lat_usec", "-1");
    assert!(wbt.is_in("8:0", "2000\n") && !wbt.is_in("8:0", "0\n"));
    assert!(one("wbt_lat_usec", "0").is_in("8:0", "0\n"));
}

#[test]
fn a_cost_model_is_written_before_it_is_switched_on() {
    let mut all = [
        one("io.weight@r", "1"),
        one("io.cost.qos", "enable=1"),
        one("io.cost.model", "ctrl=auto"),
    ];
    sort(&mut all);
    assert_eq!(all.each_ref().map(|c| c.row().name), ["io.cost.model", "io.cost.qos", "io.weight"]);
}

#[test]
fn names_are_unique_and_no_scheduler_has_a_tunable_of_such_a_name() {
    for (at, row) in CONTROLLERS.iter().enumerate() {
        assert!(CONTROLLERS[..at].iter().all(|other| other.name != row.name), "{}", row.name);
        assert!(elevator::LINUX.iter().all(|kind| kind.name != row.name), "{}", row.name);
        assert!(
            row.config.starts_with("CONFIG_") && !row.values.is_empty() && !row.help.is_empty()
        );
    }
}
