//! A device's kind and identity.
//!
//! The journal must find a device after its name has changed. Its identity is its world-wide name;
//! else its serial number and model; or else (loop, zram, md, many virtual disks) name and device
//! number, valid for one boot. For a loop device, that is the *gendisk*, not the backing file: a
//! scheduler set on `loop0` stays when its file is detached.
//!
//! Some vendors and hypervisors assign duplicate serial numbers, and the paths of a multipath
//! device share one name. A duplicate identity is made unique with name and number.

use std::collections::BTreeMap;
use std::fs;

use super::Kind;
use crate::root::Root;

#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) wwid: Option<String>,
    pub(super) model: Option<String>,
    pub(super) firmware: Option<String>,
    pub(super) serial: Option<String>,
    vendor: Option<String>,
}

pub(super) fn facts(root: &Root, name: &str) -> Facts {
    let dir = root.sys("block").join(name);
    // Most drives pad model and serial with blanks.
    let read = |paths: &[&str]| {
        let text = paths.iter().find_map(|path| root.read_optional(dir.join(path)))?;
        Some(text.replace('\0', "").split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|text| !text.is_empty())
    };
    Facts {
        wwid: read(&["wwid", "device/wwid"]),
        model: read(&["device/model", "device/name"]).filter(|_| dir.join("device").exists()),
        firmware: read(&["device/firmware_rev", "device/rev", "device/fwrev"]),
        serial: read(&["serial", "device/serial", "device/cid"])
            .or_else(|| scsi_serial(root, name)),
        vendor: read(&["device/vendor"]),
    }
}

pub(super) fn all(root: &Root, names: &[String]) -> BTreeMap<String, String> {
    let plain: BTreeMap<&String, String> =
        names.iter().map(|name| (name, plain(root, name))).collect();
    let unique = |name: &String| {
        let own = &plain[name];
        let twice = plain.values().filter(|other| *other == own).count() > 1;
        if twice { in_full(root, name) } else { own.clone() }
    };
    names.iter().map(|name| (name.clone(), unique(name))).collect()
}

/// A duplicate may have appeared or disappeared since, so both forms are tried. Of two matches, the
/// one with the original name is returned.
pub(super) fn find(
    root: &Root,
    names: &[String],
    identity: &str,
    last_name: &str,
) -> Option<String> {
    if let Some(name) = names.iter().find(|name| in_full(root, name) == identity) {
        return Some(name.clone());
    }
    let alike: Vec<&String> = names.iter().filter(|name| plain(root, name) == identity).collect();
    match alike[..] {
        [only] => Some(only.clone()),
        _ => alike.into_iter().find(|name| *name == last_name).cloned(),
    }
}

/// Uses the driver's name and the device's description.
pub(super) fn kind(root: &Root, name: &str, facts: &Facts) -> Kind {
    let by_name: [(&str, Kind); 10] = [
        ("loop", Kind::Loop),
        ("zram", Kind::Zram),
        ("ram", Kind::Ram),
        ("dm-", Kind::DeviceMapper),
        ("md", Kind::Md),
        ("nbd", Kind::Network),
        ("rbd", Kind::Network),
        ("sr", Kind::Optical),
        ("vd", Kind::Virtual),
        ("xvd", Kind::Virtual),
    ];
    if let Some((_, kind)) = by_name.iter().find(|(prefix, _)| name.starts_with(prefix)) {
        return *kind;
    }
    let says = |words: &[&str]| {
        let text = format!(
            "{} {}",
            facts.vendor.as_deref().unwrap_or(""),
            facts.model.as_deref().unwrap_or("")
        );
        words.iter().any(|word| text.to_lowercase().contains(word))
    };
    if says(&["qemu", "vmware", "vbox", "msft", "virtual disk", "persistentdisk", "amazon elastic"])
    {
        return Kind::Virtual;
    }
    if name.starts_with("nvme") {
        return Kind::Nvme;
    }
    let rotational = root.read_optional(root.sys("block").join(name).join("queue/rotational"));
    if rotational.as_deref() == Some("0") { Kind::Ssd } else { Kind::Rotational }
}

fn plain(root: &Root, name: &str) -> String {
    let facts = facts(root, name);
    match (facts.wwid, facts.serial, facts.model) {
        (Some(wwid), _, _) => format!("wwid {wwid}"),
        (None, Some(serial), Some(model)) => format!("serial {serial} model {model}"),
        (None, Some(serial), None) => format!("serial {serial}"),
        (None, None, _) => by_name(root, name),
    }
}

fn in_full(root: &Root, name: &str) -> String {
    format!("{} {}", plain(root, name), by_name(root, name))
}

fn by_name(root: &Root, name: &str) -> String {
    let number = root.read_optional(root.sys("block").join(name).join("dev")).unwrap_or_default();
    format!("name {name} number {number}")
}

/// SCSI page 80: four bytes of header, then the serial number.
fn scsi_serial(root: &Root, name: &str) -> Option<String> {
    let page = fs::read(root.sys("block").join(name).join("device/vpd_pg80")).ok()?;
    let text = String::from_utf8_lossy(page.get(4..)?).replace('\0', "").trim().to_string();
    (!text.is_empty()).then_some(text)
}
