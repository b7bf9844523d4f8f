//! Guarantees of each format for hostile names, checked with a parser of the format.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use experiment::plan::Plan;
use pulldown_cmark::{Event, Options, Parser, Tag};
use text::controls_terminal;

use super::writers::MARK;
use crate::common::PYTHON;

/// File formats, and the role of a name in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Text and attribute values; no elements, attributes or comments from the name.
    Html,
    Svg,
    JUnit,
    /// Text: no element, link, image, heading, list or cell.
    Markdown,
    /// Text: no command, special character or citation.
    Latex,
    /// Has no names.
    Bibtex,
    /// A cell that no spreadsheet evaluates.
    Csv,
    /// A string without terminal control characters.
    Json,
    JsonLines,
    Toml,
    /// A plan that schedlab can read.
    Plan,
    OpenMetrics,
    /// One GitHub command per line; the name does not end a property.
    Annotations,
    /// Length-prefixed columns.
    Parquet,
    Perfetto,
    Pdf,
    /// A word in a line.
    Blkparse,
    Iolog,
    /// A line of a unit, rule or module list.
    Unit,
}

type Check = Result<(), String>;

impl Format {
    /// Returns whether the file contains the hostile name as text.
    pub(crate) fn check(self, path: &Path) -> Result<bool, String> {
        let bytes = fs::read(path).map_err(|e| e.to_string())?;
        match self {
            Format::Parquet => return magic(&bytes, b"PAR1"),
            Format::Pdf => return magic(&bytes, b"%PDF"),
            Format::Perfetto => return magic(&bytes, b"\n"),
            _ => {}
        }
        let text = String::from_utf8(bytes).map_err(|e| e.to_string())?;
        if let Some(c) = text.chars().find(|c| controls_terminal(*c)) {
            return Err(format!("steers a terminal by {c:?}"));
        }
        match self {
            Format::Html => check_html(path)?,
            Format::Svg => check_elements(
                &text,
                &[
                    "svg", "style", "g", "rect", "text", "line", "polyline", "polygon", "circle",
                    "path",
                ],
            )?,
            Format::JUnit => check_elements(
                &text,
                &[
                    "testsuites",
                    "testsuite",
                    "properties",
                    "property",
                    "testcase",
                    "failure",
                    "error",
                    "skipped",
                    "system-out",
                ],
            )?,
            Format::Markdown => check_markdown(&text)?,
            Format::Latex => check_latex(&text)?,
            Format::Bibtex if text.contains(MARK) => return Err("has a name".to_owned()),
            Format::Bibtex => {}
            Format::Csv => check_csv(&text)?,
            Format::Json => check_json(&text)?,
            Format::JsonLines => text.lines().try_for_each(check_json)?,
            Format::Toml => drop(text.parse::<toml::Table>().map_err(|e| e.to_string())?),
            Format::Plan => drop(Plan::from_toml(&text).map_err(|e| e.to_string())?),
            Format::OpenMetrics => text.lines().try_for_each(check_sample)?,
            Format::Annotations => text.lines().try_for_each(check_annotation)?,
            Format::Blkparse => check_lines(&text, |line| {
                line.split_whitespace().next().is_some_and(|word| word.contains(','))
            })?,
            Format::Iolog => check_lines(&text, |line| {
                line.starts_with("fio version") || line.split_whitespace().count() >= 2
            })?,
            Format::Parquet | Format::Pdf | Format::Perfetto | Format::Unit => {
                unreachable!("read above, or elsewhere")
            }
        }
        Ok(text.contains(MARK))
    }
}

fn magic(bytes: &[u8], head: &[u8]) -> Result<bool, String> {
    if bytes.starts_with(head) { Ok(false) } else { Err(format!("does not begin with {head:?}")) }
}

/// Prints markup of a page that is not in our templates.
const PAGE: &str = include_str!("page.py");

fn check_html(path: &Path) -> Check {
    let output = Command::new(PYTHON)
        .args(["-I", "-c", PAGE])
        .arg(path)
        .output()
        .map_err(|e| e.to_string())?;
    let (found, error) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if found.is_empty() && error.is_empty() { Ok(()) } else { Err(format!("{found}{error}")) }
}

