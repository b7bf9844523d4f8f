//! Builds a reference page in Markdown.

use std::fmt::Write as _;

pub(super) struct Sheet(String);

impl Sheet {
    pub(super) fn new(title: &str, introduction: &str) -> Sheet {
        let note =
            "<!-- generated from the program's tables: `make docs` writes this page anew -->";
        Sheet(format!("# {title}\n\n{note}\n\n{}\n", introduction.trim()))
    }

    pub(super) fn section(&mut self, title: &str) -> &mut Sheet {
        self.line(format_args!("\n## {title}"))
    }

    pub(super) fn subsection(&mut self, title: &str) -> &mut Sheet {
        self.line(format_args!("\n### {title}"))
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Sheet {
        self.line(format_args!("\n{}", text.trim()))
    }

    pub(super) fn list(&mut self, items: &[&str]) -> &mut Sheet {
        let items: Vec<String> = items.iter().map(|item| format!("- {item}")).collect();
        self.text(&items.join("\n"))
    }

    pub(super) fn code_block(&mut self, language: &str, text: &str) -> &mut Sheet {
        self.line(format_args!("\n```{language}\n{}\n```", text.trim_end()))
    }

    /// Omits empty columns.
    pub(super) fn table<const N: usize>(
        &mut self,
        header: [&str; N],
        rows: impl IntoIterator<Item = [String; N]>,
    ) -> &mut Sheet {
        let rows: Vec<[String; N]> = rows.into_iter().collect();
        let used: Vec<usize> =
            (0..N).filter(|column| rows.iter().any(|row| !row[*column].is_empty())).collect();
        let line = |cells: &[String; N]| {
            used.iter().map(|column| format!(" {} |", cell(&cells[*column]))).collect::<String>()
        };
        self.line(format_args!("\n|{}", line(&header.map(str::to_owned))));
        self.line(format_args!("|{}", "---|".repeat(used.len())));
        for row in &rows {
            self.line(format_args!("|{}", line(row)));
        }
        self
    }

    pub(super) fn finish(self) -> String {
        self.0
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) -> &mut Sheet {
        writeln!(self.0, "{text}").expect("a string takes all");
        self
    }
}

/// Bars separate cells, and angle brackets outside code would be HTML.
fn cell(text: &str) -> String {
    let mut escaped = String::new();
    let mut code = false;
    for c in text.replace('\n', " ").chars() {
        match c {
            '|' => escaped.push_str("\\|"),
            '<' if !code => escaped.push_str("&lt;"),
            c => {
                code ^= c == '`';
                escaped.push(c);
            }
        }
    }
    escaped
}

pub(super) fn code(name: impl std::fmt::Display) -> String {
    let name = name.to_string();
    if name.is_empty() { name } else { format!("`{name}`") }
}

pub(super) fn yes(condition: bool) -> String {
    if condition { "yes" } else { "no" }.to_owned()
}

/// Bounds such as `2^31 - 1` mean no limit.
pub(super) fn range(min: impl std::fmt::Display, max: u64) -> String {
    match max {
        max if max >= u64::from(u32::MAX) || max == i32::MAX as u64 => format!("≥ {min}"),
        max => format!("{min} to {max}"),
    }
}

#[test]
fn cells_are_escaped_and_empty_columns_are_left_out() {
    let mut sheet = Sheet::new("T", "One.");
    sheet.table(["a", "b", "c"], [["`x|<y>`".to_owned(), String::new(), "<z>".to_owned()]]);
    let text = sheet.finish();
    assert!(text.ends_with("\n| a | c |\n|---|---|\n| `x\\|<y>` | &lt;z> |\n"), "{text}");
}
