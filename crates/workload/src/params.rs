//! The parameters of workloads: their values, and the one table from which parsing, help and messages follow.
//!
//! All workloads share one struct, so that whatever executes a workload reads iodepth or direct without knowing which one it
//! is; which parameters a workload *accepts* stands in its row of the workload table. Parameters arrive as (key, text) because
//! plans and command lines hold text, and a typo must be answered with the nearest key instead of being ignored.

use std::fmt;

use elevator::Op;

use crate::postmark::{self, PostmarkParams};
use crate::replay::{self, ReplayParams};
use crate::think::{self, ThinkDist};
use text::{DURATION_FORM, SIZE_FORM, format_duration, format_size, parse_duration_ns, parse_size, parse_switch};

/// The values of all parameters; those that a workload does not accept are ignored by it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Params {
    /// How many clients run at once; at least 1.
    pub clients: u32,
    /// Writers of `mixed`, beside its one reader; at least 1.
    pub writers: u32,
    /// Bytes of a request.
    pub block_size: u32,
    /// Bytes of the largest request, where sizes are drawn: block_size times a power of two.
    pub block_size_max: u32,
    /// Bytes of a write of `mixed`.
    pub write_size: u32,
    /// Bytes of the region that is used, or of each client's own file; None: the whole device or file.
    pub file_size: Option<u64>,
    /// Nanoseconds of thinking after each request.
    pub think_time_ns: u64,
    /// Requests that each client keeps open; at least 1.
    pub iodepth: u32,
    /// Past the page cache (O_DIRECT) or through it.
    pub direct: bool,
    /// Percent of requests that are reads; 0 to 100.
    pub read_share: u32,
    /// A client ends after this many bytes; None: it goes on until the trial's time is up.
    pub amount: Option<u64>,
    /// Flush to the medium after this many writes of a client; 0: never.
    pub sync_every: u32,
    /// Which phase of `iozone`.
    pub phase: Phase,
    /// How think times of `think-mix` are spread around think_time_ns.
    pub think_dist: ThinkDist,
    /// Percent of the clients of `think-mix` that are random; 0 to 100.
    pub random_share: u32,
    /// What is `postmark`'s alone.
    pub postmark: PostmarkParams,
    /// What is `replay`'s alone.
    pub replay: ReplayParams,
}

impl Default for Params {
    /// One synchronous client, 4 KiB, direct, the whole target, no thinking, until the time is up.
    fn default() -> Params {
        Params {
            clients: 1,
            writers: 1,
            block_size: 4 << 10,
            block_size_max: 4 << 10,
            write_size: 1 << 20,
            file_size: None,
            think_time_ns: 0,
            iodepth: 1,
            direct: true,
            read_share: 100,
            amount: None,
            sync_every: 0,
            phase: Phase::Read,
            think_dist: ThinkDist::Fixed,
            random_share: 0,
            postmark: PostmarkParams::default(),
            replay: ReplayParams::default(),
        }
    }
}

/// A phase of IOzone's throughput mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Writes every record in order, into empty files where there is a file system.
    Write,
    /// Writes every record in order over what a first pass has written.
    Rewrite,
    /// Reads every record in order.
    Read,
    /// Reads every record in order, after a first pass that read the same.
    Reread,
    /// Reads every record once in random order.
    RandRead,
    /// Writes every record once in random order.
    RandWrite,
}

impl Phase {
    /// All phases, in IOzone's order.
    pub const ALL: [Phase; 6] =
        [Phase::Write, Phase::Rewrite, Phase::Read, Phase::Reread, Phase::RandRead, Phase::RandWrite];

