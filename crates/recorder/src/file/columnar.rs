//! Traces as Apache Parquet: one row per request, in groups, and tables in the footer.
//!
//! Times are nanoseconds: `queued_ns` from the start of the trace, other stages from `queued_ns`,
//! null if unknown. Delta-encoded columns take about twenty bytes per request. The tables of
//! processes, disks and schedulers are JSON under the key `schedlab.trace`.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use parquet::basic::{Compression, Encoding};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde::{Deserialize, Serialize};
use text::limits::TRACE_REQUESTS;
use trace::{About, At, Device, Flags, Io, Kind, Process, Trace};

/// Requests per group.
pub const GROUP: usize = 1 << 16;

const KEY: &str = "schedlab.trace";

const SCHEMA: &str = "message trace {
    REQUIRED INT64 queued_ns;
    OPTIONAL INT64 entered_ns;
    OPTIONAL INT64 tagged_ns;
    OPTIONAL INT64 inserted_ns;
    OPTIONAL INT64 issued_ns;
    OPTIONAL INT64 completed_ns;
    REQUIRED INT64 sector;
    REQUIRED INT32 sectors;
    REQUIRED INT32 process;
    REQUIRED INT32 device;
    REQUIRED INT32 scheduler;
    REQUIRED INT32 kind;
    REQUIRED INT32 flags;
    REQUIRED INT32 priority;
    REQUIRED INT32 bios;
}";

#[derive(Debug, Default, Serialize, Deserialize)]
struct Tables {
    about: About,
    devices: Vec<Device>,
    processes: Vec<Process>,
    schedulers: Vec<String>,
}

/// Writes requests in any order.
pub struct Writer<W: Write + Send> {
    file: SerializedFileWriter<W>,
    group: Vec<Io>,
}

impl<W: Write + Send> Writer<W> {
    pub fn new(file: W) -> Result<Writer<W>> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::DELTA_BINARY_PACKED)
            .build();
        let file = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
        Ok(Writer { file, group: Vec::with_capacity(GROUP) })
    }

    pub fn push(&mut self, io: &Io) -> Result<()> {
        self.group.push(*io);
        if self.group.len() == GROUP { self.write_group() } else { Ok(()) }
    }

    /// Requests in `tables` are ignored.
    pub fn finish(mut self, tables: Trace) -> Result<W> {
        self.write_group()?;
        let Trace { about, devices, processes, schedulers, ios: _ } = tables;
        let text = serde_json::to_string(&Tables { about, devices, processes, schedulers })?;
        self.file.append_key_value_metadata(KeyValue::new(KEY.to_owned(), text));
        Ok(self.file.into_inner()?)
    }

    pub fn bytes_written(&self) -> usize {
        self.file.bytes_written()
    }

    fn write_group(&mut self) -> Result<()> {
        if self.group.is_empty() {
            return Ok(());
        }
        let rows = &self.group;
        let mut group = self.file.next_row_group()?;
        let long = |of: &dyn Fn(&Io) -> u64| {
            rows.iter().map(|io| of(io).cast_signed()).collect::<Vec<i64>>()
        };
        let int = |of: &dyn Fn(&Io) -> u32| {
            rows.iter().map(|io| of(io).cast_signed()).collect::<Vec<i32>>()
        };
        let stages: [fn(&Io) -> At; 5] =
            [|io| io.entered, |io| io.tagged, |io| io.inserted, |io| io.issued, |io| io.completed];
        put::<Int64Type, W>(&mut group, &long(&|io| io.queued), None)?;
        for stage in stages {
            let known = rows.iter().filter_map(|io| {
                stage(io).get().map(|at| at.saturating_sub(io.queued).cast_signed())
            });
            let levels: Vec<i16> =
                rows.iter().map(|io| i16::from(stage(io) != At::UNKNOWN)).collect();
            put::<Int64Type, W>(&mut group, &known.collect::<Vec<i64>>(), Some(&levels))?;
        }
        put::<Int64Type, W>(&mut group, &long(&|io| io.sector), None)?;
        let numbers: [fn(&Io) -> u32; 8] = [
            |io| io.sectors,
            |io| io.process,
            |io| u32::from(io.device),
            |io| u32::from(io.scheduler),
            |io| io.kind as u32,
            |io| u32::from(io.flags.0),
            |io| u32::from(io.priority),
            |io| u32::from(io.bios),
        ];
        for number in numbers {
            put::<Int32Type, W>(&mut group, &int(&number), None)?;
        }
        group.close()?;
        self.group.clear();
        Ok(())
    }
}

