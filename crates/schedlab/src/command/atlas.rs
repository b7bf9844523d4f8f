//! `schedlab atlas`: maps the best scheduler for each device and workload.

use std::path::{Path, PathBuf};

use anyhow::Result;
use experiment::atlas::{Atlas, Cell, Hole};
use experiment::plan::{KERNEL, SIM};
use experiment::results::{End, EndReason};
use lab::arena::open::OpenOptions;
use lab::atlas::{Choice, Design, Looked, Planned, Plans, adopt, look, measure};
use lab::console::Console;
use lab::output::Output;
use lab::signals::Stop;
use machine::files::Dir;
use text::counted;

use super::experiment::quoted;
use crate::cli::AtlasArgs;
use crate::failure::{self, INCOMPLETE, REACHED};
use crate::out;
use crate::progress::Progress;
use crate::rights;

pub(crate) fn atlas(args: &AtlasArgs) -> Result<u8> {
    if args.dry_run {
        return dry_run(args);
    }
    let dir = Output::Named(args.out.clone()).open()?;
    let design = design(args, &dir)?;
    if design.arenas().iter().all(|arena| arena.is_in_process()) {
        rights::give_up_but(&design.files(), &[dir.path()])?;
    }
    let plans = design.plans()?;
    for from in &args.merge {
        let adopted = adopt(&dir, &Dir::open(from)?, &plans.cells)?;
        if !args.quiet {
            out::note(format_args!(
                "{}: {} taken over",
                from.display(),
                counted(adopted as u64, "cell")
            ));
        }
    }
    let mut found: Vec<Looked> = plans.cells.iter().map(|cell| look(&dir, cell)).collect();
    let mut cut = None;
    if args.merge.is_empty() && !args.render {
        let todo = todo(args, &plans, &found);
        cut = measured(args, &dir, &plans, &todo)?;
        todo.iter().for_each(|at| found[*at] = look(&dir, &plans.cells[*at]));
        if let Some(end) = &cut {
            let whole = todo.iter().filter(|at| matches!(found[**at], Looked::Whole(_))).count();
            let why = match &end.reason {
                EndReason::Interrupted { by } => by.clone(),
                reason => reason.to_string(),
            };
            out::note(format_args!(
                "{}: {why}; {}",
                end.reason.word(),
                going_on(args, whole, todo.len())
            ));
        }
    }
    let missing = found.iter().any(|found| !matches!(found, Looked::Whole(_)));
    let atlas = drawn(plans, found, &dir);
    let written = write(&atlas, &dir)?;
    show(args, &atlas, &written)?;
    Ok(match cut {
        Some(_) => failure::cut_short(),
        None if missing && args.shard.is_none() => INCOMPLETE,
        None => REACHED,
    })
}

fn design(args: &AtlasArgs, dir: &Dir) -> Result<Design> {
    if !args.chooses() {
        if let Some(design) = Design::read(dir)? {
            return Ok(design);
        }
        // Without options, a merge takes the design of its first part.
        if let Some(first) = args.merge.first()
            && let Some(design) = Design::read(&Dir::open(first)?)?
        {
            design.keep(dir)?;
            return Ok(design);
        }
    }
    let design = chosen(args)?;
    design.keep(dir)?;
    Ok(design)
}

fn chosen(args: &AtlasArgs) -> Result<Design> {
    let arenas = match (args.arenas.is_empty(), args.kernels.is_empty()) {
        (true, true) => vec![&SIM],
        (true, false) => vec![&KERNEL],
        _ => [&SIM, &KERNEL].into_iter().filter(|arena| args.arenas.contains(arena)).collect(),
    };
    Design::of(&Choice {
        arenas,
        devices: args.devices.clone(),
        schedulers: args.schedulers.clone(),
        workloads: args.workloads.clone(),
        quick: args.quick,
        kernels: args.kernels.clone(),
    })
}

