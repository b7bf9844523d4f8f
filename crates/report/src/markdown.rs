//! report.md: the report as Markdown that can be pasted into an issue.
//!
//! Same content as the web page, without plots. External text must not become markup.

use std::fmt::Write;

use experiment::analysis::{Analysis, Comparison};

use super::invalid::InvalidGroup;
use super::page::Page;
use super::sweep::{self, SweepView};
use super::view::{self, MetricView, WorkloadView};
use super::{answer, number, verdict, words};

pub(crate) fn render(page: &Page<'_>) -> crate::Result<String> {
    let analysis = page.analysis;
    let mut out = String::new();
    line(&mut out, &format!("# {}\n", escaped(&page.title)));
    line(&mut out, &format!("**{}**\n", escaped(&answer::headline(analysis))));
    if !page.about.is_empty() {
        line(
            &mut out,
            &format!(
                "{}\n",
                page.about.iter().map(|text| escaped(text)).collect::<Vec<_>>().join(" · ")
            ),
        );
    }
    for (workload, text) in &page.advice {
        line(&mut out, &format!("- **{}**: {}", escaped(workload), escaped(&text.to_string())));
    }
    if let Some(next) = &page.next {
        line(&mut out, &format!("\n{}", paragraph(next)));
    }
    for workload in &page.workloads {
        section(&mut out, analysis, workload);
    }
    for table in &page.tables {
        line(&mut out, &format!("\n## {}\n", escaped(&table.title)));
        let head: Vec<String> = table.head.iter().map(|head| escaped(head)).collect();
        line(&mut out, &format!("| | {} |\n|---|{}", head.join(" | "), "--:|".repeat(head.len())));
        for (name, texts) in &table.rows {
            let texts: Vec<String> = texts.iter().map(|text| escaped(text)).collect();
            line(&mut out, &format!("| {} | {} |", escaped(name), texts.join(" | ")));
        }
    }
    warnings(&mut out, page);
    if !page.invalid.is_empty() {
        line(&mut out, "\n## Invalid trials\n");
        invalid_trials(&mut out, &page.invalid);
    }
    if !page.thin.is_empty() {
        let summary = page
            .thin_summary
            .as_deref()
            .unwrap_or("Some percentiles of some trials have too few requests");
        line(&mut out, &format!("\n<details><summary>{summary}</summary>\n"));
        invalid_trials(&mut out, &page.thin);
        line(&mut out, "\n</details>");
    }
    all_metrics(&mut out, &page.workloads);
    line(&mut out, "\n## Method\n");
    for sentence in page.method {
        line(&mut out, sentence);
    }
    line(&mut out, &format!("Here: {}.", page.rules));
    if let Some(unconfirmed) = &page.unconfirmed {
        line(&mut out, &paragraph(unconfirmed));
    }
    if let Some(overhead) = &page.overhead {
        line(&mut out, overhead);
    }
    experiment_section(&mut out, page);
    Ok(out)
}

fn section(out: &mut String, analysis: &Analysis, workload: &WorkloadView<'_>) {
    for metric in workload.metrics.iter().filter(|metric| metric.primary) {
        let place = words::name_of(workload.name)
            .map(|place| format!("{}: ", escaped(&place)))
            .unwrap_or_default();
        line(out, &format!("\n## {place}{}, {}\n", escaped(&metric.label), metric.good()));
        let sweep = sweep::of(analysis, workload.name, metric);
        if let Some(sweep) = &sweep {
            line(out, "What each tunable does:\n");
            for (tunable, text) in &sweep.lines {
                line(out, &format!("- **{}**: {}", escaped(tunable), escaped(text)));
            }
            line(out, "");
            before_and_after(out, sweep, metric);
            line(out, "");
        }
        if sweep.is_some_and(|sweep| sweep.complete) {
            continue;
        }
        line(
            out,
            &format!(
                "| variant | {} | change | interval | verdict | rounds |",
                metric.centre_head()
            ),
        );
        line(out, "|---|--:|--:|--:|---|--:|");
        for row in &metric.rows {
            let (change, interval, verdict) = match row.comparison {
                Some(comparison) => (
                    number::estimate(comparison).unwrap_or_else(|| "no evidence".into()),
                    if comparison.ratio.is_some() {
                        number::interval(comparison)
                    } else {
                        String::new()
                    },
                    verdict(comparison),
                ),
                None => Default::default(),
            };
            let (name, rounds) = (escaped(&row.name(metric)), row.rounds());
            let own = row
                .own_baseline(metric)
                .map(|own| format!(" (baseline {own})"))
                .unwrap_or_default();
            let centre = escaped(&(row.centre_with_unit(metric) + &own));
            cells(out, &[&name, &centre, &change, &interval, &verdict, &rounds]);
        }
    }
}

