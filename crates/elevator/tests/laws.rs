//! The laws over every row of the table: what each scheduler promises is tried with arbitrary inputs. `mutants/` shows that the
//! laws can fail.

mod common;
#[path = "../examples/shortest_first.rs"]
#[allow(dead_code, reason = "main is the example's own")]
mod shortest_first;

use common::{Law, input::Input, inputs, judge, laws, samples};
use elevator::ELEVATORS;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};

/// Inputs for each law and row, unless PROPTEST_CASES says otherwise.
const CASES: u32 = 64;

fn hold(law: &Law) {
    let cases = std::env::var("PROPTEST_CASES").ok().map_or(CASES, |cases| cases.parse().expect("a number of cases"));
    for kind in ELEVATORS.iter().chain([&samples::SWEEP, &samples::IDLER, &shortest_first::ROW]) {
        let config = Config { cases, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
        let judged = TestRunner::new(config)
            .run(&inputs(), |input: Input| judge(law, kind, &input).map_err(TestCaseError::fail));
        if let Err(TestError::Fail(why, input)) = judged {
            panic!("{} breaks the law {}: {why}\nwith {input:?}", kind.name, law.name);
        }
        judged.expect("the inputs can be made");
    }
}

macro_rules! every_law {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { hold(laws::law(stringify!($name))) })*

        #[test]
        fn every_law_of_the_table_is_tried() {
            assert_eq!(common::LAWS.iter().map(|law| law.name).collect::<Vec<_>>(), [$(stringify!($name)),*]);
        }
    };
}

every_law![
    served_once_through_the_queue,
    served_once_directly,
    requeued_requests_are_served_once,
    drained_at_the_end,
    counters_agree,
    merges_keep_every_sector,
    never_idle_while_holding_work,
    idling_ends_by_a_timer,
    asking_again_changes_nothing,
    order_of_arrival,
    order_of_sectors,
    passed_at_most,
    waits_at_most,
    tunables_read_back,
    same_input_same_output,
    anticipation_adds_up,
];

#[test]
fn rows_have_names_of_their_own_and_say_where_they_come_from() {
    for (at, kind) in ELEVATORS.iter().enumerate() {
        assert!(ELEVATORS[..at].iter().all(|other| other.name != kind.name), "{} stands twice", kind.name);
        assert!(!kind.help.is_empty() && !kind.source.is_empty() && !kind.promises.is_empty(), "{}", kind.name);
        for (at, tunable) in kind.tunables.iter().enumerate() {
            assert!(
                kind.tunables[..at].iter().all(|other| other.name != tunable.name),
                "{} {}",
                kind.name,
                tunable.name
            );
        }
    }
}
