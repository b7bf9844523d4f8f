//! The report in a terminal: the answer first, then the evidence.
//!
//! `verbose` adds what the decision does not need.

use std::fmt::Write;
use std::path::PathBuf;

use comfy_table::{Attribute, Cell, Color};
use experiment::analysis::{Analysis, Comparison, Verdict};

use super::evidence::Evidence;
use super::grid::{Entry, Grid, Style, plain, wrapped};
use super::page::Page;
use super::sweep::{self, SweepView};
use super::table::Table;
use super::view::{self, MetricView, WorkloadView};
use super::{answer, cpu, invalid, method, number, remarks, verdict, words};

#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Terminal columns, at least 60.
    pub width: u16,
    pub colour: bool,
    /// Prints all metrics and remarks, not only deciding ones.
    pub verbose: bool,
    /// Schedulers of the reader's kernel, for the headline; empty if unknown.
    pub offered: Vec<String>,
}

/// Lists `files` at the end.
pub fn render(
    analysis: &Analysis,
    evidence: Option<&Evidence<'_>>,
    files: &[PathBuf],
    options: &Options,
) -> String {
    let page = Page::of(analysis, evidence);
    let mut printed = Printed { text: String::new(), options };
    printed.answer(&page);
    for workload in &page.workloads {
        for metric in workload.metrics.iter().filter(|metric| options.verbose || metric.primary) {
            printed.metric(analysis, workload, metric);
        }
    }
    printed.tables(&page.tables);
    printed.warnings(&page);
    printed.foot(&page, files);
    printed.text
}

struct Printed<'a> {
    text: String,
    options: &'a Options,
}