fn put<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<()> {
    let mut column = group
        .next_column()?
        .ok_or_else(|| anyhow!("trace: the schema has fewer columns than values"))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()?;
    Ok(())
}

pub fn is_trace<R: ChunkReader + 'static>(file: R) -> bool {
    let reader = SerializedFileReader::new(file);
    let metadata = reader
        .as_ref()
        .ok()
        .and_then(|reader| reader.metadata().file_metadata().key_value_metadata());
    metadata.is_some_and(|pairs| pairs.iter().any(|pair| pair.key == KEY))
}

/// Reads a whole trace; fails also if it is larger than [`TRACE_REQUESTS`] allows.
pub fn read<R: ChunkReader + 'static>(file: R) -> Result<Trace> {
    // The library panics on some invalid files.
    catch_unwind(AssertUnwindSafe(|| read_whole(file)))
        .unwrap_or_else(|_| bail!("trace: its pages are damaged"))
}

fn read_whole<R: ChunkReader + 'static>(file: R) -> Result<Trace> {
    let length = i64::try_from(file.len()).context("trace: larger than any file")?;
    let reader = SerializedFileReader::new(file)?;
    for column in reader.metadata().row_groups().iter().flat_map(|group| group.columns()) {
        let begin = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let end = begin.checked_add(column.compressed_size()).unwrap_or(-1);
        if begin < 0 || end < begin || end > length {
            bail!("trace: a column lies outside of the file");
        }
    }
    let metadata = reader.metadata().file_metadata();
    let text = metadata
        .key_value_metadata()
        .into_iter()
        .flatten()
        .find(|pair| pair.key == KEY)
        .and_then(|pair| pair.value.as_ref());
    let text = text.context(
        "trace: not the columns of a trace (expected a file of `schedlab trace record`)",
    )?;
    let tables: Tables = serde_json::from_str(text).context("trace: its tables are damaged")?;
    if metadata.schema() != &parse_message_type(SCHEMA)? {
        bail!("trace: other columns than this version of schedlab writes");
    }
    let rows = usize::try_from(metadata.num_rows()).context("trace: a negative number of rows")?;
    TRACE_REQUESTS.check(rows)?;
    // Only written memory is used, regardless of the claimed size.
    let mut ios = Vec::with_capacity(rows);
    for number in 0..reader.num_row_groups() {
        let group = reader.get_row_group(number)?;
        let rows = usize::try_from(group.metadata().num_rows())
            .context("trace: a negative number of rows")?;
        TRACE_REQUESTS.check(ios.len().saturating_add(rows))?;
        read_group(group.as_ref(), rows, &mut ios)
            .with_context(|| format!("trace: group {number}"))?;
    }
    let Tables { about, devices, processes, schedulers } = tables;
    let mut trace = Trace { about, devices, processes, schedulers, ios };
    trace.sort();
    trace.check().map_err(|problem| anyhow!("trace: {problem}"))?;
    Ok(trace)
}

fn read_group(group: &dyn RowGroupReader, rows: usize, ios: &mut Vec<Io>) -> Result<()> {
    let long = |column: usize| numbers::<Int64Type>(group, column, rows);
    let int = |column: usize| numbers::<Int32Type>(group, column, rows);
    let queued = long(0)?;
    let stages =
        (1..6).map(|column| stage(group, column, rows, &queued)).collect::<Result<Vec<_>>>()?;
    let sectors = long(6)?;
    let small = (7..15).map(int).collect::<Result<Vec<_>>>()?;
    let narrow = |column: usize, row: usize| -> Result<u16> {
        u16::try_from(small[column][row])
            .with_context(|| format!("row {row}: a number does not fit into 16 bits"))
    };
    for row in 0..rows {
        let kind = usize::try_from(small[4][row]).ok().and_then(|number| Kind::ALL.get(number));
        ios.push(Io {
            queued: u64::try_from(queued[row]).context("trace: a negative time")?,
            entered: stages[0][row],
            tagged: stages[1][row],
            inserted: stages[2][row],
            issued: stages[3][row],
            completed: stages[4][row],
            sector: sectors[row].cast_unsigned(),
            sectors: small[0][row].cast_unsigned(),
            process: small[1][row].cast_unsigned(),
            device: narrow(2, row)?,
            scheduler: u8::try_from(small[3][row])
                .with_context(|| format!("row {row}: no such scheduler"))?,
            kind: *kind.with_context(|| format!("row {row}: no such kind of request"))?,
            flags: Flags(narrow(5, row)?),
            priority: narrow(6, row)?,
            bios: narrow(7, row)?,
        });
    }
    Ok(())
}

