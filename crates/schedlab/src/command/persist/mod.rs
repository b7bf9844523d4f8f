//! `schedlab persist` and `schedlab unpersist`: selects the setting and reports; `machine::persist`
//! writes and removes the files.

mod source;

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use jiff::Timestamp;
use machine::conflicts::{self, Conflict, Question};
use machine::persist::{self, Address, By, Form, Note, Persisted, Proposal, Request, When};
use machine::{Change, Device, Root, Setting, device};
use serde_json::{Value, json};

use crate::cli::{FormArg, PersistArgs, UnpersistArgs};
use crate::command::experiment::repeat_command_without;
use crate::command::settings::failed;
use crate::failure::{REACHED, usage};
use crate::out;

pub(crate) fn persist(root: &Root, args: &PersistArgs) -> Result<u8> {
    let Some(word) = args.device.as_deref().filter(|_| !args.list) else {
        return list(root, args.json);
    };
    let device = device::find(root, word).map_err(failed)?;
    let source = source::source(root, &device, args)?;
    if args.form == FormArg::Boot {
        let line = if args.force {
            persist::as_boot_parameter_of_an_older_kernel(&source.setting)
        } else {
            persist::as_boot_parameter(root, &device, &source.setting).map_err(as_usage)?
        };
        out::print(line.map_err(usage)?)?;
        return Ok(REACHED);
    }
    let address = address(root, &device, args)?;
    let note = Note {
        because: source.because,
        command: repeat_command_without(&["--print", "--dry-run", "--json"]),
        date: Timestamp::now().strftime("%Y-%m-%d").to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let request = Request { device: &device, setting: &source.setting, address, note };
    let form = match args.form {
        FormArg::Hwdb => {
            out::print(persist::as_hwdb(root, &request).map_err(as_usage)?)?;
            return Ok(REACHED);
        }
        FormArg::Tuned => Form::Tuned,
        FormArg::Udev | FormArg::Boot => Form::Udev,
    };
    let proposal = persist::propose(root, &request, form).map_err(as_usage)?;
    if args.print {
        return print_files(&proposal);
    }
    refuse_a_second_rule(root, &device, &proposal)?;
    let mut told = source.remarks;
    told.extend(proposal.cautions.iter().map(|words| format!("CAUTION: {words}")));
    let wanted = Setting {
        scheduler: proposal.persisted.scheduler.clone(),
        tunables: proposal.persisted.tunables.clone(),
    };
    // Plan first: a setting that cannot be applied now must not be persisted.
    let change =
        args.now.then(|| Change::plan(root, &device, &wanted)).transpose().map_err(failed)?;
    let persisted = if args.dry_run {
        proposal.persisted
    } else {
        let done = persist::persist(root, &proposal, args.force)?;
        told.extend(done.cautions);
        done.persisted
    };
    if let Some(change) = change {
        change
            .carry_out()
            .map_err(failed)
            .context("setting: persisted for the next boot, but not applied now")?;
    }
    let answer = Answer {
        conflicts: conflicts_of(root, &device.name, &persisted),
        missing: persist::not_in_effect(root, &device, &persisted),
        device,
        persisted,
        told,
        done: !args.dry_run,
    };
    if args.json {
        out::line(serde_json::to_string_pretty(&answer.json())?)?
    } else {
        answer.print(form)?
    }
    Ok(REACHED)
}

/// By device or by a name of `--list`.
pub(crate) fn unpersist(root: &Root, args: &UnpersistArgs) -> Result<u8> {
    let mut removed = Vec::new();
    let mut told: Vec<String> = Vec::new();
    for key in keys_meant(root, &args.device)? {
        let done = persist::unpersist(root, &key, args.force)?;
        told.extend(done.cautions);
        removed.push(done.persisted);
    }
    told.sort();
    told.dedup();
    if args.json {
        let rows: Vec<Value> = removed
            .iter()
            .map(|persisted| json!({"key": persisted.key, "files": paths(persisted)}))
            .collect();
        out::line(serde_json::to_string_pretty(&json!({"unpersisted": rows, "cautions": told}))?)?;
        return Ok(REACHED);
    }
    for persisted in &removed {
        out::line(format_args!(
            "unpersisted: {} for {} ({})",
            persisted.words(),
            persisted.device,
            persisted.key
        ))?;
        for file in &persisted.files {
            let what = if file.replaced.is_some() { "restored" } else { "removed" };
            out::line(format_args!("  {what}: {}", file.path.display()))?;
        }
    }
    told.iter().try_for_each(|words| out::line(format_args!("  {words}")))?;
    out::line("the current setting stays in effect until the next boot")?;
    Ok(REACHED)
}

fn keys_meant(root: &Root, word: &str) -> Result<Vec<String>> {
    let all = persist::keys(root)?;
    if all.iter().any(|key| key == word) {
        return Ok(vec![word.to_owned()]);
    }
    let found = device::find(root, word);
    if let Ok(device) = &found {
        let keys = persist::keys_of(root, device)?;
        if !keys.is_empty() {
            return Ok(keys);
        }
    }
    let known: Vec<String> = persist::list(root)?
        .iter()
        .map(|persisted| format!("{} ({})", persisted.key, persisted.device))
        .collect();
    if known.is_empty() {
        return Err(usage(format!(
            "{word}: no setting is persisted for it, or for any device; see schedlab persist --help"
        )));
    }
    let why = found.err().map(|error| format!(" ({error})")).unwrap_or_default();
    Err(usage(format!(
        "{word}: no setting is persisted for it{why}; name one of {}",
        known.join(", ")
    )))
}

fn address(root: &Root, device: &Device, args: &PersistArgs) -> Result<Address> {
    let by = match (args.by_path, args.by_name) {
        (true, _) => By::Path,
        (_, true) => By::Name,
        _ => By::Identity,
    };
    let mut address = persist::address(root, device, by)?;
    if args.insist {
        address.when = When::Always;
    }
    Ok(address)
}

/// A setting that the device cannot have is a usage error; everything else is a failure.
fn as_usage(error: machine::Error) -> anyhow::Error {
    use persist::Refusal::{Nothing, OddValue};
    match error {
        machine::Error::Persist(Nothing { .. } | OddValue { .. }) => usage(error.to_string()),
        error => failed(error),
    }
}

/// Rules by identity and by slot for the same device would conflict.
fn refuse_a_second_rule(root: &Root, device: &Device, proposal: &Proposal) -> Result<()> {
    let others = persist::keys_of(root, device)?;
    let of_device = &proposal.persisted.address.key;
    match others.into_iter().find(|key| key != of_device && *key != format!("{of_device}.tuned")) {
        None => Ok(()),
        Some(key) => Err(anyhow!(
            "{}: a setting is already persisted as {key}; run `schedlab unpersist {key}` first",
            device.path.display()
        )),
    }
}

fn print_files(proposal: &Proposal) -> Result<u8> {
    for file in &proposal.persisted.files {
        out::line(format_args!("# ---- {}", file.path.display()))?;
        out::print(text(&file.content))?;
    }
    Ok(REACHED)
}

fn text(content: &persist::Content) -> String {
    match &content.bytes {
        persist::Bytes::Text(text) => text.clone(),
        persist::Bytes::Raw(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fn paths(persisted: &Persisted) -> Vec<PathBuf> {
    persisted.files.iter().map(|file| file.path.clone()).collect()
}

fn conflicts_of(root: &Root, name: &str, persisted: &Persisted) -> Vec<Conflict> {
    let attributes: Vec<String> = persisted
        .scheduler
        .iter()
        .map(|_| "scheduler".to_owned())
        .chain(persisted.tunables.keys().cloned())
        .collect();
    let rule = persist::rule_name(&persisted.address.key);
    let insists = persisted.address.when != When::Added;
    conflicts::find(root, &Question { device: name, attributes: &attributes, rule: &rule, insists })
}

struct Answer {
    device: Device,
    persisted: Persisted,
    conflicts: Vec<Conflict>,
    missing: Vec<String>,
    told: Vec<String>,
    done: bool,
}

impl Answer {
    fn json(&self) -> Value {
        let persisted = &self.persisted;
        let files: Vec<Value> = persisted
            .files
            .iter()
            .map(|file| json!({"path": file.path, "text": text(&file.content)}))
            .collect();
        json!({
            "done": self.done,
            "device": self.device.path,
            "key": persisted.key,
            "found_by": persisted.address.words(),
            "scheduler": persisted.scheduler,
            "tunables": persisted.tunables,
            "because": persisted.because,
            "files": files,
            "rivals": self.conflicts,
            "not_in_effect": self.missing,
            "cautions": self.told,
        })
    }

    fn print(&self, form: Form) -> Result<()> {
        let (persisted, device) = (&self.persisted, self.device.path.display());
        let done = if self.done { "persisted" } else { "would be persisted" };
        out::line(format_args!(
            "{done} for {device}, found by {}: {}",
            persisted.address.words(),
            persisted.words()
        ))?;
        if let Some(because) = &persisted.because {
            out::line(format_args!("  because {because}"))?;
        }
        for path in paths(persisted) {
            out::line(format_args!(
                "  {} {}",
                if self.done { "written:" } else { "would be written:" },
                path.display()
            ))?;
        }
        for words in &self.told {
            out::line(format_args!("  {words}"))?;
        }
        for conflict in &self.conflicts {
            let mark = if conflict.order.beats_ours() { "CAUTION: " } else { "" };
            out::line(format_args!("  {mark}{conflict}"))?;
        }
        if form == Form::Tuned {
            out::line(format_args!(
                "to use it: tuned-adm profile schedlab-{}",
                persisted.address.key
            ))?;
        }
        if !self.missing.is_empty() {
            out::line(format_args!(
                "to apply it now as well: schedlab set {device} {} (or persist --now)",
                persisted.words()
            ))?;
        }
        if self.done {
            out::line(format_args!("to remove it: schedlab unpersist {device}"))?;
        }
        Ok(())
    }
}

fn list(root: &Root, as_json: bool) -> Result<u8> {
    let mut rows = Vec::new();
    for persisted in persist::list(root)? {
        // The device may be gone, or its name reused.
        let here = device::find(root, &persisted.device).ok();
        let name = match &here {
            Some(device) if persist::keys_of(root, device)?.contains(&persisted.key) => {
                Some(device.name.clone())
            }
            _ => None,
        };
        let conflicts =
            name.as_ref().map(|name| conflicts_of(root, name, &persisted)).unwrap_or_default();
        let mut altered = Vec::new();
        for file in &persisted.files {
            if !file.is_intact()? {
                altered.push(file.path.clone());
            }
        }
        rows.push((persisted, name.is_some(), conflicts, altered));
    }
    if as_json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|(persisted, present, conflicts, altered)| {
                json!({
                    "key": persisted.key, "device": persisted.device, "model": persisted.model, "present": present,
                    "found_by": persisted.address.words(), "scheduler": persisted.scheduler, "tunables": persisted.tunables,
                    "because": persisted.because, "date": persisted.date, "files": paths(persisted), "altered": altered, "rivals": conflicts,
                })
            })
            .collect();
        out::line(serde_json::to_string_pretty(&rows)?)?;
        return Ok(REACHED);
    }
    if rows.is_empty() {
        out::line("no setting is persisted")?;
    }
    for (persisted, present, conflicts, altered) in rows {
        let gone = if present { "" } else { ", not found under that name now" };
        out::line(format_args!("{}  {}", persisted.key, persisted.words()))?;
        out::line(format_args!(
            "  {} ({}){gone}, since {}",
            persisted.model, persisted.device, persisted.date
        ))?;
        if let Some(because) = &persisted.because {
            out::line(format_args!("  because {because}"))?;
        }
        for path in paths(&persisted) {
            let state = if altered.contains(&path) {
                "  EDITED or removed since it was written"
            } else {
                ""
            };
            out::line(format_args!("  {}{state}", path.display()))?;
        }
        for conflict in conflicts {
            let mark = if conflict.order.beats_ours() { "CAUTION: " } else { "" };
            out::line(format_args!("  {mark}{conflict}"))?;
        }
    }
    Ok(REACHED)
}
