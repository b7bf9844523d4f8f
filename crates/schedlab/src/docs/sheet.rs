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

/// Long forms of values, and the words that a table has for them.
const SHORT: &[(&str, &str)] = &[
    ("a whole number, at least ", "≥ "),
    ("a whole number from ", ""),
    ("a whole number, e.g. 8", "number"),
    ("a whole number", "number"),
    ("a size a second like 512k, 10M (binary multiples; a bare number is bytes)", "size/s"),
    ("a size like 512, 4k, 512M, 2G (binary multiples; a bare number is bytes)", "size"),
    ("a size, at least ", "size ≥ "),
    ("a size from ", ""),
    (", e.g. 64k or 1G", ""),
    ("a size", "size"),
    ("a time, e.g. 500ms, 10s or 5min", "time"),
    ("a time from ", ""),
    ("a duration with its unit, like 50us, 10ms, 2s (or 0)", "time, 0"),
    ("a duration with its unit, like 500ms, 2s", "time"),
    ("a duration with its unit, like 500us, 20ms", "time"),
    ("a duration like 250ms, 60s, 5m", "time"),
    ("a percentage from 0 to 100, like 50 or 50%", "percent"),
    ("a factor from 0.001 to 1000, like 2 or 0.5", "0.001 to 1000"),
    ("the name of a trace's file (none: not given)", "none, path"),
    ("a file's path", "path"),
    (" with at most two decimals", ", two decimals"),
    (", or ", ", "),
    ("true or false", "true, false"),
];

/// A value's form in a few words; sizes and times are explained above the table.
pub(super) fn short_form(words: &str) -> String {
    SHORT.iter().fold(words.to_owned(), |words, (long, short)| words.replace(long, short))
}

#[test]
fn short_forms_keep_bounds_and_words() {
    let short = |form: text::Form| short_form(&form.words());
    assert_eq!(short(text::Form::Whole(1, 64)), "1 to 64");
    assert_eq!(short(text::Form::Whole(1, u64::MAX)), "≥ 1");
    assert_eq!(short(text::Form::NUMBER), "number");
    assert_eq!(short(text::Form::Size(4096, 1 << 30)), "4k to 1G");
    assert_eq!(short(text::Form::Size(512, u64::MAX)), "size ≥ 512");
    assert_eq!(short(text::Form::TIME), "time");
    assert_eq!(short(text::Form::Words(&["auto", "kernel", "off"])), "auto, kernel, off");
    let forms = sim::workload::WORKLOADS.iter().flat_map(|kind| kind.describe().params);
    for form in forms.map(|param| short_form(param.form)) {
        let is_long = ["a ", "like", "e.g."].iter().any(|word| form.starts_with(word));
        assert!(!is_long, "{form}: give it a short form");
    }
}

#[test]
fn cells_are_escaped_and_empty_columns_are_left_out() {
    let mut sheet = Sheet::new("T", "One.");
    sheet.table(["a", "b", "c"], [["`x|<y>`".to_owned(), String::new(), "<z>".to_owned()]]);
    let text = sheet.finish();
    assert!(text.ends_with("\n| a | c |\n|---|---|\n| `x\\|<y>` | &lt;z> |\n"), "{text}");
}
