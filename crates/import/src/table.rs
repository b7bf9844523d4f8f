//! Tables of external measurements as samples for the analysis.
//!
//! Any CSV file with a header works: one column names the variant, one or more hold numbers.
//! Missing information (rounds, order, direction) becomes a caution.

use std::collections::{BTreeMap, BTreeSet};

use experiment::results::InvalidReason;
use experiment::samples::Sample;
use text::from_spreadsheet;
use text::limits::{
    COMPARISONS, Exceeded, SAMPLES, TABLE_CELL, TABLE_COLUMNS, TABLE_ROWS, VARIANTS, WORKLOADS,
};

use crate::error::Error;

#[derive(Debug, Clone)]
pub struct Columns<'a> {
    pub variant: &'a str,
    pub metrics: &'a [String],
    pub round: Option<&'a str>,
    pub workload: Option<&'a str>,
    pub invalid_if: Option<&'a str>,
}

pub fn columns_of(text: &str) -> Result<Vec<String>, Error> {
    let mut reader = reader(text);
    let header = reader.headers().map_err(|error| unreadable(&error))?;
    check_row(header)?;
    Ok(header.iter().map(str::to_owned).collect())
}

/// Checks a row's limits before it is copied.
fn check_row(row: &csv::StringRecord) -> Result<(), Error> {
    let longest = row.iter().map(str::len).max().unwrap_or(0);
    TABLE_COLUMNS.check(row.len()).and_then(|()| TABLE_CELL.check(longest)).map_err(|exceeded| {
        let line = row.position().map_or(1, csv::Position::line);
        wrong(exceeded.to_string(), "").at(format!("line {line}"))
    })
}

/// The number of verdicts that a table leads to.
#[derive(Default)]
struct Size {
    variants: BTreeSet<String>,
    workloads: BTreeSet<String>,
}

impl Size {
    fn grow(&mut self, variant: &str, workload: &str, metrics: usize) -> Result<(), Exceeded> {
        for (names, name) in [(&mut self.variants, variant), (&mut self.workloads, workload)] {
            if !names.contains(name) {
                names.insert(name.to_owned());
            }
        }
        VARIANTS.check(self.variants.len())?;
        WORKLOADS.check(self.workloads.len())?;
        COMPARISONS.check(self.variants.len() * self.workloads.len() * metrics)
    }
}

fn wrong(problem: impl Into<String>, remedy: impl Into<String>) -> Error {
    Error::new("table", problem, remedy)
}

pub(crate) fn unreadable(error: &csv::Error) -> Error {
    let line = error.position().map_or(1, csv::Position::line);
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            let problem = format!("{len} cells (expected {expected_len}, as the header has)");
            wrong(
                problem,
                "put quotes around a cell with a separator in it; a decimal comma must be a point",
            )
            .at(format!("line {line}"))
        }
        _ => wrong(error.to_string(), "write it as CSV again").at(format!("line {line}")),
    }
}

/// Columns are separated by commas, or by semicolons or tabs if the first line has more of them.
pub(crate) fn reader(text: &str) -> csv::Reader<&[u8]> {
    let first = text.lines().next().unwrap_or_default();
    let count = |delimiter: &u8| first.bytes().filter(|byte| byte == delimiter).count();
    // `max_by_key` returns the last maximum, so the comma comes last.
    let delimiter = [b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',');
    csv::ReaderBuilder::new().trim(csv::Trim::All).delimiter(delimiter).from_reader(text.as_bytes())
}

/// Parses a table. Rows keep their order; round labels (any text) become numbers in order of
/// appearance.
pub fn parse(text: &str, columns: &Columns<'_>) -> Result<Vec<Sample>, Error> {
    let mut reader = reader(text);
    let header: Vec<String> = {
        let header = reader.headers().map_err(|error| unreadable(&error))?;
        check_row(header)?;
        header.iter().map(str::to_owned).collect()
    };
    let exceeds = |exceeded: Exceeded| wrong(exceeded.to_string(), "");
    let place = |name: &str| position(&header, name);
    let variant = place(columns.variant)?;
    let metrics =
        columns.metrics.iter().map(|name| place(name)).collect::<Result<Vec<_>, Error>>()?;
    let [round, workload, invalid_if] = [columns.round, columns.workload, columns.invalid_if]
        .map(|name| name.map(place).transpose());
    let (round, workload, invalid_if) = (round?, workload?, invalid_if?);

    let mut samples = Vec::new();
    let mut rounds: BTreeMap<String, u32> = BTreeMap::new();
    let mut size = Size::default();
    for (sequence, row) in reader.records().enumerate() {
        let row = row.map_err(|error| unreadable(&error))?;
        check_row(&row)?;
        TABLE_ROWS.check(sequence + 1).map_err(exceeds)?;
        let workload_of_row = workload.map_or("all", |at| from_spreadsheet(&row[at]));
        let variant_of_row = from_spreadsheet(&row[variant]);
        size.grow(variant_of_row, workload_of_row, metrics.len()).map_err(exceeds)?;
        SAMPLES.check(samples.len() + metrics.len()).map_err(exceeds)?;
        let line = row.position().map_or(0, csv::Position::line);
        let round = round.map(|at| {
            let next = u32::try_from(rounds.len()).expect("fewer rows than 2^32");
            *rounds.entry(row[at].to_owned()).or_insert(next)
        });
        let invalid: Vec<InvalidReason> = invalid_if
            .map(|at| row[at].trim())
            .filter(|text| !text.is_empty())
            .map(|text| InvalidReason::Foreign { text: text.to_owned() })
            .into_iter()
            .collect();
        for (name, &at) in columns.metrics.iter().zip(&metrics) {
            let cell = &row[at];
            let value = match cell.parse::<f64>() {
                Ok(value) => value,
                Err(_) if !invalid.is_empty() => f64::NAN,
                Err(_) => return Err(no_number(cell, name).at(format!("line {line}"))),
            };
            samples.push(Sample {
                workload: workload_of_row.to_owned(),
                metric: name.clone(),
                variant: variant_of_row.to_owned(),
                round,
                sequence: sequence as u64,
                value,
                requests: None,
                invalid: invalid.clone(),
            });
        }
    }
    if samples.is_empty() {
        return Err(wrong("no rows", "it needs at least one below its header"));
    }
    Ok(samples)
}

