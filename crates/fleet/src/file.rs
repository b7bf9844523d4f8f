//! A result as an Apache Parquet file.
//!
//! Four columns are read here: series, round, value, invalid; the others are for SQL. Facts and
//! series are JSON under the metadata key `schedlab.fleet`, with the SHA-256 of each row group; the
//! file is named after that text's SHA-256. Primary metrics are the first group, so verdicts read
//! only a part. Files may be hostile: compression is rejected, so memory is bounded by file size
//! and rows.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail, ensure};
use bytes::Bytes;
use parquet::basic::Compression;
use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use text::limits::{FLEET_BYTES, FLEET_HEADER, FLEET_ROWS};

use crate::result::{Header, MachineResult, REASON, SCHEMA, Series, Value, hash_of};
use text::hex;

const KEY: &str = "schedlab.fleet";

const COLUMNS: &str = "message result {
    REQUIRED INT32 series;
    REQUIRED INT32 round;
    OPTIONAL DOUBLE value;
    OPTIONAL BYTE_ARRAY invalid (UTF8);
    REQUIRED BYTE_ARRAY machine (UTF8);
    REQUIRED BYTE_ARRAY host (UTF8);
    REQUIRED BYTE_ARRAY model (UTF8);
    REQUIRED BYTE_ARRAY firmware (UTF8);
    REQUIRED BYTE_ARRAY kind (UTF8);
    REQUIRED BYTE_ARRAY drive (UTF8);
    REQUIRED BYTE_ARRAY cpu (UTF8);
    REQUIRED BYTE_ARRAY system (UTF8);
    REQUIRED BYTE_ARRAY kernel (UTF8);
    REQUIRED BYTE_ARRAY arena (UTF8);
    REQUIRED BYTE_ARRAY experiment (UTF8);
    REQUIRED BYTE_ARRAY plan (UTF8);
    REQUIRED BYTE_ARRAY question (UTF8);
    REQUIRED BYTE_ARRAY workload (UTF8);
    REQUIRED BYTE_ARRAY metric (UTF8);
    REQUIRED BYTE_ARRAY unit (UTF8);
    REQUIRED BYTE_ARRAY better (UTF8);
    REQUIRED BYTE_ARRAY variant (UTF8);
    REQUIRED BYTE_ARRAY scheduler (UTF8);
    REQUIRED BOOLEAN is_baseline;
    REQUIRED BOOLEAN is_deciding;
    REQUIRED INT64 size_bytes;
    REQUIRED INT64 started (TIMESTAMP(MILLIS,true));
}";

/// Fact columns, in the order of [`COLUMNS`].
const FACTS: [fn(&Header) -> &str; 12] = [
    |of| &of.machine,
    |of| &of.host,
    |of| &of.model,
    |of| &of.firmware,
    |of| &of.kind,
    |of| &of.drive,
    |of| &of.cpu,
    |of| &of.system,
    |of| &of.kernel,
    |of| &of.arena,
    |of| &of.experiment,
    |of| &of.plan,
];

/// Text columns of a series, in the order of [`COLUMNS`].
const TEXTS: [fn(&Series) -> &str; 7] = [
    |of| &of.question,
    |of| &of.workload,
    |of| &of.metric,
    |of| &of.unit,
    |of| &of.better,
    |of| &of.variant,
    |of| &of.scheduler,
];

impl MachineResult {
    pub fn to_file(&self) -> Result<(String, Vec<u8>)> {
        let MachineResult { header, groups } = self;
        let text = serde_json::to_string(header)?;
        FLEET_HEADER.check(text.len())?;
        FLEET_ROWS.check(groups.iter().map(Vec::len).sum())?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::UNCOMPRESSED)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .build();
        let mut file = SerializedFileWriter::new(
            Vec::new(),
            Arc::new(parse_message_type(COLUMNS)?),
            Arc::new(properties),
        )?;
        for rows in groups.iter().filter(|rows| !rows.is_empty()) {
            let mut group = file.next_row_group()?;
            write_group(&mut group, header, rows)?;
            group.close()?;
        }
        let name = hex_of(&text);
        file.append_key_value_metadata(KeyValue::new(KEY.to_owned(), text));
        let bytes = file.into_inner()?;
        FLEET_BYTES.check(bytes.len())?;
        Ok((name, bytes))
    }

    /// Verifies both groups.
    pub fn from_file(name: &str, bytes: Bytes) -> Result<MachineResult> {
        let mut file = ResultFile::open(name, bytes)?;
        let groups = [file.rows(0)?, file.rows(1)?];
        Ok(MachineResult { header: file.header, groups })
    }
}

