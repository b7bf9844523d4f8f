//! Udev rules that write the same attributes.

use std::cmp::Ordering;
use std::path::PathBuf;

use super::conflict::{Conflict, Precedence, Question, drop_in_files, lines};
use super::pattern::matches;
use crate::root::Root;

/// Highest precedence first.
const DIRS: [&str; 5] = [
    "/etc/udev/rules.d",
    "/run/udev/rules.d",
    "/usr/local/lib/udev/rules.d",
    "/usr/lib/udev/rules.d",
    "/lib/udev/rules.d",
];

/// Appears in our own file names.
const OWN_MARK: &str = "-schedlab-";

/// `KEY{attribute} OPERATOR "value"`.
#[derive(Debug, PartialEq, Eq)]
struct Token {
    key: String,
    operator: String,
    value: String,
}

pub(super) fn find(root: &Root, question: &Question<'_>) -> Vec<Conflict> {
    let files = drop_in_files(root, &DIRS, ".rules");
    files
        .iter()
        .filter(|path| !path.contains(OWN_MARK))
        .flat_map(|path| in_file(root, question, path))
        .collect()
}

fn in_file(root: &Root, question: &Question<'_>, path: &str) -> Vec<Conflict> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let mut found = Vec::new();
    // `ACTION!="add", GOTO="end"` at the top of a file applies to all its rules.
    let mut whole_file = None;
    for (number, rule) in join_lines(lines(root, path)) {
        let tokens = tokens(&rule);
        if let [Token { key, operator, value }, Token { key: goto, .. }] = &tokens[..]
            && (key.as_str(), operator.as_str(), goto.as_str()) == ("ACTION", "!=", "GOTO")
        {
            whole_file = Some(value.clone());
            continue;
        }
        let writes = tokens.iter().any(|token| is_conflict(question, token));
        if !writes || tokens.iter().any(|token| certainly_fails(root, question.device, token)) {
            continue;
        }
        let of_rule = tokens
            .iter()
            .find(|token| token.key == "ACTION" && token.operator == "==")
            .map(|t| t.value.clone());
        let answers = |action: &str| {
            [&of_rule, &whole_file].into_iter().flatten().all(|pattern| matches(pattern, action))
        };
        let order = match name.cmp(question.rule) {
            Ordering::Greater if answers("add") || answers("change") => Precedence::After,
            _ if answers("change") && !question.insists => Precedence::AtChanges,
            _ if answers("add") || answers("change") => Precedence::Before,
            _ => continue,
        };
        let is_package = path.starts_with("/usr") || path.starts_with("/lib");
        let away = if is_package {
            format!(
                "mask it with an empty /etc/udev/rules.d/{name}, or copy it there without this line"
            )
        } else {
            "remove the line".to_string()
        };
        let advice = match order {
            Precedence::AtChanges => format!("{away}, or persist with --insist"),
            Precedence::After => away,
            _ => String::new(),
        };
        found.push(Conflict {
            program: "udev",
            file: PathBuf::from(path),
            line: Some(number),
            writes: rule,
            order,
            advice,
        });
    }
    found
}

/// Joins continued lines, drops comments and empty lines.
fn join_lines(lines: Vec<(usize, String)>) -> Vec<(usize, String)> {
    let mut rules: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (number, line) in lines {
        if line.starts_with('#') || (line.is_empty() && !goes_on) {
            continue;
        }
        let (text, continued) = match line.strip_suffix('\\') {
            Some(text) => (text.trim_end(), true),
            None => (line.as_str(), false),
        };
        match rules.last_mut().filter(|_| goes_on) {
            Some((_, rule)) => {
                rule.push(' ');
                rule.push_str(text);
            }
            None => rules.push((number, text.to_string())),
        }
        goes_on = continued;
    }
    rules
}

fn tokens(rule: &str) -> Vec<Token> {
    let mut all = Vec::new();
    let mut rest = rule;
    while let Some(at) = rest.find(['=', '!', '+', '-', ':']) {
        // A key's braces may contain an operator character: `ATTR{a-b}`.
        let at = match rest[..at].rfind('{') {
            Some(open) if !rest[open..at].contains('}') => match rest.find('}') {
                Some(close) => {
                    close + 1 + rest[close + 1..].find(['=', '!', '+', '-', ':']).unwrap_or(0)
                }
                None => break,
            },
            _ => at,
        };
        let Some(quote) = rest[at..].find('"').map(|offset| at + offset) else { break };
        let operator = rest[at..quote].trim_end_matches(['e', 'i']).trim().to_string();
        let body = &rest[quote + 1..];
        let mut escaped = false;
        let end = body.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let Some(end) = end else { break };
        let key = rest[..at].trim_matches([',', ' ', '\t']).to_string();
        all.push(Token { key, operator, value: body[..end].to_string() });
        rest = &body[end + 1..];
    }
    all
}

fn is_conflict(question: &Question<'_>, token: &Token) -> bool {
    if token.operator.ends_with("==") || token.operator == "!=" {
        return false;
    }
    match token.key.strip_prefix("ATTR{").and_then(|key| key.strip_suffix('}')) {
        Some(path) => question.is_named_in(path),
        None => {
            ["RUN", "PROGRAM"].iter().any(|key| token.key.starts_with(key))
                && question.is_named_in(&token.value)
        }
    }
}

/// Whether a condition fails, as far as can be known without udev.
fn certainly_fails(root: &Root, device: &str, token: &Token) -> bool {
    let found = match token.key.as_str() {
        "KERNEL" => device.to_string(),
        "SUBSYSTEM" => "block".to_string(),
        "ENV{DEVTYPE}" => "disk".to_string(),
        key => {
            let path = key.strip_prefix("ATTR{").and_then(|key| key.strip_suffix('}'));
            let Some(text) =
                path.and_then(|path| root.read_optional(root.sys("block").join(device).join(path)))
            else {
                return false;
            };
            text
        }
    };
    match token.operator.as_str() {
        "==" => !matches(&token.value, &found),
        "!=" => matches(&token.value, &found),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_read_into_keys_operators_and_values() {
        let read = tokens(
            r#"ACTION=="add|change", KERNEL!="a=b" ,ATTR{queue/x-y}="say \"no\"", RUN+="/bin/sh -c 'x=1'", ENV{A}:=e"z""#,
        );
        let words: Vec<(&str, &str, &str)> =
            read.iter().map(|t| (t.key.as_str(), t.operator.as_str(), t.value.as_str())).collect();
        assert_eq!(
            words,
            [
                ("ACTION", "==", "add|change"),
                ("KERNEL", "!=", "a=b"),
                ("ATTR{queue/x-y}", "=", "say \\\"no\\\""),
                ("RUN", "+=", "/bin/sh -c 'x=1'"),
                ("ENV{A}", ":=", "z"),
            ]
        );
    }

    #[test]
    fn a_rule_over_several_lines_has_the_number_of_its_first() {
        let text = ["# c", "", "A==\"1\", \\", "  # in between", "B=\"2\"", "C=\"3\""];
        let numbered =
            text.iter().enumerate().map(|(i, l)| (i + 1, l.trim().to_string())).collect();
        assert_eq!(
            join_lines(numbered),
            [(3, "A==\"1\", B=\"2\"".to_string()), (6, "C=\"3\"".to_string())]
        );
    }
}
