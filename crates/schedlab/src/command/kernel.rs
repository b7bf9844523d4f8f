//! `schedlab kernel`: kernels for the kernel arena, built into a cache.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use guest::{Cache, Kernel, Request};
use indicatif::HumanBytes;
use report::Columns;
use serde_json::{Value, json};

use crate::cli::{KernelArgs, KernelCommand};
use crate::command::exec;
use crate::failure::REACHED;
use crate::out;
use lab::arena::kernel::{cache, source as source_of};
use lab::progress::{BuildProgress, Progress as _};

use crate::progress::Progress;
use lab::signals::Stop;

pub(crate) fn run(args: &KernelArgs) -> Result<u8> {
    let cache = cache(args.cache_dir.as_deref())?;
    match &args.what {
        KernelCommand::Build { source, patch, debug, hz, smp, json, quiet } => {
            let request = Request {
                source: source_of(source)?,
                patches: patch.clone(),
                debug: *debug,
                hz: *hz,
                smp: *smp,
            };
            build(&cache, &request, *json, *quiet)
        }
        KernelCommand::List { json } => list(&cache, *json),
        KernelCommand::Clean { key, all } => clean(&cache, key.as_deref(), *all),
        KernelCommand::Exec(args) => exec::run(&cache, args),
    }
}

fn build(cache: &Cache, request: &Request, json: bool, quiet: bool) -> Result<u8> {
    let stop = Stop::install()?;
    let progress = Progress::new(quiet);
    let kernel = cache.build(request, &mut BuildProgress::new(&progress), &stop.flag());
    progress.clear();
    let kernel = kernel?;
    if json {
        out::line(serde_json::to_string_pretty(&shown(&kernel))?)?;
    } else {
        out::line(format_args!("{}  {}  {}", kernel.key, kernel.release, kernel.linux.display()))?;
    }
    Ok(REACHED)
}

fn list(cache: &Cache, json: bool) -> Result<u8> {
    let kernels = cache.list()?;
    if json {
        out::line(serde_json::to_string_pretty(&kernels.iter().map(shown).collect::<Vec<_>>())?)?;
    } else if kernels.is_empty() {
        out::line(format_args!(
            "{} holds no kernel; build one: schedlab kernel build",
            cache.dir().display()
        ))?;
    } else {
        out::table(&table(&kernels))?;
    }
    Ok(REACHED)
}

fn clean(cache: &Cache, key: Option<&str>, all: bool) -> Result<u8> {
    let freed = match key {
        Some(key) => cache.remove(key)?,
        None if all => cache.remove_all()?,
        None => cache.sweep()?,
    };
    out::line(format_args!("freed {} in {}", HumanBytes(freed), cache.dir().display()))?;
    Ok(REACHED)
}

fn table(kernels: &[Kernel]) -> Columns {
    let mut table =
        Columns::new(["KEY", "RELEASE", "SOURCE", "VERSION", "PATCHES", "SIZE", "BUILT"]);
    for kernel in kernels {
        let patches: Vec<&str> = kernel.patches.iter().map(|patch| patch.name.as_str()).collect();
        let debug = if kernel.debug { " (debug)" } else { "" };
        let hz = kernel.hz.map_or_else(String::new, |hz| format!(" ({hz} Hz)"));
        table.row([
            kernel.key.clone(),
            format!("{}{debug}{hz}", kernel.release),
            kernel.source.clone(),
            kernel.version.clone(),
            patches.join(" "),
            HumanBytes(kernel.bytes).to_string(),
            age(kernel.built),
        ]);
    }
    table
}

fn age(built: u64) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .context("before 1970")
        .map_or(0, |since| since.as_secs());
    format!("{} ago", indicatif::HumanDuration(Duration::from_secs(now.saturating_sub(built))))
}

fn shown(kernel: &Kernel) -> Value {
    json!({
        "key": kernel.key,
        "release": kernel.release,
        "source": kernel.source,
        "version": kernel.version,
        "patches": kernel.patches,
        "debug": kernel.debug,
        "hz": kernel.hz,
        "smp": kernel.smp,
        "bytes": kernel.bytes,
        "built": jiff::Timestamp::from_second(i64::try_from(kernel.built).unwrap_or(0)).unwrap_or_default().to_string(),
        "linux": kernel.linux,
        "tree": kernel.tree,
    })
}
