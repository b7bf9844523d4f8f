//! Parses values of controllers into the kernel's format.
//!
//! On the command line `+` may replace a blank, and `/` a colon. Values cannot contain what the
//! kernel would parse as another line or device.

use elevator::Priority;
use machine::session::BOUNDS;
use machine::settings::device_attributes;

const CLASSES: [&str; 5] = ["no-change", "none-to-rt", "promote-to-rt", "restrict-to-be", "idle"];

pub(super) fn weight(text: &str) -> Option<String> {
    number(text, 1, 10_000)
}

pub(super) fn bfq_weight(text: &str) -> Option<String> {
    number(text, 1, 1000)
}

pub(super) fn wbt(text: &str) -> Option<String> {
    if text == "-1" { Some(text.to_owned()) } else { number(text, 0, u64::from(u32::MAX)) }
}

pub(super) fn switch(text: &str) -> Option<String> {
    text::parse_switch(text).map(|on| u8::from(on).to_string())
}

pub(super) fn class(text: &str) -> Option<String> {
    CLASSES.contains(&text).then(|| text.to_owned())
}

pub(super) fn latency(text: &str) -> Option<String> {
    if text == "max" {
        return Some("target=max".to_owned());
    }
    let ns = text::parse_duration_ns(text)?;
    (ns > 0 && ns % 1000 == 0).then(|| format!("target={}", ns / 1000))
}

pub(super) fn process_priority(text: &str) -> Option<String> {
    let text = text.replace('/', ":");
    Priority::parse(&text).map(|_| text)
}

pub(super) fn bounds(text: &str) -> Option<String> {
    pairs(text, |key, value| {
        let row = BOUNDS.iter().find(|row| row.name == key)?;
        match value {
            "max" => Some(value.to_owned()),
            _ => row.form.read(value).map(|bound| bound.to_string()),
        }
    })
}

pub(super) fn cost_model(text: &str) -> Option<String> {
    of_device("io.cost.model", text)
}

pub(super) fn cost_qos(text: &str) -> Option<String> {
    of_device("io.cost.qos", text)
}

/// Parses pairs with the keys of a [`device_attributes`] row.
fn of_device(row: &str, text: &str) -> Option<String> {
    let row = device_attributes::row(row).expect("the io controller has this file");
    pairs(text, |key, value| {
        let value = match key {
            "enable" => switch(value)?,
            _ => value.replace('_', ""),
        };
        row.key(key)?.form.accepts(&value).then_some(value)
    })
}

fn number(text: &str, min: u64, max: u64) -> Option<String> {
    let number: u64 = text.replace('_', "").parse().ok()?;
    (min..=max).contains(&number).then(|| number.to_string())
}

/// Parses pairs with distinct keys.
fn pairs(text: &str, read: impl Fn(&str, &str) -> Option<String>) -> Option<String> {
    let text = text.replace('+', " ");
    let mut keys: Vec<&str> = Vec::new();
    let mut words = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let (key, value) = word.split_once('=')?;
        words.push(format!("{key}={}", read(key, value)?));
        if keys.contains(&key) {
            return None;
        }
        keys.push(key);
    }
    (!words.is_empty()).then(|| words.join(" "))
}
