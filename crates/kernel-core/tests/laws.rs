//! The laws over every Rust elevator, over the C cores: the same inputs, the same harness.

#[path = "../../elevator/tests/common/mod.rs"]
mod common;

use common::{LAWS, Law, input::Input, inputs, judge, laws::law};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};

/// Inputs for each law and row, unless PROPTEST_CASES says otherwise.
const CASES: u32 = 64;

fn hold(law: &Law) {
    let cases = std::env::var("PROPTEST_CASES").ok().map_or(CASES, |cases| cases.parse().expect("a number of cases"));
    for kind in &kernel_core::rows() {
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
        $(#[test] fn $name() { hold(law(stringify!($name))) })*

        #[test]
        fn every_law_of_the_table_is_tried() {
            assert_eq!(LAWS.iter().map(|law| law.name).collect::<Vec<_>>(), [$(stringify!($name)),*]);
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
