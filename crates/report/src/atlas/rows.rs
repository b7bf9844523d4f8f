//! The tables of an atlas, and its answer in sentences.

use experiment::atlas::{Aspect, Atlas, Cell, Change, Factor, Key, RegretRow};
use experiment::comparison::Verdict;

use super::super::number::{Scale, percent, significant};
use crate::table::Table;
use crate::words::{clean, counted, listed};

/// Maximum number of winners named in a cell.
const NAMED: usize = 2;
/// Replaces the value of a scheduler with too few completions.
pub(super) const STARVED: &str = "no completions";
/// Maximum length of the tables of disagreement.
const ROWS: usize = 40;

/// Applies to the first arena only.
pub(super) fn headline(atlas: &Atlas) -> String {
    let arena = atlas.arenas().first().copied();
    let Some(row) = atlas.regret.iter().find(|row| Some(row.arena.as_str()) == arena) else {
        return "No cell is measured.".to_owned();
    };
    let RegretRow { variant, cells, .. } = row;
    let Some(worst) = &row.worst else {
        return format!("No scheduler serves every workload; {variant} comes closest.");
    };
    let cells = counted(cells.0 as u64, "cell");
    format!(
        "For everything, use {variant}: at worst {} behind the best of its {cells}.",
        bare(worst.factor)
    )
}

/// One sentence per arena.
pub(super) fn answer(atlas: &Atlas) -> Vec<String> {
    let of = |arena: &str| {
        let row = atlas.regret.iter().find(|row| row.arena == arena)?;
        let cells = atlas.cells.iter().filter(|cell| cell.key.arena == arena);
        let alone: std::collections::BTreeSet<&str> = cells
            .clone()
            .filter_map(|cell| cell.best().next().filter(|_| cell.best().count() == 1))
            .map(|entry| entry.variant.as_str())
            .collect();
        Some(format!(
            "{arena}: one scheduler for everything: {} has the smallest worst case, {} in {}; its median is {}. In {}, {} {} \
             best alone.",
            row.variant,
            behind(row),
            place(&row.worst_in),
            times(row.median.as_ref()),
            counted(cells.count() as u64, "cell"),
            match alone.len() {
                0 => "none".to_owned(),
                1..=6 => listed(&alone.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()),
                n => format!("{n} different schedulers"),
            },
            if alone.len() > 1 { "are each somewhere" } else { "is somewhere" },
        ))
    };
    let mut lines: Vec<String> = kernels(atlas).map(changed).collect();
    lines.extend(atlas.arenas().into_iter().filter_map(of));
    if atlas.compared > 0 {
        lines.push(format!(
            "sim and kernel: of {} effects against {}, {} differ by more than the arenas are known to, and {} of schedulers {} order.",
            atlas.compared,
            atlas.cells.first().map_or("the baseline", |cell| cell.baseline.as_str()),
            atlas.differences.len(),
            counted(atlas.reversals.len() as u64, "pair"),
            if atlas.reversals.len() == 1 { "changes its" } else { "change their" },
        ));
    }
    if !atlas.holes.is_empty() {
        lines.push(format!("{} not measured.", counted(atlas.holes.len() as u64, "cell")));
    }
    lines
}

/// Those shown in a terminal first.
pub(super) fn all(atlas: &Atlas) -> Vec<Table> {
    let mut tables: Vec<Table> = kernels(atlas).flat_map(changes).collect();
    for arena in atlas.arenas() {
        tables.push(regret(atlas, arena));
    }
    if atlas.compared > 0 {
        tables.extend([differences(atlas), reversals(atlas), one_sided(atlas)]);
    }
    for arena in atlas.arenas() {
        tables.push(winners(atlas, arena));
    }
    tables.push(holes(atlas));
    tables.retain(|table| !table.rows.is_empty());
    tables
}

