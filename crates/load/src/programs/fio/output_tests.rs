//! fio's results: sums, weights, percentiles, and refused values.

use serde_json::{Value, json};

use super::*;

fn way(io_bytes: u64, requests: u64, runtime: u64, bins: Value) -> Value {
    let bins_of = bins.as_object().unwrap();
    let samples: u64 = bins_of.values().map(|count| count.as_u64().unwrap()).sum();
    let sum: u64 = bins_of
        .iter()
        .map(|(ns, count)| ns.parse::<u64>().unwrap() * count.as_u64().unwrap())
        .sum();
    let runtime_ = runtime.max(1);
    json!({
        "io_bytes": io_bytes, "bw_bytes": io_bytes * 1000 / runtime_, "iops": requests as f64 * 1000.0 / runtime_ as f64,
        "runtime": runtime, "total_ios": requests, "short_ios": 0, "drop_ios": 0,
        "lat_ns": {"min": 0, "mean": sum as f64 / samples.max(1) as f64, "N": samples, "bins": bins}
    })
}

fn idle() -> Value {
    way(0, 0, 0, json!({}))
}

fn job(name: &str, group: u64, read: Value, write: Value) -> Value {
    json!({"jobname": name, "groupid": group, "error": 0, "read": read, "write": write, "trim": idle()})
}

fn print(jobs: Vec<Value>) -> String {
    format!(
        "note: a remark of fio's\n{}\n",
        serde_json::to_string_pretty(&json!({"jobs": jobs})).unwrap()
    )
}

fn wanted(names: &[&str]) -> Vec<Wanted> {
    let one = |name: &&str| Wanted {
        name: name.to_string(),
        reads: *name == "a",
        writes: *name == "b",
        trims: false,
    };
    names.iter().map(one).collect()
}

#[track_caller]
fn metrics(jobs: Vec<Value>, names: &[&str]) -> Measurement {
    measurement(&read(&print(jobs)).unwrap(), &wanted(names), true).unwrap()
}

#[test]
fn a_job_that_got_nothing_has_rates_of_zero_and_no_latency() {
    let a = job("a", 0, way(1_000_000, 10, 1000, json!({"2000": 10})), idle());
    let seen = metrics(vec![a, job("b", 0, idle(), idle())], &["a", "b"]);
    assert!(
        seen.metrics["b.write_iops"] == 0.0 && seen.metrics["write_mb_per_s"] == 0.0,
        "{seen:?}"
    );
    assert!(
        !seen.metrics.contains_key("b.latency_mean_us")
            && !seen.metrics.contains_key("b.read_iops"),
        "{seen:?}"
    );
}

#[test]
fn jobs_of_one_time_are_added_and_their_latencies_weighted() {
    let a = job("a", 0, way(4_000_000, 1000, 1000, json!({"1000": 1000})), idle());
    let b = job("b", 0, idle(), way(2_000_000, 10, 2000, json!({"101000": 10})));
    let seen = metrics(vec![a, b], &["a", "b"]);
    let is = |name: &str, value: f64| {
        assert!((seen.metrics[name] - value).abs() < 1e-9, "{name} {:?}", seen.metrics)
    };
    is("throughput_mb_per_s", 5.0);
    is("read_mb_per_s", 4.0);
    is("write_mb_per_s", 1.0);
    is("iops", 1005.0);
    is("latency_mean_us", (1000.0 + 1010.0) / 1010.0);
    is("latency_p50_us", 1.0);
    is("latency_p99_us", 1.0);
    is("latency_p999_us", 101.0);
    is("write_latency_p99_us", 101.0);
    is("a.read_iops", 1000.0);
    is("a.throughput_mb_per_s", 4.0);
    is("b.iops", 5.0);
    assert!(
        !seen.metrics.contains_key("a.write_iops") && !seen.metrics.contains_key("trim_iops"),
        "{seen:?}"
    );
    assert_eq!((seen.counts["latency_p99_us"], seen.counts["b.latency_p99_us"]), (1010, 10));
    assert_eq!(seen.window, Duration::from_millis(2000));
    assert_eq!(
        seen.moved,
        Some(Moved { read_bytes: 4_000_000, written_bytes: 2_000_000, exact: true })
    );
}