/// Creates nothing, and looks only at the directory that exists.
fn dry_run(args: &AtlasArgs) -> Result<u8> {
    let dir = args.out.exists().then(|| Dir::open(&args.out)).transpose()?;
    let there = dir.as_ref().filter(|_| !args.chooses());
    let design = match there.map(Design::read).transpose()?.flatten() {
        Some(design) => design,
        None => chosen(args)?,
    };
    let plans = design.plans()?;
    let look = |cell| dir.as_ref().map_or(Looked::Missing, |dir| look(dir, cell));
    let found: Vec<Looked> = plans.cells.iter().map(look).collect();
    let todo: Vec<&Planned> =
        todo(args, &plans, &found).into_iter().map(|at| &plans.cells[at]).collect();
    if args.json {
        let plans =
            todo.iter().map(|cell| serde_json::json!({"cell": cell.dir, "plan": cell.plan}));
        out::line(serde_json::to_string_pretty(&plans.collect::<Vec<_>>())?)?;
        return Ok(REACHED);
    }
    for cell in &todo {
        out::line(format_args!(
            "{}: {}, {}",
            cell.dir,
            counted(cell.plan.variants.len() as u64, "scheduler"),
            counted(cell.plan.budget.rounds.unwrap_or(0).into(), "round"),
        ))?;
    }
    out::line(format_args!(
        "{} to measure; nothing is measured",
        counted(todo.len() as u64, "cell")
    ))?;
    Ok(REACHED)
}

fn todo(args: &AtlasArgs, plans: &Plans, found: &[Looked]) -> Vec<usize> {
    let is_mine = |at: &usize| args.shard.is_none_or(|part| at % part.of == part.number - 1);
    let is_open = |at: &usize| matches!(found[*at], Looked::Missing | Looked::Unfinished);
    (0..plans.cells.len()).filter(is_mine).filter(is_open).collect()
}

/// Returns how the measurement was interrupted, if it was.
fn measured(args: &AtlasArgs, dir: &Dir, plans: &Plans, todo: &[usize]) -> Result<Option<End>> {
    if todo.is_empty() {
        return Ok(None);
    }
    let opening = OpenOptions {
        cache_dir: args.cache_dir.clone(),
        threads: args.threads,
        ..OpenOptions::default()
    };
    let cells: Vec<&Planned> = todo.iter().map(|at| &plans.cells[*at]).collect();
    let (stop, progress) = (Stop::install()?, Progress::new(args.quiet || args.json));
    let cut = measure(dir, &cells, &opening, Console::new(&stop, &progress))?;
    stop.end_at_once(out::report_cut);
    Ok(cut)
}

fn going_on(args: &AtlasArgs, whole: usize, of: usize) -> String {
    let of = counted(of as u64, "cell");
    let shard =
        args.shard.map_or_else(String::new, |part| format!(" --shard {}/{}", part.number, part.of));
    format!(
        "{whole} of {of} to measure {} whole, the one that was begun keeps its rounds, and the page has what is whole. To go on repeat the \
         command, or: schedlab atlas --out {}{shard}",
        if whole == 1 { "is" } else { "are" },
        quoted(args.out.display().to_string())
    )
}

fn drawn(plans: Plans, found: Vec<Looked>, dir: &Dir) -> Atlas {
    let (mut cells, mut holes): (Vec<Cell>, Vec<Hole>) = (Vec::new(), plans.holes);
    for (planned, found) in plans.cells.into_iter().zip(found) {
        let why = match found {
            Looked::Whole(cell) => {
                cells.push(*cell);
                continue;
            }
            Looked::Missing => "not measured yet".to_owned(),
            Looked::Unfinished => "not measured to its end yet".to_owned(),
            Looked::Foreign(why) => {
                out::note(format_args!("cell {}: left out: {why}", planned.dir));
                // The page must not depend on the directory's path.
                why.replace(&dir.path().display().to_string(), "DIR")
            }
        };
        holes.push(Hole { key: planned.key, why });
    }
    Atlas::of(cells, holes, plans.notes)
}

fn write(atlas: &Atlas, dir: &Dir) -> Result<Vec<PathBuf>> {
    let write = |(name, text): (&str, String)| {
        dir.replace(name, text.as_bytes())?;
        Ok(dir.file(name))
    };
    report::atlas::files(atlas)?.into_iter().map(write).collect()
}

fn show(args: &AtlasArgs, atlas: &Atlas, written: &[PathBuf]) -> Result<()> {
    if args.json {
        return out::print(report::atlas::json(atlas)?);
    }
    if !args.quiet {
        out::report(&report::atlas::terminal(atlas, &out::report_options(false)))?;
        let names: Vec<String> = written.iter().map(|path| file_name(path)).collect();
        out::line(format_args!("\n{}: {}", args.out.display(), names.join(", ")))?;
    }
    Ok(())
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
