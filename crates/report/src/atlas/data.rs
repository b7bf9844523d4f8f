//! atlas.csv: one row per cell and scheduler with evidence. The book describes its columns.

use experiment::atlas::{Aspect, Atlas, Cell, Entry, Factor};

use crate::csv::Table;

pub(super) fn csv(atlas: &Atlas) -> crate::Result<String> {
    let mut table = Table::new();
    table.row([
        "arena",
        "device",
        "workload",
        "metric",
        "variant",
        "mean",
        "rounds",
        "starved",
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
        for variant in cell.deciding.variants() {
            row(&mut table, cell, variant)?;
        }
    }
    table.finish()
}

/// Mean, rounds, starved, factors to the baseline, and regret, which is `inf` without ends for a
/// scheduler that starved.
fn of(aspect: Option<&Aspect>, variant: &str) -> (String, String, bool, [String; 3], [String; 3]) {
    let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let parts = |of: Option<Factor>| {
        [
            text(of.map(|of| of.factor)),
            text(of.and_then(|of| of.low)),
            text(of.and_then(|of| of.high)),
        ]
    };
    let found = |entry: &Entry| {
        let against = parts(entry.against_baseline);
        (
            entry.mean.to_string(),
            entry.rounds.to_string(),
            false,
            against,
            parts(Some(entry.regret)),
        )
    };
    let Some(aspect) = aspect else { return <_>::default() };
    match (
        aspect.entries.iter().find(|entry| entry.variant == variant),
        aspect.starved.iter().find(|one| one.variant == variant),
    ) {
        (Some(entry), _) => found(entry),
        (None, Some(one)) => (
            String::new(),
            one.trials.1.to_string(),
            true,
            parts(None),
            ["inf".to_owned(), String::new(), String::new()],
        ),
        (None, None) => <_>::default(),
    }
}

fn row(table: &mut Table, cell: &Cell, variant: &str) -> crate::Result<()> {
    let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let fairness = cell.fairness.1.iter().find(|one| one.variant == variant);
    let (mean, rounds, starved, against, regret) = of(Some(&cell.deciding), variant);
    let (tail, .., of_tail) = of(cell.tail.as_ref(), variant);
    let best = cell.best().any(|entry| entry.variant == variant);
    table.row([
        &cell.key.arena,
        &cell.key.device,
        &cell.key.workload,
        &cell.deciding.metric,
        variant,
        &mean,
        &rounds,
        if starved { "true" } else { "false" },
        &against[0],
        &against[1],
        &against[2],
        &regret[0],
        &regret[1],
        &regret[2],
        if best { "true" } else { "false" },
        &tail,
        &of_tail[0],
        &of_tail[1],
        &of_tail[2],
        &cell.fairness.0,
        &text(fairness.map(|one| one.mean)),
        &text(fairness.and_then(|one| one.low)),
        &text(fairness.and_then(|one| one.high)),
    ])
}
