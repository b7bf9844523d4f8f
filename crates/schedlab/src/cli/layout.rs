//! The text after the options of `--help`, laid out for the terminal's width.
//!
//! Such a text is written in lines of up to 140 columns. clap wraps a line that is too long and leaves the next one as it is, so that every
//! second line is a stump. Here what was one paragraph or one row becomes one again before it is wrapped: a continued line hangs under
//! the column that it belongs to, the description of an example goes below its command, and a command goes on after a backslash.

use clap::Command;

/// A line of more columns than this was broken by hand because it was full: the next one continues it.
const FULL: usize = 105;
/// A line that begins so far to the right describes the command above it.
const DESCRIPTION: usize = 30;

/// The command and all of its subcommands with their texts laid out.
pub(crate) fn laid_out(command: Command, width: usize) -> Command {
    let text = command.get_after_help().map(ToString::to_string);
    let command = match text {
        Some(text) => command.after_help(layout(&text, width)),
        None => command,
    };
    command.mut_subcommands(|command| laid_out(command, width))
}

fn layout(text: &str, width: usize) -> String {
    rows(text).iter().flat_map(|row| broken(row, width)).collect::<Vec<_>>().join("\n")
}

/// Paragraphs and rows, each in one line.
fn rows(text: &str) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    let mut last = 0;
    for line in text.lines() {
        let (indent, length) = (line.len() - line.trim_start().len(), line.chars().count());
        let gap = match rows.last().map(String::as_str) {
            Some("") | None => None,
            Some(_) if indent >= DESCRIPTION => Some("  "),
            // A paragraph goes on at its margin, a row under its own column; at 2 a new example begins.
            Some(row) if last > FULL && (indent > 2 || (indent == 0 && !row.starts_with(' '))) => Some(" "),
            Some(_) => None,
        };
        match (gap, rows.last_mut()) {
            (Some(gap), Some(row)) if !line.trim().is_empty() => *row = format!("{row}{gap}{}", line.trim()),
            _ => rows.push(line.to_owned()),
        }
        last = length;
    }
    rows
}

/// A row in lines of at most `width` columns, as far as words allow.
fn broken(row: &str, width: usize) -> Vec<String> {
    if row.chars().count() <= width {
        return vec![row.to_owned()];
    }
    let indent = row.len() - row.trim_start().len();
    let body = row.trim_start();
    let (head, tail) = body.split_once("  ").map_or((body, ""), |(head, tail)| (head, tail.trim_start()));
    let hang = row.chars().count() - tail.chars().count();
    if tail.is_empty() {
        let is_command = indent > 0 && ["schedlab ", "sudo "].iter().any(|word| body.starts_with(word));
        return wrapped(
            body,
            indent,
            indent + if indent == 0 { 0 } else { 4 },
            width,
            if is_command { " \\" } else { "" },
        );
    }
    if indent == 0 && hang * 2 <= width {
        let mut lines = wrapped(tail, hang, hang, width, "");
        lines[0] = format!("{head:hang$}{}", lines[0].trim_start());
        return lines;
    }
    let mut lines = broken(&row[..indent + head.len()], width);
    lines.extend(wrapped(tail, indent + 4, indent + 4, width, ""));
    lines
}

/// Words in lines: the first after `indent` blanks, the others after `hang`, every line but the last with `end`.
fn wrapped(text: &str, indent: usize, hang: usize, width: usize, end: &str) -> Vec<String> {
    let mut lines = vec![" ".repeat(indent)];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        let begun = !line.trim().is_empty();
        if begun && line.chars().count() + 1 + word.chars().count() + end.len() > width {
            line.push_str(end);
            lines.push(" ".repeat(hang) + word);
        } else {
            *line += if begun { " " } else { "" };
            *line += word;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn paragraphs_rows_and_examples_are_broken_each_in_its_way() {
        let full = "x".repeat(100) + " is full";
        let text = format!(
            "Words:  {full}\n        goes on\n\nExamples:\n  schedlab a --b c --d e --f g --h i  what it does\n  schedlab b"
        );
        let lines = layout(&text, 40);
        assert!(lines.contains("is full goes on\n\nExamples:"), "{lines}");
        assert!(lines.contains("  schedlab a --b c --d e --f g --h i\n      what it does\n  schedlab b"), "{lines}");
        assert_eq!(layout("  schedlab compare --device loop:1G", 24), "  schedlab compare \\\n      --device loop:1G");
        assert_eq!(layout("Kernel:   one two three four", 20), "Kernel:   one two\n          three four");
    }

    fn texts(command: &Command, found: &mut Vec<String>) {
        found.extend(command.get_after_help().map(ToString::to_string));
        command.get_subcommands().for_each(|command| texts(command, found));
    }

    #[test]
    fn no_help_has_a_stump_or_a_line_that_clap_would_wrap_again() {
        for width in [80, 100] {
            let mut found = Vec::new();
            texts(&laid_out(Cli::command(), width), &mut found);
            assert!(found.len() > 15);
            for text in &found {
                for line in text.lines() {
                    assert!(line.chars().count() <= width, "{width}: {line}");
                    let stump = line.chars().count() < 25 && line.starts_with(|c: char| c.is_ascii_lowercase());
                    let ends = text.contains(&format!("{line}\n\n")) || text.ends_with(line);
                    assert!(!stump || ends, "a paragraph was broken twice: {line:?} in\n{text}");
                }
            }
        }
    }

    #[test]
    fn every_word_is_still_there() {
        let words = |command: &Command| {
            let mut found = Vec::new();
            texts(command, &mut found);
            found.join(" ").split_whitespace().filter(|word| *word != "\\").map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(words(&Cli::command()), words(&laid_out(Cli::command(), 60)));
    }
}
