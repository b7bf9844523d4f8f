//! `schedlab trace`: what a trace holds, and the same in another format.
//!
//! A trace of the events of a simulated trial gives the figures that follow from its events alone
//! ([`events`]); every other one is a trace of requests ([`requests`]), which the first kind
//! becomes where it is written in a format of requests.

mod events;
mod requests;

use anyhow::Result;
use lab::{trace_file, traces};

use crate::cli::ConvertArgs;

/// Prints what a trace says, or converts it.
pub(crate) fn run(args: &ConvertArgs) -> Result<u8> {
    let is_events = args.format == "auto" && traces::is_events(&args.file);
    let stays = args.to.as_deref().is_none_or(trace_file::is_name);
    if is_events && stays { events::run(args) } else { requests::run(args) }
}
