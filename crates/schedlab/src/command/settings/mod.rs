//! `schedlab show` and `schedlab set`.

pub(crate) mod keeper;
mod layout;
mod lines;
mod show;
mod words;

use std::time::Duration;

use anyhow::{Context, Result};
use experiment::plan::parse_duration_s;
use machine::Root;
use machine::device::{self, Device};
use machine::settings::Restoration;
use machine::settings::{Change, Changed, Done, Lasting, Setting, end};
use serde_json::json;

use crate::cli::SetArgs;
use crate::failure::{REACHED, usage};
use crate::out;
use lab::arena::disk::DiskArena;

pub(crate) use show::show;
pub(crate) use words::{current_name, failed, read};

/// A year.
const LONGEST_S: f64 = 365.0 * 86_400.0;

pub(crate) fn set(root: &Root, args: &SetArgs) -> Result<u8> {
    let device = device::find(root, &args.device).map_err(failed)?;
    if args.end {
        return end_now(root, &device, args.json);
    }
    let setting = read(&args.values)?;
    let lasting = args.lasting.as_deref().map(duration).transpose()?;
    let change = Change::plan(root, &device, &setting).map_err(failed)?;
    if args.dry_run {
        return dry_run(&device, &change, args.json);
    }
    DiskArena::require_root()?;
    match lasting {
        None => report(&device, &change.carry_out().map_err(failed)?, None, args.json)?,
        Some(duration) => {
            let kept = keeper::start(root, &device, &setting, duration)?;
            report(&device, &kept.done, Some((kept.lasting, kept.pid)), args.json)?;
            kept.release()?;
        }
    }
    Ok(REACHED)
}

fn duration(word: &str) -> Result<Duration> {
    let seconds = parse_duration_s(word).map_err(|e| usage(format!("--for: {e}")))?;
    if !(1.0..=LONGEST_S).contains(&seconds) {
        return Err(usage(format!(
            "--for {word}: out of range (expected 1s to 8760h); leave out --for to set it until the next boot"
        )));
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn dry_run(device: &Device, change: &Change, as_json: bool) -> Result<u8> {
    let writes = change.writes();
    if as_json {
        let fields = json!({"device": device.path, "identity": device.identity, "writes": writes});
        out::line(serde_json::to_string_pretty(&fields)?)?;
        return Ok(REACHED);
    }
    for write in writes {
        let now = match (&write.now, write.named) {
            (Some(_), false) => "rewritten, because the kernel recomputes it".to_owned(),
            (Some(now), true) => format!("now {now}"),
            (None, _) => "comes with the scheduler".to_owned(),
        };
        out::line(format_args!("{} = {}    ({now})", write.path.display(), write.value))?;
    }
    Ok(REACHED)
}

fn report(device: &Device, done: &Done, kept: Option<(Lasting, u32)>, as_json: bool) -> Result<()> {
    let path = device.path.display().to_string();
    let undo = command(&path, &done.undo);
    if as_json {
        let lasting = kept.map(|(lasting, pid)| show::lasting(&lasting, pid));
        let undo_command = kept.map_or(undo, |_| format!("schedlab set {path} --end"));
        let fields = json!({"device": path, "identity": device.identity, "changed": done.changed, "undo": done.undo,
                            "undo_command": undo_command, "remark": done.remark, "for": lasting});
        return out::line(serde_json::to_string_pretty(&fields)?);
    }
    if done.changed.is_empty() {
        out::line(format_args!("{path}: already set, nothing changed"))?;
    } else {
        out::line(format_args!("{path} is set:"))?;
        let width = done.changed.iter().map(|changed| changed.attribute.len()).max().unwrap_or(0);
        for Changed { attribute, old, new, named } in &done.changed {
            let old = old.as_ref().map_or(String::new(), |old| format!("{old} → "));
            let whose = if *named { "" } else { "    (by the kernel)" };
            out::line(format_args!("  {attribute:<width$}  {old}{new}{whose}"))?;
        }
    }
    done.remark.iter().try_for_each(out::line)?;
    match kept {
        Some((lasting, pid)) => {
            out::paragraph(&format!("{lasting}; then process {pid} restores the former values."))?;
            out::command("To restore them now: ", &format!("schedlab set {path} --end"))
        }
        None if done.changed.is_empty() => Ok(()),
        None => out::command("To undo: ", &undo),
    }
}

/// The command that carries a setting out, ready to be pasted into a shell.
pub(crate) fn command(device: &str, setting: &Setting) -> String {
    let scheduler = setting.scheduler.iter().map(|name| ("scheduler", name));
    let named = setting.tunables.iter().map(|(name, value)| (name.as_str(), value));
    let words = scheduler.chain(named).map(|(name, value)| {
        let word = format!("{name}={value}");
        if word.contains(char::is_whitespace) { format!("'{word}'") } else { word }
    });
    format!("schedlab set {device} {}", words.collect::<Vec<_>>().join(" "))
}

fn end_now(root: &Root, device: &Device, as_json: bool) -> Result<u8> {
    DiskArena::require_root()?;
    let path = device.path.display();
    let outcome = end(root, device)
        .with_context(|| format!("{path}: the temporary setting could not be ended"))?;
    let text = match &outcome {
        None => format!("{path}: no temporary setting"),
        Some(Restoration::Restored { .. }) => format!("{path} has its former values"),
        Some(other) => other.to_string(),
    };
    if as_json {
        out::line(serde_json::to_string_pretty(
            &json!({"device": device.path, "ended": outcome.is_some(), "text": text}),
        )?)?;
    } else {
        out::line(text)?;
    }
    Ok(REACHED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(all: &[&str]) -> Vec<String> {
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_word_that_sets_nothing_or_a_name_that_comes_twice_is_refused() {
        for (all, says) in [
            (&["bfq"][..], "NAME=VALUE"),
            (&["nr_requests="], "NAME=VALUE"),
            (&["=4"], "NAME=VALUE"),
            (&["nomerges=1", "nomerges=2"], "given twice"),
            (&["scheduler=bfq", "scheduler=none"], "given twice"),
            (&["scheduler=cfq"], "nearest alternative is bfq"),
        ] {
            let error = read(&words(all)).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
        }
        let setting = read(&words(&["scheduler=deadline", "write_cache=write back"])).unwrap();
        assert_eq!(setting, Setting::of("mq-deadline").with("write_cache", "write back"));
    }

    #[test]
    fn the_command_that_takes_back_can_be_pasted_into_a_shell() {
        let setting =
            Setting::of("none").with("nr_requests", "64").with("write_cache", "write back");
        assert_eq!(
            command("/dev/sda", &setting),
            "schedlab set /dev/sda scheduler=none nr_requests=64 'write_cache=write back'"
        );
    }

    #[test]
    fn a_time_that_is_no_time_or_too_long_is_refused_with_the_range() {
        assert_eq!(duration("10m").unwrap(), Duration::from_secs(600));
        for word in ["10", "0s", "500ms", "9000h"] {
            let error = duration(word).unwrap_err().to_string();
            assert!(error.contains("--for"), "{error}");
        }
    }
}
