//! The comparison as a table for the terminal, and in Markdown.

use std::fmt;

use super::Report;
use super::compare::{Metric, Row};

const HEADS: [(&str, &str); 8] = [
    ("throughput_mb_per_s", "MB/s"),
    ("iops", "IOPS"),
    ("latency_mean_us", "mean"),
    ("latency_p99_us", "p99"),
    ("elapsed_s", "elapsed"),
    ("merges", "merges"),
    ("anticipations", "waits"),
    ("anticipation_successes", "good"),
];

fn cells(row: &Row) -> Vec<String> {
    let mut cells = vec![row.disk.to_owned(), row.workload.to_owned(), row.scheduler.to_owned()];
    cells.push(row.requests.to_string());
    for (name, _) in HEADS {
        cells.push(
            row.metrics
                .iter()
                .find(|metric| metric.name == name)
                .map_or("-".to_owned(), difference),
        );
    }
    cells.push(row.replayed.as_ref().map_or("NO".to_owned(), |compared| compared.to_string()));
    cells.push(row.first_other.map_or("same".to_owned(), |at| format!("until {at}")));
    cells
}

fn difference(metric: &Metric) -> String {
    let usual = metric.difference.abs() <= lab::arena::agreement::USUAL;
    let mark = match (metric.holds(), usual) {
        (false, _) => "!",
        (true, false) if metric.by_spread => "~",
        (true, false) => "*",
        (true, true) => "",
    };
    if metric.difference == 0.0 {
        format!("0{mark}")
    } else if metric.difference.abs() < 0.01 {
        format!("{:+.4}{mark}", metric.difference)
    } else {
        format!("{:+.2}{mark}", metric.difference)
    }
}

fn head() -> Vec<String> {
    let fixed = ["disk", "workload", "scheduler", "requests"];
    let names =
        fixed.into_iter().chain(HEADS.iter().map(|(_, head)| *head)).chain(["to the ns", "order"]);
    names.map(str::to_owned).collect()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<Vec<String>> =
            std::iter::once(head()).chain(self.rows.iter().map(cells)).collect();
        let widths: Vec<usize> = (0..head().len())
            .map(|at| rows.iter().map(|row| row[at].len()).max().unwrap_or(0))
            .collect();
        for row in &rows {
            let line: Vec<String> =
                row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            writeln!(f, "{}", line.join("  ").trim_end())?;
        }
        writeln!(f)?;
        writeln!(f, "{}", explained(self))?;
        for line in self.notes() {
            writeln!(f, "{line}")?;
        }
        for line in self.broken() {
            writeln!(f, "BEYOND ITS BOUND: {line}")?;
        }
        Ok(())
    }
}

fn explained(report: &Report) -> String {
    format!(
        "Kernel {}. Differences of the kernel arena from the simulator in percent; merges, waits and successful waits per 100 requests. \
         To the ns: requests of the kernel's disk whose completion is the model's to the nanosecond. Order: of completions, the same or \
         from which one on another. ~: beyond 2, but not farther apart than the simulator's own figures for seven seeds; *: beyond 2, see the \
         notes; !: beyond its bound.",
        report.kernel
    )
}

impl Report {
    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self
            .rows
            .iter()
            .filter_map(|row| {
                Some(format!("{}/{}/{}: {}", row.disk, row.workload, row.scheduler, row.note?))
            })
            .collect();
        notes.sort();
        notes
    }

    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut text = line(&head());
        text += &line(&head().iter().map(|_| "---".to_owned()).collect::<Vec<_>>());
        self.rows.iter().for_each(|row| text += &line(&cells(row)));
        text += &format!("\n{}\n", explained(self));
        text
    }
}
