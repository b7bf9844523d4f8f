//! The table of formats.

use crate::importer::Importer;
use crate::{
    capframex, criterion, fio, google_benchmark, hyperfine, jmh, lkp, mangohud, mmtests, pgbench,
    pts,
};

pub static IMPORTERS: &[Importer] = &[
    fio::ROW,
    hyperfine::ROW,
    pgbench::ROW,
    pts::ROW,
    mmtests::ROW,
    lkp::ROW,
    google_benchmark::ROW,
    jmh::ROW,
    criterion::ROW,
    mangohud::ROW,
    capframex::ROW,
];

pub fn find(name: &str) -> Option<&'static Importer> {
    IMPORTERS.iter().find(|row| row.name == name)
}

/// The format that matches the beginning of a text.
///
/// # Errors
/// For each format, its name and the missing mark.
pub fn recognise(text: &str) -> Result<&'static Importer, Vec<(&'static str, &'static str)>> {
    let mut tried = Vec::new();
    for row in IMPORTERS {
        match (row.missing)(text) {
            None => return Ok(row),
            Some(mark) => tried.push((row.name, mark)),
        }
    }
    Err(tried)
}

#[cfg(test)]
mod tests {
    use experiment::metric::{Direction, direction_of};

    use super::*;

    #[test]
    fn every_row_says_what_it_reads_lacks_and_what_to_do_next() {
        for row in IMPORTERS {
            let name = row.name;
            assert_eq!(find(name).map(|found| found.name), Some(name), "names are unique");
            assert!(
                !row.lacks.is_empty() && !row.repeat.is_empty() && !row.trial.is_empty(),
                "{name}"
            );
            assert_eq!(row.metrics.is_empty(), !row.own_metrics.is_empty(), "{name}");
        }
    }

    #[test]
    fn every_metric_of_the_table_has_a_direction() {
        for (row, (metric, unit, help)) in
            IMPORTERS.iter().flat_map(|row| row.metrics.iter().map(move |metric| (row, metric)))
        {
            let direction = direction_of(metric);
            assert!(
                direction.is_some_and(|known| known != Direction::Descriptive),
                "{}: {metric}",
                row.name
            );
            assert!(!unit.is_empty() && !help.is_empty(), "{}: {metric}", row.name);
        }
    }
}
