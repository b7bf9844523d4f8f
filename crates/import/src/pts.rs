//! Phoronix Test Suite: `composite.xml`, and the XML of results on OpenBenchmarking.org.
//!
//! Source: the schema `result-file.xsd`, the writer `pts_result_file.php` of version 10.8, and a
//! file written by it. A result is a test with its options; its entries are systems, i.e. variants,
//! with one value per run (`RawString`, separated by colons). The suite repeats a test until its
//! deviation is small, so the number of runs depends on the results, which becomes a caution.

use experiment::direction::by_words;
use experiment::metric::Direction;
use roxmltree::{Document, Node, ParsingOptions};

use crate::error::Error;
use crate::importer::{Importer, first_missing};
use crate::rows::{Entry, File, Rows, each};

/// More nodes than any result has; they take about 200 MB.
const MOST_NODES: u32 = 2_000_000;

pub(crate) const ROW: Importer = Importer {
    name: "pts",
    reads: "composite.xml of the Phoronix Test Suite (~/.phoronix-test-suite/test-results/NAME), or result.xml of OpenBenchmarking.org",
    trial: "a run of a test",
    labels: &[
        ("system", "identifier of the system, as chosen when the result was saved"),
        ("test", "title and options of the test"),
    ],
    metrics: &[],
    own_metrics: "The scale of a test, with the direction that the file gives (HIB, LIB).",
    lacks: &[
        "the Phoronix Test Suite measures all tests of one system and then those of the next: drift biases the comparison",
        "the Phoronix Test Suite repeats a test until its deviation is small: the number of runs was chosen after looking at the results",
    ],
    variants: &["system", "file", "dir"],
    repeat: "measure with FORCE_TIMES_TO_RUN=10 phoronix-test-suite benchmark TEST",
    within: Some(|path| path.ends_with(".xml")),
    missing: |text| first_missing(text, &["<PhoronixTestSuite>"]),
    read,
};

fn read(files: &[File]) -> Result<Rows, Error> {
    each(files, "run of a test", |file, rows| {
        let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
        let document = Document::parse_with_options(&file.text, options).map_err(|error| {
            let at = error.pos();
            let remedy = "the file is truncated or not XML: save the result again";
            Error::new(&file.path, error.to_string(), remedy)
                .at(format!("line {}, column {}", at.row, at.col))
        })?;
        let root = document.root_element();
        if !root.has_tag_name("PhoronixTestSuite") {
            let problem =
                format!("XML of {:?} (expected PhoronixTestSuite)", root.tag_name().name());
            return Err(Error::new(&file.path, problem, "name the composite.xml of a result"));
        }
        for result in root.children().filter(|node| node.has_tag_name("Result")) {
            self::result(file, &document, result, rows)?;
        }
        Ok(())
    })
}

fn result(
    file: &File,
    document: &Document<'_>,
    result: Node<'_, '_>,
    rows: &mut Rows,
) -> Result<(), Error> {
    let line =
        |node: Node<'_, '_>| format!("line {}", document.text_pos_at(node.range().start).row);
    let title = [text(result, "Title"), text(result, "Description")]
        .into_iter()
        .filter(|part| !part.is_empty());
    let test = title.collect::<Vec<_>>().join(": ");
    let format = text(result, "DisplayFormat");
    if !["", "BAR_GRAPH", "HORIZONTAL_BAR_GRAPH", "BAR_ANALYZE_GRAPH"].contains(&format) {
        rows.remark(format!(
            "{test} is omitted: a result of the form {format} has no values of runs"
        ));
        return Ok(());
    }
    let scale = Some(text(result, "Scale")).filter(|scale| !scale.is_empty()).unwrap_or("value");
    let direction = match text(result, "Proportion") {
        "HIB" => Some(Direction::HigherIsBetter),
        "LIB" => Some(Direction::LowerIsBetter),
        _ => by_words(scale),
    };
    let metric = match (rows.directions.get(scale), direction) {
        // Two tests may use one scale in opposite directions.
        (Some(known), Some(own)) if *known != own => format!("{scale} of {test}"),
        _ => scale.to_owned(),
    };
    rows.directions.extend(direction.map(|direction| (metric.clone(), direction)));
    let data = result.children().filter(|node| node.has_tag_name("Data"));
    for entry in data.flat_map(|data| data.children()).filter(|node| node.has_tag_name("Entry")) {
        let system = text(entry, "Identifier");
        let raw = text(entry, "RawString");
        let values = if raw.is_empty() { text(entry, "Value") } else { raw };
        for value in values.split(':') {
            let mut one = Entry::new(file).label("system", system).label("test", &*test);
            if value.trim().is_empty() {
                one.invalid = Some(format!("the test failed on {system}"));
            } else {
                let number = value.trim().parse::<f64>().map_err(|_| {
                    let problem = format!("{test} on {system}: {value:?} is not a number");
                    Error::new(
                        &file.path,
                        problem,
                        "save the result again, or remove the test from the file",
                    )
                    .at(line(entry))
                })?;
                one.put(file, &line(entry), &metric, number)?;
            }
            rows.entries.push(one);
        }
    }
    Ok(())
}

fn text<'a>(node: Node<'a, '_>, name: &str) -> &'a str {
    node.children()
        .find(|child| child.has_tag_name(name))
        .and_then(|child| child.text())
        .unwrap_or_default()
        .trim()
}
