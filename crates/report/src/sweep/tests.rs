//! Sweeps in reports.

use experiment::analysis::analyze;
use experiment::plan::parse_variants;
use experiment::results::{Header, Observation, Results, Trial};

use super::*;
use crate::fixture::Lab;
use crate::page::Page;
use crate::view;

/// One tunable helps, one hurts, one has no effect, one is unknown.
pub(crate) fn swept() -> Results {
    let words = [
        "default=mq-deadline",
        "fifo1=mq-deadline:fifo_batch=1",
        "fifo64=mq-deadline:fifo_batch=64",
        "fifo256=mq-deadline:fifo_batch=256",
        "starved0=mq-deadline:writes_starved=0",
        "starved32=mq-deadline:writes_starved=32",
        "front0=mq-deadline:front_merges=0",
        "old31=mq-deadline:read_expire=31",
        "old8000=mq-deadline:read_expire=8000",
    ];
    let mut header = Header { command: "schedlab sweep".into(), ..Lab::typical().header };
    header.plan.variants = parse_variants(&words).expect("they are variants");
    header.plan.workloads.truncate(1);
    header.plan.baseline = Some("default".into());
    let noted = [
        ("fifo_batch", "16"),
        ("writes_starved", "2"),
        ("front_merges", "1"),
        ("read_expire", "500"),
    ];
    let noted = noted.map(|(name, value)| (name.to_string(), value.to_string()));
    header.environment.insert(experiment::sweep::DEFAULTS.into(), noted.into_iter().collect());
    let factors = [
        (1.0, 0.2),
        (0.93, 0.2),
        (1.08, 0.2),
        (1.04, 0.3),
        (0.81, 0.2),
        (0.9, 0.2),
        (1.0, 0.1),
        (1.0, 4.0),
        (1.01, 4.0),
    ];
    let mut results = Results::new(header);
    let names: Vec<String> =
        results.header.plan.variants.iter().map(|variant| variant.name.clone()).collect();
    let mut state = 7_u64;
    for round in 0..12_u32 {
        for (position, (name, (factor, percent))) in names.iter().zip(factors).enumerate() {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let noise =
                1.0 + percent / 100.0 * ((state >> 33) as f64 / (1_u64 << 31) as f64 * 2.0 - 1.0);
            let iops = 5000.0 * (1.0 - 0.01 * f64::from(round)) * factor * noise;
            let observation = Observation {
                duration_ns: 1_000_000_000,
                metrics: [("iops".to_string(), iops)].into(),
                ..Observation::default()
            };
            results.trials.push(Trial {
                sequence: results.trials.len() as u64,
                workload: "oltp".into(),
                round,
                position: position as u32,
                variant: name.clone(),
                started_ms: results.trials.len() as u64 * 1230,
                observation,
            });
        }
    }
    results
}

fn lines(change: impl Fn(&mut Response)) -> Vec<(String, String)> {
    let mut analysis = analyze(&swept(), None);
    analysis.responses.iter_mut().for_each(change);
    let views = view::workloads(&analysis, None);
    of(&analysis, "oltp", &views[0].metrics[0]).expect("it is a sweep").lines
}

#[test]
fn each_tunable_is_one_line() {
    let found = lines(|_| {});
    let of = |name: &str| {
        found.iter().find(|(tunable, _)| tunable == name).expect("it is swept").1.clone()
    };
    assert!(
        of("fifo_batch").starts_with("fifo_batch=64: +8.")
            && of("fifo_batch").contains("; better too: 256; worse: 1")
    );
    assert!(
        of("writes_starved").starts_with("no value is better; writes_starved=0: -1"),
        "{}",
        of("writes_starved")
    );
    assert!(of("writes_starved").ends_with("; worse too: 32"));
    assert_eq!(of("front_merges"), "makes no relevant difference (equivalent within 1 %)");
    assert!(of("read_expire").starts_with("inconclusive: about "), "{}", of("read_expire"));
}

