//! Size limits of all external input.
//!
//! Without limits a foreign or damaged input's size would decide how much memory and time schedlab
//! takes, as root. Each limit is far above normal experiments and keeps a command below about 1 GB.
//! The reference page is generated from [`LIMITS`], and a test checks each limit and one beyond it.

use std::fmt;

use crate::quantities::format_bytes;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Bytes,
    Of(&'static str),
}

/// An upper bound on an input.
#[derive(Debug, PartialEq, Eq)]
pub struct Limit {
    /// Begins the error.
    pub subject: &'static str,
    pub unit: Unit,
    pub most: u64,
    pub remedy: &'static str,
    /// The reason for this number.
    pub why: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded {
    pub limit: &'static Limit,
    /// `None` if reading stopped at the limit.
    pub found: Option<u64>,
}

impl Unit {
    pub fn show(self, number: u64) -> String {
        match self {
            Unit::Bytes => format_bytes(number),
            Unit::Of(_) => number.to_string(),
        }
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Limit { subject, unit, most, remedy, .. } = self.limit;
        let problem = match unit {
            Unit::Bytes => "too large",
            Unit::Of(_) => "too many",
        };
        let found = match (unit, self.found) {
            (_, None) => "more".to_owned(),
            // When rounded, one byte too many would look like the limit itself.
            (Unit::Bytes, Some(found)) if unit.show(found) == unit.show(*most) => {
                format!("{found} bytes")
            }
            (unit, Some(found)) => unit.show(found),
        };
        let most =
            if found.ends_with(" bytes") { format!("{most} bytes") } else { unit.show(*most) };
        write!(f, "{subject}: {problem} (found {found}, expected at most {most}); {remedy}")
    }
}

impl std::error::Error for Exceeded {}

impl Limit {
    pub fn check(&'static self, found: usize) -> Result<(), Exceeded> {
        let found = found as u64;
        if found > self.most { Err(Exceeded { limit: self, found: Some(found) }) } else { Ok(()) }
    }
}

macro_rules! limits {
    ($($(#[doc = $doc:literal])* $name:ident = $subject:literal, $most:expr, $unit:expr; $remedy:literal; $why:literal;)*) => {
        $($(#[doc = $doc])* pub static $name: Limit =
            Limit { subject: $subject, unit: $unit, most: $most, remedy: $remedy, why: $why };)*

        /// Every limit, in the order of the reference page.
        pub static LIMITS: &[&Limit] = &[$(&$name),*];
    };
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

limits! {
    PLAN_BYTES = "plan", MIB, Unit::Bytes; "name a plan that schedlab can read, or split it";
        "a plan of a thousand variants is a tenth of it";
    VARIANTS = "variants", 1000, Unit::Of("variants"); "compare fewer at a time";
        "the error that one verdict may have is divided by their number";
    WORKLOADS = "workloads", 100, Unit::Of("workloads"); "split the plan";
        "each has a round of every round";
    BACKGROUND = "background", 16, Unit::Of("loads"); "remove some, or give one load more clients";
        "each is a process that runs with the workload";
    FLOWS = "flows", 256, Unit::Of("flows"); "remove some, or give one flow more clients";
        "each is measured by itself, and is a process on a real machine";
    SETTINGS = "parameters", 100, Unit::Of("values"); "remove some";
        "no scheduler and no workload has as many";
    OWN_METRICS = "metrics of a plan", 100, Unit::Of("metrics"); "remove some";
        "each is compared for every variant";
    PUBLISHED = "published figures", 1000, Unit::Of("figures"); "remove some";
        "they are shown with the plan's own";
    NAME_BYTES = "name", 500, Unit::Bytes; "choose a shorter one";
        "names are columns of a table";
    TEXT_BYTES = "value", 16 * KIB, Unit::Bytes; "choose a shorter one, or put it into a file";
        "the longest command that a plan can need";
    ROUNDS = "budget.rounds", 10_000, Unit::Of("rounds"); "choose fewer: a plan of so many rounds is not compared better";
        "an interval of so many rounds is narrower than any margin";
    TRIALS = "trials", 50_000, Unit::Of("trials"); "choose fewer rounds, variants or workloads, or start another experiment";
        "a results file is compared in memory; a day has 43200 trials of 2 s";
    RESULTS_BYTES = "record", 256 * MIB, Unit::Bytes; "name a results file that schedlab wrote";
        "five thousand bytes for each of the most trials";
    RESULTS_LINE = "line of a results file", 4 * MIB, Unit::Bytes; "name a results file that schedlab wrote";
        "the first line holds the plan";
    RESULTS_VALUES = "figures of a results file", 5_000_000, Unit::Of("figures"); "name a results file that schedlab wrote";
        "a hundred for each of the most trials, held in memory at about 70 bytes";
    NOTES = "notes of a results file", 100_000, Unit::Of("notes"); "name a results file that schedlab wrote";
        "two for each of the most trials";
    SAMPLES = "values to compare", 2_000_000, Unit::Of("values"); "compare fewer metrics, or parts of the evidence one by one";
        "each value is held in memory, at about 200 bytes";
    COMPARISONS = "verdicts", 100_000, Unit::Of("verdicts"); "compare fewer metrics, variants or workloads at a time";
        "one for each variant, metric and workload";
    ATLAS_BYTES = "design of an atlas", 256 * KIB, Unit::Bytes; "name the directory of an atlas";
        "the names of a thousand schedulers, devices and workloads take a fifth of it";
    ATLAS_CELLS = "cells of an atlas", 5000, Unit::Of("cells"); "choose fewer devices, or make two atlases";
        "each is an experiment, and a section of the page";
    REPEATS = "repeats", 100, Unit::Of("repeats"); "pool fewer";
        "all of them are compared in memory, and ten bound what differs between days";
    TABLE_BYTES = "table", 64 * MIB, Unit::Bytes; "remove columns that are not compared, or split the table";
        "a million rows of 64 bytes";
    TABLE_COLUMNS = "columns", 1000, Unit::Of("columns"); "remove those that are not compared";
        "few are named on a command line";
    TABLE_CELL = "cell of a table", 64 * KIB, Unit::Bytes; "shorten it";
        "a number, a name or a reason";
    TABLE_ROWS = "rows", 1_000_000, Unit::Of("rows"); "split the table, or sum up first";
        "each is a value to compare";
    IMPORT_BYTES = "outputs of a program", 128 * MIB, Unit::Bytes; "compare parts of them one by one";
        "ten thousand files of fio with all their histograms take a fourth of it";
    IMPORT_FILES = "files of a program", 20_000, Unit::Of("files"); "name fewer, or a directory with fewer";
        "a file a minute for two weeks";
    TRACE_BYTES = "trace of a drive", 256 * MIB, Unit::Bytes; "name a part of it, e.g. head -n 1000000";
        "four million lines of 64 bytes";
    TRACE_REQUESTS = "requests of a trace", 10_000_000, Unit::Of("requests"); "name a part of it, e.g. head -n 1000000";
        "a trace is held in memory, at 80 bytes a request; a replay has 40";
    TRACE_UNPACKED = "trace, unpacked", 8192 * MIB, Unit::Bytes; "name a part of it, e.g. zcat FILE | head -n 1000000";
        "ten million requests with ten lines of 80 bytes; it is read in pieces";
    TRACE_LINE = "line of a trace", 64 * KIB, Unit::Bytes; "name a trace, or its format";
        "a path of the longest kind, and numbers";
    TRACE_PROCESSES = "processes of a trace", 1_000_000, Unit::Of("processes"); "name a part of it, e.g. head -n 1000000";
        "each has a name and a control group in memory";
    TRACE_DEVICES = "disks of a trace", 65_535, Unit::Of("disks"); "name a part of it, e.g. by grep";
        "ten times the volumes of the largest collection";
    TRACE_FILES = "files of blktrace", 4096, Unit::Of("files"); "name the file that blkparse -d makes of them";
        "one for each CPU, all open at once";
    PERFETTO_PACKET = "packet of Perfetto", 64 * MIB, Unit::Bytes; "name a trace that Perfetto wrote";
        "a read of one CPU's buffer is a hundredth of it";
    PERFETTO_EVENTS = "block events of Perfetto", 10_000_000, Unit::Of("events"); "record a shorter time";
        "they are held in memory until all are known, at 64 bytes each";
    EVENTS_LINE = "line of a trace of events", 4 * KIB, Unit::Bytes; "name a file that compare --trace wrote";
        "seven numbers and words";
    DEVICE_BYTES = "description of a device", MIB, Unit::Bytes; "name a description, e.g. a preset of schedlab list devices";
        "the largest preset has a few kilobytes";
    JOB_BYTES = "job file of fio", MIB, Unit::Bytes; "split it";
        "a job has a few lines";
    SCRIPT_BYTES = "script", MIB, Unit::Bytes; "shorten it";
        "every client holds it";
    TRANSACTIONS_BYTES = "log of transactions", 512 * MIB, Unit::Bytes; "make the trial shorter, --trial-time";
        "ten million transactions of pgbench";
    PATCH_BYTES = "patch", 64 * MIB, Unit::Bytes; "apply it to a source tree and name that";
        "a release candidate of the kernel is a tenth of it";
    SERIES_BYTES = "series of patches", MIB, Unit::Bytes; "split the series";
        "a name for each of the most patches";
    SERIES_PATCHES = "patches of a series", 4096, Unit::Of("patches"); "join those that belong together, or bisect a part of them";
        "a kernel is built with all of them; twelve verdicts find one";
    BISECT_STEPS = "steps of a bisection", 65_536, Unit::Of("steps"); "choose ends that are nearer to each other";
        "four releases of the kernel; sixteen verdicts find one";
    BISECT_BYTES = "log of a bisection", 64 * MIB, Unit::Bytes; "start a new one with another --out";
        "a kilobyte for each of the most steps";
    ENTRY_BYTES = "entry of the journal", 4 * MIB, Unit::Bytes; "remove it if schedlab did not write it";
        "old settings of one device, or a few small files";
    MANIFEST_BYTES = "manifest", 4 * MIB, Unit::Bytes; "remove it if schedlab did not write it";
        "the texts of a few small files";
    WATCH_BYTES = "watch", MIB, Unit::Bytes; "remove it and add the watch again";
        "a plan and a schedule";
    HISTORY_BYTES = "history of a device", 64 * MIB, Unit::Bytes; "move it elsewhere; a new one is begun";
        "a kilobyte for each hour of seven years";
    SEGMENT_BYTES = "segment", 256 * MIB, Unit::Bytes; "measure fewer rounds in one piece";
        "as a results file";
    SEGMENTS = "segments", 50_000, Unit::Of("segments"); "measure more rounds in one piece";
        "one for each of the most trials";
    SEGMENTS_BYTES = "segments of a merge", 512 * MIB, Unit::Bytes; "name each segment once, and none beyond the verdict";
        "two results files: speculative rounds, or every segment twice";
    SEARCH_BYTES = "log of a search", 256 * MIB, Unit::Bytes; "start a new search with another --out";
        "as a results file";
    FLEET_RESULTS = "results of a fleet", 100_000, Unit::Of("results"); "keep several fleets, e.g. one a year";
        "each takes about 2 KiB in memory while a fleet is compared";
    FLEET_BYTES = "result of a fleet", 64 * MIB, Unit::Bytes; "name a fleet that schedlab fleet push wrote";
        "a results file of the most trials takes a third of it";
    FLEET_ROWS = "values of a result", 2_000_000, Unit::Of("values"); "push results files of fewer trials";
        "forty for each of the most trials";
    FLEET_HEADER = "facts of a result", 4 * MIB, Unit::Bytes; "name a fleet that schedlab fleet push wrote";
        "a plan of a thousand variants with ten metrics";
    FLEET_KNOWN = "file of what a fleet knows", 16 * MIB, Unit::Bytes; "learn less, e.g. with --model";
        "300 bytes for each verdict";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_is_accepted_and_one_beyond_is_refused_by_its_numbers() {
        for limit in LIMITS {
            let most = usize::try_from(limit.most).unwrap();
            assert_eq!(limit.check(most), Ok(()), "{}", limit.subject);
            let error = limit.check(most + 1).unwrap_err().to_string();
            assert!(error.starts_with(limit.subject) && error.ends_with(limit.remedy), "{error}");
            let numbers = |n: u64| [n.to_string(), format_bytes(n)];
            assert!(numbers(limit.most).iter().any(|n| error.contains(n)), "{error}");
        }
    }
}
