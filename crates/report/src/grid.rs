//! A terminal table: names left, numbers right, one rule below the head.
//!
//! Numbers are never broken across lines, because a broken one is misread. Other columns shrink
//! first, then long names are wrapped.

use comfy_table::{Cell, CellAlignment, Table, TableComponent, presets};

/// Names are not wrapped below this width unless unavoidable.
const NAME: usize = 30;
/// Longer names lose their middle.
const LONGEST: usize = 90;
/// Includes the space that comfy-table adds.
const GAP: u16 = 2;

pub(super) type Style = fn(Cell) -> Cell;

pub(super) type Entry = (String, Style);

pub(super) fn plain(cell: Cell) -> Cell {
    cell
}

/// The first column contains names.
pub(super) struct Grid {
    pub(super) names: &'static str,
    /// The other columns, and whether they are aligned right.
    pub(super) head: Vec<(String, bool)>,
    pub(super) rows: Vec<(String, Vec<Entry>)>,
}

impl Grid {
    /// Whether the table fits without wrapping names below [`NAME`] characters.
    pub(super) fn fits(&self, width: usize) -> bool {
        let longest = self.rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        self.room(width) >= longest.clamp(self.names.len(), NAME)
    }

    fn room(&self, width: usize) -> usize {
        let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let others = self.head.iter().enumerate().map(|(i, (head, _))| {
            let cells = self.rows.iter().filter_map(|(_, cells)| cells.get(i));
            cells.map(|(text, _)| widest(text)).max().unwrap_or(0).max(widest(head)) + GAP as usize
        });
        width.saturating_sub(others.sum()).max(10)
    }

    pub(super) fn draw(&self, width: usize, colour: bool) -> String {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).force_no_tty();
        table
            .set_style(TableComponent::HeaderLines, '─')
            .set_style(TableComponent::MiddleHeaderIntersections, '─');
        if colour {
            table.enforce_styling();
        }
        let aligned = |cell: Cell, right: bool| {
            cell.set_alignment(if right { CellAlignment::Right } else { CellAlignment::Left })
        };
        let head = self.head.iter().map(|(text, right)| aligned(Cell::new(text), *right));
        table.set_header(std::iter::once(Cell::new(self.names)).chain(head));
        let room = self.room(width);
        for (name, entries) in &self.rows {
            let name = wrapped(&super::words::shortened(name, LONGEST), room).join("\n");
            let cells = entries
                .iter()
                .zip(&self.head)
                .map(|((text, style), (_, right))| aligned(style(Cell::new(text)), *right));
            table.add_row(std::iter::once(Cell::new(name)).chain(cells));
        }
        let last = self.head.len();
        for (i, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, if i == last { 0 } else { GAP - 1 }));
        }
        table.trim_fmt()
    }
}

/// Cuts words longer than `room`.
pub fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let letters: Vec<char> = word.chars().collect();
        for part in letters.chunks(room.max(1)) {
            let line = lines.last_mut().expect("there is always a line");
            if !line.is_empty() && line.chars().count() + 1 + part.len() > room {
                lines.push(part.iter().collect());
            } else {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.extend(part);
            }
        }
    }
    lines
}

/// The words of a shell's command, with their quotes; a flag stays with its value.
fn shell_words(command: &str) -> Vec<String> {
    let (mut words, mut is_quoted) = (vec![String::new()], false);
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        is_quoted ^= letter == '\'';
        let word = words.last_mut().expect("there is always a word");
        match letter {
            ' ' if !is_quoted && is_flag(word) && !letters.as_str().starts_with('-') => {
                word.push(' ');
            }
            ' ' if !is_quoted => words.push(String::new()),
            '\\' if !is_quoted => word.extend([letter].into_iter().chain(letters.next())),
            _ => word.push(letter),
        }
    }
    words
}

fn is_flag(word: &str) -> bool {
    word.starts_with("--") && !word.contains([' ', '='])
}

/// A command after what leads it, in lines of at most `width` columns that a shell joins; words
/// stay whole.
pub fn folded(lead: &str, command: &str, width: usize) -> String {
    let indent = lead.chars().count();
    let (mut text, mut column) = (lead.to_owned(), indent);
    for (i, word) in shell_words(command).iter().enumerate() {
        let letters = word.chars().count();
        // Two columns are for the mark that the command goes on.
        if i > 0 && column + 1 + letters + 2 > width {
            text += &format!(" \\\n{:indent$}", "");
            column = indent;
        } else if i > 0 {
            text.push(' ');
            column += 1;
        }
        text += word;
        column += letters;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_is_folded_for_a_shell_and_words_stay_whole() {
        assert_eq!(folded("Apply: ", "a set sda b=1", 22), "Apply: a set sda b=1");
        assert_eq!(folded("Apply: ", "a set sda b=12", 22), "Apply: a set sda \\\n       b=12");
        assert_eq!(folded("", "run /a/long/path", 8), "run \\\n/a/long/path");
        assert_eq!(folded("", "run --at a --dry b", 8), "run \\\n--at a \\\n--dry b");
        assert_eq!(folded("", r"run 'a b'\''c d' e", 8), "run \\\n'a b'\\''c d' \\\ne");
    }

    fn grid(name: &str) -> Grid {
        let entry = |text: &str| (text.to_string(), plain as Style);
        Grid {
            names: "variant",
            head: vec![("median".into(), true), ("verdict".into(), false)],
            rows: vec![
                ("none".into(), vec![entry("5"), entry("baseline")]),
                (name.into(), vec![entry("1,234"), entry("? inconclusive")]),
            ],
        }
    }

    #[test]
    fn a_long_name_is_wrapped_between_words_and_numbers_stay_whole() {
        let grid = grid("affinity=0 nice=-20 isolate=0 and more");
        assert!(grid.fits(60) && !grid.fits(45));
        let text = grid.draw(60, false);
        assert!(
            text.contains("affinity=0 nice=-20 isolate=0 and") && text.contains("1,234"),
            "{text}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= 60 && !line.ends_with(' ')),
            "{text}"
        );
    }

    #[test]
    fn a_word_that_is_longer_than_the_room_is_cut() {
        assert_eq!(wrapped("one twothreefour", 8), ["one", "twothree", "four"]);
        assert_eq!(wrapped("", 8), [""]);
    }
}
