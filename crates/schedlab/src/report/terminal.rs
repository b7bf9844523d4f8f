//! The report in a terminal: the answer in the first lines, then the evidence for it.
//!
//! Written for somebody at three in the morning: what to do, one table per workload for the metric that decides, what is
//! wrong with the evidence, what would settle the rest, where the files are. Everything else waits for `verbose`.

use std::fmt::Write;
use std::io::IsTerminal;
use std::path::PathBuf;

use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Table, TableComponent, presets,
};
use experiment::study::{Study, Verdict};

use super::view::{self, MetricView, WorkloadView};
use super::{Evidence, number, reasons};

/// How to print.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// Columns of the terminal, 64 at least.
    pub(crate) width: u16,
    /// Whether verdicts are coloured.
    pub(crate) colour: bool,
    /// All metrics and all remarks, not only those that decide.
    pub(crate) verbose: bool,
}

impl Options {
    /// What standard output is: its width (80 where it has none), and colour only on a terminal without `NO_COLOR`.
    pub(crate) fn of_stdout(verbose: bool) -> Options {
        let terminal = std::io::stdout().is_terminal();
        let silent = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let width = Table::new().width().unwrap_or(80).clamp(64, 120);
        Options { width, colour: terminal && !silent && !dumb, verbose }
    }
}

/// The whole report; `files` are named at its end.
pub(crate) fn render(study: &Study, evidence: Option<&Evidence<'_>>, files: &[PathBuf], options: &Options) -> String {
    let workloads = view::workloads(study, evidence);
    let mut page = Page { text: String::new(), options };
    page.answer(study, &workloads);
    for workload in &workloads {
        for metric in workload.metrics.iter().filter(|metric| options.verbose || metric.primary) {
            page.metric(workload, metric);
        }
    }
    page.remarks(study, &workloads);
    page.void_trials(evidence);
    page.foot(study, evidence, files);
    page.text
}

struct Page<'a> {
    text: String,
    options: &'a Options,
}

