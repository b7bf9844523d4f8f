//! Headlines and lines on the analysis of a typical lab.

use super::*;
use crate::fixture::{self, Lab};
use crate::view;

fn said(lab: &Lab) -> (String, Vec<(String, String)>) {
    let views = view::workloads(&lab.analysis, Some(&lab.evidence()));
    let lines = lines(&lab.analysis, &views).into_iter();
    (headline(&lab.analysis), lines.map(|(name, of)| (name, of.to_string())).collect())
}

#[test]
fn several_workloads_have_a_line_each_below_one_for_all() {
    let (headline, lines) = said(&Lab::typical());
    assert_eq!(
        headline,
        "Use mq-deadline on SAMSUNG MZ7LH960 (/dev/sdb): better than none for oltp and mixed, equivalent for seqread, but \
         oltp CPU time per I/O +14.9 % [+13.5, +16.3]: 4.09 → 4.71 µs; seqread CPU time per I/O +14.3 % [+13.5, +15.1]: \
         4.10 → 4.69 µs; mixed CPU time per I/O +13.8 % [+12.6, +15.0]: 4.13 → 4.70 µs."
    );
    assert_eq!(lines[0], ("oltp".into(), "mq-deadline: IOPS +11.1 % [+10.3, +11.9]".into()));
    let open = "none: nothing was shown to be better; 1 of 3 comparisons is inconclusive";
    assert_eq!(lines[1], ("seqread".into(), open.into()));
    let bfq = &lines[2].1;
    assert!(
        bfq.starts_with(
            "bfq: read latency p99 0.093× [0.090, 0.096], but CPU time per I/O +43.0 %"
        ),
        "{bfq}"
    );
}

/// Gives a variant another name.
fn rename(analysis: &mut Analysis, from: &str, to: &str) {
    let rename = |name: &mut String| {
        if name == from {
            *name = to.to_owned();
        }
    };
    analysis.variants.iter_mut().for_each(|variant| rename(&mut variant.name));
    analysis.comparisons.iter_mut().for_each(|of| rename(&mut of.variant));
    analysis.summaries.iter_mut().for_each(|of| rename(&mut of.variant));
    analysis.recommendation.variant.iter_mut().for_each(rename);
}

#[test]
fn of_many_workloads_the_headline_counts_and_each_has_its_line() {
    let mut lab = Lab::typical();
    for (from, to) in [("oltp", "web"), ("seqread", "backup")] {
        let relabel = |name: &str| if name == from { to.to_owned() } else { name.to_owned() };
        let mut more: Vec<_> = lab.analysis.comparisons.clone();
        more.retain(|of| of.workload == from);
        more.iter_mut().for_each(|of| of.workload = relabel(&of.workload));
        lab.analysis.comparisons.extend(more);
        let mut more = lab.analysis.summaries.clone();
        more.retain(|of| of.workload == from);
        more.iter_mut().for_each(|of| of.workload = relabel(&of.workload));
        lab.analysis.summaries.extend(more);
        let mut more = lab.analysis.recommendation.workloads.clone();
        more.retain(|of| of.workload == from);
        more.iter_mut().for_each(|of| of.workload = relabel(&of.workload));
        lab.analysis.recommendation.workloads.extend(more);
    }
    let (headline, lines) = said(&lab);
    let start = "Use mq-deadline on SAMSUNG MZ7LH960 (/dev/sdb): better than none for oltp, mixed and web, \
                 equivalent for seqread and backup, but ";
    assert!(headline.starts_with(start), "{headline}");
    assert_eq!(lines.len(), 5);
    lab.analysis.recommendation.variant = None;
    let (headline, lines) = said(&lab);
    assert_eq!(
        headline,
        "No single choice suits all 5 workloads on SAMSUNG MZ7LH960 (/dev/sdb): mq-deadline for 2, none for 2 and bfq for 1."
    );
    assert_eq!(lines.len(), 5);
}

#[test]
fn one_workload_is_one_line() {
    let mut lab = Lab::typical();
    lab.analysis.comparisons.retain(|comparison| comparison.workload == "oltp");
    lab.analysis.summaries.retain(|summary| summary.workload == "oltp");
    let (headline, lines) = said(&lab);
    let place = "on SAMSUNG MZ7LH960 (/dev/sdb)";
    let price = "but CPU time per I/O +14.9 % [+13.5, +16.3]: 4.09 → 4.71 µs";
    let text = format!(
        "Use mq-deadline for oltp {place}: IOPS +11.1 % [+10.3, +11.9] against none, {price}."
    );
    assert_eq!(headline, text);
    assert!(lines.is_empty());
}

