//! The table of parameters, from which parsing, help and messages follow. Parameters arrive as
//! (key, text), as in plans and on command lines.

use crate::workload::param::{BOOL_FORM, COUNT_FORM, PERCENT_FORM, Param, percent, put, size32};
use crate::workload::phase::Phase;
use crate::workload::postmark;
use crate::workload::replay;
use crate::workload::think::ThinkDist;
use crate::workload::timed::params as timed;
use text::{
    DURATION_FORM, SIZE_FORM, format_duration, format_size, parse_duration_ns, parse_size,
    parse_switch,
};

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
        name: "alone",
        form: BOOL_FORM,
        help: "whether each flow is measured alone as well, for slowdown and insulation",
        get: |p| p.alone.to_string(),
        set: |p, text| put(&mut p.alone, parse_switch(text)),
    },
    Param {
        name: "writers",
        form: COUNT_FORM,
        help: "how many sequential writers run with the one random reader",
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
        set: |p, text| {
            put(&mut p.phase, Phase::ALL.into_iter().find(|phase| phase.name() == text.trim()))
        },
    },
    Param {
        name: "think_dist",
        form: "fixed, uniform, exponential or bimodal",
        help: "how think times are spread around their mean, think_time",
        get: |p| p.think_dist.name().into(),
        set: |p, text| {
            put(
                &mut p.think_dist,
                ThinkDist::ALL.into_iter().find(|dist| dist.name() == text.trim()),
            )
        },
    },
    Param {
        name: "random_share",
        form: PERCENT_FORM,
        help: "percent of the clients that are random; the others are sequential",
        get: |p| p.random_share.to_string(),
        set: |p, text| put(&mut p.random_share, percent(text)),
    },
    Param {
        name: "jump_share",
        form: PERCENT_FORM,
        help: "percent of a guest's requests that go to a random place; the others go on where the last one ended",
        get: |p| p.jump_share.to_string(),
        set: |p, text| put(&mut p.jump_share, percent(text)),
    },
    Param {
        name: "skip_extra",
        form: SIZE_FORM,
        help: "bytes that a reader skips beyond the blocks of the other readers (1: as the S suite's script)",
        get: |p| format_size(p.skip_extra.into()),
        set: |p, text| put(&mut p.skip_extra, size32(text)),
    },
    timed::RATE,
    timed::PERIOD,
    timed::DEADLINE_PERIODS,
    timed::STAGGER,
    timed::FIND_STREAMS,
    timed::BURST,
    timed::OVER,
    timed::BURST_EVERY,
    timed::DEADLINE,
    timed::NR_TASKS,
    timed::BATCH,
    timed::RELEASE_WITHIN,
    timed::DEADLINE_MIN,
    timed::DEADLINE_MAX,
    timed::SET,
    timed::BACKGROUND,
    timed::BACKGROUND_SIZE,
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
    replay::SCALE,
    replay::PART,
    replay::DEVICE,
    replay::READS_ONLY,
    replay::WRAP,
    replay::SKIP_BAD,
];

pub(crate) fn param(name: &str) -> Option<&'static Param> {
    PARAMS.iter().find(|param| param.name == name)
}

/// Errors in parameters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// The workload has no such parameter.
    #[error("workload {workload}: unknown parameter {key:?} {}", text::expected_one_of(key, .accepted.iter().copied()))]
    NoSuchKey {
        /// The workload.
        workload: &'static str,
        /// The key as written.
        key: String,
        /// Every accepted key.
        accepted: Vec<&'static str>,
    },
    /// The text cannot be parsed.
    #[error("workload {workload}: {key} = {text:?} is not {form}")]
    Unreadable {
        /// The workload.
        workload: &'static str,
        /// The key.
        key: &'static str,
        /// The text as written.
        text: String,
        /// The form of a value.
        form: &'static str,
    },
    /// The value is out of range or contradicts another one.
    #[error("workload {workload}: {problem}")]
    Impossible {
        /// The workload.
        workload: &'static str,
        /// The problem and its remedy.
        problem: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::row::Params;
    use text::nearest;

    #[test]
    fn every_parameter_reads_back_what_it_shows() {
        for param in PARAMS {
            let shown = (param.get)(&Params::default());
            let mut other = Params {
                clients: 99,
                direct: false,
                file_size: Some(7),
                amount: Some(7),
                ..Params::default()
            };
            assert!((param.set)(&mut other, &shown), "{} = {shown}", param.name);
            assert_eq!((param.get)(&other), shown, "{}", param.name);
        }
    }

    #[test]
    fn every_parameter_refuses_nonsense_and_keeps_its_value() {
        // Any non-empty text can be the name of a file or of a disk in it.
        for param in PARAMS.iter().filter(|param| !["file", "device"].contains(&param.name)) {
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
