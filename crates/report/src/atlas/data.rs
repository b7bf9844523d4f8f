//! atlas.csv: one row for each cell and scheduler.

use experiment::atlas::{Atlas, Cell, Entry, Factor};

use crate::csv::Table;

/// The whole file.
pub(super) fn csv(atlas: &Atlas) -> crate::Result<String> {
    let mut table = Table::new();
    table.row([
        "arena",
        "device",
        "workload",
        "metric",
        "arm",
        "mean",
        "blocks",
        "times_better_than_baseline",
        "low",
        "high",
        "regret",
        "regret_low",
        "regret_high",
        "among_best",
        "p99_us",
        "p99_regret",
        "p99_regret_low",
        "p99_regret_high",
        "fairness_metric",
        "fairness",
        "fairness_low",
        "fairness_high",
    ])?;
    for cell in &atlas.cells {
        for entry in &cell.deciding.entries {
            row(&mut table, cell, entry)?;
        }
    }
    table.finish()
}

fn row(table: &mut Table, cell: &Cell, entry: &Entry) -> crate::Result<()> {
    let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let parts = |of: Option<Factor>| {
        [text(of.map(|of| of.factor)), text(of.and_then(|of| of.low)), text(of.and_then(|of| of.high))]
    };
    let tail = cell.tail.as_ref().and_then(|tail| tail.entries.iter().find(|other| other.arm == entry.arm));
    let fairness = cell.fairness.1.iter().find(|one| one.arm == entry.arm);
    let (against, regret) = (parts(entry.against_baseline), parts(Some(entry.regret)));
    let of_tail = parts(tail.map(|tail| tail.regret));
    table.row([
        &cell.key.arena,
        &cell.key.device,
        &cell.key.workload,
        &cell.deciding.metric,
        &entry.arm,
        &entry.mean.to_string(),
        &entry.blocks.to_string(),
        &against[0],
        &against[1],
        &against[2],
        &regret[0],
        &regret[1],
        &regret[2],
        if entry.among_best { "true" } else { "false" },
        &text(tail.map(|tail| tail.mean)),
        &of_tail[0],
        &of_tail[1],
        &of_tail[2],
        &cell.fairness.0,
        &text(fairness.map(|one| one.mean)),
        &text(fairness.and_then(|one| one.low)),
        &text(fairness.and_then(|one| one.high)),
    ])
}
