//! Guesses the meaning of a table's columns.
//!
//! The variant is the column of repeating names, the metric the only numeric column whose name
//! implies a better direction, the round a column with a usual name. If several columns qualify,
//! the user must choose.

use std::collections::BTreeSet;

use experiment::metric::{Direction, direction_of_column};

use crate::error::Error;
use crate::table;

/// Usual names of variant columns.
const VARIANT_NAMES: &[&str] = &[
    "variant",
    "scheduler",
    "setting",
    "config",
    "configuration",
    "version",
    "branch",
    "commit",
    "build",
    "kernel",
    "system",
    "command",
    "arm",
];
/// Usual names of workload columns.
const WORKLOAD_NAMES: &[&str] =
    &["workload", "benchmark", "test", "job", "task", "machine", "host", "device", "input"];
/// Usual names of round columns.
const ROUND_NAMES: &[&str] =
    &["round", "run", "rep", "reps", "repetition", "repeat", "iteration", "iter", "block", "trial"];

/// Maximum number of rows to examine.
const MOST_ROWS: usize = 100_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guess {
    pub variant: String,
    pub metrics: Vec<String>,
    pub round: Option<String>,
    pub workload: Option<String>,
}

struct Column {
    name: String,
    cells: Vec<String>,
    is_numeric: bool,
}

impl Column {
    fn values(&self) -> usize {
        self.cells.iter().collect::<BTreeSet<_>>().len()
    }

    fn is_called(&self, names: &[&str]) -> bool {
        names.contains(&self.name.to_ascii_lowercase().as_str())
    }
}

/// Whether a text is a table: a header of two or more columns and a row of equal length.
///
/// # Errors
/// The missing part.
pub fn is_table(text: &str) -> Result<(), &'static str> {
    let mut reader = table::reader(text);
    let columns = reader.headers().map_or(0, csv::StringRecord::len);
    if columns < 2 {
        return Err("header of two or more columns in the first line");
    }
    let first = reader.records().next().and_then(Result::ok);
    if first.is_some() { Ok(()) } else { Err("row with as many columns as the header") }
}

/// Finds the columns that the user has not named.
///
/// # Errors
/// Not a table, or ambiguous; then with the flag that decides.
pub fn guess(text: &str, variant: Option<&str>, metrics: &[String]) -> Result<Guess, Error> {
    let columns = columns(text)?;
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let round = columns.iter().find(|column| column.is_called(ROUND_NAMES) && column.values() > 1);
    let is_round = |column: &Column| round.is_some_and(|round| round.name == column.name);
    let differing: Vec<&Column> = columns
        .iter()
        .filter(|column| !column.is_numeric && !is_round(column) && column.values() > 1)
        .collect();
    let repeating: Vec<&Column> =
        differing.iter().copied().filter(|column| column.values() < rows).collect();
    let named = if repeating.is_empty() { differing } else { repeating };
    let (variant, workload) = match variant {
        Some(variant) => (variant.to_owned(), None),
        None => names(&named)?,
    };
    let taken = |column: &Column| {
        is_round(column) || column.name == variant || workload.as_ref() == Some(&column.name)
    };
    let metrics = match metrics {
        [] => {
            let free = || columns.iter().filter(|column| column.is_numeric && !taken(column));
            let metric = metric(free())?;
            check_parameters(free().filter(|column| column.name != metric))?;
            vec![metric]
        }
        named => named.to_vec(),
    };
    let of_cell = |name: &str| columns.iter().find(|column| column.name == name);
    let key: Vec<&Column> = [Some(variant.as_str()), workload.as_deref()]
        .into_iter()
        .flatten()
        .filter_map(of_cell)
        .collect();
    let round = round.filter(|round| is_unique(&key, round, rows)).map(|round| round.name.clone());
    Ok(Guess { variant, metrics, round, workload })
}

fn columns(text: &str) -> Result<Vec<Column>, Error> {
    let mut columns: Vec<Column> = table::columns_of(text)?
        .into_iter()
        .map(|name| Column { name, cells: Vec::new(), is_numeric: false })
        .collect();
    for row in table::reader(text).records().take(MOST_ROWS) {
        let row = row.map_err(|error| table::unreadable(&error))?;
        for (column, cell) in columns.iter_mut().zip(&row) {
            column.cells.push(cell.to_owned());
        }
    }
    for column in &mut columns {
        let numbers = column.cells.iter().filter(|cell| cell.parse::<f64>().is_ok()).count();
        let empty = column.cells.iter().filter(|cell| cell.is_empty()).count();
        column.is_numeric = numbers > 0 && numbers + empty == column.cells.len();
    }
    Ok(columns)
}

/// Finds the columns of variants and workloads among the name columns.
fn names(columns: &[&Column]) -> Result<(String, Option<String>), Error> {
    let found = list(columns.iter().copied());
    let ask = |problem: String| {
        let remedy =
            "name it with --variant COL, and a column of workloads or machines with --workload COL";
        Error::new("variant", problem, remedy)
    };
    match columns {
        [] => Err(ask("no column of names that differ between rows".to_owned())),
        [one] => Ok((one.name.clone(), None)),
        [a, b] => {
            let is = |variant: &Column, workload: &Column| {
                variant.is_called(VARIANT_NAMES) && workload.is_called(WORKLOAD_NAMES)
            };
            match (is(a, b), is(b, a)) {
                (true, _) => Ok((a.name.clone(), Some(b.name.clone()))),
                (_, true) => Ok((b.name.clone(), Some(a.name.clone()))),
                _ => Err(ask(format!("any of several columns may be meant (found {found})"))),
            }
        }
        _ => Err(ask(format!("any of several columns may be meant (found {found})"))),
    }
}