fn write_group(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    header: &Header,
    rows: &[Value],
) -> Result<()> {
    let n = rows.len();
    let of = |row: &Value| &header.series[row.series as usize];
    put::<Int32Type>(
        group,
        &rows.iter().map(|row| row.series.cast_signed()).collect::<Vec<_>>(),
        None,
    )?;
    put::<Int32Type>(
        group,
        &rows.iter().map(|row| row.round.cast_signed()).collect::<Vec<_>>(),
        None,
    )?;
    let values: Vec<f64> = rows.iter().filter_map(|row| row.value).collect();
    let levels: Vec<i16> = rows.iter().map(|row| i16::from(row.value.is_some())).collect();
    put::<DoubleType>(group, &values, Some(&levels))?;
    // Rows share reasons.
    let mut reasons: BTreeMap<&str, ByteArray> = BTreeMap::new();
    let mut shared = |text| {
        reasons
            .entry(text)
            .or_insert_with(|| Bytes::copy_from_slice(text.as_bytes()).into())
            .clone()
    };
    let invalid: Vec<ByteArray> =
        rows.iter().filter_map(|row| row.invalid.as_deref()).map(&mut shared).collect();
    let levels: Vec<i16> = rows.iter().map(|row| i16::from(row.invalid.is_some())).collect();
    put::<ByteArrayType>(group, &invalid, Some(&levels))?;
    for fact in FACTS {
        put::<ByteArrayType>(group, &vec![ByteArray::from(fact(header)); n], None)?;
    }
    for text in TEXTS {
        let of_series: Vec<ByteArray> =
            header.series.iter().map(|series| ByteArray::from(text(series))).collect();
        let column: Vec<ByteArray> =
            rows.iter().map(|row| of_series[row.series as usize].clone()).collect();
        put::<ByteArrayType>(group, &column, None)?;
    }
    put::<BoolType>(group, &rows.iter().map(|row| of(row).is_baseline).collect::<Vec<_>>(), None)?;
    put::<BoolType>(group, &rows.iter().map(|row| of(row).is_deciding).collect::<Vec<_>>(), None)?;
    put::<Int64Type>(group, &vec![header.size_bytes.cast_signed(); n], None)?;
    put::<Int64Type>(group, &vec![header.started_unix_ms.cast_signed(); n], None)
}

fn put<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<()> {
    let mut column = group
        .next_column()?
        .ok_or_else(|| anyhow!("result: the schema has fewer columns than values"))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()?;
    Ok(())
}

pub(crate) struct ResultFile {
    pub(crate) header: Header,
    reader: SerializedFileReader<Bytes>,
}

impl ResultFile {
    /// Opens a file stored under this name (a hexadecimal hash).
    ///
    /// # Errors
    /// Not a result, of another version, damaged, or too large.
    pub(crate) fn open(name: &str, bytes: Bytes) -> Result<ResultFile> {
        FLEET_BYTES.check(bytes.len())?;
        guarded(|| ResultFile::opened(name, bytes))
    }

    fn opened(name: &str, bytes: Bytes) -> Result<ResultFile> {
        let length = bytes.len() as i64;
        let reader =
            SerializedFileReader::new(bytes).context("result: not a whole file of Parquet")?;
        let metadata = reader.metadata();
        let pairs = metadata.file_metadata().key_value_metadata().into_iter().flatten();
        let text = pairs.filter(|pair| pair.key == KEY).find_map(|pair| pair.value.as_ref());
        let text = text.context("result: its footer has no facts (expected a file of schedlab)")?;
        FLEET_HEADER.check(text.len())?;
        ensure!(
            hex_of(text) == name,
            "result: its facts do not match the hash in its name; it was changed or renamed"
        );
        let header: Header = serde_json::from_str(text).context("result: its facts are damaged")?;
        ensure!(
            header.schema == SCHEMA,
            "result: {}; read it with that build",
            text::build::other_format(header.schema, SCHEMA, Some(&header.schedlab))
        );
        ensure!(
            header.groups.len() == 2,
            "result: its facts are damaged (found {} groups, expected 2)",
            header.groups.len()
        );
        ensure!(
            metadata.file_metadata().schema() == &parse_message_type(COLUMNS)?,
            "result: other columns than this version of schedlab writes"
        );
        let rows: u64 = header.groups.iter().fold(0, |sum, group| sum.saturating_add(group.rows));
        FLEET_ROWS.check(usize::try_from(rows).unwrap_or(usize::MAX))?;
        let written: Vec<u64> =
            header.groups.iter().map(|group| group.rows).filter(|rows| *rows > 0).collect();
        let found: Vec<u64> = metadata
            .row_groups()
            .iter()
            .map(|group| group.num_rows().try_into().unwrap_or(0))
            .collect();
        ensure!(written == found, "result: the rows of its groups do not match its facts");
        let columns = metadata.row_groups().iter().flat_map(|group| group.columns());
        for column in columns {
            ensure!(
                column.compression() == Compression::UNCOMPRESSED,
                "result: a column is compressed (expected uncompressed columns)"
            );
            let begin = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let end = begin.checked_add(column.compressed_size()).unwrap_or(-1);
            ensure!(
                begin >= 0 && begin <= end && end <= length,
                "result: a column lies outside of the file"
            );
        }
        Ok(ResultFile { header, reader })
    }

