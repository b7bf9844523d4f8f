//! Parses attributes and tunables.

use anyhow::Result;
use elevator::{ElevatorKind, Tunable};
use text::{Field, Form, expected_one_of};

use crate::failure::usage;

pub(super) fn attribute(variant: &str, row: &Field, text: &str) -> Result<u64> {
    row.form.read(&plain(text)).ok_or_else(|| {
        let (name, words) = (row.name, row.form.words());
        usage(format!("variant {variant}: {name} = {text} is out of range; it takes {words}"))
    })
}

/// `exists` selects the tunables; `others` are further valid names.
pub(super) fn tunable(
    variant: &str,
    kind: &ElevatorKind,
    exists: impl Fn(&Tunable) -> bool,
    others: &[Field],
    name: &str,
    text: &str,
) -> Result<u64> {
    let rows = || kind.tunables.iter().filter(|row| exists(row));
    let row = rows().find(|row| row.name == name).ok_or_else(|| {
        let known = rows().map(|row| row.name).chain(others.iter().map(|row| row.name));
        let expected = expected_one_of(name, known);
        usage(format!("variant {variant}: unknown tunable {name} of {} {expected}", kind.name))
    })?;
    let form = Form::Whole(row.min, row.max);
    form.read(&plain(text)).ok_or_else(|| {
        let (of, words) = (kind.name, form.words());
        let unit = if row.unit.is_empty() { String::new() } else { format!(" ({})", row.unit) };
        usage(format!(
            "variant {variant}: {name} = {text} is out of range; {of} takes {words}{unit}"
        ))
    })
}

/// Booleans as 0 and 1, digits without separators.
fn plain(text: &str) -> String {
    match text.trim() {
        "true" => "1".to_owned(),
        "false" => "0".to_owned(),
        text => text.replace('_', ""),
    }
}
