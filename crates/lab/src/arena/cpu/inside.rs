//! The process of a CPU workload: a request on standard input, a report as the last line of
//! standard output.

use std::io::Read;

use anyhow::{Context, Result, bail};
use load::cpu::Spec;

use crate::arena::processes::BEGUN;
use crate::role::{DONE, line};
use crate::signals::Stop;

pub fn run() -> Result<u8> {
    let stop = Stop::install()?;
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .context("standard input: cannot read the request")?;
    let order: Spec = serde_json::from_str(&text)
        .context("standard input: not a request; this command is internal to schedlab")?;
    let mut told = Ok(());
    let report = load::cpu::run(&order, &stop.flag(), || told = line(BEGUN))?;
    told?;
    if !order.is_load() && stop.signal().is_some() {
        bail!("CPU workload: ended by a signal before it was done");
    }
    line(serde_json::to_string(&report)?)?;
    Ok(DONE)
}
