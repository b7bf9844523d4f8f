//! The DuckDB view of a fleet.

use std::path::Path;

use crate::entry::RESULTS;

/// Returns SQL that creates the view `results` over a directory's files.
pub fn view(directory: &Path) -> String {
    let files = directory.join(RESULTS).join("*.parquet").display().to_string();
    // Quotes are doubled in SQL strings.
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
