//! Standalone figures; tables and a paragraph with hostile names.

use super::*;
use crate::fixture::Lab;

const HOSTILE: &str = "bfq_1 & 50% {\\input{/etc/passwd}} [@evil] <script>";

fn text<'a>(files: &'a [(&'static str, String)], name: &str) -> &'a str {
    &files.iter().find(|(file, _)| *file == name).expect("it is made").1
}

#[test]
fn figures_are_whole_files_with_fixed_colours() {
    let lab = Lab::typical().renamed("bfq", HOSTILE);
    let figures = files(&lab.analysis, Some(&lab.evidence())).expect("they are drawn").figures;
    let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names[..4],
        ["1-oltp-effects", "1-oltp-trials", "1-oltp-drift", "1-oltp-latency-all"],
        "{names:?}"
    );
    for (name, svg) in &figures {
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\""), "{name}");
        assert!(
            !svg.contains("var(") && !svg.contains("<script") && svg.trim_end().ends_with("</svg>"),
            "{name}"
        );
    }
    assert_eq!(file_name(0, "../../etc/passwd"), "1-etc-passwd");
    assert_eq!(file_name(1, "\u{e9}"), "workload-2");
}

#[test]
fn the_tables_and_the_paragraph_read_well() {
    let lab = Lab::typical();
    let made = files(&lab.analysis, Some(&lab.evidence())).expect("they are made").texts;
    insta::assert_snapshot!(
        ["table.tex", "methods.md", "methods.tex", "references.bib"]
            .map(|name| text(&made, name))
            .join("\n----\n")
    );
}

#[test]
fn a_name_is_text_in_latex_and_in_markdown() {
    let lab = Lab::typical().renamed("bfq", HOSTILE);
    let made = files(&lab.analysis, Some(&lab.evidence())).expect("they are made").texts;
    let table = text(&made, "table.tex");
    assert!(
        table.contains("bfq\\_1 \\& 50\\% \\{\\textbackslash{}input\\{/etc/passwd\\}\\}"),
        "{table}"
    );
    assert!(!table.contains("\\input"), "{table}");
    let columns = |row: &str| row.replace("\\&", "").matches('&').count();
    assert!(
        table
            .lines()
            .filter(|row| row.ends_with("\\\\") && row.contains(" & "))
            .all(|row| columns(row) == 5)
    );
    for name in ["table.md", "methods.md"] {
        assert!(
            text(&made, name).contains("\\[@\u{200b}evil\\] &lt;script&gt;"),
            "{}",
            text(&made, name)
        );
    }
    for name in ["table.tex", "methods.tex"] {
        let text = text(&made, name);
        assert!(
            text.contains("[@evil]") && !text.contains("cite{evil") && !text.contains("\\input"),
            "{text}"
        );
    }
}

#[test]
fn what_is_cited_is_among_the_references_and_nothing_else() {
    let mut lab = Lab::typical();
    for method in [Method::Spending, Method::Anytime, Method::Fixed, Method::ThreeSigma] {
        lab.analysis.criteria.method = method;
        let made = files(&lab.analysis, Some(&lab.evidence())).expect("they are made").texts;
        let (said, references) = (text(&made, "methods.md"), text(&made, "references.bib"));
        for key in
            said.split("@").skip(1).map(|rest| rest.split([']', ';']).next().unwrap_or_default())
        {
            assert!(references.contains(&format!("{{{key},")), "{key}");
            assert!(text(&made, "methods.tex").contains(key));
        }
        assert!(!text(&made, "methods.tex").contains("[@"));
        for key in
            references.split("\n@").map(|entry| entry.split(['{', ',']).nth(1).unwrap_or_default())
        {
            assert!(said.contains(&format!("@{key}")), "{key} is not cited");
        }
    }
    let Paper { texts: made, figures } = files(&lab.analysis, None).expect("a table has them, too");
    assert!(
        text(&made, "methods.md").contains("made elsewhere") && figures.len() == 3,
        "{}",
        figures.len()
    );
}