#[test]
fn jobs_that_follow_each_other_are_all_bytes_by_all_time() {
    let a = job("a", 0, way(3_000_000, 3, 3000, json!({"1000": 3})), idle());
    let b = job("b", 1, way(9_000_000, 9, 1000, json!({"1000": 9})), idle());
    let seen = metrics(vec![a, b], &["a", "b"]);
    assert!((seen.metrics["throughput_mb_per_s"] - 3.0).abs() < 1e-9, "{seen:?}");
    assert!((seen.metrics["b.throughput_mb_per_s"] - 9.0).abs() < 1e-9, "{seen:?}");
    assert_eq!(seen.window, Duration::from_secs(4));
}

#[test]
fn clones_are_one_job_and_a_single_job_has_no_second_set_of_figures() {
    let clone = || job("a", 0, way(1_000_000, 10, 1000, json!({"2000": 9, "9000": 1})), idle());
    let seen = metrics(vec![clone(), clone()], &["a"]);
    assert!(
        (seen.metrics["iops"] - 20.0).abs() < 1e-9 && seen.counts["latency_p50_us"] == 20,
        "{seen:?}"
    );
    assert!(seen.metrics.keys().all(|name| !name.contains('.')), "{seen:?}");
}

#[test]
fn trims_move_nothing_and_stand_by_themselves() {
    let mut value = job("a", 0, way(1_000_000, 10, 1000, json!({"2000": 10})), idle());
    value["trim"] = way(8_000_000, 5, 1000, json!({"7000": 5}));
    let seen = metrics(vec![value], &["a"]);
    assert!(
        (seen.metrics["trim_iops"] - 5.0).abs() < 1e-9
            && (seen.metrics["iops"] - 10.0).abs() < 1e-9,
        "{seen:?}"
    );
    assert!(!seen.metrics.contains_key("trim_mb_per_s"), "{seen:?}");
    assert!((seen.metrics["latency_p999_us"] - 2.0).abs() < 1e-9, "{seen:?}");
}

#[test]
fn figures_that_are_missing_or_contradict_each_other_are_an_error() {
    let good = || job("a", 0, way(1_000_000, 10, 1000, json!({"2000": 10})), idle());
    let spoilt = |spoil: &dyn Fn(&mut Value)| {
        let mut value = good();
        spoil(&mut value);
        read(&print(vec![value])).unwrap_err()
    };
    assert!(
        spoilt(&|job| drop(job["read"].as_object_mut().unwrap().remove("bw_bytes")))
            .contains("bw_bytes")
    );
    assert!(spoilt(&|job| job["read"]["bw_bytes"] = json!(976)).contains("bytes/s"));
    assert!(spoilt(&|job| job["read"]["runtime"] = json!(1)).contains("ms"));
    assert!(spoilt(&|job| job["read"]["iops"] = json!(11.0)).contains("a second"));
    assert!(spoilt(&|job| job["read"]["lat_ns"]["N"] = json!(11)).contains("10 of 11"));
    assert!(
        spoilt(&|job| drop(job["read"]["lat_ns"].as_object_mut().unwrap().remove("bins")))
            .contains("0 of 10")
    );
    assert!(spoilt(&|job| job["error"] = json!(5)).contains("error 5"));
    assert!(
        read("fio: nothing\n").is_err()
            && read("{\n").is_err()
            && read("{\n\"jobs\": []\n}").is_err()
    );
    let jobs = read(&print(vec![good()])).unwrap();
    assert!(measurement(&jobs, &wanted(&["a", "b"]), true).unwrap_err().contains("job b"));
    let none = read(&print(vec![job("a", 0, idle(), idle())])).unwrap();
    assert!(measurement(&none, &wanted(&["a"]), true).unwrap_err().contains("request"));
}

#[test]
fn a_percentile_is_the_first_bin_that_reaches_it() {
    let seen = metrics(
        vec![job("a", 0, way(1000, 10, 1000, json!({"1000": 5, "2000": 5})), idle())],
        &["a"],
    );
    assert_eq!((seen.metrics["latency_p50_us"], seen.metrics["latency_p99_us"]), (1.0, 2.0));
}