fn metric<'a>(columns: impl Iterator<Item = &'a Column>) -> Result<String, Error> {
    let all: Vec<&Column> = columns.collect();
    let tells = |column: &&Column| {
        direction_of_column(&column.name).is_some_and(|known| known != Direction::Descriptive)
    };
    let known: Vec<&Column> = all.iter().copied().filter(tells).collect();
    match (known.as_slice(), all.as_slice()) {
        ([one], _) | ([], [one]) => Ok(one.name.clone()),
        ([], []) => Err(Error::new("metric", "no column of numbers", "name it with --metric COL")),
        ([], several) | (several, _) => {
            let found = list(several.iter().copied());
            let problem = format!("any of several columns may decide (found {found})");
            Err(Error::new("metric", problem, "name the one that decides first: --metric COL"))
        }
    }
}

/// Refuses columns of repeating integers: rows with 10 and with 20 clients are different workloads.
fn check_parameters<'a>(others: impl Iterator<Item = &'a Column>) -> Result<(), Error> {
    let is_parameter = |column: &&Column| {
        let are_whole = column.cells.iter().all(|cell| cell.parse::<i64>().is_ok());
        are_whole && (2..column.cells.len()).contains(&column.values())
    };
    let found = list(others.filter(is_parameter));
    if found.is_empty() {
        return Ok(());
    }
    let problem =
        format!("differs between rows in what it did, or the columns are rounds (found {found})");
    let remedy = "name columns with --variant COL, --metric COL and --workload COL or --round COL";
    Err(Error::new("workload", problem, remedy))
}

fn list<'a>(columns: impl Iterator<Item = &'a Column>) -> String {
    columns.take(20).map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Whether these columns and the round identify each row.
fn is_unique(key: &[&Column], round: &Column, rows: usize) -> bool {
    let cells = |row: usize| -> Vec<&str> {
        key.iter().copied().chain([round]).map(|column| column.cells[row].as_str()).collect()
    };
    (0..rows).map(cells).collect::<BTreeSet<_>>().len() == rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guessed(text: &str) -> Result<Guess, String> {
        guess(text, None, &[]).map_err(|error| error.to_string())
    }

    fn found(
        variant: &str,
        metric: &str,
        round: Option<&str>,
        workload: Option<&str>,
    ) -> Result<Guess, String> {
        let [round, workload] = [round, workload].map(|word| word.map(str::to_owned));
        Ok(Guess { variant: variant.to_owned(), metrics: vec![metric.to_owned()], round, workload })
    }

    #[test]
    fn columns_that_the_table_tells_are_found() {
        for (text, expected) in [
            ("who,at,tps\na,1,5\nb,2,6\na,3,5\nb,4,7\n", found("who", "tps", None, None)),
            ("who,run,x\na,1,5\nb,1,6\na,2,5\nb,2,7\n", found("who", "x", Some("run"), None)),
            ("who,run,x\na,1,5\na,1,6\nb,2,5\nb,2,7\n", found("who", "x", None, None)),
            (
                "machine,scheduler,tps\nm,a,1\nm,b,2\nn,a,3\nn,b,4\nn,b,4\n",
                found("scheduler", "tps", None, Some("machine")),
            ),
            ("when;who;ms\nmon;a;1\ntue;b;2\nwed;a;1\n", found("who", "ms", None, None)),
            ("host,who,ms\nh,a,1\nh,b,2\nh,a,1\n", found("who", "ms", None, None)),
            ("who,ms\na,1\nb,\n", found("who", "ms", None, None)),
        ] {
            assert_eq!(guessed(text), expected, "{text}");
        }
    }

    #[test]
    fn columns_that_two_could_be_are_asked_for() {
        for (text, words) in [
            ("a,b,ms\nx,p,1\ny,p,2\nx,q,3\n", ["found a, b", "--variant"]),
            ("who,ms,tps\na,1,2\nb,1,2\n", ["found ms, tps", "--metric"]),
            ("who,x,y\na,1,2\nb,1,2\n", ["found x, y", "--metric"]),
            ("who,n,tps\na,1,5\nb,1,6\na,2,5\nb,2,7\n", ["found n", "--workload"]),
            ("x,ms\n1,2\n3,4\n", ["no column of names", "--variant"]),
            ("who,why\na,p\nb,p\n", ["no column of numbers", "--metric"]),
        ] {
            let error = guessed(text).unwrap_err();
            assert!(words.iter().all(|word| error.contains(word)), "{text}: {error}");
        }
    }

    #[test]
    fn what_the_user_names_is_not_guessed() {
        let text = "a,b,ms,tps\nx,p,1,2\ny,p,2,3\nx,q,3,4\n";
        let found = guess(text, Some("b"), &["tps".to_owned()]).unwrap();
        assert_eq!((found.variant.as_str(), found.metrics), ("b", vec!["tps".to_owned()]));
    }

    #[test]
    fn a_table_has_a_header_and_rows_of_its_width() {
        assert!(is_table("a,b\n1,2\n").is_ok() && is_table("a\tb\n1\t2\n").is_ok());
        assert!(is_table("a\n1\n").unwrap_err().contains("header"));
        assert!(is_table("a,b\n1,2,3\n").unwrap_err().contains("row"));
        assert!(is_table("").unwrap_err().contains("header"));
    }
}
