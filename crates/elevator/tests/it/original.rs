//! The schedulers of Linux 2.6.20 dispatch like the original: cases of single rules, and a corpus
//! of random scripts with digests of the original's dispatches.
//!
//! The format is that of `properties::original`. `selfbench oracle --corpus` writes the corpus:
//! seeds 0 to 1999, and five that show one-tick errors which those miss (3279, 3283, 3418, 3576,
//! 16393), each at 100, 250 and 1000 ticks per second. Use `selfbench oracle --script` to compare
//! both dispatches of a failing script.

use elevator::find;
use properties::original::{
    Case as Entry, Column, Corpus, Planted, Script, digest, drive, drive_with, shown,
};

const CORPUS: &str = include_str!("../data/original-2.6.20.txt");

/// Rule, scheduler, ticks per second, script, and the original's dispatches.
type Case = (&'static str, &'static str, u32, &'static str, &'static str);

const CASES: &[Case] = &[
    (
        "after a join that removed the next request the next one is chosen from where the class was served last",
        "anticipatory",
        1000,
        "1 1024 w0:592+48 w0:192+24 w0:280+56 w0:1464+48 w0:216+64 c0 c0",
        "0:592+48 5:1464+48 6:192+144",
    ),
    (
        "a request is joined with its neighbour in the tree of its own class",
        "anticipatory",
        1000,
        "1 1024 r0:0+8 w1:1008+8 s1:984+16 s1:1000+8 c0 t300 c0 c0",
        "0:0+8 4:984+16 6:1000+16",
    ),
    (
        "a joined request is as old as the older one but keeps its place in the FIFO",
        "cfq",
        1000,
        "1 1024 kquantum=1 kfifo_expire_sync=125 r0:50000+8 r0:9000+8 t60 r0:100+8 t60 r0:8984+8 r0:8992+8 t6 c0 c0 c0",
        "2:50000+8 10:100+8 11:8984+24",
    ),
    (
        "a shared queue dies with its last process and request, and its successor is new",
        "cfq",
        1000,
        "1 64 w0:0+8 c0 x0 r1:1000+8 r2:2000+8 w3:3000+8 c0 t8 c0 c0",
        "0:0+8 3:1000+8 7:3000+8 8:2000+8",
    ),
    (
        "the one-hit cache takes bios at the front",
        "noop",
        1000,
        "1 64 r0:100+8 r0:308+8 r0:300+8 c0 c0",
        "0:100+8 3:300+16",
    ),
    (
        "also where front merges are off, and only the cache",
        "deadline",
        1000,
        "1 64 kfront_merges=0 r0:100+8 r0:308+8 r0:300+8 r0:508+8 r0:500+8 c0 c0 c0 c0",
        "1:100+8 6:300+16 7:500+8 8:508+8",
    ),
    (
        "a request that has refused a bio for its size takes no more",
        "deadline",
        1000,
        "1 64 r0:0+8 r1:100+60 r1:160+8 r1:96+4 c0 c0 c0 c0",
        "0:0+8 4:96+4 5:100+60 6:160+8",
    ),
    (
        "of overlapping requests the neighbour in the tree decides",
        "deadline",
        1000,
        "1 64 r0:0+8 r1:100+16 r1:104+4 r1:124+8 r1:116+8 c0 c0 c0 c0",
        "0:0+8 5:100+24 6:104+4 7:124+8",
    ),
    (
        "the driver asks on a submission only if the scheduler was empty",
        "cfq",
        1000,
        "2 64 r0:0+8 r1:1000+8 r0:8+8 c0 t8",
        "0:0+8 3:8+8",
    ),
    (
        "a front merge that displaces another request loses none",
        "anticipatory",
        100,
        "1 64 w6:0+8 w6:8+8 w2:0+64 t26 w1:0+8 c0 c0",
        "0:0+8 5:0+64 6:0+16",
    ),
];

#[test]
fn single_rules_are_those_of_the_original() {
    for (rule, scheduler, hz, script, original) in CASES {
        let script: Script = script.parse().expect("the cases are scripts");
        let kind = find(scheduler).expect("a row of the table");
        let ours = drive(kind, *hz, &script).expect("no scheduler panics");
        assert_eq!(shown(&ours).trim_start(), *original, "{scheduler}: {rule}");
    }
}

fn corpus() -> Corpus {
    Corpus::parse(CORPUS).unwrap_or_else(|error| panic!("tests/data/original-2.6.20.txt: {error}"))
}

/// Whether a scheduler with this error agrees with the original; None where that crashed.
fn agrees(case: &Entry, at: usize, column: &Column, planted: Planted) -> Option<bool> {
    let original = case.digests[at]?;
    let ours = drive_with(column.kind, column.hz, &case.script, planted);
    Some(ours.is_ok_and(|dispatches| digest(&shown(&dispatches)) == original))
}

#[test]
fn two_thousand_random_scripts_are_dispatched_as_by_the_original_at_every_hz() {
    let corpus = corpus();
    assert!(
        corpus.cases.len() >= 2000 && corpus.columns.len() == 12,
        "four schedulers at three HZ"
    );
    let mut compared = 0;
    for case in &corpus.cases {
        for (at, column) in corpus.columns.iter().enumerate() {
            let agrees = agrees(case, at, column, Planted::Nothing);
            assert_ne!(agrees, Some(false), "{column} differs from the original: {}", case.script);
            compared += u64::from(agrees.is_some());
        }
    }
    assert!(compared > 23_900, "the original faults seldom: {compared}");
}

#[test]
fn an_error_of_one_tick_in_any_time_is_caught() {
    const PLANTED: &[(&str, &[Planted])] = &[
        ("deadline", &[Planted::Longer("read_expire"), Planted::Longer("write_expire")]),
        (
            "anticipatory",
            &[
                Planted::LateTimers,
                Planted::Longer("antic_expire"),
                Planted::Longer("read_expire"),
                Planted::Longer("write_expire"),
                Planted::Longer("read_batch_expire"),
                Planted::Longer("write_batch_expire"),
            ],
        ),
        (
            "cfq",
            &[
                Planted::LateTimers,
                Planted::Longer("slice_idle"),
                Planted::Longer("slice_sync"),
                Planted::Longer("slice_async"),
                Planted::Longer("fifo_expire_sync"),
                Planted::Longer("fifo_expire_async"),
            ],
        ),
    ];
    let corpus = corpus();
    let mut missed = Vec::new();
    for (at, column) in corpus.columns.iter().enumerate() {
        for (_, planted) in PLANTED.iter().filter(|(scheduler, _)| *scheduler == column.kind.name) {
            for planted in *planted {
                let caught = corpus
                    .cases
                    .iter()
                    .any(|case| agrees(case, at, column, *planted) == Some(false));
                missed.extend((!caught).then(|| format!("{column}: {planted:?}")));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}
