//! Records the disk for `advise` in a child process: recording drops root's privileges for good,
//! and the replay must still start kernels and write results.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lab::signals::Stop;
use machine::files::programs;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::cli::AdviseArgs;
use crate::command::watch;
use crate::failure::{USAGE, usage};
use crate::out;

const EVERY: Duration = Duration::from_millis(50);
const SUMMARY_BYTES: u64 = 1 << 20;

/// A signal ends the trace early.
pub(super) fn of(args: &AdviseArgs, dir: &Path, stop: &Stop) -> Result<PathBuf> {
    let file = dir.join("trace.parquet");
    let mut command = programs::self_command(&watch::program()?);
    command.args(["trace", "record", "--json", "--for", &args.length, "--out"]).arg(&file);
    if args.quiet || args.json {
        command.arg("--quiet");
    }
    command.arg("--").arg(&args.subject).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command
        .spawn()
        .with_context(|| format!("{}: the trace cannot be started", args.subject))?;
    let mut was_asked = false;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if stop.signal().is_some() && !was_asked {
            // On a terminal the child has the signal already; a second one is harmless.
            let _ = kill_process(Pid::from_child(&child), Signal::INT);
            was_asked = true;
        }
        thread::sleep(EVERY);
    };
    if stop.signal().is_some() {
        out::note(format_args!("the trace is {}", file.display()));
        return Ok(file);
    }
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(SUMMARY_BYTES).read_to_string(&mut said)?;
    }
    let summary: Value = serde_json::from_str(&said).unwrap_or_default();
    match summary["requests"].as_u64() {
        None if status.code() == Some(USAGE.into()) => {
            Err(usage(format!("{}: cannot be recorded so; see above", args.subject)))
        }
        None => bail!("{}: the trace failed ({status}); see above", args.subject),
        Some(0) => bail!(
            "{}: asked for nothing while it was recorded; record it while it works, for longer with --for",
            args.subject
        ),
        Some(_) => Ok(file),
    }
}
