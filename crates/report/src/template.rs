//! Templates, through which all text on a page or in XML passes.
//!
//! The name's extension, `.html` or `.xml`, enables escaping. Terminal control characters are
//! escaped even in values that were not cleaned.

use minijinja::{Environment, HtmlEscape, Value};

/// Longer parts of names may be broken.
const MAX_UNBROKEN: usize = 24;

/// Renders the first template; it may include the others.
pub(crate) fn fill(
    templates: &[(&'static str, &'static str)],
    values: Value,
) -> crate::Result<String> {
    let mut environment = Environment::new();
    environment.add_filter("breakable", |text: &str| Value::from_safe_string(breakable(text)));
    templates.iter().try_for_each(|(name, text)| environment.add_template(name, text))?;
    let (first, _) = templates.first().expect("a page has a template");
    Ok(crate::words::escape_file(environment.get_template(first)?.render(values)?))
}

/// Allows a line break after a colon of `bfq:low_latency=0:slice_idle=0`, but not within
/// `mq-deadline`. Hyphens of negative numbers become minus signs.
fn breakable(text: &str) -> String {
    text.split_inclusive([' ', ':']).fold(String::new(), |mut page, part| {
        if page.ends_with(':') && !part.starts_with(' ') {
            page.push_str("<wbr>");
        }
        let name = part.trim_end_matches([' ', ':']);
        let end = &part[name.len()..];
        let (bracket, number) = name.strip_prefix('[').map_or(("", name), |rest| ("[", rest));
        let is_negative = |digits: &&str| digits.starts_with(|c: char| c.is_ascii_digit());
        let shown = match number.strip_prefix('-').filter(is_negative) {
            Some(digits) => format!("{bracket}−{}", HtmlEscape(digits)),
            None if name.contains('-') && name.chars().count() <= MAX_UNBROKEN => {
                format!("<span class=\"unbroken\">{}</span>", HtmlEscape(name))
            }
            None => HtmlEscape(name).to_string(),
        };
        page + &shown + end
    })
}

/// Undoes [`breakable`].
#[cfg(test)]
pub(crate) fn with_plain_texts(page: &str) -> String {
    let page = page.replace("<wbr>", "");
    let mut parts = page.split("<span class=\"unbroken\">");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |page, part| page + &part.replacen("</span>", "", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_between_settings_and_never_within_a_name() {
        let text = "a: 1,234, use bfq:a_b=1:c=0 for mq-deadline:x-y=2.";
        assert_eq!(with_plain_texts(&breakable(text)), text);
        assert_eq!(
            breakable("use bfq:a_b=1:c=0 for mq-deadline"),
            "use bfq:<wbr>a_b=1:<wbr>c=0 for <span class=\"unbroken\">mq-deadline</span>"
        );
        assert_eq!(breakable("a -3 % [-4, -2]"), "a −3 % [−4, −2]");
        assert_eq!(breakable("<b>-x&\""), "<span class=\"unbroken\">&lt;b&gt;-x&amp;&quot;</span>");
        let long = "a-name-that-goes-on-and-on-without-any-blank";
        assert_eq!(breakable(long), long, "it may break anywhere");
    }
}