fn check_elements(text: &str, known: &[&str]) -> Check {
    let document = roxmltree::Document::parse(text).map_err(|e| e.to_string())?;
    for node in document.descendants() {
        let is_known = !node.is_element() || known.contains(&node.tag_name().name());
        let event = node.attributes().find(|attribute| {
            attribute.name().starts_with("on") || attribute.name().contains("href")
        });
        let is_foreign_style = node.has_tag_name(("http://www.w3.org/2000/svg", "style"))
            && !is_dark_form(node.text().unwrap_or_default());
        if !is_known || is_foreign_style || node.is_comment() || node.is_pi() || event.is_some() {
            return Err(format!("{node:?} {event:?}"));
        }
    }
    Ok(())
}

/// They load nothing and contain no name.
fn is_dark_form(style: &str) -> bool {
    let loads = ["url", "@import", "\\", MARK];
    style.starts_with("@media (prefers-color-scheme: dark){")
        && !loads.iter().any(|word| style.contains(word))
}

fn is_fold(html: &str) -> bool {
    let rest = html
        .trim()
        .replace("<details>", "")
        .replace("</details>", "")
        .replace("<summary>", "")
        .replace("</summary>", "");
    !rest.contains(['<', '>'])
}

fn check_markdown(text: &str) -> Check {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_MATH
        | Options::ENABLE_FOOTNOTES;
    let (mut prose, mut is_code) = (String::new(), false);
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                return Err(format!("link to {dest_url}"));
            }
            Event::Start(Tag::Emphasis | Tag::Strikethrough) => {
                return Err("a mark of a name's".to_owned());
            }
            Event::Code(code) => return Err(format!("code of a name's: {code}")),
            Event::InlineMath(math) | Event::DisplayMath(math) => {
                return Err(format!("mathematics: {math}"));
            }
            Event::Html(html) | Event::InlineHtml(html) if !is_fold(&html) => {
                return Err(format!("element: {html}"));
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                if !matches!(&kind, pulldown_cmark::CodeBlockKind::Fenced(name) if ["sh", "toml"].contains(&&**name))
                {
                    return Err("an indented name is code".to_owned());
                }
                is_code = true;
            }
            Event::End(pulldown_cmark::TagEnd::CodeBlock) => is_code = false,
            Event::Text(text) if !is_code => prose.push_str(&text),
            _ => {}
        }
    }
    // Text that parsers turn into a link, a mention or a citation.
    for mark in ["http://", "https://", "www.", "@all", "@evil"] {
        if prose.contains(mark) {
            return Err(format!("{mark} in {prose}"));
        }
    }
    // Parsers silently drop surplus cells.
    let bars = |line: &str| line.replace("\\\\", "").replace("\\|", "").matches('|').count();
    let mut wanted = 0;
    for line in text.lines().filter(|line| !line.starts_with("```")) {
        wanted = if !line.starts_with('|') {
            0
        } else if wanted == 0 {
            bars(line)
        } else {
            wanted
        };
        if line.starts_with('|') && bars(line) != wanted {
            return Err(format!("a cell of a name's: {line}"));
        }
    }
    Ok(())
}

const COMMANDS: &str = "usepackage begin end centering toprule midrule bottomrule multicolumn emph caption label cite pm times div infty mu \
                        textbackslash textasciitilde textasciicircum textless textgreater";

