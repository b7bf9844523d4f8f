//! Errors of the minimal build for files that need a library.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Result, bail};
use text::absent;
use trace::Trace;
use trace::formats::Format;

use super::packed::Packing;

const CONVERT: &str =
    "convert the file with `schedlab trace convert FILE --to FILE.iolog` of another build, or ";
const NAME_TEXT: &str = "name a .iolog or a .blkparse file, or ";

pub fn is_trace(path: &Path) -> bool {
    !path.as_os_str().is_empty()
}

pub fn read_bytes(_bytes: Vec<u8>) -> Result<Trace> {
    bail!(absent("trace", "Parquet", CONVERT))
}

pub(super) fn read_parquet(_file: File) -> Result<Trace> {
    bail!(absent("trace", "Parquet", CONVERT))
}

pub(super) fn is_perfetto(_begin: &[u8]) -> bool {
    false
}

pub(super) fn read_perfetto(_trace: impl Read) -> Result<Trace> {
    bail!(absent("trace", "traces of Perfetto", ""))
}

pub(super) fn check_written(path: &Path, format: Format) -> Result<()> {
    match format {
        Format::Parquet => bail!(absent(&path.display().to_string(), "Parquet", NAME_TEXT)),
        Format::Perfetto => {
            bail!(absent(&path.display().to_string(), "traces of Perfetto", NAME_TEXT))
        }
        _ => Ok(()),
    }
}

pub(super) fn write_parquet(_file: &mut (impl Write + Send), _trace: &Trace) -> Result<()> {
    bail!(absent("trace", "Parquet", ""))
}

pub(super) fn write_perfetto(_file: &mut impl Write, _trace: &Trace) -> Result<()> {
    bail!(absent("trace", "traces of Perfetto", ""))
}

pub fn write_run_queue(_file: &File, _log: &[u8]) -> Result<()> {
    bail!(absent("trace", "traces of Perfetto", ""))
}

pub(super) fn unpack(packing: Packing, _file: File) -> Result<Box<dyn Read>> {
    match packing {
        Packing::Gzip => bail!(absent("packing", "gzip", "unpack it first (gunzip), or ")),
        Packing::Zstd => bail!(absent("packing", "zstd", "unpack it first (unzstd), or ")),
    }
}
