//! Typed JSON of other programs: unused parts take no memory, and serde_json limits the depth to
//! 128.

use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::rows::File;

/// Reads one JSON document. `made_by` is the command that writes the format.
pub(crate) fn parse<T: DeserializeOwned>(file: &File, made_by: &str) -> Result<T, Error> {
    // Messages may precede the JSON.
    let start = line_starts(&file.text).find(|at| file.text[*at..].starts_with(['{', '[']));
    let Some(start) = start else {
        return Err(Error::new(&file.path, "not valid JSON", format!("write it with {made_by}")));
    };
    let skipped = file.text[..start].lines().count();
    let mut documents = serde_json::Deserializer::from_str(&file.text[start..]).into_iter::<T>();
    let document =
        documents.next().transpose().map_err(|error| wrong(file, made_by, skipped, &error))?;
    let document = document.ok_or_else(|| {
        Error::new(&file.path, "not valid JSON", format!("write it with {made_by}"))
    })?;
    let rest = file.text[start + documents.byte_offset()..].trim_start();
    if rest.starts_with(['{', '[']) {
        let remedy = "write one file for each start of the program, and no intermediate results";
        return Err(Error::new(&file.path, "several JSON documents in one file", remedy));
    }
    Ok(document)
}

fn wrong(file: &File, made_by: &str, skipped: usize, error: &serde_json::Error) -> Error {
    let place = format!("line {}, column {}", error.line() + skipped, error.column());
    let text = error.to_string();
    let cause = text.rsplit_once(" at line ").map_or(text.as_str(), |(cause, _)| cause).to_owned();
    let remedy = match error.classify() {
        serde_json::error::Category::Eof => {
            "the file is truncated: measure it again, or omit it".to_owned()
        }
        serde_json::error::Category::Data => {
            format!("it is of another format or version: write it with {made_by}")
        }
        _ => {
            format!("not valid JSON (a decimal comma, or edited by hand?): write it with {made_by}")
        }
    };
    Error::new(&file.path, cause, remedy).at(place)
}

fn line_starts(text: &str) -> impl Iterator<Item = usize> + '_ {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1))
}