/// One workload on which mq-deadline gains, with costs of these ratios on other metrics.
fn lab_with_costs(ratios: &[f64]) -> Lab {
    let mut lab = Lab::typical();
    lab.analysis
        .comparisons
        .retain(|comparison| comparison.workload == "oltp" && comparison.primary);
    lab.analysis.summaries.retain(|summary| summary.workload == "oltp");
    for (ratio, metric) in
        ratios.iter().zip(["longest_wait_ms", "write_iops", "latency_p50_us", "read_iops", "iops2"])
    {
        let comparison = fixture::comparison("mq-deadline");
        lab.analysis.comparisons.push(Comparison {
            metric: metric.into(),
            primary: false,
            ratio: Some(*ratio),
            low: Some(ratio * 0.98),
            high: Some(ratio * 1.02),
            baseline_mean: Some(22.3),
            variant_mean: Some(22.3 * ratio),
            verdict: Verdict::Worse,
            ..comparison
        });
    }
    lab
}

/// Sets verdict and ratio of each variant, with an interval of ±1 %.
fn judge(lab: &mut Lab, of: &[(&str, Verdict, f64)]) {
    for (variant, verdict, ratio) in of {
        let all = lab.analysis.comparisons.iter_mut();
        for comparison in all.filter(|comparison| comparison.variant == *variant) {
            comparison.verdict = *verdict;
            (comparison.ratio, comparison.low, comparison.high) =
                (Some(*ratio), Some(ratio * 0.99), Some(ratio * 1.01));
        }
    }
}

#[test]
fn a_loss_is_named_where_the_baseline_is_kept() {
    use Verdict::{Equivalent, Worse};
    let said = |of: &[(&str, Verdict, f64)]| {
        let mut lab = lab_with_costs(&[]);
        let is_asked = |variant: &str| of.iter().any(|(name, ..)| *name == variant);
        lab.analysis.comparisons.retain(|comparison| is_asked(&comparison.variant));
        lab.analysis.recommendation.variant = Some("none".into());
        judge(&mut lab, of);
        headline(&lab.analysis)
    };
    let keep = "Keep none on SAMSUNG MZ7LH960 (/dev/sdb): ";
    assert_eq!(
        said(&[("kyber", Worse, 0.001)]),
        format!("{keep}kyber is worse: IOPS 0.00100× [0.00099, 0.00101].")
    );
    assert_eq!(
        said(&[("kyber", Worse, 0.8), ("mq-deadline", Equivalent, 1.0), ("bfq", Worse, 0.5)]),
        format!(
            "{keep}bfq is worse: IOPS 0.500× [0.495, 0.505], as is 1 other; nothing was shown to be better by more than 1 %."
        )
    );
}

#[test]
fn a_variant_that_gains_as_much_is_named_next_to_the_best() {
    let mut lab = lab_with_costs(&[]);
    judge(&mut lab, &[("mq-deadline", Verdict::Better, 1.11), ("kyber", Verdict::Better, 1.108)]);
    let said = headline(&lab.analysis);
    assert!(said.contains("against none (kyber about as much)"), "{said}");
    judge(&mut lab, &[("kyber", Verdict::Better, 1.09)]);
    let said = headline(&lab.analysis);
    assert!(!said.contains("about as much"), "{said}");
}

#[test]
fn costs_come_largest_first_and_more_than_three_are_counted() {
    let said = headline(&lab_with_costs(&[1.2, 0.25, 11.6, 0.9, 1.1]).analysis);
    let price = said.split_once(", but ").expect("a price").1;
    assert_eq!(
        price,
        "latency p50 11.6× [11.4, 11.8]: 22.3 → 259 µs; write IOPS 0.250× [0.245, 0.255]: 22.3 → 5.58 IO/s; longest wait \
         +20.0 % [+17.6, +22.4]: 22.3 → 26.8 ms; and 2 more."
    );
}

