//! Flows on a real device, each in its own process and control group.
//!
//! Groups are named after the session and a number, and journaled before they are created. If this
//! process is killed, the next start ends the flows and removes the groups.

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

/// To finish requests in flight and report.
const LAST_WORDS: Duration = Duration::from_secs(30);

pub(super) struct Driven {
    pub(super) measured: Measured,
    pub(super) invalid: Vec<InvalidReason>,
}

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
    // A partial sum would not describe the workload.
    let measured =
        if reports.len() == flows.len() { merged(flows, reports) } else { Measured::default() };
    Ok(Driven { measured, invalid })
}
