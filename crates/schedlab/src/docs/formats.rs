//! Reference page of other programs' formats.

use import::IMPORTERS;

use super::sheet::{Sheet, code};

#[test]
fn the_page_about_formats_has_every_row() {
    let mut sheet = Sheet::new(
        "Formats of other programs",
        "What `schedlab analyze --from FORMAT FILE…` reads; [Programs](../develop/programs.md) shows how. A directory is\n\
         searched for files of the format. Every trial also has the labels `file` (the file's name without the number of a\n\
         trial), `dir` (its directory, likewise), `run` (that number) and `path`. The variant is the first of the labels named\n\
         that differs. The limits of a format are cautions of every analysis.",
    );
    for row in IMPORTERS {
        let variants: Vec<String> = row.variants.iter().map(code).collect();
        let mut items = vec![
            format!("**Input:** {}", row.reads),
            format!("**Trial:** {}", row.trial),
            format!("**Variant:** {}", variants.join(", ")),
            format!("**Repeat:** {}", row.repeat),
        ];
        if !row.own_metrics.is_empty() {
            items.push(format!("**Metrics:** {}", row.own_metrics));
        }
        items.extend(row.lacks.iter().map(|limit| format!("**Limit:** {limit}")));
        let items: Vec<String> = items.iter().map(|item| item.replace('<', "\\<")).collect();
        sheet.section(row.name).list(&items.iter().map(String::as_str).collect::<Vec<_>>());
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