fn no_number(cell: &str, column: &str) -> Error {
    let problem = format!("{cell:?} in column {column:?} is not a number");
    let remedy = match cell.replacen(',', ".", 1).parse::<f64>() {
        Ok(number) => format!("write decimals with a point, {number}"),
        Err(_) => "name a column that says why a row has none with --invalid-if".to_owned(),
    };
    wrong(problem, remedy)
}

fn position(header: &[String], name: &str) -> Result<usize, Error> {
    header.iter().position(|column| column == name).ok_or_else(|| {
        let nearest = text::did_you_mean(name, header.iter().map(String::as_str));
        let problem = format!("not in the table (expected one of {})", header.join(", "));
        Error::new(format!("column {name:?}"), problem, format!("name another{nearest}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "machine,scheduler,run,mb_s,error\na,none,r1,10,\na,bfq,r1,12,\na,none,r2,11,Invalid argument\n";

    fn columns(metrics: &[String]) -> Columns<'_> {
        Columns {
            variant: "scheduler",
            metrics,
            round: Some("run"),
            workload: Some("machine"),
            invalid_if: Some("error"),
        }
    }

    #[test]
    fn names_that_schedlab_wrote_for_a_spreadsheet_are_read_as_they_were() {
        let metrics = ["mb_s".to_owned()];
        let table = "machine,scheduler,run,mb_s,error\n'@a,'=b,r1,-1.5,\n'a,'b',r1,1,\n";
        let samples = parse(table, &columns(&metrics)).unwrap();
        let names: Vec<_> =
            samples.iter().map(|s| (s.workload.as_str(), s.variant.as_str(), s.value)).collect();
        assert_eq!(names, [("@a", "=b", -1.5), ("'a", "'b'", 1.0)]);
    }

    #[test]
    fn each_row_is_a_sample_with_its_round_and_its_invalid_reason() {
        let metrics = ["mb_s".to_owned()];
        let samples = parse(TABLE, &columns(&metrics)).unwrap();
        let short: Vec<_> = samples
            .iter()
            .map(|s| (s.variant.as_str(), s.round, s.value, s.invalid.len()))
            .collect();
        assert_eq!(
            short,
            [("none", Some(0), 10.0, 0), ("bfq", Some(0), 12.0, 0), ("none", Some(1), 11.0, 1)]
        );
    }

    #[test]
    fn semicolons_and_tabs_separate_columns_too() {
        let metrics = ["mb_s".to_owned()];
        for delimiter in [";", "\t"] {
            assert_eq!(
                parse(&TABLE.replace(',', delimiter), &columns(&metrics)).unwrap().len(),
                3,
                "{delimiter:?}"
            );
        }
    }

    #[test]
    fn an_invalid_row_needs_no_number() {
        let metrics = ["mb_s".to_owned()];
        let samples = parse(&TABLE.replace("r2,11,", "r2,,"), &columns(&metrics)).unwrap();
        assert!(samples[2].value.is_nan() && samples[2].invalid.len() == 1);
    }

    #[test]
    fn a_wrong_column_names_the_nearest_one() {
        let metrics = ["mbs".to_owned()];
        let error = parse(TABLE, &columns(&metrics)).unwrap_err().to_string();
        assert!(error.contains("mb_s") && error.contains("did you mean"), "{error}");
    }

    #[test]
    fn a_decimal_comma_is_named_as_one() {
        let metrics = ["mb_s".to_owned()];
        let error = parse(
            "scheduler;mb_s\nnone;1,5\n",
            &Columns { round: None, workload: None, invalid_if: None, ..columns(&metrics) },
        );
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("line 2") && error.ends_with("write decimals with a point, 1.5"),
            "{error}"
        );
    }

    #[test]
    fn a_cell_that_is_no_number_is_named_with_its_line() {
        let metrics = ["error".to_owned()];
        let error = parse(TABLE, &columns(&metrics)).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("error"), "{error}");
    }
}
