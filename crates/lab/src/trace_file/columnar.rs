//! Traces as Apache Parquet: compressed columns in row groups, which bound the memory for long
//! trials.

use std::fs::File;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::{Row, RowAccessor};
use parquet::schema::parser::parse_message_type;
use sim::Event;

use super::Sink;
use super::columns::{COLUMNS, kind_of, op_name, op_of, time_of};

const GROUP: usize = 1 << 16;

const SCHEMA: &str = "message trace {
    REQUIRED INT64 at_ns;
    REQUIRED BYTE_ARRAY event (UTF8);
    OPTIONAL INT32 process;
    OPTIONAL INT32 tag;
    OPTIONAL BYTE_ARRAY op (UTF8);
    REQUIRED INT64 sector;
    REQUIRED INT32 nr_sectors;
}";

pub(super) struct Writer {
    file: SerializedFileWriter<File>,
    group: Vec<Event>,
}

impl Writer {
    pub(super) fn new(file: File) -> Result<Writer> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let properties =
            Arc::new(WriterProperties::builder().set_compression(Compression::SNAPPY).build());
        Ok(Writer {
            file: SerializedFileWriter::new(file, schema, properties)?,
            group: Vec::with_capacity(GROUP),
        })
    }
}

impl Sink for Writer {
    fn push(&mut self, event: &Event) -> Result<()> {
        self.group.push(*event);
        if self.group.len() == GROUP { self.write_group() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.write_group()?;
        self.file.close()?;
        Ok(())
    }
}

impl Writer {
    fn write_group(&mut self) -> Result<()> {
        if self.group.is_empty() {
            return Ok(());
        }
        let rows = &self.group;
        let mut group = self.file.next_row_group()?;
        let signed = |number: u64| {
            i64::try_from(number).map_err(|_| anyhow!("trace: {number} does not fit into 63 bits"))
        };
        // Process ids, tags and lengths are u32; the bits are preserved.
        let bits = |number: u32| number.cast_signed();
        let times = rows.iter().map(|e| signed(e.at.as_ns())).collect::<Result<Vec<i64>>>()?;
        let sectors = rows.iter().map(|e| signed(e.sector)).collect::<Result<Vec<i64>>>()?;
        let words: Vec<ByteArray> = rows.iter().map(|e| ByteArray::from(e.kind.name())).collect();
        let lengths: Vec<i32> = rows.iter().map(|e| bits(e.nr_sectors)).collect();
        let optional = |of: &dyn Fn(&Event) -> Option<u32>| -> Vec<Option<i32>> {
            rows.iter().map(|e| of(e).map(bits)).collect()
        };
        let ops: Vec<Option<ByteArray>> =
            rows.iter().map(|e| e.op.map(|op| ByteArray::from(op_name(Some(op))))).collect();
        required::<Int64Type>(&mut group, &times)?;
        required::<ByteArrayType>(&mut group, &words)?;
        nullable::<Int32Type>(&mut group, optional(&|e| e.process))?;
        nullable::<Int32Type>(&mut group, optional(&|e| e.tag))?;
        nullable::<ByteArrayType>(&mut group, ops)?;
        required::<Int64Type>(&mut group, &sectors)?;
        required::<Int32Type>(&mut group, &lengths)?;
        group.close()?;
        self.group.clear();
        Ok(())
    }
}

fn required<T: parquet::data_type::DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
) -> Result<()> {
    write::<T>(group, values, None)
}

fn nullable<T: parquet::data_type::DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: Vec<Option<T::T>>,
) -> Result<()> {
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<T::T> = values.into_iter().flatten().collect();
    write::<T>(group, &present, Some(&levels))
}

fn write<T: parquet::data_type::DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
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

pub(super) fn read(file: File, each: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()> {
    let reader = SerializedFileReader::new(file)?;
    let schema = reader.metadata().file_metadata().schema();
    let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
    if names != COLUMNS {
        return Err(anyhow!(
            "trace: other columns (found {}, expected {})",
            names.join(", "),
            COLUMNS.join(", ")
        ));
    }
    for row in reader.get_row_iter(None)? {
        each(&event(&row?)?)?;
    }
    Ok(())
}

fn event(row: &Row) -> Result<Event> {
    let optional = |column: usize| -> Result<Option<u32>> {
        if row.is_null_at(column) {
            Ok(None)
        } else {
            Ok(Some(row.get_int(column)?.cast_unsigned()))
        }
    };
    Ok(Event {
        at: time_of(row.get_long(0)?)?,
        kind: kind_of(row.get_string(1)?)?,
        process: optional(2)?,
        tag: optional(3)?,
        op: if row.is_null_at(4) { None } else { op_of(row.get_string(4)?)? },
        sector: u64::try_from(row.get_long(5)?)?,
        nr_sectors: row.get_int(6)?.cast_unsigned(),
    })
}

trait NullAt {
    fn is_null_at(&self, column: usize) -> bool;
}

impl NullAt for Row {
    fn is_null_at(&self, column: usize) -> bool {
        self.get_column_iter()
            .nth(column)
            .is_none_or(|(_, field)| matches!(field, parquet::record::Field::Null))
    }
}