    /// The word in plans and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Write => "write",
            Phase::Rewrite => "rewrite",
            Phase::Read => "read",
            Phase::Reread => "reread",
            Phase::RandRead => "randread",
            Phase::RandWrite => "randwrite",
        }
    }

    /// The direction of its requests.
    pub fn op(self) -> Op {
        match self {
            Phase::Write | Phase::Rewrite | Phase::RandWrite => Op::Write,
            Phase::Read | Phase::Reread | Phase::RandRead => Op::Read,
        }
    }

    /// Whether records are visited in random order.
    pub fn is_random(self) -> bool {
        matches!(self, Phase::RandRead | Phase::RandWrite)
    }

    /// Whether one uncounted pass of the same comes first.
    pub fn repeats_a_pass(self) -> bool {
        matches!(self, Phase::Rewrite | Phase::Reread)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A row of [`PARAMS`].
pub struct Param {
    /// The key in plans and on the command line.
    pub name: &'static str,
    /// What a value looks like, e.g. "a size like 512, 4k".
    pub form: &'static str,
    /// One line of meaning.
    pub help: &'static str,
    /// The value as text that `set` reads back.
    pub get: fn(&Params) -> String,
    /// Reads a value; false if the text does not have the form.
    pub set: fn(&mut Params, &str) -> bool,
}

pub(crate) const COUNT_FORM: &str = "a whole number";
pub(crate) const PERCENT_FORM: &str = "a percentage from 0 to 100, like 50 or 50%";
pub(crate) const BOOL_FORM: &str = "true or false";

/// Puts a value into its field if the text could be read.
pub(crate) fn put<T>(field: &mut T, value: Option<T>) -> bool {
    value.map(|value| *field = value).is_some()
}

pub(crate) fn size32(text: &str) -> Option<u32> {
    parse_size(text)?.try_into().ok()
}

pub(crate) fn percent(text: &str) -> Option<u32> {
    text.trim().trim_end_matches('%').trim_end().parse().ok()
}

/// A size, or a word for "no bound".
fn size_or(word: &str, text: &str) -> Option<Option<u64>> {
    if text.trim() == word { Some(None) } else { parse_size(text).map(Some) }
}

/// Every parameter that some workload accepts.
pub static PARAMS: &[Param] = &[
    Param {
        name: "clients",
        form: COUNT_FORM,
        help: "how many clients run at once",
        get: |p| p.clients.to_string(),
        set: |p, text| put(&mut p.clients, text.trim().parse().ok()),
    },
    Param {
        name: "writers",
        form: COUNT_FORM,
        help: "how many sequential writers run beside the one random reader",
        get: |p| p.writers.to_string(),
        set: |p, text| put(&mut p.writers, text.trim().parse().ok()),
    },
    Param {
        name: "block_size",
        form: SIZE_FORM,
        help: "bytes of a request",
        get: |p| format_size(p.block_size.into()),
        set: |p, text| put(&mut p.block_size, size32(text)),
    },
    Param {
        name: "block_size_max",
        form: SIZE_FORM,
        help: "bytes of the largest request: block_size times a power of two",
        get: |p| format_size(p.block_size_max.into()),
        set: |p, text| put(&mut p.block_size_max, size32(text)),
    },
    Param {
        name: "write_size",
        form: SIZE_FORM,
        help: "bytes of a write of the sequential writers",
        get: |p| format_size(p.write_size.into()),
        set: |p, text| put(&mut p.write_size, size32(text)),
    },
    Param {
        name: "file_size",
        form: "all, or a size like 512, 4k, 512M, 2G (binary multiples; a bare number is bytes)",
        help: "bytes of the device that are used, or of each client's own file",
        get: |p| p.file_size.map_or("all".into(), format_size),
        set: |p, text| put(&mut p.file_size, size_or("all", text)),
    },
    Param {
        name: "think_time",
        form: DURATION_FORM,
        help: "how long a client thinks after each request",
        get: |p| format_duration(p.think_time_ns),
        set: |p, text| put(&mut p.think_time_ns, parse_duration_ns(text)),
    },
    Param {
        name: "iodepth",
        form: COUNT_FORM,
        help: "requests that each client keeps open (1: synchronous; more: io_uring)",
        get: |p| p.iodepth.to_string(),
        set: |p, text| put(&mut p.iodepth, text.trim().parse().ok()),
    },
    Param {
        name: "direct",
        form: BOOL_FORM,
        help: "past the page cache (O_DIRECT); false: through it, dropped before each trial",
        get: |p| p.direct.to_string(),
        set: |p, text| put(&mut p.direct, parse_switch(text.trim())),
    },
    Param {
        name: "read_share",
        form: PERCENT_FORM,
        help: "percent of the requests that are reads",
        get: |p| p.read_share.to_string(),
        set: |p, text| put(&mut p.read_share, percent(text)),
    },
    Param {
        name: "amount",
        form: "unlimited, or a size like 512, 4k, 512M, 2G (binary multiples; a bare number is bytes)",
        help: "a client ends after this many bytes; unlimited: when the trial's time is up",
        get: |p| p.amount.map_or("unlimited".into(), format_size),
        set: |p, text| put(&mut p.amount, size_or("unlimited", text)),
    },
    Param {
        name: "sync_every",
        form: COUNT_FORM,
        help: "flush to the medium after this many writes of a client; 0: never",
        get: |p| p.sync_every.to_string(),
        set: |p, text| put(&mut p.sync_every, text.trim().parse().ok()),
    },
    Param {
        name: "phase",
        form: "write, rewrite, read, reread, randread or randwrite",
        help: "which phase of IOzone's throughput mode",
        get: |p| p.phase.to_string(),
        set: |p, text| put(&mut p.phase, Phase::ALL.into_iter().find(|phase| phase.name() == text.trim())),
    },
    think::THINK_DIST,
    think::RANDOM_SHARE,
    postmark::NUMBER,
    postmark::TRANSACTIONS,
    postmark::SIZE_MIN,
    postmark::SIZE_MAX,
    postmark::SUBDIRECTORIES,
    postmark::READ_BLOCK,
    postmark::WRITE_BLOCK,
    postmark::BIAS_READ,
    postmark::BIAS_CREATE,
    postmark::METADATA,
    postmark::SEED,
    replay::FILE,
    replay::FORMAT,
    replay::LOOP,
    replay::SPEED,
    replay::WRAP,
    replay::SKIP_BAD,
];

/// The row of a parameter.
pub(crate) fn param(name: &str) -> Option<&'static Param> {
    PARAMS.iter().find(|param| param.name == name)
}

