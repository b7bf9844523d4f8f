//! The columns of a trace.

use anyhow::{Context, Result, anyhow};
use elevator::{Op, Time};
use sim::EventKind;

/// In this order: nanoseconds, word, optional number, optional number, optional word, number,
/// number.
pub(super) const COLUMNS: [&str; 7] =
    ["at_ns", "event", "process", "tag", "op", "sector", "nr_sectors"];

pub(super) fn kind_of(word: &str) -> Result<EventKind> {
    let known = || EventKind::ALL.iter().map(|kind| kind.name());
    EventKind::ALL
        .into_iter()
        .find(|kind| kind.name() == word)
        .ok_or_else(|| anyhow!("event {word:?}: unknown{}", text::did_you_mean(word, known())))
}

pub(super) fn op_of(word: &str) -> Result<Option<Op>> {
    match word {
        "" => Ok(None),
        "read" => Ok(Some(Op::Read)),
        "write" => Ok(Some(Op::Write)),
        other => Err(anyhow!("operation {other:?}: unknown (expected read, write or nothing)")),
    }
}

pub(super) fn op_name(op: Option<Op>) -> &'static str {
    match op {
        None => "",
        Some(Op::Read) => "read",
        Some(Op::Write) => "write",
    }
}

pub(super) fn time_of(ns: i64) -> Result<Time> {
    Ok(Time::from_ns(u64::try_from(ns).context("time: negative")?))
}