fn before_and_after(out: &mut String, sweep: &SweepView<'_>, metric: &MetricView<'_>) {
    let unit = if metric.scale.unit.is_empty() {
        String::new()
    } else {
        format!(" ({})", escaped(&metric.scale.unit))
    };
    line(
        out,
        &format!(
            "| tunable | default | tried | before{unit} | after{unit} | change | interval | verdict | rounds |"
        ),
    );
    line(out, "|---|--:|--:|--:|--:|--:|--:|---|--:|");
    for row in &sweep.rows {
        let interval = if row.comparison.ratio.is_some() {
            number::interval(row.comparison)
        } else {
            String::new()
        };
        let change = number::estimate(row.comparison).unwrap_or_else(|| "no evidence".into());
        let (tunable, default, tried) =
            (escaped(&row.tunable), escaped(&row.default), escaped(&row.tried));
        let (verdict, rounds) = (verdict(row.comparison), row.comparison.rounds.to_string());
        cells(
            out,
            &[
                &tunable,
                &default,
                &tried,
                &row.before,
                &row.after,
                &change,
                &interval,
                &verdict,
                &rounds,
            ],
        );
    }
}

/// `? **inconclusive**; about 23 more rounds would probably decide it`.
fn verdict(comparison: &Comparison) -> String {
    let more =
        view::more_rounds_clause(comparison).map(|more| format!("; {more}")).unwrap_or_default();
    format!("{} **{}**{more}", verdict::sign(comparison.verdict), verdict::word(comparison.verdict))
}

fn warnings(out: &mut String, page: &Page<'_>) {
    let mut found = Vec::new();
    for remark in page.remarks(&page.workloads) {
        let invalid = if remark.invalid { "**INVALID** " } else { "" };
        found.push(format!("- {invalid}{}: {}", escaped(&remark.about), escaped(&remark.text)));
    }
    found.extend(
        page.cautions().iter().map(|caution| format!("- **Caution:** {}", escaped(caution))),
    );
    if !found.is_empty() {
        line(out, "\n## Warnings\n");
        found.iter().for_each(|text| line(out, text));
    }
}

