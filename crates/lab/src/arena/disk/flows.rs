//! Flows on a real device: each in a process and a control group of its own, begun together.
//!
//! A group is called by a number below the session's key, never by the flow's name, and is in the
//! session's journal entry before it is made: after `kill -9` of this process the next start ends
//! the flows and removes their groups.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result};
use experiment::results::InvalidReason;
use load::{ClientFile, PATIENCE, monotonic_ns};
use machine::Session;
use machine::session::{Launch, Running};
use sim::workload::{FlowWork, Measured};

use super::setting::VariantSetting;
use crate::arena::TrialSpec;
use crate::arena::flows::{FlowReport, FlowRequest, ROLE, Span, lead, merged};

/// From the end of a flow's window to the end of its process: requests in flight, and the report.
const LAST_WORDS: Duration = Duration::from_secs(30);

/// What flows have done, or what speaks against the trial.
pub(super) struct Driven {
    pub(super) measured: Measured,
    pub(super) invalid: Vec<InvalidReason>,
}

/// Starts the flows of a workload under the setting of a variant, and waits for them.
pub(super) fn run(
    session: &Session,
    setting: &VariantSetting,
    flows: &[FlowWork],
    files: &[Vec<ClientFile>],
    spec: &TrialSpec,
    stop: &AtomicBool,
) -> Result<Driven> {
    let TrialSpec { seed, duration, warmup, .. } = *spec;
    let ahead = lead(flows.len());
    let ns = u64::try_from(ahead.as_nanos()).expect("a lead of seconds");
    let span = Span {
        start_ns: monotonic_ns() + ns,
        warmup,
        duration,
        patience: PATIENCE,
        seed,
        submission: load::Submission::IoUring,
    };
    let mut running: Vec<Running> = Vec::new();
    for (number, flow) in flows.iter().enumerate() {
        let launch = Launch {
            program: std::env::current_exe().context("schedlab: cannot find its own executable")?,
            args: vec![ROLE.into()],
            dir: "/".into(),
            share: setting.share(flow),
            input: FlowRequest::new(flow, number, &files[number], &span).to_json()?,
            ..Launch::default()
        };
        running.push(session.start(&launch)?);
    }
    let longest = ahead + warmup + duration + PATIENCE + LAST_WORDS;
    let (mut reports, mut invalid) = (Vec::new(), Vec::new());
    for (flow, running) in flows.iter().zip(running) {
        let ended = running.wait(longest, stop)?;
        match FlowReport::read(&flow.name, &ended.stdout, &ended.stderr) {
            Ok(report) => {
                invalid.extend(report.late().map(|detail| InvalidReason::ProgramFailed { detail }));
                reports.push(report);
            }
            Err(error) => invalid.push(InvalidReason::ProgramFailed { detail: error.to_string() }),
        }
    }
    // Without one of them the sum would be that of other flows.
    let measured =
        if reports.len() == flows.len() { merged(flows, reports) } else { Measured::default() };
    Ok(Driven { measured, invalid })
}
