//! Descriptions of devices: any text gives a device that keeps the properties of
//! crates/sim/tests/it/device, or an error.
//!
//! The first byte says what the bytes up to the first 0 are: a description (TOML), a specification
//! (`NAME:KEY=VALUE`), or changes of a preset's values, which finds more devices than text does.
//! What comes after the 0 are the choices of commands. A flash is cut to 16 MiB: what is allowed
//! may also be large, and slow to make.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sim::device::{DEVICES, DeviceModel, device, device_from_toml};

#[allow(dead_code)]
#[path = "../../crates/sim/tests/it/device/watch.rs"]
mod watch;

/// Values that are right somewhere, and some that are right nowhere.
const VALUES: &str = r#"0 1 2 3 4 7 8 16 33 72 100 255 512 4096 65535 1000000 60000000000 4294967296 18446744073709551615 -1 1.5
    true false "nearest" "arrival" "exponential" "steady" "fresh" [] [1,2] [[1,1,0,0]] [[1962,72,8,18]] {a=1} 1979-05-27
    [[100,50,3,5],[1862,20,1,1]] [[1,1000000],[2,2000000]]"#;

/// A preset's text with other values: pairs of a line and a value.
fn changed(bytes: &[u8]) -> String {
    let Some((row, changes)) = bytes.split_first() else { return String::new() };
    let mut lines: Vec<String> = DEVICES[usize::from(*row) % DEVICES.len()].toml.lines().map(str::to_owned).collect();
    let values: Vec<&str> = VALUES.split_whitespace().collect();
    for pair in changes.chunks_exact(2).take(8) {
        let at = usize::from(pair[0]) % lines.len();
        if let Some((key, _)) = lines[at].split_once(" =") {
            lines[at] = format!("{key} = {}", values[usize::from(pair[1]) % values.len()]);
        }
    }
    lines.join("\n")
}

/// The device, if there is one.
fn make(way: u8, bytes: &[u8]) -> Option<Box<dyn DeviceModel>> {
    let text = match way % 3 {
        0 => changed(bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    };
    let small: &[(&str, &str)] = if text.contains("flash") { &[("capacity_mib", "16")] } else { &[] };
    let flash = |name: &str| DEVICES.iter().any(|row| row.name == name && row.toml.contains("\"flash\""));
    let made = match way % 3 {
        2 if flash(text.split(':').next().unwrap_or_default()) => device(&format!("{text}:capacity_mib=16"), 1),
        2 => device(&text, 1),
        _ => device_from_toml(&text, small, 1),
    };
    made.inspect_err(|error| assert!(!error.to_string().is_empty(), "{error:?}")).ok()
}

fuzz_target!(|data: &[u8]| {
    let Some((way, data)) = data.split_first() else { return };
    // Choices of rows and values may be 0: there, so many bytes; else text up to the first 0.
    let end =
        if way % 3 == 0 { data.len().min(17) } else { data.iter().position(|byte| *byte == 0).unwrap_or(data.len()) };
    let (text, choices) = data.split_at(end);
    let Some(mut device) = make(*way, text) else { return };
    let mut choices = choices.iter();
    let draw = |bound: u64| {
        let mut byte = || u128::from(*choices.next().unwrap_or(&0));
        let number = if bound <= 256 { byte() << 56 } else { byte() << 56 | byte() << 48 | byte() << 40 };
        ((number * u128::from(bound)) >> 64) as u64
    };
    if let Err(broken) = watch::watch(device.as_mut(), 60, draw) {
        panic!("{device:?} breaks the property {}: {}", broken.property, broken.why);
    }
});