impl Page<'_> {
    fn answer(&mut self, study: &Study, workloads: &[WorkloadView<'_>]) {
        self.paragraph("", &view::clean(&study.recommendation.sentence), Some("1"));
        let widest = workloads.iter().map(|w| view::shortened(w.name, 20).chars().count()).max().unwrap_or(0);
        for workload in workloads {
            let Some(advice) = workload.advice else { continue };
            let name = view::clean(&view::shortened(workload.name, 20));
            self.paragraph(&format!("  {name:widest$}  "), &view::clean(&advice.why), None);
        }
    }

    fn metric(&mut self, workload: &WorkloadView<'_>, metric: &MetricView<'_>) {
        let decides = if metric.primary { "" } else { " (does not decide)" };
        let heading = format!("{}: {}, {}{decides}", view::clean(workload.name), metric.label, metric.good());
        self.text.push('\n');
        self.paragraph("", &heading, Some("1"));
        let _ = writeln!(self.text, "{}", self.table(metric));
    }

    fn table(&self, metric: &MetricView<'_>) -> Table {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_style(TableComponent::HeaderLines, '─').set_style(TableComponent::MiddleHeaderIntersections, '─');
        table.set_width(self.options.width).force_no_tty();
        if self.options.colour {
            table.enforce_styling();
        }
        let right = |text: &str| Cell::new(text).set_alignment(CellAlignment::Right);
        let unit = format!("median {}", metric.scale.unit);
        let head = [
            Cell::new("arm"),
            right(unit.trim_end()),
            right("change  [interval]"),
            Cell::new("verdict"),
            right("blocks"),
        ];
        table.set_header(head);
        for row in &metric.rows {
            let (change, verdict) = match row.judgement {
                Some(judgement) => (number::effect(judgement), verdict_cell(judgement.verdict)),
                None => (String::new(), Cell::new("baseline").add_attribute(Attribute::Dim)),
            };
            let name = Cell::new(view::shortened(&view::clean(row.arm), 40));
            table.add_row([name, right(&row.bare_median(metric)), right(&change), verdict, right(&row.blocks())]);
        }
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, if i == 4 { 0 } else { 2 }));
            // Only the name may wrap: a number that is broken over two lines is misread.
            if i > 0 {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
            if i == 4 && self.options.width < 78 {
                column.set_constraint(ColumnConstraint::Hidden);
            }
        }
        table
    }

    fn remarks(&mut self, study: &Study, workloads: &[WorkloadView<'_>]) {
        let mut first = true;
        for workload in workloads {
            for (arm, text, void) in view::remarks(workload, self.options.verbose) {
                if std::mem::take(&mut first) {
                    self.text.push('\n');
                }
                let mark = if void { "VOID  " } else { "note  " };
                let text = format!("{}, {}: {text}", view::clean(workload.name), view::clean(arm));
                self.paragraph(mark, &text, void.then_some("1;31"));
            }
        }
        for caution in &study.cautions {
            if std::mem::take(&mut first) {
                self.text.push('\n');
            }
            self.paragraph("caution  ", &view::clean(caution), Some("33"));
        }
    }

    fn void_trials(&mut self, evidence: Option<&Evidence<'_>>) {
        let groups = evidence.map(|evidence| reasons::groups(evidence.trials)).unwrap_or_default();
        for group in groups {
            let trials = if group.count == 1 { "trial" } else { "trials" };
            let blocks = if group.count == 1 { "block" } else { "blocks" };
            let text = format!(
                "{} {trials} of {}, {} ({blocks} {}): {}",
                group.count,
                view::clean(&group.workload),
                view::clean(&group.arm),
                group.blocks,
                view::clean(&group.reason)
            );
            self.paragraph("VOID  ", &text, Some("31"));
        }
    }

    fn foot(&mut self, study: &Study, evidence: Option<&Evidence<'_>>, files: &[PathBuf]) {
        self.text.push('\n');
        let rules = view::rules(study);
        let mut rules = format!("{}{}.", rules[..1].to_uppercase(), &rules[1..]);
        if let Some(evidence) = evidence {
            let _ = write!(rules, " {} trials", number::count(evidence.trials.len() as u64));
            match evidence.end {
                Some(end) => {
                    let _ = write!(rules, " in {}.", number::span_ms(end.at_ms));
                }
                None => rules.push_str("; the record was cut off."),
            }
        }
        self.paragraph("", &rules, Some("2"));
        for file in files {
            // A path is never wrapped: it is there to be copied.
            let _ = writeln!(self.text, "  {}", view::clean(&file.display().to_string()));
        }
    }

    /// Words wrapped to the width, continued lines under the first; `style` is an ANSI code.
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

fn verdict_cell(verdict: Verdict) -> Cell {
    let cell = Cell::new(format!("{} {}", reasons::sign(verdict), reasons::verdict(verdict)));
    match verdict {
        Verdict::Better => cell.fg(Color::Green).add_attribute(Attribute::Bold),
        Verdict::Worse => cell.fg(Color::Red),
        Verdict::Equivalent => cell.fg(Color::Cyan),
        Verdict::Inconclusive => cell.fg(Color::Yellow),
        Verdict::Void => cell.fg(Color::Red).add_attribute(Attribute::Reverse),
    }
}

fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            lines.push(word.into());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture::Lab;

    const PLAIN: Options = Options { width: 80, colour: false, verbose: false };

    fn files() -> Vec<PathBuf> {
        ["report.html", "report.md", "study.json"].iter().map(|name| PathBuf::from("out").join(name)).collect()
    }

    #[test]
    fn the_answer_stands_in_the_first_line() {
        let lab = Lab::typical();
        let text = render(&lab.study, Some(&lab.evidence()), &files(), &PLAIN);
        assert!(text.starts_with("Use mq-deadline"), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn verbose_shows_every_judgement() {
        let lab = Lab::typical();
        let text = render(&lab.study, Some(&lab.evidence()), &files(), &Options { verbose: true, ..PLAIN });
        for judgement in &lab.study.judgements {
            assert!(text.contains(&number::effect(judgement)), "{judgement:?}");
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let lab = Lab::typical().renamed("kyber", &"kyber with a very long name ".repeat(4));
        for width in [64, 72, 80, 120] {
            let options = Options { width, verbose: true, ..PLAIN };
            let text = render(&lab.study, Some(&lab.evidence()), &[], &options);
            for line in text.lines() {
                assert!(line.chars().count() <= width as usize, "{width}: {line}");
            }
        }
    }

    #[test]
    fn colour_is_there_only_when_asked_for_and_names_cannot_steer_the_terminal() {
        let mut lab = Lab::typical().renamed("bfq", "bfq\x1b[2J");
        lab.study.recommendation.sentence = "use\x1b]0;pwned\x07 it".into();
        let plain = render(&lab.study, Some(&lab.evidence()), &[], &PLAIN);
        assert!(!plain.contains('\x1b') && !plain.contains('\x07'));
        let colour = render(&lab.study, Some(&lab.evidence()), &[], &Options { colour: true, ..PLAIN });
        assert!(colour.contains("\x1b[1m") && !colour.contains("\x1b[2J"));
    }

    #[test]
    fn void_evidence_is_loud_and_an_empty_study_is_said_to_be_one() {
        let mut lab = Lab::typical();
        for judgement in &mut lab.study.judgements {
            (judgement.verdict, judgement.ratio, judgement.low, judgement.high) = (Verdict::Void, None, None, None);
            judgement.reasons = vec!["the setting was never in effect".into()];
        }
        let text = render(&lab.study, Some(&lab.evidence()), &[], &PLAIN);
        assert_eq!(text.matches("VOID  ").count(), 10, "three arms on three workloads, and one void trial\n{text}");
        assert!(text.contains("no evidence") && text.contains("✕ void"));
        lab.study.judgements.clear();
        lab.study.summaries.clear();
        assert!(render(&lab.study, None, &[], &PLAIN).starts_with("Use mq-deadline"));
    }
}