#[test]
fn a_metric_that_is_not_worse_is_no_cost() {
    let mut lab = lab_with_costs(&[11.6, 1.2]);
    for comparison in lab.analysis.comparisons.iter_mut().filter(|comparison| !comparison.primary) {
        comparison.verdict = Verdict::Inconclusive;
    }
    assert!(!headline(&lab.analysis).contains("but"));
    lab.analysis.comparisons[3].verdict = Verdict::Worse;
    lab.analysis.comparisons[3].variant = "kyber".into();
    assert!(!headline(&lab.analysis).contains("but"), "a cost of another variant");
}

#[test]
fn every_format_begins_with_the_same_headline() {
    let lab = lab_with_costs(&[11.6]);
    let said = headline(&lab.analysis);
    assert!(said.contains("but longest wait 11.6×"), "{said}");
    let page = crate::page::Page::of(&lab.analysis, Some(&lab.evidence()));
    let flat =
        |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ").replace('\\', "");
    let options = crate::terminal::Options { width: 400, ..Default::default() };
    let terminal = crate::terminal::render(&lab.analysis, Some(&lab.evidence()), &[], &options);
    let html = crate::template::with_plain_texts(&crate::html::render(&page).expect("a page"));
    let formats = [
        terminal,
        html.replace(".</h1>\n<p class=\"costs\">But: ", ", but "),
        crate::markdown::render(&page).expect("markdown"),
        crate::json(&lab.analysis).expect("JSON"),
    ];
    for text in formats {
        let text = flat(text.replace("&#x2f;", "/").replace('\u{a0}', " "));
        assert!(text.contains(&flat(said.clone())), "{said}\n{text}");
    }
}

#[test]
fn the_best_of_linux_comes_before_one_that_linux_does_not_have() {
    let mut lab = lab_with_costs(&[11.6]);
    lab.analysis.arena = "sim".into();
    for variant in &mut lab.analysis.variants {
        if variant.scheduler.as_deref() == Some("mq-deadline") {
            variant.scheduler = Some("anticipatory".into());
        }
    }
    for comparison in
        lab.analysis.comparisons.iter_mut().filter(|comparison| comparison.variant == "kyber")
    {
        (comparison.verdict, comparison.ratio, comparison.low, comparison.high) =
            (Verdict::Better, Some(1.05), Some(1.04), Some(1.06));
    }
    let said = headline(&lab.analysis);
    assert!(said.starts_with("Use kyber for oltp on a simulated SAMSUNG MZ7LH960"), "{said}");
    assert!(said.contains("Not in today's Linux: mq-deadline: IOPS +11.1 %"), "{said}");
    lab.analysis.arena = "disk".into();
    assert!(headline(&lab.analysis).starts_with("Use mq-deadline"), "it was measured there");
}

#[test]
fn a_variant_that_the_kernel_offers_is_confirmed_as_such() {
    let mut lab = lab_with_costs(&[]);
    lab.analysis.arena = "sim".into();
    let offered = ["none", "mq-deadline"].map(String::from);
    assert!(
        headline_here(&lab.analysis, &offered)
            .ends_with(" This machine's kernel offers mq-deadline.")
    );
    rename(&mut lab.analysis, "mq-deadline", "mq-deadline:fifo_batch=1");
    let renamed = headline_here(&lab.analysis, &offered);
    assert!(renamed.starts_with("Use mq-deadline:fifo_batch=1 "), "{renamed}");
    assert!(renamed.ends_with(" This machine's kernel offers mq-deadline."), "{renamed}");
    assert_eq!(headline_here(&lab.analysis, &[]), headline(&lab.analysis), "not known");
    lab.analysis.arena = "disk".into();
    assert_eq!(
        headline_here(&lab.analysis, &offered),
        headline(&lab.analysis),
        "it was measured on such a kernel"
    );
}

