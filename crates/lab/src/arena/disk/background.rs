//! Background load: one process per load, so that each can have a share and be signalled.
//!
//! The process is this program with a hidden subcommand. It reports its start, runs until
//! signalled, and prints what it transferred, which is subtracted from the device's counts.

use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use experiment::results::InvalidReason;
use load::{ClientFile, Drive, Issued, Submission};
use machine::Session;
use machine::session::Launch;
use serde::{Deserialize, Serialize};

use crate::arena::processes::{self, BEGUN, Processes, WITHOUT_END};
use crate::role::{DONE, line};
use crate::signals::Stop;
use crate::workloads::Load;

/// Standard input of the process.
#[derive(Debug, Serialize, Deserialize)]
struct LoadRequest {
    kind: String,
    params: Vec<(String, String)>,
    files: Vec<(PathBuf, u64, u64)>,
    seed: u64,
}

/// Standard output.
#[derive(Debug, Default, Serialize, Deserialize)]
struct LoadReport {
    reads: u64,
    read_bytes: u64,
    writes: u64,
    written_bytes: u64,
    window_s: f64,
    errors: u64,
}

#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) issued: Issued,
    /// `background_read_mb_per_s` …
    pub(super) counters: Vec<(String, f64)>,
    pub(super) invalid: Vec<InvalidReason>,
}

/// Dropping this ends them.
#[derive(Debug, Default)]
pub(super) struct RunningLoads(Processes);

impl RunningLoads {
    pub(super) fn start(
        session: &Session,
        loads: &[Load],
        files: &[Vec<ClientFile>],
        seed: u64,
    ) -> Result<RunningLoads> {
        let launches = loads.iter().zip(files).enumerate().map(|(at, (load, files))| {
            let order = LoadRequest {
                kind: load.work.kind.name.to_owned(),
                params: load
                    .work
                    .kind
                    .show(&load.work.params)
                    .into_iter()
                    .map(|(k, v)| (k.to_owned(), v))
                    .collect(),
                files: files.iter().map(|file| (file.path.clone(), file.base, file.len)).collect(),
                seed: seed.wrapping_add(1 + at as u64),
            };
            let launch = Launch {
                program: std::env::current_exe()
                    .context("schedlab: cannot find its own executable")?,
                args: vec!["background-load".into()],
                dir: "/".into(),
                share: crate::arena::invalid::share_of(&load.share),
                input: serde_json::to_vec(&order).context("request: cannot be written as JSON")?,
                ..Launch::default()
            };
            Ok((load.work.kind.name.to_owned(), launch))
        });
        Ok(RunningLoads(Processes::start(session, launches.collect::<Result<_>>()?)?))
    }

    pub(super) fn end(self) -> Result<Done> {
        let mut done = Done::default();
        let mut window_s = 0.0f64;
        for ended in self.0.end()? {
            let (name, ended) = match ended {
                Ok(ended) => ended,
                Err(invalid) => {
                    done.invalid.push(invalid);
                    continue;
                }
            };
            let told = ended
                .stdout
                .lines()
                .nth(1)
                .and_then(|line| serde_json::from_str::<LoadReport>(line).ok());
            let Some(told) = told else {
                done.invalid.push(processes::ended_early(&name, &ended));
                continue;
            };
            if told.errors > 0 {
                let first = format!("in the background load {name}");
                done.invalid.push(InvalidReason::DeviceErrors { count: told.errors, first });
            }
            let (reads, read_bytes, writes, written_bytes) =
                (told.reads, told.read_bytes, told.writes, told.written_bytes);
            done.issued.add(&Issued { reads, read_bytes, writes, written_bytes });
            window_s = window_s.max(told.window_s);
        }
        if window_s > 0.0 {
            let rate = |bytes: u64| bytes as f64 / 1e6 / window_s;
            done.counters = vec![
                ("background_read_mb_per_s".to_owned(), rate(done.issued.read_bytes)),
                ("background_write_mb_per_s".to_owned(), rate(done.issued.written_bytes)),
            ];
        }
        Ok(done)
    }
}

/// The load's process.
pub fn inside() -> Result<u8> {
    let stop = Stop::install()?;
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .context("standard input: cannot read the request")?;
    let order: LoadRequest = serde_json::from_str(&text)
        .context("standard input: not a request; this command is internal to schedlab")?;
    let kind = sim::workload::find(&order.kind).map_err(|e| anyhow!("{e}"))?;
    let params = kind
        .params(order.params.iter().map(|(k, v)| (k.as_str(), v.as_str())))
        .map_err(|e| anyhow!("{e}"))?;
    let files =
        order.files.into_iter().map(|(path, base, len)| ClientFile { path, base, len }).collect();
    let (seed, duration, warmup) = (order.seed, WITHOUT_END, Duration::ZERO);
    let drive = Drive {
        kind,
        params,
        files,
        seed,
        duration,
        warmup,
        patience: load::PATIENCE,
        submission: Submission::IoUring,
    };
    line(BEGUN)?;
    let measured = load::run(&drive, &stop.flag())?;
    let told = LoadReport {
        reads: measured.issued.reads,
        read_bytes: measured.issued.read_bytes,
        writes: measured.issued.writes,
        written_bytes: measured.issued.written_bytes,
        window_s: measured.window_ns as f64 / 1e9,
        errors: measured.errors,
    };
    line(serde_json::to_string(&told)?)?;
    Ok(DONE)
}
