//! pgbench: its output, and the logs of `--log` with and without `--aggregate-interval`.
//!
//! Source: PostgreSQL's documentation of pgbench and the output of version 15. A run of pgbench is
//! one trial in either form, because its transactions share caches, checkpoints and connections.

use crate::error::Error;
use crate::importer::{Importer, first_missing};
use crate::pgbench_log;
use crate::rows::{Entry, File, Rows};

const REMEDY: &str = "write it with LC_ALL=C pgbench … > FILE";

pub(crate) const ROW: Importer = Importer {
    name: "pgbench",
    reads: "what pgbench prints (LC_ALL=C pgbench … > FILE; several starts in one file are several trials), or the log of --log, \
            of transactions or of --aggregate-interval; name the logs --log-prefix=VARIANT",
    trial: "a start of pgbench; the log of each of its threads is a part of it",
    labels: &[("script", "the transaction type that pgbench prints")],
    metrics: &[
        ("tps", "tx/s", "transactions per second, without the time of connecting"),
        ("latency_mean_ms", "ms", "mean latency of a transaction"),
        ("latency_p50_ms", "ms", "median latency; from a log of transactions"),
        ("latency_p95_ms", "ms", "95th percentile of latency; from a log of transactions"),
        ("latency_p99_ms", "ms", "99th percentile of latency; from a log of transactions"),
        ("failed_transactions", "tx", "transactions that failed; from what pgbench prints"),
    ],
    own_metrics: "",
    lacks: &[
        "pgbench's output contains no measurement order or rounds: --round run uses the file numbers as rounds",
    ],
    variants: &["file", "dir", "script"],
    repeat: "start pgbench at least five times for each variant, alternating (on-1.txt, off-1.txt, on-2.txt, …), or let schedlab do it: sudo schedlab \
             compare --device DEVICE --schedulers A,B --workload pgbench:scale=10",
    within: None,
    missing: |text| {
        let output = first_missing(text, &["transaction type: ", "number of clients: "]);
        output.filter(|_| !pgbench_log::is_log(text))
    },
    read,
};

fn read(files: &[File]) -> Result<Rows, Error> {
    let mut rows = Rows::default();
    let (logs, outputs): (Vec<&File>, Vec<&File>) =
        files.iter().partition(|file| pgbench_log::is_log(&file.text));
    for file in outputs {
        output(file, &mut rows)?;
    }
    pgbench_log::read(&logs, &mut rows)?;
    Ok(rows)
}

pub(crate) fn output(file: &File, rows: &mut Rows) -> Result<(), Error> {
    let begin = |line: &str| line.starts_with("transaction type: ");
    let starts: Vec<usize> =
        file.text.lines().enumerate().filter(|(_, line)| begin(line)).map(|(at, _)| at).collect();
    if starts.is_empty() {
        let problem =
            "neither the output nor a log of pgbench (no line \"transaction type: …\"; localised?)";
        return Err(Error::new(&file.path, problem, REMEDY));
    }
    let lines: Vec<&str> = file.text.lines().collect();
    for (at, start) in starts.iter().enumerate() {
        let end = starts.get(at + 1).copied().unwrap_or(lines.len());
        rows.entries.push(trial(file, &lines[*start..end], *start)?);
    }
    Ok(())
}

fn trial(file: &File, lines: &[&str], start: usize) -> Result<Entry, Error> {
    let place = format!("line {}", start + 1);
    // Values of individual scripts are indented.
    let value = |name: &str| {
        let mut after = lines.iter().filter_map(|line| line.strip_prefix(name));
        after.find_map(|rest| rest.trim_start().strip_prefix(['=', ':'])).map(str::trim)
    };
    let number = |name: &str, text: &str| {
        let word = text.split_whitespace().next().unwrap_or_default();
        word.parse::<f64>().map_err(|_| {
            Error::new(
                &file.path,
                format!("{name} is {word:?}, which is not a number (localised?)"),
                REMEDY,
            )
            .at(&*place)
        })
    };
    let mut entry = Entry::new(file).label("script", value("transaction type").unwrap_or_default());
    let all_tps: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("tps = ")).collect();
    let tps = all_tps.iter().find(|text| text.contains("excluding")).or(all_tps.first());
    let Some(tps) = tps else {
        let problem = "no line \"tps = …\": pgbench did not finish, or the file is truncated";
        return Err(Error::new(&file.path, problem, "measure it again, or omit the file").at(place));
    };
    entry.put(file, &place, "tps", number("tps", tps)?)?;
    if let Some(latency) = value("latency average") {
        entry.put(file, &place, "latency_mean_ms", number("latency average", latency)?)?;
    }
    if let Some(failed) = value("number of failed transactions") {
        entry.put(
            file,
            &place,
            "failed_transactions",
            number("number of failed transactions", failed)?,
        )?;
    }
    let processed =
        value("number of transactions actually processed").and_then(|text| text.split_once('/'));
    if let Some((made, wanted)) = processed.filter(|(made, wanted)| made != wanted) {
        entry.invalid = Some(format!("pgbench processed {made} of {wanted} transactions"));
    }
    Ok(entry)
}
