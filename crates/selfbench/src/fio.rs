//! Runs fio and parses its JSON.
//!
//! fio gets every advantage: no random map, registered files and buffers, no cache invalidation,
//! and only one of its three latency measurements, since our engine takes one too. Its CPU time is
//! its client thread's, without io_uring workers, regardless of --thread.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

pub(crate) const COMMON: &[&str] = &[
    "--name=bench",
    "--rw=randread",
    "--bs=4k",
    "--time_based",
    "--norandommap",
    "--randrepeat=1",
    "--invalidate=0",
    "--disable_slat=1",
    "--disable_lat=1",
    "--output-format=json",
];
pub(crate) const PSYNC: &[&str] = &["--ioengine=psync", "--iodepth=1"];
pub(crate) const IO_URING: &[&str] = &[
    "--ioengine=io_uring",
    "--iodepth=32",
    "--registerfiles=1",
    "--fixedbufs=1",
    "--nonvectored=1",
];
pub(crate) const IO_URING_BATCHED: &[&str] = &[
    "--ioengine=io_uring",
    "--iodepth=32",
    "--registerfiles=1",
    "--fixedbufs=1",
    "--nonvectored=1",
    "--iodepth_batch_submit=32",
    "--iodepth_batch_complete_min=1",
    "--iodepth_batch_complete_max=32",
];

/// The installed version, or how to get one.
pub(crate) fn version() -> Result<String> {
    let output = Command::new("fio")
        .arg("--version")
        .output()
        .context("fio is not installed: apt-get install fio")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Sample {
    pub(crate) iops: f64,
    pub(crate) iops_per_core: f64,
}

/// Runs fio once on the first `len` bytes of a file or device.
pub(crate) fn run(
    engine: &[&str],
    path: &Path,
    len: u64,
    direct: bool,
    seconds: f64,
) -> Result<Sample> {
    let output = Command::new("fio")
        .args(COMMON)
        .args(engine)
        .arg(format!("--filename={}", path.display()))
        .arg(format!("--size={len}"))
        .arg(format!("--direct={}", u8::from(direct)))
        .arg(format!("--runtime={}ms", (seconds * 1e3) as u64))
        .output()
        .context("cannot start fio: apt-get install fio")?;
    ensure!(output.status.success(), "fio failed: {}", String::from_utf8_lossy(&output.stderr));
    parse(&String::from_utf8_lossy(&output.stdout))
}

#[derive(Deserialize)]
struct Output {
    jobs: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    job_runtime: f64,
    usr_cpu: f64,
    sys_cpu: f64,
    read: Reads,
}

#[derive(Deserialize)]
struct Reads {
    iops: f64,
    total_ios: u64,
}

/// Skips notes that fio may print before its JSON.
fn parse(text: &str) -> Result<Sample> {
    let json = text.find('{').map_or("", |start| &text[start..]);
    let output: Output = serde_json::from_str(json)
        .context("fio's JSON is not as expected (version 3 is needed)")?;
    let [group] = &output.jobs[..] else {
        bail!("fio reported {} groups instead of one", output.jobs.len())
    };
    let cpu_s = group.job_runtime / 1e3 * (group.usr_cpu + group.sys_cpu) / 100.0;
    ensure!(cpu_s > 0.0, "fio: no CPU time in its report; run longer");
    Ok(Sample { iops: group.read.iops, iops_per_core: group.read.total_ios as f64 / cpu_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_its_percentage_of_the_run_time() {
        let text = r#"note: something
            {"jobs": [{"job_runtime": 2000, "usr_cpu": 10.0, "sys_cpu": 40.0, "read": {"iops": 500.0, "total_ios": 1000}}]}"#;
        let sample = parse(text).unwrap();
        assert_eq!((sample.iops, sample.iops_per_core), (500.0, 1000.0));
    }

    #[test]
    fn other_output_is_refused() {
        for text in ["", "fio: error", "{}", r#"{"jobs": []}"#] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
