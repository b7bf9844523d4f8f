//! `schedlab trace convert`: summarises or converts a trace.
//!
//! [`events`] summarises event traces of simulated trials; [`requests`] does the rest, including
//! their conversion to a request format.

mod events;
mod requests;

use anyhow::Result;
use lab::{trace_file, traces};

use crate::cli::ConvertArgs;

pub(crate) fn run(args: &ConvertArgs) -> Result<u8> {
    let is_events = args.format == "auto" && traces::is_events(&args.file);
    let stays = args.to.as_deref().is_none_or(trace_file::is_name);
    if is_events && stays { events::run(args) } else { requests::run(args) }
}