/// What is wrong with parameters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// The workload has no such parameter.
    #[error("workload {workload}: unknown parameter {key:?} (expected one of {}){}", .accepted.join(", "), text::suggestion(*.nearest))]
    NoSuchKey {
        /// The workload.
        workload: &'static str,
        /// The key as written.
        key: String,
        /// The key that was probably meant.
        nearest: Option<&'static str>,
        /// Every key that the workload accepts.
        accepted: Vec<&'static str>,
    },
    /// The text cannot be read.
    #[error("workload {workload}: {key} = {text:?} is not {form}")]
    Unreadable {
        /// The workload.
        workload: &'static str,
        /// The key.
        key: &'static str,
        /// The text as written.
        text: String,
        /// What a value looks like.
        form: &'static str,
    },
    /// The value is out of range, or does not go with another one.
    #[error("workload {workload}: {problem}")]
    Impossible {
        /// The workload.
        workload: &'static str,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use text::nearest;

    #[test]
    fn every_parameter_reads_back_what_it_shows() {
        for param in PARAMS {
            let shown = (param.get)(&Params::default());
            let mut other =
                Params { clients: 99, direct: false, file_size: Some(7), amount: Some(7), ..Params::default() };
            assert!((param.set)(&mut other, &shown), "{} = {shown}", param.name);
            assert_eq!((param.get)(&other), shown, "{}", param.name);
        }
    }

    #[test]
    fn every_parameter_refuses_nonsense_and_keeps_its_value() {
        // Every text but the empty one can be a file's name.
        for param in PARAMS.iter().filter(|param| param.name != "file") {
            let mut params = Params::default();
            for text in ["", "bananas", "-1"] {
                assert!(!(param.set)(&mut params, text), "{} = {text:?}", param.name);
            }
            assert_eq!(params, Params::default(), "{}", param.name);
        }
    }

    #[test]
    fn a_typo_finds_the_key_that_was_meant() {
        let names = || PARAMS.iter().map(|param| param.name);
        assert_eq!(nearest("blocksize", names()), Some("block_size"));
        assert_eq!(nearest("io-depth", names()), Some("iodepth"));
        assert_eq!(nearest("xyzzy", names()), None);
    }
}
