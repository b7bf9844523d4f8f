//! `schedlab kernel exec`: runs a program in a guest, on a modelled disk, in virtual time.

use std::time::Duration;

use anyhow::Result;
use experiment::plan;
use guest::{BootError, Cache, TimeTravel};

use crate::cli::{ExecArgs, TimeTravelArg};
use crate::failure::{status_of, usage};
use crate::out;
use crate::progress::Progress;
use lab::arena::kernel::exec::{self, ProgramSpec};
use lab::arena::kernel::{ATTRIBUTES, Setting, source};
use lab::resolve::locate_patch;
use lab::signals::Stop;

/// As in env(1) and timeout(1).
const NOT_THE_PROGRAMS: u8 = 125;
/// Variant attributes that only schedlab's own clients use.
const OF_CLIENTS: [&str; 3] = ["turnaround_us", "clients", "fs"];

/// Returns the program's exit status.
pub(crate) fn run(cache: &Cache, args: &ExecArgs) -> Result<u8> {
    let spec = ProgramSpec {
        device: args.device.as_deref(),
        setting: setting(args)?,
        source: source(&args.kernel)?,
        debug: args.debug,
        time_travel: match args.time_travel {
            TimeTravelArg::InfCpu => TimeTravel::InfiniteCpu,
            TimeTravelArg::Plain => TimeTravel::Plain,
        },
        patience: Duration::from_secs_f64(
            plan::parse_duration_s(&args.timeout).map_err(|e| usage(format!("--timeout: {e}")))?,
        ),
        memory_mib: args.memory,
        command: &args.command,
    };
    let stop = Stop::install()?;
    let progress = Progress::new(args.quiet);
    match exec::execute(cache, &spec, out::of_program(), &stop, &progress) {
        Ok(done) => {
            if !args.quiet {
                let (virtual_s, real_s) = (done.virtual_ns as f64 / 1e9, done.real.as_secs_f64());
                out::note(format_args!(
                    "schedlab: {virtual_s:.3} s of virtual time in {real_s:.3} s of real time, {:.1} times as fast; Linux {}",
                    virtual_s / real_s,
                    done.release
                ));
            }
            Ok(done.status)
        }
        Err(error) if status_of(&error) == crate::failure::USAGE => Err(error),
        Err(error) => {
            out::error(&error);
            match error.downcast_ref::<BootError>() {
                Some(BootError::Interrupted) => return Ok(stop.status()),
                Some(BootError::Hung { time_travel: TimeTravel::InfiniteCpu, .. }) => out::note(
                    "schedlab: a program that polls the clock needs --time-travel plain; one that computes for long needs a longer --timeout",
                ),
                Some(BootError::Hung { .. }) => {
                    out::note("schedlab: a program that computes for long needs a longer --timeout")
                }
                _ => {}
            }
            Ok(NOT_THE_PROGRAMS)
        }
    }
}

fn setting(args: &ExecArgs) -> Result<Setting> {
    let mut variant =
        plan::parse_variant(&args.scheduler).map_err(|e| usage(format!("--scheduler: {e}")))?;
    locate_patch(&mut variant, None)?;
    if let Some(name) = OF_CLIENTS.iter().find(|name| variant.tunables.contains_key(**name)) {
        let others =
            ATTRIBUTES.iter().map(|row| row.name).filter(|other| !OF_CLIENTS.contains(other));
        return Err(usage(format!(
            "--scheduler: {name} is a setting of schedlab's clients; besides its tunables a scheduler takes {} here{}",
            others.collect::<Vec<_>>().join(", "),
            if *name == "fs" { "; for a file system use --fs" } else { "" }
        )));
    }
    let setting = Setting::of(&variant)?;
    setting.renamed.iter().for_each(out::note);
    setting.check_known(Some(&args.kernel))?;
    if let Some(control) = setting.controls.iter().find(|control| control.flow.is_some()) {
        return Err(usage(format!(
            "--scheduler: {}: a program's guest has no flows; make control groups below /sys/fs/cgroup in it, or use compare",
            control.word()
        )));
    }
    Ok(Setting { files: args.fs.map(Into::into), ..setting })
}
