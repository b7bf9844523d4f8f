//! `selfbench kernel` on a small case. Times are not asserted, since test machines are shared.

use serde_json::Value;

use crate::common::{kernel_is_built, selfbench};

#[test]
fn processes_and_threads_of_the_kernel_do_the_same_case_in_the_same_virtual_time() {
    if !kernel_is_built() {
        return;
    }
    let ran = selfbench(&["kernel", "--rounds", "1", "--reads", "5", "--json"]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let report: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let sides = report["sides"].as_array().unwrap();
    let of = |side: usize, name: &str| sides[side][name].clone();
    assert_eq!((of(0, "clients"), of(1, "clients")), ("processes".into(), "threads".into()));
    assert_eq!((of(0, "ios"), of(1, "ios")), (800.into(), 800.into()));
    let (plain, ours) =
        (of(0, "virtual_s")[0].as_f64().unwrap(), of(1, "virtual_s")[0].as_f64().unwrap());
    assert!((plain / ours - 1.0).abs() < 0.005, "{plain} s and {ours} s of virtual time");
    assert_eq!(report["marks"].as_array().unwrap().len(), 4);
    assert_eq!(report["verdict_s"].as_array().unwrap().len(), 1);
}
