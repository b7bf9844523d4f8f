//! The process of one work or load: an order on standard input, a report as the last line of standard output.

use std::io::Read;

use anyhow::{Context, Result, bail};
use cpu_workloads::Order;

use crate::arena::beside::BEGUN;
use crate::inside::{self, DONE};
use crate::signals::Stop;

/// Does what it is told.
pub fn run() -> Result<u8> {
    let stop = Stop::install()?;
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("no order on standard input")?;
    let order: Order =
        serde_json::from_str(&text).context("started by schedlab itself, with an order on standard input")?;
    let mut told = Ok(());
    let report = cpu_workloads::run(&order, &stop.flag(), || told = inside::line(BEGUN))?;
    told?;
    if !order.is_load() && stop.signal().is_some() {
        bail!("it was told to end before its work was done");
    }
    inside::line(serde_json::to_string(&report)?)?;
    Ok(DONE)
}