    /// Reads the rows, verified against the group's hash.
    pub(crate) fn rows(&mut self, group: usize) -> Result<Vec<Value>> {
        guarded(|| self.rows_of(group))
    }

    fn rows_of(&self, group: usize) -> Result<Vec<Value>> {
        let rows =
            usize::try_from(self.header.groups[group].rows).context("result: too many rows")?;
        if rows == 0 {
            return Ok(Vec::new());
        }
        // Empty groups are not written.
        let place = self.header.groups[..group].iter().filter(|group| group.rows > 0).count();
        let reader = self.reader.get_row_group(place)?;
        let (series, _) = column::<Int32Type>(reader.as_ref(), 0, rows, false)?;
        let (rounds, _) = column::<Int32Type>(reader.as_ref(), 1, rows, false)?;
        let (values, known) = column::<DoubleType>(reader.as_ref(), 2, rows, true)?;
        let (invalid, is_invalid) = column::<ByteArrayType>(reader.as_ref(), 3, rows, true)?;
        let mut values = values.into_iter();
        let mut reasons: BTreeMap<(usize, usize), Arc<str>> = BTreeMap::new();
        ensure!(
            invalid.iter().all(|text| text.len() <= 4 * REASON),
            "result: a reason is longer than {REASON} characters"
        );
        let mut invalid = invalid.into_iter();
        let mut found = Vec::with_capacity(rows);
        for row in 0..rows {
            let number = series[row].cast_unsigned();
            ensure!(
                (number as usize) < self.header.series.len(),
                "result: row {row} has no such series"
            );
            let value = if known[row] == 1 { values.next() } else { None };
            let invalid = match is_invalid[row] {
                1 => invalid.next().map(|text| {
                    let known = reasons.entry((text.data().as_ptr().addr(), text.len()));
                    Arc::clone(known.or_insert_with(|| String::from_utf8_lossy(text.data()).into()))
                }),
                _ => None,
            };
            found.push(Value {
                series: number,
                round: rounds[row].cast_unsigned(),
                value,
                invalid,
            });
        }
        if hash_of(&found) != self.header.groups[group].sha256 {
            bail!("result: its values do not match the hash in its facts; it was changed");
        }
        Ok(found)
    }
}

/// The library asserts properties that a hostile file may violate.
fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| bail!("result: its pages are damaged"))
}

/// For an optional column, also returns which rows have a value.
fn column<T: DataType>(
    group: &dyn RowGroupReader,
    column: usize,
    rows: usize,
    optional: bool,
) -> Result<(Vec<T::T>, Vec<i16>)> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let mut reader: ColumnReaderImpl<T> = get_typed_column_reader(group.get_column_reader(column)?);
    let wanted = optional.then_some(&mut levels);
    let (read, found, _) = reader.read_records(rows, wanted, None, &mut values)?;
    let present = if optional { levels.iter().filter(|level| **level == 1).count() } else { rows };
    ensure!(
        read == rows
            && found == present
            && values.len() == present
            && (!optional || levels.len() == rows),
        "result: column {column} ends after {read} of {rows} rows"
    );
    Ok((values, levels))
}

fn hex_of(text: &str) -> String {
    use sha2::Digest;
    hex(&sha2::Sha256::digest(text))
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