fn numbers<T: DataType>(
    group: &dyn RowGroupReader,
    column: usize,
    rows: usize,
) -> Result<Vec<T::T>> {
    let mut values = Vec::with_capacity(rows);
    let mut reader: ColumnReaderImpl<T> =
        parquet::column::reader::get_typed_column_reader(group.get_column_reader(column)?);
    let (read, ..) = reader.read_records(rows, None, None, &mut values)?;
    if read != rows || values.len() != rows {
        bail!("trace: column {column} ends after {read} of {rows} rows");
    }
    Ok(values)
}

fn stage(
    group: &dyn RowGroupReader,
    column: usize,
    rows: usize,
    queued: &[i64],
) -> Result<Vec<At>> {
    let (mut values, mut levels) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let mut reader: ColumnReaderImpl<Int64Type> =
        parquet::column::reader::get_typed_column_reader(group.get_column_reader(column)?);
    let (read, ..) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    if read != rows || levels.len() != rows {
        bail!("trace: column {column} ends after {read} of {rows} rows");
    }
    let mut values = values.into_iter();
    let mut at = Vec::with_capacity(rows);
    for (level, queued) in levels.into_iter().zip(queued) {
        at.push(if level == 0 {
            At::UNKNOWN
        } else {
            let after = values.next().context("trace: a column has fewer values than declared")?;
            At::ns(
                queued
                    .checked_add(after)
                    .and_then(|ns| u64::try_from(ns).ok())
                    .context("trace: a time out of range")?,
            )
        });
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(requests: u64) -> Trace {
        let io = |n: u64| Io {
            issued: if n.is_multiple_of(3) { At::UNKNOWN } else { At::ns(n * 1000 + 700 + n % 17) },
            completed: At::ns(n * 1000 + 90_000 + n % 4099),
            device: 1,
            scheduler: 1,
            flags: Flags::SYNC.with(Flags::META),
            priority: 2 << 13 | 4,
            ..Io::new(
                n * 1000,
                Kind::ALL[n as usize % 5],
                (n * 2_654_435_761) % (1 << 40),
                8,
                n as u32 % 3,
            )
        };
        Trace {
            about: About { source: "bpf".to_owned(), lost: 3, ..About::default() },
            devices: vec![
                Device::default(),
                Device { name: "sdb".to_owned(), ..Device::default() },
            ],
            processes: (0..3)
                .map(|pid| Process { pid, name: "a\u{1b}[2J".to_owned(), ..Process::default() })
                .collect(),
            schedulers: vec![String::new(), "bfq".to_owned()],
            ios: (0..requests).map(io).collect(),
        }
    }

    fn written(trace: &Trace) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).expect("memory");
        trace.ios.iter().for_each(|io| writer.push(io).expect("memory"));
        writer.finish(Trace { ios: Vec::new(), ..trace.clone() }).expect("memory")
    }

    #[test]
    fn a_trace_comes_back_as_it_was_in_at_most_sixteen_bytes_an_event() {
        let before = trace(150_000);
        let bytes = written(&before);
        assert!(read(bytes::Bytes::from(bytes.clone())).expect("a trace") == before);
        // Each request here has three events: queued, issued, completed.
        assert!(bytes.len() < 150_000 * 3 * 16, "{}", bytes.len());
    }

    #[test]
    fn a_damaged_trace_is_an_error_and_no_panic() {
        let bytes = written(&trace(100));
        for cut in (0..bytes.len()).step_by(7) {
            assert!(read(bytes::Bytes::copy_from_slice(&bytes[..cut])).is_err());
        }
    }

    #[test]
    fn a_byte_that_was_changed_ends_in_a_trace_or_an_error() {
        let bytes = written(&trace(40));
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                let _ = read(bytes::Bytes::from(changed));
            }
        }
    }
}
