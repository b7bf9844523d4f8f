//! `schedlab devices`: block devices and their schedulers.

use anyhow::Result;
use machine::Root;
use machine::device::{self, Device};
use report::Columns;

use super::fleet::known_of;
use crate::cli::DevicesArgs;
use crate::failure::{REACHED, usage};
use crate::out;

pub(crate) fn run(root: &Root, args: &DevicesArgs) -> Result<u8> {
    let devices = match &args.device {
        Some(word) => vec![device::find(root, word).map_err(|e| usage(e.to_string()))?],
        None => device::list(root)?,
    };
    if args.json {
        let with_fleet = |device: &Device| -> Result<serde_json::Value> {
            let mut value = serde_json::to_value(device)?;
            let known = known_of(root, device.model.as_deref());
            if !known.is_empty() {
                value["fleet"] = known.into();
            }
            Ok(value)
        };
        let all = devices.iter().map(with_fleet).collect::<Result<Vec<_>>>()?;
        out::line(serde_json::to_string_pretty(&all)?)?;
    } else if args.device.is_some() {
        devices.iter().try_for_each(|device| detail(root, device))?;
    } else if devices.is_empty() {
        out::line(
            "no block device found; `schedlab compare --device loop:512M` measures a temporary one",
        )?;
    } else {
        out::line(listed(&devices, out::width()))?;
        out::line(
            "\n[in effect]  available  (module, not loaded)\ndetails: schedlab devices NAME",
        )?;
    }
    Ok(REACHED)
}

fn cells(device: &Device) -> [String; 7] {
    [
        device.path.display().to_string(),
        size(device.size_bytes),
        device.kind.name().to_owned(),
        device.model.clone().unwrap_or_default(),
        schedulers(device),
        device.nr_requests.map_or_else(String::new, |n| n.to_string()),
        used_by(device).join("; "),
    ]
}

/// A table if it fits into `width`, otherwise a few lines per device, so names are never broken.
fn listed(devices: &[Device], width: usize) -> String {
    let all: Vec<[String; 7]> = devices.iter().map(cells).collect();
    let mut table =
        Columns::new(["DEVICE", "SIZE", "KIND", "MODEL", "SCHEDULERS", "NR_REQUESTS", "USED BY"]);
    all.iter().for_each(|cells| table.row(cells.clone()));
    let table = table.text("", usize::MAX).trim_end().to_owned();
    if table.lines().all(|line| line.chars().count() <= width) {
        return table;
    }
    let mut lines = Vec::new();
    for [name, size, kind, model, schedulers, nr_requests, used_by] in all {
        lines.push(format!("{name}  {size}  {kind}  {model}").trim_end().to_owned());
        for (head, text) in
            [("schedulers", schedulers), ("nr_requests", nr_requests), ("used by", used_by)]
        {
            let shown = report::wrapped(&text, width.saturating_sub(15).max(20));
            let shown = shown.into_iter().zip(std::iter::once(head).chain(std::iter::repeat("")));
            lines.extend(
                shown
                    .filter(|(text, _)| !text.is_empty())
                    .map(|(text, head)| format!("  {head:<13}{text}")),
            );
        }
    }
    lines.join("\n")
}

fn schedulers(device: &Device) -> String {
    if let Some(why) = &device.no_scheduler {
        return format!("has none: {why}");
    }
    let offered = device.available_schedulers.iter().map(|name| {
        if Some(name) == device.scheduler.as_ref() { format!("[{name}]") } else { name.clone() }
    });
    let unloaded = device.unloaded_schedulers.iter().map(|name| format!("({name})"));
    offered.chain(unloaded).collect::<Vec<_>>().join(" ")
}

fn used_by(device: &Device) -> Vec<String> {
    let mut uses: Vec<String> =
        device.mounts.iter().map(|mount| format!("mounted at {}", mount.at)).collect();
    uses.extend(device.swap.iter().map(|name| format!("swap {name}")));
    uses.extend(device.holders.iter().map(|name| format!("held by {name}")));
    if uses.is_empty() && !device.partitions.is_empty() {
        uses.push(text::counted(device.partitions.len() as u64, "partition"));
    }
    let signature = device.signature.to_string();
    if uses.is_empty() && !signature.is_empty() {
        uses.push(signature);
    }
    uses.extend(device.backing_file.iter().map(|file| format!("over {}", file.display())));
    uses
}

fn detail(root: &Root, device: &Device) -> Result<()> {
    let mut facts = vec![
        ("device", device.path.display().to_string()),
        ("size", size(device.size_bytes)),
        ("kind", device.kind.name().to_owned()),
        ("identity", device.identity.clone()),
    ];
    let optional = [
        ("model", device.model.clone()),
        ("firmware", device.firmware.clone()),
        ("serial", device.serial.clone()),
        ("write cache", device.write_cache.clone()),
    ];
    facts.extend(optional.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))));
    facts.push(("used by", used_by(device).join("; ")));
    facts.push(("schedulers", schedulers(device)));
    for (name, value) in facts {
        out::line(format_args!("{name:<14} {value}"))?;
    }
    let known = known_of(root, device.model.as_deref());
    let heads = std::iter::once("fleet").chain(std::iter::repeat(""));
    known
        .iter()
        .zip(heads)
        .try_for_each(|(said, head)| out::line(format_args!("{head:<14} {said}")))?;
    for (title, attributes) in
        [("tunables of the scheduler", &device.tunables), ("queue", &device.queue)]
    {
        out::line(format_args!("\n{title}{}", if attributes.is_empty() { ": none" } else { "" }))?;
        for (name, attribute) in attributes {
            out::line(format_args!(
                "  {name:<32} {}{}",
                attribute.value,
                if attribute.writable { "" } else { "   (read-only)" }
            ))?;
        }
    }
    Ok(())
}

fn size(bytes: u64) -> String {
    indicatif::HumanBytes(bytes).to_string()
}
