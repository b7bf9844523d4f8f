//! Layout of `schedlab show`.
//!
//! In eighty columns each setting has its numbers on one line and its meaning on the next, from
//! [`WIDE`] columns one line. The mark comes before the name, where the eye scans.

use report::wrapped;
use std::fmt::Write;

use super::lines::{Group, Line};

const WIDE: usize = 150;
const NARROWEST: usize = 60;
const INDENT: usize = 6;

pub(super) fn page(scheduler: &str, lines: &[Line], width: usize) -> String {
    let width = width.max(NARROWEST);
    let of = |place, writable| {
        lines.iter().filter(move |line| line.place == place && line.writable == writable)
    };
    let mut text = String::new();
    section(&mut text, &format!("Tunables of {scheduler}"), of(Group::Scheduler, true), width);
    section(&mut text, "Queue", of(Group::Queue, true), width);
    section(&mut text, "Device", of(Group::Device, true), width);
    let read_only = of(Group::Scheduler, false).chain(of(Group::Queue, false));
    section(&mut text, "Read-only: reported by hardware and driver", read_only, width);
    text
}

fn section<'a>(
    text: &mut String,
    title: &str,
    lines: impl Iterator<Item = &'a Line>,
    width: usize,
) {
    let lines: Vec<&Line> = lines.collect();
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}");
    let widest = lines.iter().map(|line| left(line).chars().count()).max().unwrap_or(0);
    for line in lines {
        if width >= WIDE { wide(text, line, widest, width) } else { narrow(text, line, width) }
    }
}

/// `*` differs from the default, `>` set temporarily by schedlab.
fn mark(line: &Line) -> char {
    match (line.set_by_schedlab_from.is_some(), line.differs) {
        (true, _) => '>',
        (false, Some(true)) => '*',
        (false, _) => ' ',
    }
}

fn left(line: &Line) -> String {
    format!("{} {} = {}", mark(line), line.name, line.with_unit())
}

fn right(line: &Line) -> String {
    let was = line.set_by_schedlab_from.as_ref().map(|was| format!("was {was}"));
    let default = line.default.as_ref().map(|default| format!("default {default}"));
    let range = Some(line.range()).filter(|range| !range.is_empty());
    was.into_iter().chain(default).chain(range).collect::<Vec<_>>().join(", ")
}

/// Adds the default's rule if its value cannot be computed here.
fn meaning(line: &Line) -> String {
    match (&line.rule, &line.default) {
        (Some(rule), None) if line.writable => format!("{}. Default: {rule}", line.help),
        _ => line.help.to_owned(),
    }
}

fn wide(text: &mut String, line: &Line, widest: usize, width: usize) {
    const RIGHT: usize = 34;
    let head = format!("{:<widest$}   {:<RIGHT$}   ", left(line), right(line));
    let indent = widest + RIGHT + 6;
    let mut parts = wrapped(&meaning(line), width.saturating_sub(indent)).into_iter();
    let _ = writeln!(text, "{head}{}", parts.next().unwrap_or_default());
    for part in parts {
        let _ = writeln!(text, "{:indent$}{part}", "");
    }
}

fn narrow(text: &mut String, line: &Line, width: usize) {
    let (left, right) = (left(line), right(line));
    let used = left.chars().count() + right.chars().count();
    if left.chars().count() > width {
        let _ = writeln!(
            text,
            "{} {} =\n{:INDENT$}{}\n{:INDENT$}{right}",
            mark(line),
            line.name,
            "",
            line.with_unit(),
            ""
        );
    } else if right.is_empty() {
        let _ = writeln!(text, "{left}");
    } else if used + 2 <= width {
        let gap = width - used;
        let _ = writeln!(text, "{left}{:gap$}{right}", "");
    } else {
        let _ = writeln!(text, "{left}\n{:INDENT$}{right}", "");
    }
    for part in wrapped(&meaning(line), width - INDENT) {
        let _ = writeln!(text, "{:INDENT$}{part}", "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, value: &str) -> Line {
        Line {
            name: name.to_owned(),
            place: Group::Scheduler,
            value: value.to_owned(),
            unit: "ms",
            default: Some("8".to_owned()),
            default_from: "8 with a fresh bfq".to_owned(),
            rule: None,
            differs: Some(value != "8"),
            writable: true,
            min: Some(0),
            max: Some(100),
            words: Vec::new(),
            set_by_schedlab_from: None,
            evidence: "C",
            help: "how long to wait for the next request of a queue before another one is served; 0: never",
        }
    }

    #[test]
    fn no_line_is_longer_than_the_terminal_is_wide() {
        let rule = Some("x y ".repeat(40));
        let long = Line { rule, default: None, ..line(&"n".repeat(40), &"9".repeat(30)) };
        let lines = [
            line("slice_idle", "0"),
            long,
            Line { place: Group::Queue, writable: false, ..line("fua", "1") },
        ];
        for width in [60, 80, 120, 150, 200] {
            let page = page("bfq", &lines, width);
            assert!(page.lines().all(|line| line.chars().count() <= width), "{width}:\n{page}");
        }
        assert_eq!(page("bfq", &lines, 10), page("bfq", &lines, 60));
    }

    #[test]
    fn what_differs_and_what_is_set_for_a_while_is_marked_and_says_what_it_was() {
        let set = Line { set_by_schedlab_from: Some("8".to_owned()), ..line("slice_idle", "2") };
        let page = page("bfq", &[line("timeout_sync", "7"), line("back_seek", "8"), set], 80);
        assert!(page.contains("\n* timeout_sync = 7 ms"), "{page}");
        assert!(page.contains("\n  back_seek = 8 ms"), "{page}");
        assert!(
            page.contains("\n> slice_idle = 2 ms") && page.contains("was 8, default 8, 0 to 100"),
            "{page}"
        );
    }

    #[test]
    fn a_wide_terminal_has_one_line_for_each_thing() {
        let page = page("bfq", &[line("slice_idle", "0")], 180);
        assert_eq!(page.lines().count(), 3, "{page}");
    }
}
