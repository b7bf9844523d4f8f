//! Line, annotations and XML of a gate with hostile names.

use super::*;
use experiment::gate::Level;

fn comparison(variant: &str, verdict: Verdict) -> GateComparison {
    let level = Level { n: 12, invalid: 0, mean: Some(100.0) };
    GateComparison {
        workload: "oltp".to_owned(),
        metric: "iops".to_owned(),
        variant: variant.to_owned(),
        basis: Basis::Rounds,
        ratio: (verdict != Verdict::Invalid).then_some(0.902),
        low: (verdict != Verdict::Invalid).then_some(0.896),
        high: None,
        verdict,
        confidence: 0.975,
        now: level,
        then: level,
    }
}

fn gate<'a>(comparisons: &'a [GateComparison], conditions: &'a [Condition]) -> Gate<'a> {
    Gate { plan: "p", against: "ref", comparisons, differences: &[], conditions }
}

/// A variant name that a pull request could choose.
const HOSTILE: &str = "x\n::stop-commands::t\r::error::no\u{1b}[2J\u{0}<b a=\"1\">&amp;]]>%0A::set-env name=A::b##[add-mask]y,title=z\u{ffff}";

#[test]
fn the_gravest_verdict_comes_first_and_the_others_are_counted() {
    let all = [comparison("bfq", Verdict::Worse), comparison("none", Verdict::Equivalent)];
    assert_eq!(
        line(&gate(&all, &[Condition::Worse])),
        "gate: worse: bfq on oltp: iops -9.8 % [-10.4, +∞]; 1 equivalent; against ref (rounds of the same seed, paired)"
    );
    assert!(line(&gate(&all[1..], &[])).starts_with("gate: not worse: 1 equivalent; against ref"));
    let differences =
        [Difference { name: "kernel.release".into(), then: Some("6.1".into()), now: None }];
    let told = line(&Gate { differences: &differences, ..gate(&all, &[]) });
    assert!(told.ends_with("; kernel.release unknown (was 6.1)"), "{told}");
    let invalid = [comparison("bfq", Verdict::Invalid)];
    assert!(
        line(&gate(&invalid, &[]))
            .starts_with("gate: invalid: bfq on oltp: iops no evidence (0 of 24 trials invalid)")
    );
}

#[test]
fn a_hostile_name_stays_one_line_and_no_command_of_the_runner() {
    let all = [comparison(HOSTILE, Verdict::Worse), comparison(HOSTILE, Verdict::Inconclusive)];
    let gate = gate(&all, &[Condition::Worse]);
    let told = line(&gate);
    assert!(!told.contains(['\n', '\r', '\u{1b}', '\0']), "{told:?}");
    let annotations = annotations(&gate);
    assert_eq!(annotations.len(), 2);
    assert!(
        annotations[0].starts_with("::error title=schedlab%3A x ")
            && annotations[1].starts_with("::warning title=")
    );
    for annotation in &annotations {
        assert!(!annotation.contains(['\n', '\r']), "{annotation:?}");
        // Parse as the runner does: command, properties, text.
        let (command, _) = annotation[2..].split_once("::").expect("two parts");
        let (_, properties) = command.split_once(' ').expect("properties");
        assert_eq!(properties.split(',').count(), 1, "no second property: {properties}");
        assert!(annotation.contains("%250A"), "a per cent of the name stays one: {annotation}");
    }
}

#[test]
fn text_of_others_is_no_command_of_the_runner_and_other_text_stays_as_it_is() {
    for text in ["plain: text :: here\n", "a # [b]\n  two\n", ""] {
        assert_eq!(defanged(text), text);
    }
    let said = defanged("ok\n  ::error::x\r::add-mask::y\nz ##[error]no\n::");
    let is_command = |line: &str| line.trim_start().starts_with("::") || line.contains("##[");
    assert!(!said.split(['\n', '\r']).any(is_command), "{said:?}");
    assert_eq!(said, "ok\n  : :error::x\r: :add-mask::y\nz # #[error]no\n: :");
}

#[test]
fn the_xml_has_a_case_for_each_comparison_and_nothing_that_xml_cannot_hold() {
    let all = [
        comparison(HOSTILE, Verdict::Worse),
        comparison("none", Verdict::Equivalent),
        comparison("a", Verdict::Inconclusive),
        comparison("b", Verdict::Invalid),
    ];
    let xml = junit(&gate(&all, &[Condition::Worse])).expect("the template is whole");
    assert!(xml.contains("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""), "{xml}");
    assert_eq!(xml.matches("<testcase ").count(), 4);
    assert!(
        xml.contains("&lt;b a=&quot;1&quot;&gt;&amp;amp;]]&gt;") && !xml.contains("<b "),
        "{xml}"
    );
    assert!(!xml.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{ffff}'));
}
