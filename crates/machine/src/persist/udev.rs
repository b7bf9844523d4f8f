//! The device in udev's view: properties that a rule can match, and the check of a rule.
//!
//! Rules match only udev's properties, not sysfs, and udev transforms serial numbers (blanks become
//! `_`, odd bytes are escaped, the model is prepended).
//!
//! `udevadm test` is no dry run: systemd 252 writes `ATTR{…}=` of matching rules, creates links and
//! a database entry; newer versions do less. Rules are therefore checked only for syntax, by
//! `udevadm verify` (systemd 254) or by `udevadm test` of a missing device. The properties show
//! that the rule matches only this device.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Refusal;
use crate::device::{Device, Kind};
use crate::error::Error;
use crate::journal;
use crate::root::Root;

/// Older versions cannot verify rules.
const VERIFIES_SINCE: u32 = 254;

/// A file name is limited to 255 bytes.
const MAX_KEY: usize = 160;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// World-wide name, serial number or UUID.
    Identity,
    /// The slot, with any device in it.
    Path,
    /// Any device with this name.
    Name,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    Added,
    /// When device-mapper gets its table.
    Activated,
    /// Once, when a RAID is assembled.
    Assembled,
    /// Every event, also when a program closes the device after writing.
    Always,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// Names the files and the journal entry.
    pub key: String,
    /// Match keys and values, e.g. `ENV{ID_WWN}`.
    pub conditions: Vec<(String, String)>,
    pub by: By,
    pub when: When,
}

impl Address {
    /// `ID_WWN=0x5000…`.
    pub fn words(&self) -> String {
        let plain = |key: &String| key.trim_start_matches("ENV{").trim_end_matches('}').to_string();
        let all: Vec<String> =
            self.conditions.iter().map(|(key, value)| format!("{}={value}", plain(key))).collect();
        all.join(" ")
    }

    pub(super) fn matches(&self, name: &str, properties: &Properties) -> bool {
        self.conditions.iter().all(|(key, value)| {
            let property = key.strip_prefix("ENV{").and_then(|key| key.strip_suffix('}'));
            match property {
                None => name == value,
                // Like a pattern: characters that it cannot contain match any.
                Some(property) => {
                    properties.get(property).is_some_and(|found| matches_pattern(value, found))
                }
            }
        })
    }
}

pub(super) type Properties = BTreeMap<String, String>;

/// Properties that identify the device.
///
/// # Errors
/// [`Refusal::NoIdentity`], [`Refusal::Duplicates`]; failures of `udevadm`.
pub fn address(root: &Root, device: &Device, by: By) -> Result<Address, Error> {
    let own = properties(root, &device.name)?;
    let candidates: Vec<Address> = match by {
        By::Name => {
            vec![of(By::Name, When::Added, "name", vec![("KERNEL".into(), device.name.clone())])]
        }
        By::Path => {
            from_property(&own, By::Path, When::Added, "path", &["ID_PATH"]).into_iter().collect()
        }
        By::Identity => identities(device, &own),
    };
    let mut duplicate = None;
    for address in candidates {
        match duplicate_of(root, device, &address)? {
            None => return Ok(address),
            Some(other) => {
                duplicate = duplicate.or(Some(Refusal::Duplicates {
                    device: word(device),
                    other,
                    what: address.words(),
                }));
            }
        }
    }
    Err(duplicate
        .unwrap_or_else(|| Refusal::NoIdentity {
            device: word(device),
            why: why_none(device, &own, by),
        })
        .into())
}

fn identities(device: &Device, own: &Properties) -> Vec<Address> {
    if matches!(device.kind, Kind::Loop | Kind::Zram | Kind::Ram) {
        return Vec::new();
    }
    let stacked: &[(&str, When, &[&str])] =
        &[("dm", When::Activated, &["DM_UUID"]), ("md", When::Assembled, &["MD_UUID"])];
    let disks: &[(&str, When, &[&str])] = &[
        ("wwn", When::Added, &["ID_WWN_WITH_EXTENSION"]),
        ("wwn", When::Added, &["ID_WWN"]),
        ("serial", When::Added, &["ID_SERIAL"]),
        ("serial", When::Added, &["ID_SERIAL_SHORT", "ID_MODEL"]),
    ];
    let is_stacked = matches!(device.kind, Kind::DeviceMapper | Kind::Md);
    let choice = if is_stacked { stacked } else { disks };
    choice
        .iter()
        .filter_map(|(prefix, when, names)| from_property(own, By::Identity, *when, prefix, names))
        .collect()
}

fn from_property(
    own: &Properties,
    by: By,
    when: When,
    prefix: &str,
    names: &[&str],
) -> Option<Address> {
    let value = |name: &&str| {
        Some((format!("ENV{{{name}}}"), own.get(*name).filter(|v| !v.is_empty())?.clone()))
    };
    let conditions: Option<Vec<(String, String)>> = names.iter().map(value).collect();
    Some(of(by, when, prefix, conditions?))
}

fn of(by: By, when: When, prefix: &str, conditions: Vec<(String, String)>) -> Address {
    let values: Vec<&str> = conditions.iter().map(|(_, value)| value.as_str()).collect();
    let whole = journal::key(&format!("{prefix}-{}", values.join("-")));
    let key = if whole.len() <= MAX_KEY {
        whole
    } else {
        // FNV-1a over the whole name keeps long names with a common prefix distinct.
        let hash = whole.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{}-{hash:016x}", &whole[..MAX_KEY - 17])
    };
    Address { key, conditions, by, when }
}

