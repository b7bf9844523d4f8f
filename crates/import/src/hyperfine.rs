//! hyperfine: `--export-json`.
//!
//! Source: hyperfine 1.15's export and its README. A run is a start of the command, so it is a
//! trial. hyperfine makes all runs of a command before the next command, so drift affects a single
//! variant.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::Error;
use crate::importer::{Importer, first_missing};
use crate::json;
use crate::rows::{Entry, File, Rows, each};

const MADE_BY: &str = "hyperfine --export-json FILE";

pub(crate) const ROW: Importer = Importer {
    name: "hyperfine",
    reads: "the file of hyperfine --export-json",
    trial: "a run of a command",
    labels: &[
        ("command", "the command, or its name (--command-name)"),
        ("PARAMETER", "the value of a parameter (--parameter-list)"),
    ],
    metrics: &[("time_s", "s", "wall-clock time of a run")],
    own_metrics: "",
    lacks: &[
        "hyperfine measures all runs of one command and then those of the next: drift biases the comparison; several files \
         (--runs 1, alternating) with --round run avoid it",
    ],
    variants: &["file", "dir", "command"],
    repeat: "measure with --runs 10 or more",
    within: Some(|path| path.ends_with(".json")),
    missing: |text| first_missing(text, &["\"results\"", "\"command\""]),
    read,
};

#[derive(Debug, Deserialize)]
struct Export {
    results: Vec<Command>,
}

#[derive(Debug, Deserialize)]
struct Command {
    command: String,
    times: Option<Vec<f64>>,
    #[serde(default)]
    exit_codes: Vec<Option<i64>>,
    #[serde(default)]
    parameters: BTreeMap<String, Parameter>,
}

/// Numbers in some versions.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Parameter {
    Text(String),
    Number(serde_json::Number),
}

fn read(files: &[File]) -> Result<Rows, Error> {
    each(files, "run of a command", |file, rows| {
        let export: Export = json::parse(file, MADE_BY)?;
        for one in &export.results {
            let place = format!("command {:?}", one.command);
            let Some(times) = &one.times else {
                let remedy = "write it with hyperfine --export-json of version 1.6 or later";
                return Err(Error::new(&file.path, "no times of single runs", remedy).at(place));
            };
            for (run, time) in times.iter().enumerate() {
                let mut entry = Entry::new(file).label("command", &*one.command);
                for (name, value) in &one.parameters {
                    let value = match value {
                        Parameter::Text(text) => text.clone(),
                        Parameter::Number(number) => number.to_string(),
                    };
                    entry = entry.label(name, value);
                }
                entry.put(file, &format!("{place}, run {}", run + 1), "time_s", *time)?;
                entry.invalid = match one.exit_codes.get(run) {
                    Some(Some(0)) | None => None,
                    Some(Some(code)) => Some(format!("the command ended with status {code}")),
                    Some(None) => Some("the command was ended by a signal".to_owned()),
                };
                rows.entries.push(entry);
            }
        }
        Ok(())
    })
}
