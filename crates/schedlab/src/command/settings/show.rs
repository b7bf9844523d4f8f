//! `schedlab show`: a device's settings, and who has set them.

use std::iter;
use std::time::SystemTime;

use anyhow::Result;
use machine::device::{self, Device};
use machine::settings::{Holder, Lasting, holder};
use machine::{Error, Root};
use serde_json::{Value, json};

use super::layout::page;
use super::lines;
use super::words::failed;
use crate::cli::ShowArgs;
use crate::failure::REACHED;
use crate::out;
use report::wrapped;

pub(crate) fn show(root: &Root, args: &ShowArgs) -> Result<u8> {
    let device = device::find(root, &args.device).map_err(failed)?;
    let (holder, unknown) = match holder(root, &device) {
        Ok(holder) => (holder, None),
        // Only root may read the journal; the rest is public.
        Err(error) => (None, Some(error)),
    };
    let lines = lines::all(root, &device, holder.as_ref());
    if args.json {
        let fields = json!({
            "device": device.path, "identity": device.identity, "kind": device.kind, "size_bytes": device.size_bytes,
            "model": device.model, "scheduler": device.scheduler, "available_schedulers": device.available_schedulers,
            "unloaded_schedulers": device.unloaded_schedulers, "no_scheduler": device.no_scheduler,
            "held": holder.as_ref().map(held), "attributes": lines,
        });
        out::line(serde_json::to_string_pretty(&fields)?)?;
        return Ok(REACHED);
    }
    let width = out::width();
    out::print(head(&device, holder.as_ref(), unknown.as_ref(), width))?;
    out::print(page(device.scheduler.as_deref().unwrap_or("none"), &lines, width))?;
    out::print(legend(&device.name, width))?;
    Ok(REACHED)
}

pub(super) fn lasting(lasting: &Lasting, pid: u32) -> Value {
    json!({"pid": pid, "since": utc(lasting.begun()), "until": utc(lasting.until()), "left_s": lasting.left().as_secs()})
}

fn held(holder: &Holder) -> Value {
    let mut fields = holder
        .lasting
        .as_ref()
        .map_or_else(|| json!({"pid": holder.pid}), |l| lasting(l, holder.pid));
    fields["alive"] = json!(holder.alive);
    fields["what"] = json!(if holder.lasting.is_some() { "setting" } else { "experiment" });
    fields
}

fn utc(at: SystemTime) -> Option<String> {
    let at = jiff::Timestamp::try_from(at).ok()?;
    Some(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

fn head(device: &Device, holder: Option<&Holder>, unknown: Option<&Error>, width: usize) -> String {
    let size = indicatif::HumanBytes(device.size_bytes);
    let mut facts =
        vec![("device", format!("{}, {}, {size}", device.path.display(), device.kind.name()))];
    facts.extend(device.model.iter().map(|model| ("model", model.clone())));
    facts.push(("identity", device.identity.clone()));
    facts.extend(device.backing_file.iter().map(|file| ("over", file.display().to_string())));
    facts.push(("scheduler", schedulers(device)));
    facts.extend(holder.map(|holder| ("set", who(device, holder))));
    facts.extend(
        unknown.map(|error| ("set", format!("the origin of settings is unknown: {error}"))),
    );
    let mut text = String::new();
    for (name, value) in facts {
        for (at, part) in wrapped(&value, width.saturating_sub(11)).into_iter().enumerate() {
            text.push_str(&format!("{:<11}{part}\n", if at == 0 { name } else { "" }));
        }
    }
    text
}

fn schedulers(device: &Device) -> String {
    if let Some(why) = &device.no_scheduler {
        return format!("has none: {why}");
    }
    let is_present = |name: &String| Some(name) == device.scheduler.as_ref();
    let offered = device.available_schedulers.iter();
    let offered =
        offered.map(|name| if is_present(name) { format!("[{name}]") } else { name.clone() });
    let unloaded = device.unloaded_schedulers.iter().map(|name| format!("({name})"));
    offered.chain(unloaded).collect::<Vec<_>>().join(" ")
}

fn who(device: &Device, holder: &Holder) -> String {
    let (pid, path) = (holder.pid, device.path.display());
    let before = holder.original.scheduler.as_deref().unwrap_or("none");
    match &holder.lasting {
        _ if !holder.alive => {
            format!("by a process that has ended ({pid}): `schedlab restore` restores it")
        }
        None => format!(
            "by an experiment (process {pid}), which restores it; the scheduler was {before}"
        ),
        Some(lasting) => {
            let since = utc(lasting.begun()).unwrap_or_default();
            let ends = format!("restore it now: schedlab set {path} --end");
            format!(
                "by schedlab (process {pid}) since {since} {lasting}; the scheduler was {before}; {ends}"
            )
        }
    }
}

fn legend(device: &str, width: usize) -> String {
    let lines = [
        "* differs from the default".to_owned(),
        "> set for a limited time".to_owned(),
        format!("To change a setting: schedlab set {device} NAME=VALUE"),
    ];
    let wrapped = lines.iter().flat_map(|line| wrapped(line, width));
    iter::once(String::new()).chain(wrapped).map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legend_in_80_columns_has_one_fact_a_line() {
        let text = legend("vda", 80);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "",
                "* differs from the default",
                "> set for a limited time",
                "To change a setting: schedlab set vda NAME=VALUE"
            ]
        );
        assert!(legend("vda", 20).lines().all(|line| line.len() <= 20));
    }
}