#[test]
fn what_cannot_be_known_is_said_so() {
    let open = |response: &mut Response| response.effect = Effect::Open { more_rounds: None };
    assert!(lines(open)[3].1.starts_with("inconclusive"));
    let invalid = |response: &mut Response| {
        response.effect = Effect::Invalid;
        response.points.iter_mut().for_each(|point| point.verdict = Verdict::Invalid);
    };
    assert!(
        lines(invalid).iter().all(|(_, text)| text == "no valid evidence"),
        "{:?}",
        lines(invalid)
    );
    let partly = |response: &mut Response| {
        response.effect = Effect::Nothing;
        response.points.iter_mut().for_each(|point| point.verdict = Verdict::Equivalent);
        response.points[0].verdict = Verdict::Invalid;
    };
    let text = &lines(partly)[0].1;
    assert_eq!(
        text,
        "no relevant difference was found: equivalent within 1 %; equivalent: 64, 256; invalid: 1"
    );
}

#[test]
fn a_sweep_of_all_variants_takes_the_place_of_the_table_and_one_among_others_stands_beside_it() {
    let mut results = swept();
    let complete = |results: &Results| {
        let analysis = analyze(results, None);
        let views = view::workloads(&analysis, None);
        of(&analysis, "oltp", &views[0].metrics[0]).expect("it is a sweep").complete
    };
    assert!(complete(&results));
    let other = results
        .header
        .plan
        .variants
        .iter_mut()
        .find(|variant| variant.name == "front0")
        .expect("it is there");
    other.scheduler = "none".into();
    assert!(!complete(&results));
    assert!(of_typical().is_none(), "a comparison of schedulers is no sweep");
}

fn of_typical() -> Option<()> {
    let lab = Lab::typical();
    let views = view::workloads(&lab.analysis, None);
    of(&lab.analysis, "oltp", &views[0].metrics[0]).map(drop)
}

#[test]
fn the_table_of_a_sweep_reads_well_in_a_terminal() {
    let results = swept();
    let options =
        crate::terminal::Options { width: 80, colour: false, verbose: false, offered: Vec::new() };
    insta::assert_snapshot!(crate::terminal::render(&analyze(&results, None), None, &[], &options));
}

#[test]
fn the_table_of_a_sweep_fits_sixty_columns_and_no_number_is_broken() {
    let (results, width) = (swept(), 60);
    let analysis = analyze(&results, None);
    let options =
        crate::terminal::Options { width, colour: false, verbose: false, offered: Vec::new() };
    let text = crate::terminal::render(&analysis, None, &[], &options);
    assert!(text.lines().all(|line| line.chars().count() <= width.into()), "{text}");
    let views = view::workloads(&analysis, None);
    for row in of(&analysis, "oltp", &views[0].metrics[0]).expect("it is a sweep").rows {
        for part in
            [&row.tunable, &row.tried, &row.before, &row.after, &number::interval(row.comparison)]
        {
            assert!(text.contains(part.as_str()), "{part}: {text}");
        }
    }
}

#[test]
fn the_table_of_a_sweep_reads_well_in_markdown() {
    let text = crate::markdown::render(&Page::of(&analyze(&swept(), None), None))
        .expect("the report is made");
    insta::assert_snapshot!(
        text.split("<details>").next().expect("there is text before the details")
    );
}

#[test]
fn the_table_of_a_sweep_is_csv() {
    insta::assert_snapshot!(
        crate::csv::sweep(&Page::of(&analyze(&swept(), None), None)).expect("it is written")
    );
}

#[test]
fn the_page_has_a_curve_for_each_tunable_and_names_cannot_become_markup() {
    let mut results = swept();
    for variant in &mut results.header.plan.variants {
        if let Some(value) = variant.tunables.remove("fifo_batch") {
            variant.tunables.insert("<script>alert(1)</script>".into(), value);
        }
    }
    let page =
        crate::html::render(&Page::of(&analyze(&results, None), None)).expect("the page is made");
    assert_eq!(page.matches("over the values of ").count(), 5, "four curves, and the caption");
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;"));
}

#[test]
fn a_tunable_that_has_no_default_is_unset() {
    let mut results = swept();
    results.header.environment.remove(experiment::sweep::DEFAULTS);
    let analysis = analyze(&results, None);
    let views = view::workloads(&analysis, None);
    let metric = views[0].metrics.iter().find(|metric| metric.primary).expect("it decides");
    let sweep = of(&analysis, views[0].name, metric).expect("it is a sweep");
    assert!(sweep.rows.iter().all(|row| row.default == "unset"));
}
