//! atlas.html.

use experiment::atlas::{Atlas, Cell, Entry};
use minijinja::{Environment, Value, context};

use super::super::number::significant;
use super::rows::{self, anchor, arenas, interval, place, scale};
use crate::table::Table;
use crate::words;

/// Upper ends of the shades of regret; beyond the last is the darkest.
const SHADES: [f64; 5] = [1.02, 1.1, 1.5, 3.0, 10.0];

/// The whole page.
pub(super) fn page(atlas: &Atlas) -> crate::Result<String> {
    let arenas = arenas(atlas);
    let maps: Vec<Value> = arenas.iter().map(|arena| map(atlas, arena)).collect();
    let heats: Vec<Value> = arenas
        .iter()
        .flat_map(|arena| atlas.names(arena, |key| &key.device).into_iter().map(|device| heat(atlas, arena, device)))
        .collect();
    let tables: Vec<Value> = rows::all(atlas).iter().filter(|table| !table.detail).map(table).collect();
    let cells: Vec<Value> = atlas.cells.iter().map(section).collect();
    let holes: Vec<Value> = atlas
        .holes
        .iter()
        .map(|hole| context! { place => format!("{}: {}", hole.key.arena, place(&hole.key)), why => words::clean(&hole.why), anchor => anchor(&hole.key) })
        .collect();
    let filled = context! {
        style => Value::from_safe_string(include_str!("../templates/style.css").into()),
        answer => rows::answer(atlas),
        tables, maps, heats, cells, holes,
        shades => SHADES.map(significant),
        notes => atlas.notes.iter().map(|note| words::clean(note)).collect::<Vec<_>>(),
        schedlab => atlas.schedlab,
        alpha => format!("{:.0}\u{a0}%", atlas.alpha * 100.0),
        confidence => format!("{:.0}\u{a0}%", 100.0 - atlas.alpha * 100.0),
    };
    let mut templates = Environment::new();
    templates.add_template("atlas.html", include_str!("../templates/atlas.html"))?;
    Ok(templates.get_template("atlas.html")?.render(filled)?)
}

fn table(of: &Table) -> Value {
    context! { title => of.title, head => of.head, rows => of.rows }
}

/// Who wins where.
fn map(atlas: &Atlas, arena: &str) -> Value {
    let devices = atlas.names(arena, |key| &key.device);
    let of = |workload: &str| -> Vec<Value> {
        devices
            .iter()
            .map(|device| match atlas.cell(arena, device, workload) {
                Some(cell) => context! { text => words::clean(&rows::winner(cell)), anchor => anchor(&cell.key) },
                None => context! { text => "hole", hole => true },
            })
            .collect()
    };
    let rows: Vec<Value> = atlas
        .names(arena, |key| &key.workload)
        .into_iter()
        .map(|workload| context! { workload => words::clean(workload), cells => of(workload) })
        .collect();
    context! { arena, devices => devices.iter().map(|device| words::clean(device)).collect::<Vec<_>>(), rows }
}

/// The regret of every scheduler on every workload of one device.
fn heat(atlas: &Atlas, arena: &str, device: &str) -> Value {
    let cells: Vec<&Cell> =
        atlas.cells.iter().filter(|cell| cell.key.arena == arena && cell.key.device == device).collect();
    let mut arms: Vec<&str> = Vec::new();
    for entry in cells.iter().flat_map(|cell| &cell.deciding.entries) {
        if !arms.contains(&entry.arm.as_str()) {
            arms.push(&entry.arm);
        }
    }
    arms.sort_unstable();
    let of = |arm: &str, cell: &Cell| match cell.deciding.entries.iter().find(|entry| entry.arm == arm) {
        Some(entry) => {
            context! { text => significant(entry.regret.factor), shade => shade(entry), best => entry.among_best, title => interval(&entry.regret) }
        }
        None => context! { text => "" },
    };
    let rows: Vec<Value> = arms
        .iter()
        .map(|arm| context! { arm => words::clean(arm), cells => cells.iter().map(|cell| of(arm, cell)).collect::<Vec<_>>() })
        .collect();
    let head: Vec<Value> = cells
        .iter()
        .map(|cell| context! { workload => words::clean(&cell.key.workload), anchor => anchor(&cell.key) })
        .collect();
    context! { arena, device => words::clean(device), head, rows }
}

fn shade(entry: &Entry) -> usize {
    SHADES.iter().position(|most| entry.regret.factor <= *most).unwrap_or(SHADES.len())
}

/// One cell: every scheduler.
fn section(cell: &Cell) -> Value {
    let unit = scale(&cell.deciding);
    let row = |entry: &Entry| {
        let tail =
            cell.tail.as_ref().and_then(|tail| Some((tail, tail.entries.iter().find(|other| other.arm == entry.arm)?)));
        let fairness = cell.fairness.1.iter().find(|one| one.arm == entry.arm);
        context! {
            arm => words::clean(&entry.arm),
            best => entry.among_best,
            shade => shade(entry),
            mean => unit.with_unit(entry.mean),
            against => entry.against_baseline.as_ref().map_or_else(|| "baseline".to_owned(), interval),
            regret => interval(&entry.regret),
            tail => tail.map_or_else(|| "-".to_owned(), |(tail, entry)| scale(tail).with_unit(entry.mean)),
            tail_regret => tail.map_or_else(|| "-".to_owned(), |(_, entry)| interval(&entry.regret)),
            fairness => fairness.map_or_else(|| "-".to_owned(), |one| match (one.low, one.high) {
                (Some(low), Some(high)) => format!("{} [{}, {}]", significant(one.mean), significant(low), significant(high)),
                _ => significant(one.mean),
            }),
        }
    };
    let blocks = cell.deciding.entries.iter().map(|entry| entry.blocks).max().unwrap_or(0);
    let void: Vec<String> =
        cell.deciding.void.iter().map(|(arm, why)| format!("{}: {}", words::clean(arm), words::clean(why))).collect();
    context! {
        anchor => anchor(&cell.key),
        title => format!("{}, {} arena", place(&cell.key), cell.key.arena),
        winner => words::clean(&rows::winner(cell)),
        metric => words::clean(&cell.deciding.metric),
        better => if cell.deciding.lower_is_better { "less" } else { "more" },
        tail => cell.tail.as_ref().map(|tail| words::clean(&tail.metric)),
        fairness => words::clean(&cell.fairness.0),
        baseline => words::clean(&cell.baseline),
        rows => cell.deciding.entries.iter().map(row).collect::<Vec<_>>(),
        blocks, void,
    }
}
