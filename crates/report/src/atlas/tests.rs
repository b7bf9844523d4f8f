//! Renders a small atlas with hostile names.

use experiment::atlas::{About, Atlas, Cell, Hole, Key};
use experiment::plan::Plan;
use experiment::results::{Header, Observation, Results, Trial};

use super::*;

fn cell(arena: &str, device: &str, workload: &str, values: &[(&str, [f64; 4])]) -> Cell {
    let text = "arena = 'sim'\ndevice = 'null'\nvariant = [{ name = 'a', scheduler = 'none' }, { name = 'b', scheduler = 'bfq' }]\n\
                workload = [{ name = 'w', kind = 'randread', primary = 'iops' }]\n";
    let mut plan = Plan::from_toml(text).expect("a plan");
    plan.workloads[0].name = workload.into();
    plan.baseline = Some("none".into());
    for (variant, (name, _)) in plan.variants.iter_mut().zip(values) {
        variant.name = (*name).into();
    }
    let header = Header {
        schema: 1,
        schedlab: "0.1.0".into(),
        plan,
        environment: Default::default(),
        started_unix_ms: 0,
        command: String::new(),
    };
    let mut results = Results::new(header);
    for round in 0..4 {
        for (variant, values) in values {
            let metrics = [
                ("iops".to_owned(), values[round]),
                ("latency_p99_us".to_owned(), 1e6 / values[round]),
                ("fairness_jain".to_owned(), 0.9),
            ];
            results.trials.push(Trial {
                sequence: results.trials.len() as u64,
                workload: workload.into(),
                round: round as u32,
                position: 0,
                variant: (*variant).into(),
                started_ms: 0,
                observation: Observation { metrics: metrics.into(), ..Observation::default() },
            });
        }
    }
    let key = Key { arena: arena.into(), device: device.into(), workload: workload.into() };
    Cell::of(&About { key, fairness: "fairness_jain", special: &[], known: &[] }, &results)
        .expect("a cell")
}

fn atlas() -> Atlas {
    let slow = [100.0, 101.0, 99.0, 100.0];
    let fast = [200.0, 202.0, 198.5, 200.0];
    let cells = vec![
        cell("sim", "hp97560", "oltp", &[("none", slow), ("bfq", fast)]),
        cell("matched-sim", "hp97560", "oltp", &[("none", slow), ("bfq", fast)]),
        cell("kernel", "hp97560", "oltp", &[("none", fast), ("bfq", slow)]),
        cell(
            "sim",
            "<script>alert(1)</script>",
            "a|b`c\u{1b}[31m",
            &[("none", slow), ("=1+1", fast)],
        ),
    ];
    let key = Key { arena: "sim".into(), device: "nvme".into(), workload: "dss".into() };
    Atlas::of(
        cells,
        vec![Hole { key, why: "not measured <b>yet</b>".into() }],
        vec!["edf: on real-time only".into()],
    )
}

