//! The values of controllers: read from a variant, and brought into the form of the kernel's files.
//!
//! In one word on the command line `+` stands for a blank and `/` for a colon, as in the shares of
//! a background load. Nothing passes that the kernel's files could take for a second line or
//! another device.

use elevator::Priority;

/// The four bounds, and what each counts.
const BOUNDS: [&str; 4] = ["rbps", "wbps", "riops", "wiops"];
const MODEL: [&str; 6] = ["rbps", "rseqiops", "rrandiops", "wbps", "wseqiops", "wrandiops"];
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
        let known = BOUNDS.contains(&key);
        let bound = match value {
            "max" => return known.then(|| value.to_owned()),
            _ if key.ends_with("bps") => text::parse_size(value)?,
            _ => value.parse().ok()?,
        };
        (known && bound > 0).then(|| bound.to_string())
    })
}

pub(super) fn cost_model(text: &str) -> Option<String> {
    pairs(text, |key, value| match key {
        "ctrl" => ["auto", "user"].contains(&value).then(|| value.to_owned()),
        "model" => (value == "linear").then(|| value.to_owned()),
        _ => MODEL.contains(&key).then(|| number(value, 1, u64::MAX))?,
    })
}

pub(super) fn cost_qos(text: &str) -> Option<String> {
    pairs(text, |key, value| match key {
        "enable" => switch(value),
        "ctrl" => ["auto", "user"].contains(&value).then(|| value.to_owned()),
        "rlat" | "wlat" => number(value, 0, 10_000_000),
        "rpct" | "wpct" => percent(value, 100),
        "min" | "max" => percent(value, 10_000),
        _ => None,
    })
}

/// A percentage of at most two decimals, as the kernel reads it.
fn percent(text: &str, most: u32) -> Option<String> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let fits = digits(whole) && whole.parse::<u32>().is_ok_and(|whole| whole <= most);
    (fits && digits(decimals) && decimals.len() <= 2).then(|| text.to_owned())
}

fn number(text: &str, min: u64, max: u64) -> Option<String> {
    let number: u64 = text.replace('_', "").parse().ok()?;
    (min..=max).contains(&number).then(|| number.to_string())
}

/// Pairs of different keys, each value read by `read`.
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
