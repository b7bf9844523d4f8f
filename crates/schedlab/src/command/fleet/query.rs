//! SQL over a fleet, by DuckDB.
//!
//! DuckDB parses files that any machine of the fleet may have written. Started by root, it runs as
//! an unprivileged user, reads only these files and the system's programs, and writes nothing.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use fleet::{Location, Store};
use machine::confine::Reader;
use machine::files::programs;

use crate::cli::FleetQueryArgs;
use crate::failure::{REACHED, usage};
use crate::{out, rights};

/// The duckdb program is not packaged everywhere; the Python module is.
const PYTHON: &str = "import sys, duckdb\nfound = duckdb.sql(sys.argv[1])\nif found is not None:\n    found.show(max_rows=10000, max_width=100000)";

pub(super) fn query(location: Location, args: &FleetQueryArgs) -> Result<u8> {
    let Location::Directory(dir) = location else {
        return Err(usage(format!(
            "{}: SQL is asked of a directory; copy the bucket into one: schedlab fleet copy DIR --fleet {0}",
            args.place.fleet.as_deref().unwrap_or_default()
        )));
    };
    let dir = std::path::absolute(&dir).with_context(|| format!("{}: no path", dir.display()))?;
    let sql = format!("{}\n{}", fleet::view(&dir), args.sql);
    if args.print {
        out::line(sql)?;
        return Ok(REACHED);
    }
    Store::open(&Location::Directory(dir.clone()))?;
    let mut command = duckdb(&sql)?;
    let program = PathBuf::from(command.get_program());
    if rustix::process::geteuid().is_root() {
        Reader::new(&program, &[&dir])?.apply_to(&mut command);
    }
    let started =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    // Only root can start a process under another user, so drop privileges after it.
    rights::give_up(&[], None)?;
    let started =
        started.with_context(|| format!("{}: DuckDB cannot be started", program.display()))?;
    let output = started.wait_with_output().context("fleet: DuckDB is lost")?;
    out::print(String::from_utf8_lossy(&output.stdout))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if said.contains("No module named 'duckdb'") {
            bail!(
                "{}: has no module duckdb; install it (-m pip install duckdb), or take the SQL of --print elsewhere",
                program.display()
            );
        }
        bail!("fleet: DuckDB has failed: {}", said.trim());
    }
    Ok(REACHED)
}

fn duckdb(sql: &str) -> Result<Command> {
    if let Some(program) = programs::find("duckdb") {
        let mut command = programs::helper_at(&program);
        command.args(["-box", "-c", sql]);
        return Ok(command);
    }
    let mut command = programs::python().context(
        "fleet: neither duckdb nor python3 is in PATH; install one (pip install duckdb), or take the SQL of --print elsewhere",
    )?;
    command.args(["-c", PYTHON, sql]);
    Ok(command)
}
