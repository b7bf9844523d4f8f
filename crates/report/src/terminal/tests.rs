//! Terminal output: the answer first, nothing too wide, no control characters.

use super::*;
use crate::fixture::Lab;

const PLAIN: Options = Options { width: 80, colour: false, verbose: false, offered: Vec::new() };

fn files() -> Vec<PathBuf> {
    ["report.html", "report.md", "analysis.json"]
        .iter()
        .map(|name| PathBuf::from("out").join(name))
        .collect()
}

#[test]
fn the_answer_stands_in_the_first_line() {
    let lab = Lab::typical();
    let text = render(&lab.analysis, Some(&lab.evidence()), &files(), &PLAIN);
    assert!(text.starts_with("Use mq-deadline"), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn verbose_shows_every_comparison() {
    let lab = Lab::typical();
    let text =
        render(&lab.analysis, Some(&lab.evidence()), &files(), &Options { verbose: true, ..PLAIN });
    for comparison in &lab.analysis.comparisons {
        assert!(text.contains(&number::effect(comparison)), "{comparison:?}");
    }
}

#[test]
fn verbose_shows_the_deviations_of_every_variant() {
    let lab = Lab::typical();
    let text = render(&lab.analysis, None, &[], &Options { verbose: true, ..PLAIN });
    let scale = number::Scale::of("iops", []);
    for summary in lab.analysis.summaries.iter().filter(|summary| summary.metric == "iops") {
        let sd = summary
            .sd
            .map(|sd| format!("± {}", scale.bare(sd)))
            .expect("there are fourteen trials");
        let row = |line: &str| line.contains(&scale.bare(summary.mean)) && line.contains(&sd);
        assert!(text.lines().any(row), "{} {sd}\n{text}", summary.variant);
    }
}

#[test]
fn percentiles_that_do_not_decide_are_one_line_unless_verbose() {
    let lab = remarks::tests::with_thin_percentiles();
    let text = render(&lab.analysis, Some(&lab.evidence()), &[], &PLAIN);
    assert!(
        text.contains("2 percentiles that do not decide are invalid: too few requests"),
        "{text}"
    );
    assert!(!text.contains("5 requests") && !text.contains("INVALID"), "{text}");
    let text =
        render(&lab.analysis, Some(&lab.evidence()), &[], &Options { verbose: true, ..PLAIN });
    assert!(text.contains("5 requests") && text.contains("INVALID"), "{text}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let lab = Lab::typical().renamed("kyber", &"kyber with a very long name ".repeat(4));
    for width in [60, 64, 72, 80, 120] {
        let options = Options { width, verbose: true, ..PLAIN };
        let text = render(&lab.analysis, Some(&lab.evidence()), &[], &options);
        for line in text.lines() {
            assert!(line.chars().count() <= width as usize, "{width}: {line}");
        }
    }
}

#[test]
fn colour_is_there_only_when_asked_for_and_names_cannot_steer_the_terminal() {
    let mut lab = Lab::typical().renamed("bfq", "bfq\x1b[2J");
    lab.analysis.recommendation.sentence = "use\x1b]0;pwned\x07 it".into();
    let plain = render(&lab.analysis, Some(&lab.evidence()), &[], &PLAIN);
    assert!(!plain.contains('\x1b') && !plain.contains('\x07'));
    let colour =
        render(&lab.analysis, Some(&lab.evidence()), &[], &Options { colour: true, ..PLAIN });
    assert!(colour.contains("\x1b[1m") && !colour.contains("\x1b[2J"));
}

#[test]
fn invalid_evidence_is_loud_and_an_empty_analysis_is_said_to_be_one() {
    let mut lab = Lab::typical();
    for comparison in &mut lab.analysis.comparisons {
        (comparison.verdict, comparison.ratio, comparison.low, comparison.high) =
            (Verdict::Invalid, None, None, None);
        comparison.reasons = vec!["the setting was never in effect".into()];
    }
    let text = render(&lab.analysis, Some(&lab.evidence()), &[], &PLAIN);
    assert!(
        text.contains(
            "INVALID  oltp, seqread and mixed, every variant: the setting was never in effect"
        ),
        "{text}"
    );
    assert!(text.contains("no evidence") && text.contains("✕ invalid"));
    lab.analysis.comparisons.clear();
    lab.analysis.summaries.clear();
    assert!(render(&lab.analysis, None, &[], &PLAIN).starts_with("Use mq-deadline"));
}

fn on_cpus() -> Lab {
    let counters = [
        ("none", "task_migrations", 4.0),
        ("none", "task_wait_ms", 120.0),
        ("none", "task_run_ms", 380.0),
        ("none", "steal_share", 0.002),
        ("kyber", "task_migrations", 90.0),
        ("kyber", "task_wait_ms", 20.0),
        ("kyber", "task_run_ms", 480.0),
        ("kyber", "steal_share", 0.15),
        ("bfq", "isolate_moved", 85.0),
        ("bfq", "isolate_unmovable", 3.0),
    ];
    cpu::tests::on_cpus(&counters).renamed("kyber", "nice=-20").renamed("bfq", "isolate=0")
}

#[test]
fn unusual_counters_of_cpus_are_notes_below_the_table() {
    let lab = on_cpus();
    insta::assert_snapshot!(render(&lab.analysis, Some(&lab.evidence()), &[], &PLAIN));
}

#[test]
fn verbose_shows_the_counters_of_cpus() {
    let mut lab = on_cpus();
    lab.analysis.comparisons.retain(|j| j.primary && j.workload == "oltp");
    lab.analysis.summaries.retain(|s| s.metric == "iops" && s.workload == "oltp");
    lab.header.plan.workloads.truncate(1);
    let options = Options { width: 110, verbose: true, ..PLAIN };
    insta::assert_snapshot!(render(&lab.analysis, Some(&lab.evidence()), &[], &options));
}