fn invalid_trials(out: &mut String, groups: &[InvalidGroup<'_>]) {
    line(out, "| workload | variant | rounds | trials | reason |\n|---|---|---|--:|---|");
    for group in groups {
        let (workload, variant) = (escaped(group.workload), escaped(group.variant));
        let reason = escaped(&group.reason.to_string());
        cells(out, &[&workload, &variant, &group.rounds, &group.count.to_string(), &reason]);
    }
}

fn all_metrics(out: &mut String, workloads: &[WorkloadView<'_>]) {
    line(out, "\n<details><summary>All metrics</summary>");
    for workload in workloads {
        let heading = words::name_of(workload.name)
            .map(|place| format!("### {}\n", escaped(&place)))
            .unwrap_or_default();
        line(out, &format!("\n{heading}"));
        line(
            out,
            "| metric | variant | n | median | mean | ± sd | sd/mean | outliers | geom. mean | change | verdict |",
        );
        line(out, "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|");
        workload.metrics.iter().for_each(|metric| metric_rows(out, metric));
    }
    line(out, "\n</details>");
}

fn metric_rows(out: &mut String, metric: &MetricView<'_>) {
    for row in &metric.rows {
        let blank = || "-".to_string();
        let of = |f: &dyn Fn(&experiment::analysis::Summary) -> String| {
            row.summary.map_or_else(blank, f)
        };
        let texts = [
            escaped(&metric.label),
            escaped(&row.name(metric)),
            of(&|s| s.n.to_string()),
            of(&|s| escaped(&metric.scale.with_unit(s.median))),
            of(&|s| metric.scale.bare(s.mean)),
            of(&|s| s.sd.map_or_else(blank, |sd| metric.scale.bare(sd))),
            of(&|s| s.cv_percent.map_or_else(blank, |cv| format!("{} %", number::significant(cv)))),
            of(&|s| s.outliers.to_string()),
            escaped(&view::beside_change(metric, row)),
            row.comparison.map_or_else(String::new, number::effect),
            row.comparison.map_or("", |comparison| verdict::word(comparison.verdict)).to_owned(),
        ];
        cells(out, &texts.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

fn experiment_section(out: &mut String, page: &Page<'_>) {
    line(out, "\n## Experiment\n\n| | |\n|---|---|");
    for (name, value) in &page.facts {
        cells(out, &[name, &escaped(value)]);
    }
    let (Some(evidence), Some(command), Some(plan)) = (&page.evidence, page.command(), page.plan())
    else {
        return;
    };
    line(out, "\nTo repeat it:\n");
    fenced(out, "sh", &command);
    line(out, "\n<details><summary>Environment</summary>\n\n| | | |\n|---|---|---|");
    for (section, facts) in &evidence.header.environment {
        for (name, value) in facts {
            cells(out, &[&escaped(section), &escaped(name), &escaped(&words::or_none(value))]);
        }
    }
    line(out, "\n</details>\n\n<details><summary>Plan</summary>\n");
    fenced(out, "toml", plan.trim_end());
    line(out, "\n</details>");
}

fn line(out: &mut String, text: &str) {
    let _ = writeln!(out, "{text}");
}

fn cells(out: &mut String, cells: &[&str]) {
    line(out, &format!("| {} |", cells.join(" | ")));
}

/// The fence is longer than any run of backticks inside, which therefore cannot end it.
fn fenced(out: &mut String, language: &str, text: &str) {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(3.max(longest + 1));
    line(out, &format!("{fence}{language}\n{text}\n{fence}"));
}

/// Also escapes marks, numbers and spaces that would begin a list, heading or code.
pub(crate) fn paragraph(text: &str) -> String {
    let text = escaped(text);
    let text = text.trim_start();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let at = match text[digits..].chars().next() {
        Some('.' | ')') if digits > 0 => digits,
        Some('-' | '+' | '=' | '%' | ':') if digits == 0 => 0,
        _ => return text.to_owned(),
    };
    format!("{}\\{}", &text[..at], &text[at..])
}

/// Covers dialects that link bare addresses or typeset mathematics between dollar signs.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in words::clean(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '|' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '!' | '$' | '^' => {
                out.push('\\');
                out.push(c);
            }
            // A mention or issue reference would notify uninvolved people.
            '@' => out.push_str("@\u{200b}"),
            other => out.push(other),
        }
    }
    // Pasted into an issue, a link would point elsewhere.
    out.replace("://", ":\u{200b}//").replace("www.", "www\u{200b}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Lab;

    #[test]
    fn the_report_reads_well() {
        let lab = Lab::typical();
        insta::assert_snapshot!(
            render(&Page::of(&lab.analysis, Some(&lab.evidence()))).expect("the report is made")
        );
    }

    #[test]
    fn names_cannot_become_markup() {
        let lab = Lab::typical().renamed("bfq", "<img src=x>|`*@all");
        let text =
            render(&Page::of(&lab.analysis, Some(&lab.evidence()))).expect("the report is made");
        let outside_the_plan =
            text.split("<summary>Plan</summary>").next().expect("there is text before the plan");
        assert!(!outside_the_plan.contains("<img"));
        assert!(outside_the_plan.contains("&lt;img src=x&gt;\\|\\`\\*@\u{200b}all"));
        for row in outside_the_plan.lines().filter(|row| row.starts_with("| IOPS")) {
            assert_eq!(row.replace("\\|", "").matches('|').count(), 12, "{row}");
        }
    }

    #[test]
    fn a_text_at_the_beginning_of_a_line_begins_nothing_else() {
        for (text, shown) in [
            ("- a", "\\- a"),
            ("1. a", "1\\. a"),
            ("12) a", "12\\) a"),
            ("    a", "a"),
            ("=== a", "\\=== a"),
            ("+ a", "\\+ a"),
            ("1.5 a", "1\\.5 a"),
            ("a - b", "a - b"),
            ("12", "12"),
            ("", ""),
        ] {
            assert_eq!(paragraph(text), shown);
        }
        let link = escaped("https://a.example www.b.example $x$ a^2");
        assert_eq!(link, "https:\u{200b}//a.example www\u{200b}.b.example \\$x\\$ a\\^2");
    }

    #[test]
    fn a_plan_with_backticks_stays_inside_its_fence() {
        let mut out = String::new();
        fenced(&mut out, "toml", "name = '````'");
        assert!(out.starts_with("`````toml\n") && out.ends_with("\n`````\n"));
    }

    #[test]
    fn every_verdict_is_there_and_missing_results_are_said() {
        let lab = Lab::typical();
        let text = render(&Page::of(&lab.analysis, None)).expect("the report is made");
        for verdict in ["better", "worse", "equivalent", "inconclusive"] {
            assert!(text.contains(&format!("**{verdict}**")), "{verdict}");
        }
        assert!(text.contains("the analysis of a table") && !text.contains("To repeat it"));
    }
}
