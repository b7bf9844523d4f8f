//! Well-formed, self-contained, no code, the answer first.

use super::*;
use crate::fixture::Lab;
use experiment::analysis::Verdict;

const HOSTILE: &str = "<script>alert(1)</script>\"'&";

/// Checks that elements are closed in order. Requires quoted attributes.
fn well_formed(page: &str) -> usize {
    const EMPTY: [&str; 5] = ["meta", "br", "!DOCTYPE", "hr", "wbr"];
    let mut open: Vec<&str> = Vec::new();
    let (mut count, mut rest) = (0, page);
    while let Some(start) = rest.find('<') {
        let inside = &rest[start + 1..];
        let end = tag_end(inside);
        let tag = &inside[..end];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(
                open.pop(),
                Some(name),
                "closed out of order: …{}",
                &rest[..start + 1 + end]
            );
        } else if !tag.ends_with('/') {
            let name = tag.split_whitespace().next().expect("a tag has a name");
            assert!(
                name.chars().all(|c| c.is_ascii_alphanumeric() || c == '!'),
                "not a tag: <{tag}>"
            );
            if !EMPTY.contains(&name) {
                open.push(name);
            }
            count += 1;
        }
        rest = &inside[end + 1..];
    }
    assert!(open.is_empty(), "never closed: {open:?}");
    count
}

fn tag_end(tag: &str) -> usize {
    let mut quoted = false;
    for (at, c) in tag.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '>' if !quoted => return at,
            _ => {}
        }
    }
    panic!("a tag that never ends: <{tag}");
}

fn page(lab: &Lab) -> String {
    render(&Page::of(&lab.analysis, Some(&lab.evidence()))).expect("the page is rendered")
}

#[test]
fn the_page_is_well_formed_and_the_checker_sees_when_it_is_not() {
    assert!(well_formed(&page(&Lab::typical())) > 1000);
    assert!(std::panic::catch_unwind(|| well_formed("<p><b></p></b>")).is_err());
    assert!(std::panic::catch_unwind(|| well_formed("<p>a < b</p>")).is_err());
}

#[test]
fn text_of_others_is_never_markup() {
    let mut lab = Lab::typical().renamed("bfq", HOSTILE);
    lab.analysis.name = HOSTILE.into();
    lab.analysis.recommendation.sentence = HOSTILE.into();
    lab.analysis.cautions.push(HOSTILE.into());
    lab.analysis.comparisons[0].reasons.push(HOSTILE.into());
    lab.header.command = HOSTILE.into();
    lab.header.plan.device = HOSTILE.into();
    lab.header
        .environment
        .get_mut("cpu")
        .expect("a section")
        .insert(HOSTILE.into(), HOSTILE.into());
    lab.header.environment.insert(HOSTILE.into(), Default::default());
    let (workload, variant) = (HOSTILE.into(), HOSTILE.into());
    lab.notes[0].event =
        experiment::results::Event::StoppedVariant { workload, variant, rounds: 1 };
    let page = page(&lab);
    assert!(!page.contains("<script"), "{}", page.split("<script").next().unwrap_or_default());
    assert!(page.matches("&lt;script&gt;").count() > 10);
    well_formed(&page);
}