impl Printed<'_> {
    fn answer(&mut self, page: &Page<'_>) {
        self.paragraph("", &answer::headline_here(page.analysis, &self.options.offered), Some("1"));
        let widest = page
            .advice
            .iter()
            .map(|(name, _)| words::shortened(name, 20).chars().count())
            .max()
            .unwrap_or(0);
        for (name, text) in &page.advice {
            self.paragraph(
                &format!("  {:widest$}  ", words::shortened(name, 20)),
                &text.to_string(),
                None,
            );
        }
        if let Some(next) = &page.next {
            self.paragraph("", next, None);
        }
    }

    fn metric(
        &mut self,
        analysis: &Analysis,
        workload: &WorkloadView<'_>,
        metric: &MetricView<'_>,
    ) {
        let decides = if metric.primary { "" } else { " (does not decide)" };
        let place =
            words::name_of(workload.name).map(|place| format!("{place}: ")).unwrap_or_default();
        self.text.push('\n');
        self.paragraph(
            "",
            &format!("{place}{}, {}{decides}", metric.label, metric.good()),
            Some("1"),
        );
        let sweep = sweep::of(analysis, workload.name, metric);
        if sweep.as_ref().is_none_or(|sweep| !sweep.complete) {
            self.comparison(metric);
        }
        if let Some(sweep) = &sweep {
            self.sweep_table(sweep, metric);
        }
        if metric.primary
            && metric
                .rows
                .iter()
                .filter_map(|row| row.comparison)
                .any(|j| view::more_rounds(j).is_some())
        {
            self.paragraph("", "+ ~N: about N more rounds would probably decide it", Some("2"));
        }
        if sweep.is_none() && metric.rows.iter().any(|row| row.own_baseline(metric).is_some()) {
            self.paragraph("", "vs: the baseline in the same rounds", Some("2"));
        }
        if let Some(sweep) = &sweep {
            self.text.push('\n');
            self.paragraph("", "Effect of each tunable", Some("1"));
            let widest =
                sweep.lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(24);
            for (name, text) in &sweep.lines {
                self.paragraph(&format!("  {:widest$}  ", words::shortened(name, 24)), text, None);
            }
        }
        if self.options.verbose {
            let table = self.spread(metric);
            self.text.push('\n');
            self.text.push_str(&table);
            self.text.push('\n');
        }
    }

    /// If too wide, estimate and interval are stacked, then the rounds omitted.
    fn sweep_table(&mut self, sweep: &SweepView<'_>, metric: &MetricView<'_>) {
        let width = self.options.width.into();
        let layouts = [(false, true), (true, true), (true, false)];
        let grids =
            layouts.map(|(stacked, rounds)| before_and_after(sweep, metric, stacked, rounds));
        let tight = tight(sweep, metric);
        let fitting = grids.iter().find(|grid| grid.fits(width)).unwrap_or(&tight);
        self.text.push_str(&fitting.draw(width, self.options.colour));
        self.text.push('\n');
    }

    fn tables(&mut self, tables: &[Table]) {
        for table in tables.iter().filter(|table| self.options.verbose || !table.detail) {
            self.text.push('\n');
            self.paragraph("", &table.title, Some("1"));
            for (i, text) in parts(table, self.options).into_iter().enumerate() {
                if i > 0 {
                    self.text.push('\n');
                    self.paragraph("", &continued(&table.title), Some("1"));
                }
                self.text.push_str(&text);
                self.text.push('\n');
            }
        }
    }

    /// If too wide, estimate and interval are stacked, then the rounds omitted.
    fn comparison(&mut self, metric: &MetricView<'_>) {
        let width = self.options.width.into();
        let layouts = [(false, true), (true, true), (true, false)];
        let grids = layouts.map(|(stacked, rounds)| comparison(metric, stacked, rounds));
        let fitting = grids.iter().find(|grid| grid.fits(width)).unwrap_or(&grids[2]);
        let table = fitting.draw(width, self.options.colour);
        self.text.push_str(&table);
        self.text.push('\n');
    }

    /// Minimum and maximum only if there is room.
    fn spread(&self, metric: &MetricView<'_>) -> String {
        let width = self.options.width.into();
        let grids = [true, false].map(|range| spread(metric, range));
        grids
            .iter()
            .find(|grid| grid.fits(width))
            .unwrap_or(&grids[1])
            .draw(width, self.options.colour)
    }

    fn warnings(&mut self, page: &Page<'_>) {
        let verbose = self.options.verbose;
        let mut lines: Vec<(&str, String, Option<&str>)> = Vec::new();
        for remark in remarks::remarks(&page.workloads, verbose, &page.invalid) {
            let text = format!("{}: {}", remark.about, remark.text);
            lines.push(if remark.invalid {
                ("INVALID  ", text, Some("1;31"))
            } else {
                ("note  ", text, None)
            });
        }
        let notes = cpu::remarks(page.evidence.as_ref(), &page.workloads, &page.variants);
        lines.extend(
            notes
                .into_iter()
                .map(|note| ("note  ", format!("{}: {}", note.about, note.text), None)),
        );
        let shown = page
            .invalid
            .iter()
            .filter(|group| !remarks::is_in_a_comparison(group, &page.workloads));
        for group in shown.chain(page.thin.iter().filter(|_| verbose)) {
            lines.push(("invalid  ", invalid_trials(group), Some("31")));
        }
        lines.extend(page.cautions().into_iter().map(|caution| ("caution  ", caution, Some("33"))));
        if let Some(thin) = page.thin_summary.as_ref().filter(|_| !verbose) {
            lines.push(("", format!("{thin}; --verbose lists them"), Some("2")));
        }
        if !lines.is_empty() {
            self.text.push('\n');
        }
        for (mark, text, style) in lines {
            self.paragraph(mark, &text, style);
        }
    }

    fn foot(&mut self, page: &Page<'_>, files: &[PathBuf]) {
        self.text.push('\n');
        let mut rules = format!("{}{}.", page.rules[..1].to_uppercase(), &page.rules[1..]);
        if let Some(evidence) = &page.evidence {
            let _ = write!(rules, " {}", words::counted(evidence.trials.len() as u64, "trial"));
            match evidence.end {
                Some(end) => {
                    let _ = write!(rules, " in {}.", evidence.span(end.at_ms));
                }
                None => rules.push_str("; the results file was cut off."),
            }
            rules.push_str(
                &method::kernel(page.analysis, evidence)
                    .map(|text| format!(" {text}"))
                    .unwrap_or_default(),
            );
            rules.push_str(
                &page.unconfirmed.as_ref().map(|text| format!(" {text}")).unwrap_or_default(),
            );
        }
        if let Some(overhead) = &page.overhead {
            let _ = write!(rules, " {overhead}");
        }
        self.paragraph("", &rules, Some("2"));
        for file in files {
            // Paths are not wrapped, so that they can be copied.
            let _ = writeln!(self.text, "  {}", words::clean(&file.display().to_string()));
        }
    }

    /// Wraps with a hanging indent; `style` is an ANSI code.
    fn paragraph(&mut self, indent: &str, text: &str, style: Option<&str>) {
        let hanging = indent.chars().count();
        let room = (self.options.width as usize).saturating_sub(hanging).max(20);
        for (i, line) in wrapped(text, room).into_iter().enumerate() {
            let lead = if i == 0 { indent.to_string() } else { " ".repeat(hanging) };
            let _ = match style.filter(|_| self.options.colour) {
                Some(code) => writeln!(self.text, "\x1b[{code}m{lead}{line}\x1b[0m"),
                None => writeln!(self.text, "{lead}{line}"),
            };
        }
    }
}

