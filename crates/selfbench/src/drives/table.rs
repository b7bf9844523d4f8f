//! The comparison as a table for the terminal, and in Markdown.

use std::fmt;

use super::{Direction, Report, Row};

const HEADS: [&str; 11] = [
    "preset",
    "drive",
    "requests",
    "measured",
    "modelled",
    "reads / writes",
    "demerit",
    "DiskSim's",
    "drawn",
    "DiskSim's, drawn",
    "times as fast",
];

/// Maximum demerit: milliseconds, or a share of the measured mean.
const MAX_MS: f64 = 0.4;
const MAX_SHARE: f64 = 0.05;

fn cells(row: &Row) -> Vec<String> {
    let ms = |ms: f64| format!("{ms:.2}");
    let of = |direction: &Option<Direction>| {
        direction.as_ref().map_or("-".to_owned(), |of| ms(of.demerit_ms))
    };
    vec![
        row.preset.to_owned(),
        row.drive.to_owned(),
        row.requests.to_string(),
        ms(row.measured_mean_ms),
        ms(row.modelled_mean_ms),
        format!("{} / {}", of(&row.reads), of(&row.writes)),
        format!("{}{}", ms(row.demerit_ms), if row.is_far() { "!" } else { "" }),
        ms(row.disksim_demerit_ms),
        ms(row.drawn_demerit_ms),
        ms(row.disksim_drawn_demerit_ms),
        row.times_disksim.map_or("-".to_owned(), |times| format!("{times:.0}")),
    ]
}

impl Row {
    fn is_far(&self) -> bool {
        self.demerit_ms > MAX_MS.max(self.measured_mean_ms * MAX_SHARE)
    }
}

fn explained(report: &Report) -> String {
    let at_least = |row: &&Row| row.demerit_ms <= row.disksim_demerit_ms + 0.0005;
    let closer = report.rows.iter().filter(at_least).count();
    format!(
        "Milliseconds. Measured, modelled: mean response times. Demerit: root mean square of the horizontal distance of the two \
         distributions, of reads and of writes alone, and of all; !: above {MAX_MS} ms and above 5 % of the mean. DiskSim's: of its \
         own model, by its script runvalid. Drawn: the mean demerit where each pause is longer by up to 12 ms, of {} replays, of DiskSim \
         six. At most DiskSim's: {closer} of {}. Times as fast: as src/disksim of this tree, if it is built, with the reading of the \
         trace: the median of alternating measurements.",
        super::DRAWS,
        report.rows.len()
    )
}

impl Report {
    fn table(&self) -> Vec<Vec<String>> {
        std::iter::once(HEADS.map(str::to_owned).to_vec())
            .chain(self.rows.iter().map(cells))
            .collect()
    }

    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut text = String::new();
        for (at, row) in self.table().iter().enumerate() {
            text += &line(row);
            if at == 0 {
                text += &line(&row.iter().map(|_| "---".to_owned()).collect::<Vec<_>>());
            }
        }
        text += &format!("\n{}\n", explained(self));
        text
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.table();
        let width = |at: usize| table.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        for row in &table {
            let line: Vec<String> =
                row.iter().enumerate().map(|(at, cell)| format!("{cell:0$}", width(at))).collect();
            writeln!(f, "{}", line.join("  ").trim_end())?;
        }
        writeln!(f, "\n{}", explained(self))
    }
}
