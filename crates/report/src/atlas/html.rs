//! atlas.html: the atlas as a page.

use experiment::atlas::{Aspect, Atlas, Cell, Entry, MATCHED};
use minijinja::{Value, context};

use super::super::number::significant;
use super::rows::{self, STARVED, anchor, interval, place, scale};
use crate::table::Table;
use crate::{template, words};

/// Upper bounds; larger regrets get the darkest shade.
const SHADES: [f64; 5] = [1.02, 1.1, 1.5, 3.0, 10.0];

pub(super) fn page(atlas: &Atlas) -> crate::Result<String> {
    let arenas = atlas.arenas();
    let maps: Vec<Value> = arenas.iter().map(|arena| map(atlas, arena)).collect();
    let heats: Vec<Value> = arenas
        .iter()
        .flat_map(|arena| {
            atlas
                .names(arena, |key| &key.device)
                .into_iter()
                .map(|device| heat(atlas, arena, device))
        })
        .collect();
    let tables: Vec<Value> =
        rows::all(atlas).iter().filter(|table| !table.detail).map(table).collect();
    let cells: Vec<Value> = atlas.cells.iter().map(section).collect();
    let holes: Vec<Value> = atlas
        .holes
        .iter()
        .map(|hole| context! { place => format!("{}: {}", hole.key.arena, place(&hole.key)), why => words::clean(&hole.why), anchor => anchor(&hole.key) })
        .collect();
    let filled = context! {
        style => Value::from_safe_string(include_str!("../templates/style.css").into()),
        headline => rows::headline(atlas),
        answer => rows::answer(atlas),
        tables, maps, heats, cells, holes,
        shades => SHADES.map(significant),
        notes => atlas.notes.iter().map(|note| words::clean(note)).collect::<Vec<_>>(),
        schedlab => atlas.schedlab,
        alpha => format!("{:.0}\u{a0}%", atlas.alpha * 100.0),
        confidence => format!("{:.0}\u{a0}%", 100.0 - atlas.alpha * 100.0),
    };
    template::fill(&[("atlas.html", include_str!("../templates/atlas.html"))], filled)
}

fn table(of: &Table) -> Value {
    context! { title => of.title, head => of.head, rows => of.rows }
}

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

fn heat(atlas: &Atlas, arena: &str, device: &str) -> Value {
    let cells: Vec<&Cell> = atlas
        .cells
        .iter()
        .filter(|cell| cell.key.arena == arena && cell.key.device == device)
        .collect();
    let mut variants: Vec<&str> = Vec::new();
    for variant in cells.iter().flat_map(|cell| cell.deciding.variants()) {
        if !variants.contains(&variant) {
            variants.push(variant);
        }
    }
    variants.sort_unstable();
    let of = |variant: &str, cell: &Cell| match cell
        .deciding
        .entries
        .iter()
        .find(|entry| entry.variant == variant)
    {
        Some(entry) => {
            context! { text => significant(entry.regret.factor), shade => shade(entry), best => entry.among_best, title => interval(&entry.regret) }
        }
        None => match starved(&cell.deciding, variant) {
            Some(why) => context! { text => STARVED, shade => SHADES.len(), title => why },
            None => context! { text => "" },
        },
    };
    let rows: Vec<Value> = variants
        .iter()
        .map(|variant| context! { variant => words::clean(variant), cells => cells.iter().map(|cell| of(variant, cell)).collect::<Vec<_>>() })
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

fn starved(aspect: &Aspect, variant: &str) -> Option<String> {
    let one = aspect.starved.iter().find(|one| one.variant == variant)?;
    let (starved, all) = one.trials;
    Some(format!(
        "no bound: no completions in {starved} of {all} trials: {}",
        words::clean(&one.why)
    ))
}

fn section(cell: &Cell) -> Value {
    let unit = scale(&cell.deciding);
    let of_tail = |variant: &str| {
        let Some(tail) = &cell.tail else { return ["-".to_owned(), "-".to_owned()] };
        match tail.entries.iter().find(|other| other.variant == variant) {
            Some(entry) => [scale(tail).with_unit(entry.mean), interval(&entry.regret)],
            None => starved(tail, variant)
                .map_or_else(|| ["-".to_owned(), "-".to_owned()], |why| [STARVED.to_owned(), why]),
        }
    };
    let row = |variant: &str| {
        let entry = cell.deciding.entries.iter().find(|entry| entry.variant == variant);
        let fairness = cell.fairness.1.iter().find(|one| one.variant == variant);
        let against = |entry: &Entry| match &entry.against_baseline {
            Some(by) => interval(by),
            None if variant == cell.baseline => "baseline".to_owned(),
            None => "-".to_owned(),
        };
        let [tail, tail_regret] = of_tail(variant);
        context! {
            variant => words::clean(variant),
            best => entry.is_some_and(|entry| entry.among_best),
            shade => entry.map_or(SHADES.len(), shade),
            mean => entry.map_or_else(|| STARVED.to_owned(), |entry| unit.with_unit(entry.mean)),
            against => entry.map_or_else(|| "-".to_owned(), against),
            regret => entry.map_or_else(|| starved(&cell.deciding, variant).unwrap_or_default(), |entry| interval(&entry.regret)),
            tail,
            tail_regret,
            fairness => fairness.map_or_else(|| "-".to_owned(), |one| match (one.low, one.high) {
                (Some(low), Some(high)) => format!("{} [{}, {}]", significant(one.mean), significant(low), significant(high)),
                _ => significant(one.mean),
            }),
        }
    };
    let rounds = cell.deciding.entries.iter().map(|entry| entry.rounds).max().unwrap_or(0);
    let invalid: Vec<String> = cell
        .deciding
        .invalid
        .iter()
        .map(|(variant, why)| format!("{}: {}", words::clean(variant), words::clean(why)))
        .collect();
    context! {
        anchor => anchor(&cell.key),
        title => match cell.key.arena.strip_prefix(MATCHED) {
            Some(kernel) => format!("{}, sim arena with the settings of the kernel arena's guest{kernel}", place(&cell.key)),
            None => format!("{}, {} arena", place(&cell.key), cell.key.arena),
        },
        winner => words::clean(&rows::winner(cell)),
        metric => words::clean(&cell.deciding.metric),
        better => if cell.deciding.lower_is_better { "less" } else { "more" },
        tail => cell.tail.as_ref().map(|tail| words::clean(&tail.metric)),
        fairness => words::clean(&cell.fairness.0),
        baseline => words::clean(&cell.baseline),
        rows => cell.deciding.variants().map(row).collect::<Vec<_>>(),
        rounds, invalid,
    }
}
