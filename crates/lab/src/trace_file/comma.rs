//! Traces as comma-separated text.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};

use anyhow::{Context, Result, anyhow};
use machine::files::Bounded;
use sim::Event;
use text::limits::EVENTS_LINE;

use super::Sink;
use super::columns::{COLUMNS, kind_of, op_name, op_of, time_of};

pub(super) struct Writer {
    csv: csv::Writer<BufWriter<File>>,
}

impl Writer {
    pub(super) fn new(file: File) -> Result<Writer> {
        let mut csv = csv::Writer::from_writer(BufWriter::new(file));
        csv.write_record(COLUMNS)?;
        Ok(Writer { csv })
    }
}

impl Sink for Writer {
    fn push(&mut self, event: &Event) -> Result<()> {
        let number =
            |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
        self.csv.write_record([
            &event.at.as_ns().to_string(),
            event.kind.name(),
            &number(event.process),
            &number(event.tag),
            op_name(event.op),
            &event.sector.to_string(),
            &event.nr_sectors.to_string(),
        ])?;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.csv.flush()?;
        self.csv.into_inner().map_err(|error| error.into_error())?.flush()?;
        Ok(())
    }
}

pub(super) fn read(file: File, each: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()> {
    let (mut reader, mut line) = (BufReader::new(file), Vec::new());
    for number in 1.. {
        if EVENTS_LINE
            .read_line(&mut reader, &mut line)
            .with_context(|| format!("line {number}"))?
            == 0
        {
            break;
        }
        let text =
            std::str::from_utf8(line.trim_ascii_end()).with_context(|| format!("line {number}"))?;
        let cells: Vec<&str> = text.split(',').collect();
        match number {
            1 if cells != COLUMNS => {
                return Err(anyhow!(
                    "trace: other columns (found {text}, expected {})",
                    COLUMNS.join(", ")
                ));
            }
            1 => {}
            _ => each(&event(&cells).with_context(|| format!("line {number}"))?)?,
        }
    }
    Ok(())
}

fn event(row: &[&str]) -> Result<Event> {
    if row.len() != COLUMNS.len() {
        return Err(anyhow!(
            "columns: another number of them (found {}, expected {})",
            row.len(),
            COLUMNS.len()
        ));
    }
    fn number<T: std::str::FromStr>(row: &[&str], column: usize) -> Result<T> {
        row[column]
            .parse()
            .map_err(|_| anyhow!("{}: {:?} is not a whole number", COLUMNS[column], row[column]))
    }
    let optional = |column: usize| {
        if row[column].is_empty() { Ok(None) } else { number(row, column).map(Some) }
    };
    Ok(Event {
        at: time_of(number(row, 0)?)?,
        kind: kind_of(row[1])?,
        process: optional(2)?,
        tag: optional(3)?,
        op: op_of(row[4])?,
        sector: number(row, 5)?,
        nr_sectors: number(row, 6)?,
    })
}
