//! `schedlab bench kernel` on a case that is small enough for a test. No time is asserted: a test machine has many users.

use serde_json::Value;

use crate::common::Lab;

/// Whether the kernel is in the cache; building it is not this test's business. Where every test must run, it has to be.
fn has_kernel(lab: &Lab) -> bool {
    let listed: Value = serde_json::from_str(&lab.run("kernel list --json").stdout).unwrap();
    let usable = |kernel: &Value| {
        kernel["source"] == "debian:6.1" && kernel["debug"] == false && kernel["patches"].as_array().unwrap().is_empty()
    };
    let found = listed.as_array().unwrap().iter().any(usable);
    if !found {
        let reason = "SKIPPED: this test needs a kernel: schedlab kernel build";
        assert!(std::env::var_os("SCHEDLAB_MUST_RUN_ALL").is_none(), "{reason}");
        eprintln!("{reason}");
    }
    found
}

#[test]
fn processes_and_threads_of_the_kernel_do_the_same_case_in_the_same_virtual_time() {
    let lab = Lab::new();
    if !has_kernel(&lab) {
        return;
    }
    let ran = lab.run("bench kernel --rounds 1 --reads 5 --json");
    let report: Value = serde_json::from_str(&ran.expect_status(0).stdout).unwrap();
    let sides = report["sides"].as_array().unwrap();
    let of = |side: usize, name: &str| sides[side][name].clone();
    assert_eq!((of(0, "clients"), of(1, "clients")), ("processes".into(), "threads".into()));
    assert_eq!((of(0, "ios"), of(1, "ios")), (800.into(), 800.into()));
    let (plain, ours) = (of(0, "virtual_s")[0].as_f64().unwrap(), of(1, "virtual_s")[0].as_f64().unwrap());
    assert!((plain / ours - 1.0).abs() < 0.005, "{plain} s and {ours} s of virtual time");
    assert_eq!(report["marks"].as_array().unwrap().len(), 4);
    assert_eq!(report["verdict_s"].as_array().unwrap().len(), 1);
}
