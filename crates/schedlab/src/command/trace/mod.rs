//! `schedlab trace`: what a trace holds, and the same in another format.
//!
//! A trace of the events of a simulated trial gives the figures that follow from its events alone
//! ([`events`]); every other trace is a recording of requests ([`recording`]). A trace of events
//! becomes a recording where it is written in a format of recordings.

mod events;
mod recording;

use anyhow::Result;
use lab::{recordings, trace_file};

use crate::cli::TraceArgs;

/// Prints what a trace says, or converts it.
pub(crate) fn run(args: &TraceArgs) -> Result<u8> {
    let is_events = args.format == "auto" && recordings::is_events(&args.file);
    let stays = args.to.as_deref().is_none_or(trace_file::is_name);
    if is_events && stays { events::run(args) } else { recording::run(args) }
}