#[test]
fn nothing_comes_from_outside_and_nothing_runs() {
    let page = page(&Lab::typical()).to_lowercase().replace("href=\"#", "");
    for word in
        ["http", "src=", "href=", "url(", "@import", "<script", "<link", "<iframe", "javascript:"]
    {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn the_answer_comes_before_everything_else_and_every_comparison_is_there() {
    let lab = Lab::typical();
    let page = crate::template::with_plain_texts(&page(&lab));
    let answer = page.find("Use mq-deadline on SAMSUNG").expect("the answer is on the page");
    assert!(
        answer < page.find("<table").expect("there are tables")
            && answer < page.find("aria-label").expect("plots")
    );
    for comparison in &lab.analysis.comparisons {
        let estimate = minus(number::estimate(comparison).expect("there is evidence"));
        let interval = minus(number::interval(comparison));
        let row =
            format!("<td class=\"number\">{estimate}</td><td class=\"number\">{interval}</td>");
        let at = page.find(&row).unwrap_or_else(|| panic!("{row}"));
        let verdict = format!("verdict {}", verdict::word(comparison.verdict));
        assert!(page[at..at + 300].contains(&verdict), "{comparison:?}");
    }
}

#[test]
fn every_plot_has_a_text_for_those_who_do_not_see_it() {
    let page = page(&Lab::typical());
    for svg in page.split("<svg ").skip(1) {
        assert!(svg.starts_with("role=\"img\" aria-label="), "{}", &svg[..60]);
    }
    assert!(page.contains("aria-label=\"mq-deadline: +11.1 % [+10.3, +11.9]\""));
}

#[test]
fn a_comparison_is_drawn_once_and_costs_are_no_part_of_the_heading() {
    let lab = Lab::typical();
    let page = page(&lab);
    let of = |of: &Comparison| format!("aria-label=\"{}: {}\"", of.variant, number::effect(of));
    let deciding = lab.analysis.comparisons.iter().filter(|comparison| comparison.primary);
    for label in deciding.map(of) {
        assert_eq!(page.matches(&label).count(), 1, "{label}");
    }
    assert!(!page.contains("effect of each variant on"));
    let heading = page.split("<h1>").nth(1).and_then(|rest| rest.split("</h1>").next());
    let heading = heading.expect("a heading");
    assert!(!heading.contains("but") && !heading.contains(" %"), "{heading}");
    assert!(page.contains("<p class=\"costs\">But: oltp CPU time per"), "they come next");
    assert!(!page.contains("docs/src"), "who reads the page may have no checkout");
}

#[test]
fn what_is_missing_is_left_out_and_not_printed_as_a_word() {
    for lab in [Lab::typical(), Lab::extreme()] {
        let page = page(&lab);
        for word in [">None<", ">undefined<", "NaN", ">inf"] {
            assert!(!page.contains(word), "{word}");
        }
    }
}

#[test]
fn the_path_of_the_actuator_is_shown_for_traced_variants_in_the_order_of_the_variants() {
    let lab = Lab::typical();
    assert!(!page(&lab).contains("Path of the actuator"));
    let paths = ["bfq", "none"].map(|variant| crate::actuator::tests::two_readers(variant, 10));
    let evidence = Evidence { actuator: &paths, ..lab.evidence() };
    let page = render(&Page::of(&lab.analysis, Some(&evidence))).expect("the page is rendered");
    well_formed(&page);
    let at = |variant: &str| {
        page.find(&format!("{variant}: position of the actuator over time")).expect("a plot")
    };
    assert!(at("none") < at("bfq") && page.matches("Path of the actuator").count() == 1);
}

#[test]
fn invalid_evidence_is_an_alarm_at_the_top() {
    let mut lab = Lab::typical();
    assert!(!page(&lab).contains("Invalid evidence"));
    lab.analysis.comparisons[0].verdict = Verdict::Invalid;
    lab.analysis.comparisons[0].reasons = vec!["the scheduler was never in effect".into()];
    let page = page(&lab);
    let alarm = page.find("the scheduler was never in effect").expect("the reason is on the page");
    assert!(
        page.contains("Invalid evidence") && alarm < page.find("<table").expect("there are tables")
    );
}

#[test]
fn one_round_no_valid_trial_and_an_empty_analysis_have_pages_too() {
    well_formed(&page(&Lab::extreme()));
    let mut lab = Lab::typical();
    lab.trials.retain(|trial| trial.round == 0);
    well_formed(&page(&lab));
    for trial in &mut lab.trials {
        trial.observation.invalid =
            vec![experiment::results::InvalidReason::Throttled { events: 3 }];
    }
    lab.analysis.summaries.clear();
    for comparison in &mut lab.analysis.comparisons {
        (comparison.ratio, comparison.low, comparison.high, comparison.verdict) =
            (None, None, None, Verdict::Invalid);
        comparison.log_ratios.clear();
    }
    well_formed(&page(&lab));
    lab.trials.clear();
    well_formed(&page(&lab));
    lab.analysis.comparisons.clear();
    lab.analysis.recommendation.workloads.clear();
    well_formed(&page(&lab));
    well_formed(&render(&Page::of(&lab.analysis, None)).expect("the page is rendered"));
}

fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    page.split(&start).skip(1).map(|rest| rest.split('"').next().unwrap_or_default()).collect()
}

#[test]
fn every_section_has_an_address_of_its_own_and_every_link_leads_to_one() {
    let lab = Lab::typical().renamed("bfq", HOSTILE);
    let page = page(&lab);
    let (ids, links) = (values(&page, "id"), values(&page, "href"));
    for id in &ids {
        assert_eq!(ids.iter().filter(|other| *other == id).count(), 1, "{id}");
        assert!(
            id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'),
            "{id}"
        );
    }
    assert!(
        links.len() > ids.len(),
        "each heading is a link to itself, and the list at the top leads to it"
    );
    for link in links {
        assert!(link.strip_prefix('#').is_some_and(|id| ids.contains(&id)), "{link}");
    }
    assert_eq!(anchor(0, "<b> \u{e9}"), "workload-1-b");
    assert_eq!(anchor(1, "\u{e9}"), "workload-2");
}

#[test]
fn colours_are_variables_of_the_page_so_that_it_has_a_dark_form() {
    let page = page(&Lab::typical());
    let style = include_str!("../templates/style.css");
    let dark = style.split("prefers-color-scheme: dark").nth(1).expect("a dark form");
    for (_, name) in plot::canvas::THEME {
        let defined = format!("{name}:");
        assert!(style.contains(&defined) && dark.contains(&defined), "{name}");
    }
    let svgs: Vec<&str> = page
        .split("<svg ")
        .skip(1)
        .map(|rest| rest.split("</svg>").next().unwrap_or_default())
        .collect();
    for svg in svgs {
        for attribute in ["fill", "stroke"] {
            let fixed = values(svg, attribute).into_iter().find(|colour| colour.starts_with('#'));
            assert_eq!(fixed, None, "a colour that the theme does not know");
        }
    }
}

#[test]
fn date_host_drive_and_kernel_stand_above_the_answer() {
    let mut lab = Lab::typical();
    let machine = [("hostname".to_owned(), "db1.example".to_owned())];
    lab.header.environment.insert("machine".to_owned(), machine.into());
    let page = page(&lab).replace("&#x2f;", "/");
    let answer = page.find("<h1>").expect("an answer");
    for text in
        ["2026-11-21 19:58 UTC", "db1.example", "SAMSUNG MZ7LH960 (/dev/sdb)", "Linux 6.12.48"]
    {
        assert!(page.find(text).is_some_and(|at| at < answer), "{text}");
    }
}