#[test]
fn the_page_names_winners_regret_disagreement_and_holes() {
    let page = html::page(&atlas()).expect("a page");
    for text in [
        "oltp on hp97560",
        "2.00× [",
        "bfq before none",
        "none before bfq",
        "dss on nvme: not measured",
        "edf: on real-time only",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(
        page.contains("href=\"#sim.hp97560.oltp\"") && page.contains("id=\"sim.hp97560.oltp\""),
        "names lead to their cells"
    );
    assert!(!page.contains("http"), "nothing from another address");
}

#[test]
fn names_from_outside_become_neither_markup_nor_commands_nor_formulas() {
    let atlas = atlas();
    for (name, text) in files(&atlas).expect("the files are made") {
        let plain = text.replace("<script>alert(1)</script>", "SCRIPT");
        assert_eq!(plain.contains("SCRIPT"), name == "atlas.json" || name == "atlas.csv", "{name}");
        assert!(
            !text.contains('\u{1b}') || name == "atlas.csv",
            "{name}: a spreadsheet takes a name as it is"
        );
        assert!(!text.contains("<b>yet</b>") || name == "atlas.json", "{name}");
    }
    let csv = data::csv(&atlas).expect("a table");
    assert!(csv.contains(",'=1+1,"), "{csv}");
    let shown = terminal(
        &atlas,
        &Options { width: 100, colour: false, verbose: false, offered: Vec::new() },
    );
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn the_data_are_what_the_page_shows_and_can_be_read_again() {
    let atlas = atlas();
    let text = json(&atlas).expect("JSON");
    let back: Atlas = serde_json::from_str(&text).expect("an atlas");
    assert_eq!(json(&back).expect("JSON"), text);
    let rows: Vec<::csv::StringRecord> =
        ::csv::Reader::from_reader(data::csv(&atlas).expect("a table").as_bytes())
            .records()
            .collect::<Result<_, _>>()
            .expect("the table can be read");
    assert_eq!(rows.len(), 8);
    assert_eq!((&rows[0][4], &rows[0][14]), ("bfq", "true"));
    assert!(markdown(&atlas).contains("| bfq | 1 of 2 |"), "{}", markdown(&atlas));
}

#[test]
fn what_a_kernel_changed_is_said_first_the_worst_in_front_within_80_columns() {
    let (slow, fast) = ([100.0, 101.0, 99.0, 100.0], [200.0, 202.0, 198.5, 200.0]);
    let never = [0.0; 4];
    let long = "reader-beside-writers";
    let cells = vec![
        cell("kernel 6.1", "st2000dm006", long, &[("none", fast), ("mq-deadline", fast)]),
        cell("kernel 6.1", "nvme", long, &[("none", slow), ("bfq", slow)]),
        cell("kernel 7.3", "st2000dm006", long, &[("none", fast), ("mq-deadline", never)]),
        cell("kernel 7.3", "nvme", long, &[("none", fast), ("bfq", [97.0, 98.0, 96.5, 97.0])]),
    ];
    let atlas = Atlas::of(cells, Vec::new(), Vec::new());
    let options = Options { width: 80, colour: false, verbose: false, offered: Vec::new() };
    let shown = terminal(&atlas, &options);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    let text = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        // No completion in four trials may be chance.
        "kernel 7.3 against 6.1: of 4 comparisons, 1 worse (at most 0.971×: bfq, \
         reader-beside-writers on nvme), 1 better (at most 2.00×: none,",
        "1 equivalent, 1 inconclusive, 0 invalid.",
        "What kernel 7.3 changed against 6.1 on nvme",
        "bfq reader-beside-writers 100 IO/s 97.1 IO/s 0.971× [",
    ] {
        assert!(text.contains(words), "{words}: {shown}");
    }
    let place = |words: &str| text.find(words).unwrap();
    assert!(place("bfq reader") < place("none reader"), "worse before better: {shown}");
    assert!(!text.contains("(continued) variant workload"), "{shown}");
    let page = html::page(&atlas).expect("a page");
    assert!(
        page.contains("id=\"kernel-7-3.nvme.reader-beside-writers\"") && page.contains("0.971")
    );
}

#[test]
fn who_starved_is_named_in_every_form_and_stands_behind_all_others() {
    let (fast, never) = ([200.0, 202.0, 198.5, 200.0], [0.0; 4]);
    let cells = vec![
        cell("sim", "hp97560", "oltp", &[("none", never), ("bfq", fast)]),
        cell("sim", "nvme", "oltp", &[("none", fast), ("bfq", fast)]),
    ];
    let atlas = Atlas::of(cells, Vec::new(), Vec::new());
    let page = crate::template::with_plain_texts(&html::page(&atlas).expect("a page"));
    for text in [
        "<td class=\"s5\" title=\"no bound: no completions in 4 of 4 trials: nothing was done\">no completions</td>",
        ": none completed nothing",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let text = markdown(&atlas);
    assert!(
        text.contains(
            "| none | 2 | 1 (0) | 1 | no completions | no completions | oltp on hp97560 |"
        ),
        "{text}"
    );
    assert!(text.contains("| bfq | 2 | 2 (1) | 0 | "), "{text}");
    let csv = data::csv(&atlas).expect("a table");
    assert!(csv.contains("sim,hp97560,oltp,iops,none,,4,true,,,,inf,,,false,"), "{csv}");
    let back: Atlas = serde_json::from_str(&json(&atlas).expect("JSON")).expect("an atlas");
    assert_eq!((back.regret[1].worst, back.regret[1].starved), (None, 1));
}
