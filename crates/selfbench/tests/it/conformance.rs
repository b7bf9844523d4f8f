//! The simulator compared with the kernel arena in real guests: two workloads of
//! `selfbench conformance` on all disks and schedulers, or all with `SCHEDLAB_SOAK`. Needs a built
//! kernel (`schedlab kernel build`).

use serde_json::Value;

use crate::common::{kernel_is_built, selfbench};

const FLASH: [&str; 3] = ["sata-ssd", "nvme:capacity_mib=256:precondition=steady", "femu"];

#[test]
fn both_arenas_agree_request_by_request_under_none_and_within_their_bounds_elsewhere() {
    if !kernel_is_built() {
        return;
    }
    if testbed::is_soak() {
        return assert_agreement(&[]);
    }
    // Readers that are worth waiting for, and many that write and flush.
    for workload in ["think-mix", "oltp-16"] {
        assert_agreement(&["--only", workload]);
    }
}

fn assert_agreement(only: &[&str]) {
    let output = selfbench(&[&["conformance", "--json"], only].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {stderr}"));
    let rows = report["rows"].as_array().expect("a report has rows");
    let mut wrong = Vec::new();
    for row in rows {
        let name =
            format!("{}/{}/{}", row["disk"], row["workload"], row["scheduler"]).replace('"', "");
        let requests = row["requests"].as_u64().expect("requests are counted");
        assert!(requests >= 100, "{name}: {requests} requests show nothing");
        if row["replayed"]["Ok"].as_u64().is_none_or(|compared| compared < 100) {
            wrong.push(format!("{name}: not the model's service times: {}", row["replayed"]));
        }
        let is_flash = FLASH.iter().any(|disk| row["disk"] == *disk);
        // On flash, requests of many clients meet elsewhere if they come a microsecond later.
        let in_turn = ["randread-1", "think-mix"].iter().any(|work| row["workload"] == *work);
        let exact = row["scheduler"] == "none" && (!is_flash || in_turn);
        assert_eq!(row["exact"], exact, "{name}: where the order must be the same");
        if exact && !row["first_other"].is_null() {
            wrong.push(format!("{name}: completion {} is another", row["first_other"]));
        }
        for metric in row["metrics"].as_array().expect("a row has metrics") {
            let (difference, bound) = (metric["difference"].as_f64(), metric["bound"].as_f64());
            if difference.zip(bound).is_none_or(|(difference, bound)| difference.abs() > bound) {
                wrong.push(format!("{name}: {metric}"));
            }
            if exact && !is_flash && metric["name"] == "elapsed_s" {
                assert_eq!(bound, Some(0.07), "{name}: what is guaranteed of none");
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for scheduler in ["none", "mq-deadline", "kyber", "bfq", "anticipatory", "wpcas", "occupancy"] {
        let disks = rows
            .iter()
            .filter(|row| row["scheduler"] == scheduler)
            .map(|row| row["disk"].to_string());
        assert_eq!(
            disks.collect::<std::collections::BTreeSet<_>>().len(),
            if ["anticipatory", "wpcas"].contains(&scheduler) { 3 } else { 6 },
            "{scheduler} on all disks that it is for"
        );
    }
    assert!(output.status.success(), "{stderr}");
}