/// If too wide, the columns continue in further tables with the same row names.
pub(crate) fn parts(table: &Table, options: &Options) -> Vec<String> {
    let width = options.width.into();
    let (mut parts, mut first) = (Vec::new(), 0);
    while first < table.head.len() {
        let mut last = table.head.len();
        let mut grid = columns(table, first, last);
        while !grid.fits(width) && last > first + 1 {
            last -= 1;
            grid = columns(table, first, last);
        }
        parts.push(grid.draw(width, options.colour));
        first = last;
    }
    parts
}

pub(crate) fn continued(title: &str) -> String {
    format!("{title} (continued)")
}

fn columns(table: &Table, first: usize, last: usize) -> Grid {
    let rows = table.rows.iter().map(|(name, cells)| {
        (
            name.clone(),
            cells[first..last].iter().map(|text| (text.clone(), plain as Style)).collect(),
        )
    });
    Grid {
        names: "variant",
        head: table.head[first..last].iter().map(|head| (head.clone(), true)).collect(),
        rows: rows.collect(),
    }
}

fn comparison(metric: &MetricView<'_>, stacked: bool, rounds: bool) -> Grid {
    let unit = if metric.scale.unit.is_empty() {
        String::new()
    } else {
        format!("\n{}", metric.scale.unit)
    };
    let change = if stacked { "change\n[interval]" } else { "change [interval]" };
    let mut head = vec![(format!("{}{unit}", metric.centre_head().replace(' ', "\n")), true)];
    head.extend([(change.into(), true), ("verdict".into(), false)]);
    if rounds {
        head.push(("rounds".into(), true));
    }
    let rows = metric.rows.iter().map(|row| {
        let more = row.comparison.filter(|_| metric.primary).and_then(view::more_rounds);
        let more = more.map(|more| format!("+ ~{}", number::count(more.into())));
        let (change, mut verdict) = match row.comparison {
            Some(comparison) => (number::effect(comparison), verdict(comparison)),
            None => (String::new(), ("baseline".into(), dim as Style)),
        };
        let mut count = row.rounds();
        if let Some(more) = more {
            let place = if rounds { &mut count } else { &mut verdict.0 };
            place.push(if stacked { '\n' } else { ' ' });
            place.push_str(&more);
        }
        let change = if stacked { change.replacen(" [", "\n[", 1) } else { change };
        let own = row.own_baseline(metric).map(|own| format!("\nvs {own}")).unwrap_or_default();
        let mut cells: Vec<Entry> =
            vec![(row.bare_centre(metric) + &own, plain), (change, plain), verdict];
        if rounds {
            cells.push((count, plain));
        }
        (row.marked(), cells)
    });
    Grid { names: "variant", head, rows: rows.collect() }
}

fn before_and_after(
    sweep: &SweepView<'_>,
    metric: &MetricView<'_>,
    stacked: bool,
    rounds: bool,
) -> Grid {
    let unit = if metric.scale.unit.is_empty() {
        String::new()
    } else {
        format!("\n{}", metric.scale.unit)
    };
    let right = |text: &str| (text.to_string(), true);
    let change = if stacked { "change\n[interval]" } else { "change [interval]" };
    let mut head = vec![
        right("default"),
        right("tried"),
        right(&format!("before{unit}")),
        right(&format!("after{unit}")),
    ];
    head.extend([right(change), ("verdict".into(), false)]);
    if rounds {
        head.push(right("rounds"));
    }
    let rows = sweep.rows.iter().map(|row| {
        let effect = number::effect(row.comparison);
        let effect = if stacked { effect.replacen(" [", "\n[", 1) } else { effect };
        let (mut count, mut verdict) = (row.comparison.rounds.to_string(), verdict(row.comparison));
        if let Some(more) = view::more_rounds(row.comparison) {
            let place = if rounds { &mut count } else { &mut verdict.0 };
            *place +=
                &format!("{}+ ~{}", if stacked { '\n' } else { ' ' }, number::count(more.into()));
        }
        let texts = [&row.default, &row.tried, &row.before, &row.after, &effect];
        let mut cells: Vec<Entry> = texts.map(|text| (text.clone(), plain as Style)).to_vec();
        cells.push(verdict);
        if rounds {
            cells.push((count, plain));
        }
        (row.tunable.clone(), cells)
    });
    Grid { names: "tunable", rows: rows.collect(), head }
}

