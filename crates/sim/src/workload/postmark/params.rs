//! The parameters of `postmark` as text, and their checks.

use crate::workload::param::{BOOL_FORM, COUNT_FORM, Param, put, size32};
use crate::workload::row::Params;
use crate::workload::think;
use text::{SIZE_FORM, format_size, parse_switch};

/// Keep the file table in memory, and filling the content buffer below a second.
const MAX_NUMBER: u32 = 1 << 20;
const MAX_TRANSACTIONS: u32 = 1 << 22;
const MAX_SIZE: u32 = 64 << 20;
const MAX_SUBDIRECTORIES: u32 = 1 << 16;

pub(crate) const ACCEPTS: &[&str] = &[
    "clients",
    "number",
    "transactions",
    "size_min",
    "size_max",
    "subdirectories",
    "read_block",
    "write_block",
    "bias_read",
    "bias_create",
    "metadata",
    "seed",
    "block_size",
    "file_size",
    "direct",
    "think_time",
    "think_dist",
];

const BIAS_FORM: &str = "a whole number from 0 to 10, or off";

fn bias(text: &str) -> Option<Option<u8>> {
    match text.trim() {
        "off" => Some(None),
        text => text.parse().ok().filter(|bias| *bias <= 10).map(Some),
    }
}

fn show_bias(bias: Option<u8>) -> String {
    bias.map_or("off".into(), |bias| bias.to_string())
}

pub(crate) const NUMBER: Param = Param {
    name: "number",
    form: COUNT_FORM,
    help: "files that are created first",
    get: |p| p.postmark.number.to_string(),
    set: |p, text| put(&mut p.postmark.number, text.trim().parse().ok()),
};

pub(crate) const TRANSACTIONS: Param = Param {
    name: "transactions",
    form: COUNT_FORM,
    help: "transactions of a run",
    get: |p| p.postmark.transactions.to_string(),
    set: |p, text| put(&mut p.postmark.transactions, text.trim().parse().ok()),
};

pub(crate) const SIZE_MIN: Param = Param {
    name: "size_min",
    form: SIZE_FORM,
    help: "bytes of the smallest file",
    get: |p| format_size(p.postmark.size_min.into()),
    set: |p, text| put(&mut p.postmark.size_min, size32(text)),
};

pub(crate) const SIZE_MAX: Param = Param {
    name: "size_max",
    form: SIZE_FORM,
    help: "bytes of the largest file",
    get: |p| format_size(p.postmark.size_max.into()),
    set: |p, text| put(&mut p.postmark.size_max, size32(text)),
};

pub(crate) const SUBDIRECTORIES: Param = Param {
    name: "subdirectories",
    form: COUNT_FORM,
    help: "directories that files are spread over (0: one)",
    get: |p| p.postmark.subdirectories.to_string(),
    set: |p, text| put(&mut p.postmark.subdirectories, text.trim().parse().ok()),
};

pub(crate) const READ_BLOCK: Param = Param {
    name: "read_block",
    form: SIZE_FORM,
    help: "bytes of a read of a file, rounded up to block_size",
    get: |p| format_size(p.postmark.read_block.into()),
    set: |p, text| put(&mut p.postmark.read_block, size32(text)),
};

pub(crate) const WRITE_BLOCK: Param = Param {
    name: "write_block",
    form: SIZE_FORM,
    help: "bytes of a write to a file, rounded up to block_size",
    get: |p| format_size(p.postmark.write_block.into()),
    set: |p, text| put(&mut p.postmark.write_block, size32(text)),
};

pub(crate) const BIAS_READ: Param = Param {
    name: "bias_read",
    form: BIAS_FORM,
    help: "of ten transactions, how many read a file; the others append to one (off: neither)",
    get: |p| show_bias(p.postmark.bias_read),
    set: |p, text| put(&mut p.postmark.bias_read, bias(text)),
};

pub(crate) const BIAS_CREATE: Param = Param {
    name: "bias_create",
    form: BIAS_FORM,
    help: "of ten transactions, how many create a file; the others delete one (off: neither)",
    get: |p| show_bias(p.postmark.bias_create),
    set: |p, text| put(&mut p.postmark.bias_create, bias(text)),
};

pub(crate) const METADATA: Param = Param {
    name: "metadata",
    form: BOOL_FORM,
    help: "whether each create, append and delete writes a block of metadata",
    get: |p| p.postmark.metadata.to_string(),
    set: |p, text| put(&mut p.postmark.metadata, parse_switch(text.trim())),
};

pub(crate) const SEED: Param = Param {
    name: "seed",
    form: "trial, or a whole number",
    help: "seed of each run (trial: the trial's own)",
    get: |p| p.postmark.seed.map_or("trial".into(), |seed| seed.to_string()),
    set: |p, text| put(&mut p.postmark.seed, seed(text.trim())),
};

fn seed(text: &str) -> Option<Option<u32>> {
    if text == "trial" { Some(None) } else { text.parse().ok().map(Some) }
}

pub(crate) fn possible(params: &Params) -> Result<(), String> {
    think::mean_is_possible(params.think_time_ns)?;
    let setup = &params.postmark;
    if !(1..=MAX_NUMBER).contains(&setup.number) {
        return Err(format!(
            "number = {}: out of range (expected 1 to {MAX_NUMBER})",
            setup.number
        ));
    }
    if setup.transactions > MAX_TRANSACTIONS {
        return Err(format!(
            "transactions = {}: too many (expected at most {MAX_TRANSACTIONS})",
            setup.transactions
        ));
    }
    if !(1..=MAX_SIZE).contains(&setup.size_max) || !(1..=setup.size_max).contains(&setup.size_min)
    {
        let (min, max) = (format_size(setup.size_min.into()), format_size(setup.size_max.into()));
        let most = format_size(MAX_SIZE.into());
        return Err(format!(
            "size_min = {min}, size_max = {max}: 1 ≤ size_min ≤ size_max ≤ {most} is needed"
        ));
    }
    if setup.subdirectories > MAX_SUBDIRECTORIES {
        return Err(format!(
            "subdirectories = {}: too many (expected at most {MAX_SUBDIRECTORIES})",
            setup.subdirectories
        ));
    }
    if setup.bias_read.is_none() && setup.bias_create.is_none() && setup.transactions > 0 {
        return Err(
            "bias_read and bias_create are both off: no transaction would do anything".into()
        );
    }
    Ok(())
}