fn why_none(device: &Device, own: &Properties, by: By) -> String {
    let known_to_udev = own.keys().any(|key| key.starts_with("ID_") || key == "USEC_INITIALIZED");
    let ask_hypervisor = if device.kind == Kind::Virtual {
        "give the disk a serial number in the hypervisor (`serial=` in QEMU), or "
    } else {
        ""
    };
    match (device.kind, by) {
        (Kind::Loop | Kind::Zram | Kind::Ram, _) => format!(
            "{} is only a name that the kernel assigns to the next such device; to persist the setting for any device \
             with this name, add --by-name",
            device.name
        ),
        (_, By::Path) if known_to_udev => {
            "udev has no slot for it (ID_PATH); --by-name uses its name".to_string()
        }
        _ if !known_to_udev => {
            "udev has not processed it (is systemd-udevd running?); --by-name uses its name"
                .to_string()
        }
        _ => format!(
            "it reports neither world-wide name nor serial number to udev; {ask_hypervisor}name the slot with --by-path"
        ),
    }
}

/// Another disk that the address matches.
fn duplicate_of(root: &Root, device: &Device, address: &Address) -> Result<Option<String>, Error> {
    if address.by == By::Name {
        return Ok(None);
    }
    for name in root.names(root.sys("block")).iter().filter(|name| **name != device.name) {
        let hidden =
            root.read_optional(root.sys("block").join(name).join("hidden")).as_deref() == Some("1");
        if !hidden && address.matches(name, &properties(root, name)?) {
            return Ok(Some(format!("/dev/{}", name.replace('!', "/"))));
        }
    }
    Ok(None)
}

fn word(device: &Device) -> String {
    device.path.display().to_string()
}

pub(super) fn properties(root: &Root, name: &str) -> Result<Properties, Error> {
    let path = format!("/sys/block/{name}");
    let args = ["info", "--query=property", "--path", &path];
    let output = root.run("udevadm", &args, "udev", PURPOSE)?;
    if !output.status.success() {
        return Err(Error::failed("udevadm", &args, &output));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(k, v)| (k.into(), v.into()))
        .collect())
}

const PURPOSE: &str = "to determine how a rule can identify the device";

/// The narrowest pattern for `value`. `*`, `?` and `[` are wildcards, `|` separates alternatives
/// and `"` ends the value, unless escaped by a backslash; a control character ends the line.
/// Characters that cannot be written match anything.
pub(super) fn pattern(value: &str) -> String {
    let inner = value.trim_end_matches('\\');
    let has_wildcards =
        value.contains(['*', '?', '[']) || value.chars().any(is_unwritable) || inner != value;
    let each = |c: char| match c {
        c if is_unwritable(c) => "?".to_string(),
        '*' | '?' | '[' | '\\' if has_wildcards => format!("\\{c}"),
        c => c.to_string(),
    };
    inner.chars().map(each).chain(value[inner.len()..].chars().map(|_| "?".to_string())).collect()
}

fn is_unwritable(c: char) -> bool {
    matches!(c, '|' | '"') || c.is_control() || text::controls_terminal(c)
}

/// Compares like the pattern of `value`.
fn matches_pattern(value: &str, found: &str) -> bool {
    let inner = value.trim_end_matches('\\').chars().count();
    value.chars().count() == found.chars().count()
        && value
            .chars()
            .zip(found.chars())
            .enumerate()
            .all(|(at, (a, b))| a == b || at >= inner || is_unwritable(a))
}

/// Empty if an installed rules file is valid.
pub(super) fn complaints(root: &Root, rule: &Path) -> Result<Vec<String>, Error> {
    if root.tool("udevadm").is_none() {
        // Without udevadm, there is no udev to ask.
        return Ok(Vec::new());
    }
    let run = |args: &[&str]| root.run("udevadm", args, "udev", "to check the rule");
    let version = run(&["--version"])?;
    let version: u32 = String::from_utf8_lossy(&version.stdout).trim().parse().unwrap_or(0);
    let file = rule.display().to_string();
    if version >= VERIFIES_SINCE {
        let output = run(&["verify", &file])?;
        return Ok(if output.status.success() { Vec::new() } else { about(&output.stderr, &file) });
    }
    // Reads every rule before it finds no such device.
    let output = run(&["test", "--action=add", "/sys/block/schedlab-only-reads-the-rules"])?;
    Ok(about(&output.stderr, &file)
        .into_iter()
        .filter(|line| !line.starts_with("Reading rules file"))
        .collect())
}

fn about(stderr: &[u8], file: &str) -> Vec<String> {
    String::from_utf8_lossy(stderr)
        .lines()
        .filter(|line| line.contains(file))
        .map(str::to_string)
        .collect()
}

/// Returns the reason for a failure worth reporting.
pub(super) fn reload_rules(root: &Root) -> Option<String> {
    if !root.path("/run/udev/control").exists() {
        return Some("udevd is not running; it reads the rules when it starts".to_string());
    }
    match root.run("udevadm", &["control", "--reload"], "udev", "to reload the rules") {
        Ok(output) if output.status.success() => None,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
            Some(format!(
                "udevd did not reload its rules ({said}); it will do so at the next event"
            ))
        }
        Err(error) => Some(error.to_string()),
    }
}
