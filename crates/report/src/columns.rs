//! A table of texts for a terminal of any width.
//!
//! If too wide, prose columns are wrapped first, then the rest continues in another table with the
//! same row names. Numbers and names are never broken.

use std::ops::Range;

use crate::grid::wrapped;

/// A column with a longer text that contains spaces is prose.
const PROSE: usize = 24;
/// Minimum width of prose, or its longest word up to twice this.
const MIN_PROSE: usize = 16;
const GAP: &str = "  ";

/// Rows may be shorter than the head. The first column names them.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Columns {
    /// A head in lower case stays in one part with the previous column.
    pub fn new<T: Into<String>>(head: impl IntoIterator<Item = T>) -> Columns {
        Columns { head: head.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The title may be empty.
    pub fn text(&self, title: &str, width: usize) -> String {
        let least: Vec<usize> = (0..self.head.len()).map(|i| self.least(i)).collect();
        let mut parts = self.parts(&least, width).into_iter().enumerate();
        parts.by_ref().fold(String::new(), |mut text, (i, part)| {
            if i > 0 {
                text.push('\n');
            }
            match (title.is_empty(), i) {
                (true, _) => {}
                (false, 0) => text.push_str(&format!("{title}\n")),
                (false, _) => text.push_str(&format!("{title} (continued)\n")),
            }
            text + &self.draw(&part, &least, width)
        })
    }

    /// A part begins at a capitalised head.
    fn parts(&self, least: &[usize], width: usize) -> Vec<Vec<usize>> {
        let starts = |i: &usize| !self.head[*i].starts_with(|c: char| c.is_ascii_lowercase());
        let fits = |part: &[usize]| {
            let all = part.iter().map(|i| least[*i]).sum::<usize>();
            all + GAP.len() * part.len().saturating_sub(1) <= width
        };
        let mut parts = Vec::new();
        let mut rest = Range { start: 1.min(self.head.len()), end: self.head.len() };
        loop {
            let taken = |end: usize| (0..1).chain(rest.start..end).collect::<Vec<usize>>();
            let ends = (rest.start + 1..=rest.end).rev().filter(|end| fits(&taken(*end)));
            let whole = |end: &usize| *end == rest.end || starts(end);
            let end = ends.clone().find(whole).or_else(|| ends.clone().next());
            let end = end.unwrap_or((rest.start + 1).min(rest.end));
            parts.push(taken(end));
            rest.start = end;
            if rest.is_empty() {
                return parts;
            }
        }
    }

    fn cells(&self, column: usize) -> impl Iterator<Item = &str> {
        let cells = self.rows.iter().filter_map(move |row| row.get(column));
        std::iter::once(&self.head[column]).chain(cells).map(String::as_str)
    }

    fn widest(&self, column: usize) -> usize {
        self.cells(column).map(|text| text.chars().count()).max().unwrap_or(0)
    }

    fn least(&self, column: usize) -> usize {
        let is_prose = |text: &str| text.chars().count() > PROSE && text.trim().contains(' ');
        if !self.cells(column).any(is_prose) {
            return self.widest(column);
        }
        let words = self.cells(column).flat_map(str::split_whitespace);
        let word = words.map(|word| word.chars().count()).max().unwrap_or(0);
        word.clamp(MIN_PROSE, 2 * MIN_PROSE).min(self.widest(column))
    }

    fn draw(&self, part: &[usize], least: &[usize], width: usize) -> String {
        let mut widths: Vec<usize> = part.iter().map(|i| self.widest(*i)).collect();
        let all = |widths: &[usize]| widths.iter().sum::<usize>() + GAP.len() * (widths.len() - 1);
        while all(&widths) > width {
            let can_shrink = |&(place, now): &(usize, &usize)| *now > least[part[place]];
            let widest = widths.iter().enumerate().filter(can_shrink).max_by_key(|(_, now)| **now);
            let Some((place, _)) = widest else { break };
            widths[place] -= 1;
        }
        let lines = |row: &[String]| -> String {
            let cell = |(i, room): (&usize, &usize)| {
                let text = row.get(*i).map_or("", String::as_str);
                // A text that fits retains its leading spaces.
                let fits = text.chars().count() <= *room;
                if fits { vec![text.to_owned()] } else { wrapped(text, *room) }
            };
            let cells: Vec<Vec<String>> = part.iter().zip(&widths).map(cell).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            let line = |i: usize| {
                let texts = cells.iter().zip(&widths).map(|(cell, width)| {
                    format!("{:width$}", cell.get(i).map_or("", String::as_str))
                });
                texts.collect::<Vec<_>>().join(GAP).trim_end().to_owned() + "\n"
            };
            (0..height).map(line).collect()
        };
        let head = if self.head.iter().all(String::is_empty) { None } else { Some(&self.head) };
        head.into_iter().chain(&self.rows).map(|row| lines(row)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table() -> Columns {
        let mut table = Columns::new(["NAME", "READS p50", "p99", "WRITES p50", "p99", "HELP"]);
        table.row(["mq-deadline", "1.20 ms", "3 ms", "-", "-", "deadlines for reads and writes"]);
        table.row(["bfq", "1.30 ms", "4 ms", "10.2 ms", "20 ms", "budgets"]);
        table
    }

    #[test]
    fn prose_is_wrapped_before_columns_go_on_in_another_table() {
        let text = table().text("", 70);
        assert_eq!(
            text,
            "NAME         READS p50  p99   WRITES p50  p99    HELP\n\
             mq-deadline  1.20 ms    3 ms  -           -      deadlines for reads\n\
             \u{20}                                                and writes\n\
             bfq          1.30 ms    4 ms  10.2 ms     20 ms  budgets\n"
        );
        assert_eq!(table().text("", 90).lines().count(), 3);
    }

    #[test]
    fn a_part_begins_with_a_capital_and_has_the_title() {
        let text = table().text("Stages", 40);
        assert_eq!(
            text,
            "Stages\n\
             NAME         READS p50  p99\n\
             mq-deadline  1.20 ms    3 ms\n\
             bfq          1.30 ms    4 ms\n\
             \n\
             Stages (continued)\n\
             NAME         WRITES p50  p99\n\
             mq-deadline  -           -\n\
             bfq          10.2 ms     20 ms\n\
             \n\
             Stages (continued)\n\
             NAME         HELP\n\
             mq-deadline  deadlines for reads and\n\
             \u{20}            writes\n\
             bfq          budgets\n"
        );
    }

    proptest! {
        #[test]
        fn no_line_is_wider_and_no_short_text_is_broken(
            rows in prop::collection::vec(prop::collection::vec("[a-z]{1,12}( [a-z]{1,9}){0,9}", 5), 1..5),
            width in 34usize..120,
        ) {
            let mut table = Columns::new(["NAME", "A", "B", "C", "D"]);
            let name = |i: usize| format!("name-{i}");
            for (i, row) in rows.iter().enumerate() {
                table.row(std::iter::once(name(i)).chain(row[1..].iter().cloned()));
            }
            let text = table.text("", width);
            prop_assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            for cell in rows.iter().flat_map(|row| &row[1..]).filter(|cell| cell.len() <= 16) {
                prop_assert!(text.contains(cell.as_str()), "{cell}: {text}");
            }
        }
    }
}