fn tight(sweep: &SweepView<'_>, metric: &MetricView<'_>) -> Grid {
    let unit = if metric.scale.unit.is_empty() {
        String::new()
    } else {
        format!("\n{}", metric.scale.unit)
    };
    let head = [
        "default\ntried".to_owned(),
        format!("before\nafter{unit}"),
        "change\n[interval]\nverdict".to_owned(),
    ];
    let rows = sweep.rows.iter().map(|row| {
        let more =
            view::more_rounds(row.comparison).map(|more| format!(" + ~{more}")).unwrap_or_default();
        let (verdict, style) = verdict(row.comparison);
        let effect = number::effect(row.comparison).replacen(" [", "\n[", 1);
        let pairs =
            [format!("{}\n{}", row.default, row.tried), format!("{}\n{}", row.before, row.after)];
        let mut cells: Vec<Entry> = pairs.map(|text| (text, plain as Style)).to_vec();
        cells.push((format!("{effect}\n{verdict}{more}"), style));
        (row.tunable.clone(), cells)
    });
    Grid { names: "tunable", rows: rows.collect(), head: head.map(|text| (text, true)).to_vec() }
}

fn spread(metric: &MetricView<'_>, range: bool) -> Grid {
    let mut head = vec!["n", "median", "mean", "sd", "sd/mean"];
    head.extend(if range { &["least", "most", "outliers"][..] } else { &["outliers"] });
    let rows = metric.rows.iter().filter_map(|row| {
        let of = row.summary?;
        let mut cells = vec![
            of.n.to_string(),
            metric.scale.bare(of.median),
            metric.scale.bare(of.mean),
            of.sd.map_or_else(|| "-".into(), |sd| format!("± {}", metric.scale.bare(sd))),
            of.cv_percent.map_or_else(|| "-".into(), |cv| format!("{} %", number::significant(cv))),
        ];
        if range {
            cells.extend([metric.scale.bare(of.min), metric.scale.bare(of.max)]);
        }
        cells.push(of.outliers.to_string());
        Some((row.marked(), cells.into_iter().map(|text| (text, plain as Style)).collect()))
    });
    let head = head.into_iter().map(|text| (text.to_string(), true));
    Grid { names: "variant", head: head.collect(), rows: rows.collect() }
}

fn verdict(comparison: &Comparison) -> Entry {
    let style: Style = match comparison.verdict {
        Verdict::Better => |cell| cell.fg(Color::Green).add_attribute(Attribute::Bold),
        Verdict::Worse => |cell| cell.fg(Color::Red),
        Verdict::Equivalent => |cell| cell.fg(Color::Cyan),
        Verdict::Inconclusive => |cell| cell.fg(Color::Yellow),
        Verdict::Invalid => |cell| cell.fg(Color::Red).add_attribute(Attribute::Reverse),
    };
    (format!("{} {}", verdict::sign(comparison.verdict), verdict::word(comparison.verdict)), style)
}

fn dim(cell: Cell) -> Cell {
    cell.add_attribute(Attribute::Dim)
}

fn invalid_trials(group: &invalid::InvalidGroup<'_>) -> String {
    let (trials, rounds) = if group.count == 1 { ("trial", "round") } else { ("trials", "rounds") };
    let (workload, variant) = (words::clean(group.workload), words::clean(group.variant));
    let reason = words::clean(&group.reason.to_string());
    format!(
        "{} {trials} of {workload}, {variant} ({rounds} {}): {reason}",
        group.count, group.rounds
    )
}

#[cfg(test)]
mod tests;