#[test]
fn the_best_offered_variant_comes_before_one_that_is_not() {
    let mut lab = lab_with_costs(&[11.6]);
    lab.analysis.arena = "sim".into();
    for comparison in
        lab.analysis.comparisons.iter_mut().filter(|comparison| comparison.variant == "kyber")
    {
        (comparison.verdict, comparison.ratio, comparison.low, comparison.high) =
            (Verdict::Better, Some(1.05), Some(1.04), Some(1.06));
    }
    let said = headline_here(&lab.analysis, &["none", "kyber"].map(String::from));
    assert!(
        said.starts_with("Use kyber for oltp on a simulated SAMSUNG MZ7LH960: IOPS +5"),
        "{said}"
    );
    let second = "Not offered by this machine's kernel: mq-deadline: IOPS +11.1 % [+10.3, +11.9] against none, but longest wait";
    assert!(said.contains(second), "{said}");
    let nothing_better = headline_here(&lab.analysis, &["none".to_owned()]);
    assert!(nothing_better.contains(second), "{nothing_better}");
    assert!(nothing_better.starts_with(
        "Keep none on a simulated SAMSUNG MZ7LH960: this machine's kernel offers no other"
    ));
    let said = headline_here(&lab.analysis, &["elsewhere".to_owned()]);
    assert_eq!(
        said,
        headline(&lab.analysis) + " This machine's kernel does not offer mq-deadline."
    );
}

#[test]
fn keeping_the_baseline_says_how_much_is_open_and_invalid() {
    let mut lab = Lab::typical();
    lab.analysis.recommendation.variant = Some("none".into());
    for comparison in &mut lab.analysis.comparisons {
        comparison.verdict =
            if comparison.variant == "bfq" { Verdict::Invalid } else { Verdict::Inconclusive };
    }
    let text = "Keep none on SAMSUNG MZ7LH960 (/dev/sdb): nothing was shown to be better by more than 1 %; of 9 comparisons 6 are inconclusive and 3 invalid.";
    let (headline, lines) = said(&lab);
    assert_eq!(headline, text);
    assert!(lines.is_empty(), "the headline says it for every workload: {lines:?}");
}

#[test]
fn what_is_inconclusive_has_a_next_step_and_what_is_decided_has_none() {
    let mut lab = Lab::typical();
    let said = |lab: &Lab| {
        let views = view::workloads(&lab.analysis, None);
        [Some(&lab.evidence()), None].map(|evidence| next(evidence, &views))
    };
    let [Some(measured), Some(table)] = said(&lab) else {
        panic!("two comparisons are inconclusive")
    };
    assert!(
        measured.contains("about 23 more rounds") && measured.contains("--resume"),
        "{measured}"
    );
    assert!(
        table.contains("about 23 more rounds") && table.contains("add them to the table"),
        "{table}"
    );
    lab.analysis
        .comparisons
        .iter_mut()
        .for_each(|comparison| comparison.new_plan_rounds = Some(40));
    assert!(
        said(&lab)[0]
            .as_ref()
            .is_some_and(|text| text.contains("a new run of about 40 rounds (--rounds 40, "))
    );
    assert!(
        said(&lab)[1].as_ref().is_some_and(|text| text.contains("(--rounds 40) would")),
        "a table has no times"
    );
    lab.analysis
        .comparisons
        .iter_mut()
        .for_each(|comparison| comparison.new_plan_rounds = Some(100_000));
    assert!(said(&lab)[0].as_ref().is_some_and(|text| text.contains("a larger --margin")));
    lab.analysis.comparisons.iter_mut().for_each(|comparison| comparison.new_plan_rounds = None);
    lab.analysis.comparisons.iter_mut().for_each(|comparison| comparison.more_rounds = None);
    assert!(said(&lab).into_iter().all(|text| text.is_some_and(|text| text.contains("too few"))));
    let omitted = experiment::reason::Reason::CpuTimeOmitted;
    lab.analysis
        .comparisons
        .iter_mut()
        .for_each(|comparison| comparison.reasons.push(omitted.clone()));
    assert!(
        said(&lab)
            .into_iter()
            .all(|text| text.is_some_and(|text| text.contains("without cpu_percent=0")))
    );
    lab.analysis
        .comparisons
        .iter_mut()
        .for_each(|comparison| comparison.verdict = Verdict::Equivalent);
    assert_eq!(said(&lab), [None, None]);
}

#[test]
fn without_a_choice_the_analysis_speaks_for_itself() {
    let mut lab = Lab::typical();
    lab.analysis.recommendation.variant = None;
    lab.analysis.recommendation.sentence = "No advice: nothing was measured.".into();
    let text = "No advice: nothing was measured (on SAMSUNG MZ7LH960 (/dev/sdb)).";
    assert_eq!(said(&lab).0, text);
    lab.analysis.recommendation.variant = Some("a variant that no comparison knows".into());
    assert_eq!(said(&lab).0, text);
}
