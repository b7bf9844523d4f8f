//! Writes a new file in the format given by its name.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use machine::files::Dir;
use trace::Trace;
use trace::formats::{FORMATS, Format, lines};

use super::libraries::{check_written, write_parquet, write_perfetto};

pub fn is_perfetto(path: &Path) -> bool {
    path.extension().and_then(|ending| ending.to_str()).and_then(Format::of_ending)
        == Some(Format::Perfetto)
}

/// The error lists the formats of this build.
pub fn can_write(path: &Path) -> Result<()> {
    format_of(path).map(drop)
}

fn format_of(path: &Path) -> Result<Format> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let written = || {
        FORMATS
            .iter()
            .flat_map(|row| row.endings)
            .map(|ending| format!(".{ending}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    match Format::of_ending(ending) {
        Some(format) => check_written(path, format).map(|()| format),
        None => {
            bail!(
                "{}: no format is written with this ending; name a file that ends in {}",
                path.display(),
                written()
            )
        }
    }
}

/// Fails if the file exists.
pub fn write(path: &Path, trace: &Trace) -> Result<()> {
    can_write(path)?;
    let (dir, name) = Dir::of_file(path)?;
    let file = dir.create(&name).map_err(|error| {
        if error.already_exists() {
            anyhow::anyhow!("{}: exists already; name a new file", path.display())
        } else {
            error.into()
        }
    })?;
    let cannot = || format!("{}: cannot write the trace (is there enough space?)", path.display());
    let mut file = BufWriter::with_capacity(1 << 18, file);
    if is_perfetto(path) {
        write_perfetto(&mut file, trace).with_context(cannot)?;
    } else if let Some(lines) = lines(format_of(path)?, trace) {
        for line in lines {
            file.write_all(line.as_bytes())
                .and_then(|()| file.write_all(b"\n"))
                .with_context(cannot)?;
        }
    } else {
        write_parquet(&mut file, trace).with_context(cannot)?;
    }
    file.flush().with_context(cannot)
}

/// Writes tracks for ui.perfetto.dev.
pub fn write_tracks(file: File, trace: &Trace) -> Result<()> {
    let mut file = BufWriter::new(file);
    write_perfetto(&mut file, trace)?;
    Ok(file.flush()?)
}

/// Parquet for [`read_bytes`](super::read_bytes).
pub fn write_bytes(trace: &Trace) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    write_parquet(&mut bytes, trace)?;
    Ok(bytes)
}