pub(super) fn regret(atlas: &Atlas, arena: &str) -> Table {
    let of = |row: &RegretRow| {
        let (found, all) = row.cells;
        let ends = |of: Option<f64>| of.map_or_else(|| STARVED.to_owned(), bare);
        let tail = row.tail.map_or("-".to_owned(), |(median, worst)| {
            format!("{} / {}", ends(median), ends(worst))
        });
        let texts = vec![
            if found == all { found.to_string() } else { format!("{found} of {all}") },
            format!("{} ({})", row.among_best, row.alone_best),
            row.starved.to_string(),
            times(row.median.as_ref()),
            times(row.worst.as_ref()),
            place(&row.worst_in),
            tail,
        ];
        (row.variant.clone(), texts)
    };
    Table {
        title: format!(
            "Regret of one scheduler for everything, {arena} arena: how many times better the best of each cell is"
        ),
        head: [
            "cells",
            "among the best (alone)",
            "no completions in",
            "median",
            "worst",
            "where",
            "p99: median / worst",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: atlas.regret.iter().filter(|row| row.arena == arena).map(of).collect(),
        detail: false,
    }
}

/// Rows are workloads, columns are devices.
pub(super) fn winners(atlas: &Atlas, arena: &str) -> Table {
    let devices = atlas.names(arena, |key| &key.device);
    let row = |workload: &&str| {
        let of = |device: &&str| {
            atlas.cell(arena, device, workload).map_or_else(|| "hole".to_owned(), winner)
        };
        ((*workload).to_owned(), devices.iter().map(of).collect())
    };
    Table {
        title: format!(
            "Who wins where, {arena} arena: the best, how many times better than none, its 99th percentile"
        ),
        head: devices.iter().map(|device| (*device).to_owned()).collect(),
        rows: atlas.names(arena, |key| &key.workload).iter().map(row).collect(),
        detail: true,
    }
}

/// `bfq, cfq and 3 more: 1.32 [1.30, 1.35], p99 12 ms`.
pub(super) fn winner(cell: &Cell) -> String {
    let best: Vec<&str> = cell.best().map(|entry| entry.variant.as_str()).collect();
    let Some(first) = cell.deciding.entries.first() else { return "invalid".to_owned() };
    let more = best.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let names: Vec<&str> = best.iter().copied().take(NAMED).collect();
    let by = match &first.against_baseline {
        Some(by) => format!(": {}", interval(by)),
        None if cell.deciding.starved.iter().any(|one| one.variant == cell.baseline) => {
            format!(": {} completed nothing", cell.baseline)
        }
        None => String::new(),
    };
    let tail = cell.tail.as_ref().and_then(|tail| {
        let entry = tail.entries.iter().find(|entry| entry.variant == first.variant)?;
        Some(format!(", p99 {}", scale(tail).with_unit(entry.mean)))
    });
    format!("{}{more}{by}{}", names.join(", "), tail.unwrap_or_default())
}

/// The changes of each kernel.
fn kernels(atlas: &Atlas) -> impl Iterator<Item = &[Change]> {
    atlas.changes.chunk_by(|a, b| a.key.arena == b.key.arena)
}

/// `kernel 7.3`.
fn later(changes: &[Change]) -> &str {
    changes.first().map_or("", |change| &change.key.arena)
}

fn since(changes: &[Change]) -> &str {
    changes.first().map_or("", |change| change.since.trim_start_matches("kernel "))
}

fn of_verdict(changes: &[Change], verdict: Verdict) -> Vec<&Change> {
    let mut found: Vec<&Change> =
        changes.iter().filter(|change| change.verdict == verdict).collect();
    // What starved has no factor, and changed without bound.
    let size = |change: &Change| change.factor.map_or(f64::INFINITY, |of| of.factor.ln().abs());
    found.sort_by(|a, b| size(b).total_cmp(&size(a)));
    found
}

/// A kernel against the previous one in a sentence: what got worse first.
fn changed(changes: &[Change]) -> String {
    let [worse, better, equivalent, open, invalid] = [
        Verdict::Worse,
        Verdict::Better,
        Verdict::Equivalent,
        Verdict::Inconclusive,
        Verdict::Invalid,
    ]
    .map(|verdict| of_verdict(changes, verdict));
    let most = |of: &[&Change]| {
        of.first().map_or_else(String::new, |one| {
            format!(" (at most {}: {}, {})", by(one), one.variant, place(&one.key))
        })
    };
    format!(
        "{} against {}: of {}, {} worse{}, {} better{}, {} equivalent, {} inconclusive, {} invalid.",
        later(changes),
        since(changes),
        counted(changes.len() as u64, "comparison"),
        worse.len(),
        most(&worse),
        better.len(),
        most(&better),
        equivalent.len(),
        open.len(),
        invalid.len(),
    )
}

fn by(change: &Change) -> String {
    change.factor.as_ref().map_or_else(|| STARVED.to_owned(), |of| bare(of.factor))
}

/// A table per device: the largest first, worse before better.
fn changes(changes: &[Change]) -> Vec<Table> {
    let (later, since) = (later(changes), since(changes));
    let found = [Verdict::Worse, Verdict::Better].map(|verdict| of_verdict(changes, verdict));
    let of = |change: &&Change| {
        let metric = change.metric.rsplit('.').next().unwrap_or_default();
        let scale = Scale::of(metric, [change.means.0, change.means.1].into_iter().flatten());
        let mean = |mean: Option<f64>| {
            mean.map_or_else(|| STARVED.to_owned(), |mean| scale.with_unit(mean))
        };
        let by = change.factor.as_ref().map_or_else(|| "-".to_owned(), interval);
        let texts =
            vec![change.key.workload.clone(), mean(change.means.0), mean(change.means.1), by];
        (change.variant.clone(), texts)
    };
    let mut devices: Vec<&str> = changes.iter().map(|change| change.key.device.as_str()).collect();
    devices.dedup();
    let on = |device: &&str| Table {
        title: format!("What {later} changed against {since} on {}", clean(device)),
        head: ["workload", since, later.trim_start_matches("kernel "), "times better"]
            .map(str::to_owned)
            .to_vec(),
        rows: found.iter().flatten().filter(|one| one.key.device == **device).map(of).collect(),
        detail: false,
    };
    devices.iter().map(on).collect()
}

fn differences(atlas: &Atlas) -> Table {
    let of = |one: &experiment::atlas::Difference| {
        let texts = vec![
            one.variant.clone(),
            bare(one.sim),
            bare(one.kernel),
            interval(&one.factor),
            percent(one.known),
        ];
        (cell(&one.key), texts)
    };
    Table {
        title: format!(
            "Effects against none that differ between sim and kernel: {} of {} compared{}",
            atlas.differences.len(),
            atlas.compared,
            of_many(atlas.differences.len())
        ),
        head: ["scheduler", "in sim", "in kernel", "kernel by sim", "known to differ by"]
            .map(str::to_owned)
            .to_vec(),
        rows: atlas.differences.iter().take(ROWS).map(of).collect(),
        detail: false,
    }
}

fn reversals(atlas: &Atlas) -> Table {
    let of = |one: &experiment::atlas::Reversal| {
        let texts = vec![
            format!("{} before {}: {}", one.first, one.second, interval(&one.sim)),
            format!("{} before {}: {}", one.second, one.first, interval(&one.kernel)),
        ];
        (cell(&one.key), texts)
    };
    Table {
        title: format!("Orders that the kernel turns round{}", of_many(atlas.reversals.len())),
        head: ["in sim", "in kernel"].map(str::to_owned).to_vec(),
        rows: atlas.reversals.iter().take(ROWS).map(of).collect(),
        detail: false,
    }
}

fn one_sided(atlas: &Atlas) -> Table {
    let of = |one: &experiment::atlas::OneSided| {
        (cell(&one.key), vec![one.variant.clone(), one.starves_in.clone(), one.why.clone()])
    };
    Table {
        title: format!(
            "Schedulers without completions in one of the two arenas only{}",
            of_many(atlas.one_sided.len())
        ),
        head: ["scheduler", "no completions in", "why"].map(str::to_owned).to_vec(),
        rows: atlas.one_sided.iter().take(ROWS).map(of).collect(),
        detail: false,
    }
}

fn of_many(found: usize) -> String {
    if found > ROWS {
        format!("; the {ROWS} largest, all are in atlas.json")
    } else {
        String::new()
    }
}

fn holes(atlas: &Atlas) -> Table {
    let of = |hole: &experiment::atlas::Hole| {
        (format!("{}, {}", hole.key.arena, place(&hole.key)), vec![hole.why.clone()])
    };
    Table {
        title: "Cells without evidence".to_owned(),
        head: vec!["why".to_owned()],
        rows: atlas.holes.iter().map(of).collect(),
        detail: true,
    }
}

pub(super) fn place(key: &Key) -> String {
    clean(&format!("{} on {}", key.workload, key.device))
}

/// Its place, and its kernel if there are several.
fn cell(key: &Key) -> String {
    let kernel =
        key.arena.split_once(' ').map_or_else(String::new, |(_, kernel)| format!(", {kernel}"));
    place(key) + &kernel
}

pub(super) fn scale(aspect: &Aspect) -> Scale {
    let metric = aspect.metric.rsplit('.').next().unwrap_or_default();
    Scale::of(metric, aspect.entries.iter().map(|entry| entry.mean))
}

fn bare(factor: f64) -> String {
    format!("{}×", significant(factor))
}

fn times(factor: Option<&Factor>) -> String {
    factor.map_or_else(|| STARVED.to_owned(), interval)
}

fn behind(row: &RegretRow) -> String {
    row.worst
        .as_ref()
        .map_or_else(|| STARVED.to_owned(), |worst| format!("{} behind the best", interval(worst)))
}

/// `1.32× [1.30, 1.35]`.
pub(super) fn interval(of: &Factor) -> String {
    let low = of.low.map_or_else(|| "0".to_owned(), significant);
    let high = of.high.map_or_else(|| "∞".to_owned(), significant);
    format!("{} [{low}, {high}]", bare(of.factor))
}

pub(super) fn anchor(key: &Key) -> String {
    let plain = |text: &str| -> String {
        text.chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
            .collect()
    };
    format!("{}.{}.{}", plain(&key.arena), plain(&key.device), plain(&key.workload))
}
