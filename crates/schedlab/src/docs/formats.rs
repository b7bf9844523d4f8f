//! Reference page of other programs' formats.

use import::IMPORTERS;

use super::sheet::{Sheet, code};

#[test]
fn the_page_about_formats_has_every_row() {
    let mut sheet = Sheet::new(
        "Formats of other programs",
        "What `schedlab analyze --from FORMAT FILE…` reads; [Programs](../develop/programs.md) shows how. Besides its own labels, every trial has\n\
         the labels `file` (name of the file without the number of a trial), `dir` (its directory, likewise), `run` (that\n\
         number) and `path`. A directory is searched for files of the format.",
    );
    for row in IMPORTERS {
        sheet.section(row.name).table(
            ["", "what"],
            [
                ["reads".to_owned(), row.reads.to_owned()],
                ["one trial".to_owned(), row.trial.to_owned()],
                [
                    "variant".to_owned(),
                    format!("the first of these labels that differs: {}", row.variants.join(", ")),
                ],
                ["once is not enough".to_owned(), row.repeat.to_owned()],
                ["metrics".to_owned(), row.own_metrics.to_owned()],
            ]
            .into_iter()
            .filter(|[_, what]| !what.is_empty()),
        );
        sheet.text("What it lacks, a caution of every analysis:");
        sheet.list(row.lacks);
        sheet.table(
            ["label", "meaning"],
            row.labels.iter().map(|(name, help)| [code(name), (*help).to_owned()]),
        );
        if !row.metrics.is_empty() {
            let metric = |(name, unit, help): &(&str, &str, &str)| {
                [code(name), (*unit).to_owned(), better(name), (*help).to_owned()]
            };
            sheet.table(["metric", "unit", "better", "meaning"], row.metrics.iter().map(metric));
        }
    }
    super::check("formats", sheet);
}

fn better(metric: &str) -> String {
    use experiment::metric::Direction::{Descriptive, HigherIsBetter, LowerIsBetter};
    match experiment::metric::direction_of(metric) {
        Some(HigherIsBetter) => "higher".to_owned(),
        Some(LowerIsBetter) => "lower".to_owned(),
        Some(Descriptive) | None => "-".to_owned(),
    }
}
