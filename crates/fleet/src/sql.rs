//! The view by which DuckDB reads a fleet.

use std::path::Path;

use crate::entry::RESULTS;

/// SQL that makes the view `results` of the files in a directory.
pub fn view(directory: &Path) -> String {
    let files = directory.join(RESULTS).join("*.parquet").display().to_string();
    // A quote in a text of SQL is written twice.
    format!(
        "CREATE VIEW results AS SELECT *, parse_filename(filename, true) AS result FROM read_parquet('{}', filename = true);",
        files.replace('\'', "''")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_in_the_name_of_a_directory_ends_no_text() {
        assert!(view(Path::new("a'; DROP x; --")).contains("'a''; DROP x; --/results/*.parquet'"));
    }
}
