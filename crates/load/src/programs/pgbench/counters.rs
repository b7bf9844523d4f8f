//! The server's counters: checkpoints, buffers, write-ahead log.
//!
//! Counters that a version does not have are missing from the results instead of 0.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use super::server::Server;
use super::tools::Tools;
use crate::programs::error::RunnerError;

/// Available in every version.
pub(super) const FLUSHED: &str = "wal_flushed_bytes";

/// Blocks read from the file system.
pub(super) const BLOCKS_READ: &str = "blocks_read";

/// For exited clients' backends to report their counters.
const SETTLE: Duration = Duration::from_secs(10);

pub(super) type Counters = BTreeMap<String, f64>;

/// Name, expression, first and last version.
type Row = (&'static str, &'static str, u32, u32);

const LAST: u32 = u32::MAX;

const ROWS: &[Row] = &[
    (FLUSHED, "pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')", 0, LAST),
    (BLOCKS_READ, "(select sum(blks_read) from pg_stat_database)", 0, LAST),
    ("checkpoints_timed", "(select checkpoints_timed from pg_stat_bgwriter)", 0, 16),
    ("checkpoints_timed", "(select num_timed from pg_stat_checkpointer)", 17, LAST),
    ("checkpoints_req", "(select checkpoints_req from pg_stat_bgwriter)", 0, 16),
    ("checkpoints_req", "(select num_requested from pg_stat_checkpointer)", 17, LAST),
    ("buffers_checkpoint", "(select buffers_checkpoint from pg_stat_bgwriter)", 0, 16),
    ("buffers_checkpoint", "(select buffers_written from pg_stat_checkpointer)", 17, LAST),
    ("buffers_clean", "(select buffers_clean from pg_stat_bgwriter)", 0, LAST),
    ("buffers_backend", "(select buffers_backend from pg_stat_bgwriter)", 0, 16),
    ("wal_bytes", "(select wal_bytes from pg_stat_wal)", 14, LAST),
    ("wal_full_pages", "(select wal_fpi from pg_stat_wal)", 14, LAST),
    ("wal_sync", "(select wal_sync from pg_stat_wal)", 14, 17),
];

pub(super) fn read(
    server: &Server<'_>,
    tools: &Tools,
    patience: Duration,
) -> Result<Counters, RunnerError> {
    let said = server.query(tools, &query(tools.major), patience)?;
    parse(&said, tools.major).ok_or_else(|| RunnerError::Unreadable {
        program: "psql".to_string(),
        missing: "statistics of the server".to_string(),
        tail: format!("; output:\n  {}", said.trim()),
    })
}

/// Backends report their counters when they exit, so all client connections must have ended.
pub(super) fn read_at_rest(
    server: &Server<'_>,
    tools: &Tools,
    patience: Duration,
) -> Result<Counters, RunnerError> {
    let others = "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()";
    let since = Instant::now();
    while server.query(tools, others, patience)?.trim() != "0"
        && since.elapsed() < SETTLE.min(patience)
    {
        thread::sleep(Duration::from_millis(10));
    }
    read(server, tools, patience)
}

pub(super) fn difference(before: &Counters, after: &Counters) -> Counters {
    after
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value - before.get(name)?)))
        .collect()
}

fn rows(major: u32) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |(_, _, first, last)| (*first..=*last).contains(&major))
}

pub(super) fn query(major: u32) -> String {
    let columns: Vec<&str> = rows(major).map(|(_, place, ..)| *place).collect();
    format!("select {}", columns.join(", "))
}

/// Parses one row.
pub(super) fn parse(said: &str, major: u32) -> Option<Counters> {
    let mut values = said.trim().split('|');
    let mut all = Counters::new();
    for (name, ..) in rows(major) {
        all.insert((*name).to_string(), values.next()?.trim().parse().ok()?);
    }
    values.next().is_none().then_some(all)
}
