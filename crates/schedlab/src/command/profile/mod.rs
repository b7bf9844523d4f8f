//! `schedlab trace profile`: processes, access patterns, service times, and the gain from
//! anticipation, of a trace or a live disk.

#[cfg(feature = "full")]
mod dashboard;
mod live;

use std::path::Path;

use anyhow::Result;
use lab::traces;
use machine::Root;
use machine::files::Dir;
use recorder::file::ReadOptions;
use report::profile::{Excerpt, page, render};
use trace::formats::Format;
use trace::profile::{DeviceProfile, Profile, profile_trace};
use trace::{Io, Trace};

use crate::cli::ProfileArgs;
use crate::failure::{REACHED, usage};
use crate::out;

const EXCERPT: usize = 2000;

pub(crate) fn run(root: &Root, args: &ProfileArgs) -> Result<u8> {
    let (profile, trace) = match args.file() {
        Some(path) => {
            if let Some(flag) = live_flag(args) {
                return Err(usage(format!(
                    "{flag}: a trace is not live; leave it out, or name a device"
                )));
            }
            let format = Format::of_name(&args.format).unwrap_or(Format::Auto);
            let trace = traces::read(&path, &ReadOptions { format, skip_bad: args.skip_bad })?;
            (profile_trace(&trace), trace)
        }
        None => {
            if args.format != "auto" || args.skip_bad {
                return Err(usage(
                    "--format, --skip-bad: a device has no format; leave them out, or name a file",
                ));
            }
            live::run(root, args)?
        }
    };
    if let Some(path) = &args.html {
        write_page(path, &profile, &trace)?;
    }
    if args.json {
        out::line(serde_json::to_string_pretty(&profile)?)?;
    } else {
        out::print(render(&profile, args.top as usize, out::width().clamp(60, 120)))?;
        if let Some(path) = &args.html {
            out::line(format_args!("the page: {}", path.display()))?;
        }
    }
    Ok(REACHED)
}

fn live_flag(args: &ProfileArgs) -> Option<&'static str> {
    let given = [
        ("--for", args.length.is_some()),
        ("--watch", args.watch),
        ("--pid", !args.pid.is_empty()),
        ("--cgroup", !args.cgroup.is_empty()),
    ];
    given.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
}

fn write_page(path: &Path, profile: &Profile, trace: &Trace) -> Result<()> {
    let name = |number: u32| {
        let process = trace.processes.get(number as usize);
        process.map_or_else(String::new, |process| match process.pid {
            0 => process.name.clone(),
            pid => format!("{} ({pid})", process.name),
        })
    };
    let excerpts: Vec<Excerpt<'_>> =
        profile.devices.iter().filter_map(|device| excerpt(device, &trace.ios, &name)).collect();
    let text = page(profile, &excerpts)?;
    let (dir, file) = Dir::of_file(path)?;
    dir.replace(&file, text.as_bytes())?;
    Ok(())
}

/// Around the completion where not waiting cost most, or else around the middle.
fn excerpt<'a>(
    device: &DeviceProfile,
    ios: &[Io],
    name: &'a dyn Fn(u32) -> String,
) -> Option<Excerpt<'a>> {
    let seen = &device.anticipation;
    if seen.worst_loss_ns == 0 {
        return None;
    }
    let half = seen.worst_loss_ns.saturating_mul(5).clamp(500_000, 500_000_000);
    let (from_ns, until_ns) =
        (seen.worst_at_ns.saturating_sub(half), seen.worst_at_ns.saturating_add(half));
    let inside = |io: &&Io| {
        let end = io.completed.get().unwrap_or(io.queued);
        io.device == device.device && io.queued < until_ns && end > from_ns
    };
    let ios: Vec<Io> = ios.iter().filter(inside).take(EXCERPT).copied().collect();
    (!ios.is_empty()).then_some(Excerpt { device: device.device, ios, from_ns, until_ns, name })
}