fn check_latex(text: &str) -> Check {
    let known: BTreeSet<&str> = COMMANDS.split_whitespace().collect();
    let (mut depth, mut rest) = (0_i32, text);
    while let Some(at) = rest.find(['\\', '{', '}', '$', '%', '#', '^', '~', '_']) {
        let (c, after) = (rest.as_bytes()[at], &rest[at + 1..]);
        let (skip, special) = match c {
            b'\\' => {
                let word: String = after.chars().take_while(char::is_ascii_alphabetic).collect();
                let sign = after.chars().next().unwrap_or(' ');
                if word.is_empty() && !"\\&%$#_{} ".contains(sign)
                    || !word.is_empty() && !known.contains(word.as_str())
                {
                    return Err(format!("command \\{word}{sign}"));
                }
                if word == "cite" {
                    let keys = after.split(['{', '}']).nth(1).unwrap_or_default();
                    if keys.contains("evil") {
                        return Err(format!("cites {keys}"));
                    }
                }
                if word.is_empty()
                    && sign == '\\'
                    && after[1..].trim_start().starts_with(['[', '*'])
                {
                    return Err("an argument of the end of a row".to_owned());
                }
                (word.len().max(1), false)
            }
            b'{' => {
                depth += 1;
                (0, false)
            }
            b'}' => {
                depth -= 1;
                (0, depth < 0)
            }
            // A symbol between dollars, and the required package.
            b'$' => (
                after.find('$').map_or(0, |end| end + 1),
                !after.starts_with("\\") && !after.starts_with("-$"),
            ),
            b'%' => (0, !after.starts_with(" \\usepackage{booktabs}")),
            _ => (0, true),
        };
        if special {
            return Err(format!("{}: special", &rest[at..rest.len().min(at + 20)]));
        }
        rest = &after[skip..];
    }
    let columns = |row: &str| row.replace("\\&", "").matches('&').count();
    let rows = text.lines().filter(|line| line.ends_with("\\\\") && !line.contains("multicolumn"));
    match rows.map(columns).find(|columns| *columns != 5) {
        Some(columns) => Err(format!("a row has {columns} of 5 separators")),
        None if depth != 0 => Err("braces are not closed".to_owned()),
        None => Ok(()),
    }
}

fn check_csv(text: &str) -> Check {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    for row in reader.records() {
        let row = row.map_err(|e| e.to_string())?;
        let is_formula = |cell: &&str| {
            cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && cell.parse::<f64>().is_err()
        };
        if let Some(cell) = row.iter().find(is_formula) {
            return Err(format!("formula: {cell}"));
        }
    }
    Ok(())
}

fn check_json(text: &str) -> Check {
    serde_json::from_str::<serde_json::Value>(text).map(drop).map_err(|e| e.to_string())
}

fn check_sample(line: &str) -> Check {
    let wrong = || format!("no sample: {line}");
    if line == "# EOF"
        || line.starts_with("# HELP schedlab_")
        || line.starts_with("# TYPE schedlab_")
    {
        return Ok(());
    }
    let (name, mut rest) = line.split_once('{').ok_or_else(wrong)?;
    let is_word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    if !name.starts_with("schedlab_") || !is_word(name) {
        return Err(wrong());
    }
    loop {
        let (label, value) = rest.split_once("=\"").ok_or_else(wrong)?;
        if !is_word(label) {
            return Err(wrong());
        }
        let mut escapes = false;
        let end = value.bytes().position(|b| {
            let ends = b == b'"' && !escapes;
            escapes = b == b'\\' && !escapes;
            ends
        });
        rest = &value[end.ok_or_else(wrong)? + 1..];
        match rest.strip_prefix(',') {
            Some(next) => rest = next,
            None => break,
        }
    }
    let number = rest.strip_prefix("} ").ok_or_else(wrong)?;
    number.parse::<f64>().map(drop).map_err(|_| wrong())
}

/// Rejects commands that are not ours.
fn check_annotation(line: &str) -> Check {
    let Some(command) = line.trim_start().strip_prefix("::") else {
        return if line.contains("##[") { Err(format!("command: {line}")) } else { Ok(()) };
    };
    let (head, _) = command.split_once("::").ok_or_else(|| format!("no command: {line}"))?;
    let ours = ["error title=schedlab", "warning title=schedlab", "notice title=schedlab"];
    if ours.iter().any(|ours| head.starts_with(ours)) && !head.contains(',') {
        Ok(())
    } else {
        Err(format!("command of a name's: {line}"))
    }
}

fn check_lines(text: &str, is_line: impl Fn(&str) -> bool) -> Check {
    text.lines()
        .find(|line| !is_line(line))
        .map_or(Ok(()), |line| Err(format!("line of a name's: {line}")))
}
