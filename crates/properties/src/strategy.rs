//! Random inputs, and checking rows with them.

use elevator::{ElevatorKind, Guarantee, Op, PrioClass, Priority};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

use crate::guarantees::{FLOW_PROPERTIES, Flow, MAX_FLOWS, MAX_WINDOW, Scenario};
use crate::input::{DISK, Input, Setting, Step, replace_exited};
use crate::properties::{Property, assess, broken_of, broken_properties};

/// Per property and row, and with `SCHEDLAB_SOAK`. Each run differs.
const CASES: u32 = 16;
const SOAK_CASES: u32 = 64;

fn nr_of_cases() -> u32 {
    let usual = if std::env::var_os("SCHEDLAB_SOAK").is_some() { SOAK_CASES } else { CASES };
    std::env::var("PROPTEST_CASES")
        .ok()
        .map_or(usual, |cases| cases.parse().expect("a number of cases"))
}

fn step() -> impl Strategy<Value = Step> {
    // Pauses around schedulers' idling times, bursts, and long pauses.
    let gap = prop_oneof![4 => Just(0u64), 4 => 0..200_000u64, 3 => 0..12_000_000u64, 1 => 0..300_000_000u64];
    // Few neighbouring sectors cause merges and aliases, many cause seeks.
    let sector = prop_oneof![3 => (0..24u64).prop_map(|at| 5000 + 8 * at), 2 => 0..DISK - 4096, 1 => (0..8u64).prop_map(|at| at * 100_000)];
    let nr_sectors = prop_oneof![6 => Just(8u32), 2 => 1..64u32, 1 => 1..1500u32];
    let class = prop_oneof![1 => Just(PrioClass::RealTime), 6 => Just(PrioClass::BestEffort), 1 => Just(PrioClass::Idle)];
    let priority = prop_oneof![3 => Just(Priority::default()), 1 => (class, 0..8u8).prop_map(|(class, level)| Priority { class, level })];
    let kind = (
        prop::bool::weighted(0.35),
        prop::bool::weighted(0.6),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.02),
    );
    (gap, 0..5u32, sector, nr_sectors, priority, kind).prop_map(
        |(gap_ns, process, sector, nr_sectors, priority, (write, sync, meta, exit))| Step {
            gap_ns,
            process,
            op: if write { Op::Write } else { Op::Read },
            sector,
            nr_sectors,
            sync: sync || !write,
            meta,
            priority,
            exit,
        },
    )
}

fn setting() -> impl Strategy<Value = Setting> {
    prop_oneof![
        3 => Just(Setting::Default),
        2 => Just(Setting::Min),
        2 => Just(Setting::Max),
        3 => any::<u16>().prop_map(Setting::Between)
    ]
}

pub fn inputs() -> impl Strategy<Value = Input> {
    let steps = prop_oneof![1 => prop::collection::vec(step(), 1..6), 3 => prop::collection::vec(step(), 6..120)];
    let service = prop_oneof![3 => 1_000..20_000_000u64, 1 => 1..200_000u64];
    let service_ns = prop::collection::vec(service, 1..6);
    let queue = (
        prop_oneof![2 => Just(1u32), 1 => 2..=64u32],
        prop_oneof![2 => 1..20u32, 1 => Just(128u32)],
        prop_oneof![3 => Just(1024u32), 1 => 1..64u32],
        prop::bool::weighted(0.8),
    );
    let host = (prop::sample::select(vec![100u32, 250, 300, 1000]), prop::bool::weighted(0.8));
    let settings = prop_oneof![
        2 => Just(vec![Setting::Default]),
        1 => Just(vec![Setting::Min]),
        1 => Just(vec![Setting::Max]),
        2 => prop::collection::vec(setting(), 1..12)
    ];
    (steps, service_ns, queue, host, settings).prop_map(
        |(
            steps,
            service_ns,
            (queue_depth, nr_requests, max_sectors, merge),
            (hz, rotational),
            settings,
        )| Input {
            steps: replace_exited(steps),
            service_ns,
            queue_depth,
            nr_requests,
            max_sectors,
            merge,
            hz,
            rotational,
            settings,
        },
    )
}

/// Shrinks towards few small requests.
fn flow() -> impl Strategy<Value = Flow> {
    let demand = (
        prop_oneof![3 => Just(0u64), 1 => 0..30_000u64],
        prop_oneof![1 => 1..8u32, 3 => 8..120u32],
        1..=MAX_WINDOW,
        1..8u32,
    );
    let kind =
        (any::<bool>(), prop::bool::weighted(0.4), prop_oneof![2 => Just(0u32), 1 => 0..200u32]);
    (
        prop_oneof![1 => Just(1u32), 2 => 1..=10u32],
        prop_oneof![2 => Just(1u32), 1 => 1..=32u32],
        demand,
        kind,
    )
        .prop_map(
            |(
                weight,
                pages,
                (starts_us, requests, window, burst),
                (random, greedy, slack_percent),
            )| Flow {
                weight,
                kib: 4 * pages,
                random,
                starts_us,
                requests,
                window,
                burst,
                greedy,
                slack_percent,
            },
        )
}

pub fn scenarios() -> impl Strategy<Value = Scenario> {
    let depth = prop_oneof![2 => Just(1u32), 1 => 1..=8u32];
    (prop::collection::vec(flow(), 1..=MAX_FLOWS), depth, 10..95u32, any::<u16>()).prop_map(
        |(flows, depth, load_percent, seed)| Scenario {
            flows,
            depth,
            load_percent,
            seed: u64::from(seed),
        },
    )
}

/// The same inputs at every call.
pub fn fixed_inputs(nr: usize) -> Vec<Input> {
    fixed(&inputs(), nr)
}

/// The same scenarios at every call.
pub fn fixed_scenarios(nr: usize) -> Vec<Scenario> {
    fixed(&scenarios(), nr)
}

fn fixed<I>(of: &impl Strategy<Value = I>, nr: usize) -> Vec<I> {
    let mut runner = TestRunner::deterministic();
    let inputs =
        (0..nr).map(|_| of.new_tree(&mut runner).expect("the strategy yields an input").current());
    inputs.collect()
}

/// Checks a property of rows with random inputs: 16 per row, 64 with `SCHEDLAB_SOAK`, or
/// `PROPTEST_CASES`.
///
/// # Panics
/// If a row breaks the property, with the smallest input found.
pub fn check<'a>(property: &Property, rows: impl IntoIterator<Item = &'a ElevatorKind>) {
    check_with(property, rows, &inputs());
}

/// As [`check`].
pub fn check_flows<'a>(
    property: &Property<Scenario>,
    rows: impl IntoIterator<Item = &'a ElevatorKind>,
) {
    check_with(property, rows, &scenarios());
}

/// As [`check`], with another strategy.
pub fn check_with<'a, I: std::fmt::Debug>(
    property: &Property<I>,
    rows: impl IntoIterator<Item = &'a ElevatorKind>,
    inputs: &impl Strategy<Value = I>,
) {
    let cases = nr_of_cases();
    for kind in rows {
        if let Err((why, input)) = search(property, kind, inputs, cases) {
            panic!("{} breaks the property {}: {why}\nwith {input:?}", kind.name, property.name);
        }
    }
}

/// # Errors
/// How the property is broken, and the smallest input found.
pub fn search<I: std::fmt::Debug>(
    property: &Property<I>,
    kind: &ElevatorKind,
    inputs: &impl Strategy<Value = I>,
    cases: u32,
) -> Result<(), (String, I)> {
    search_by(TestRunner::new(config(cases)), inputs, |input| assess(property, kind, input))
}

/// The same inputs at every call; `size`: cases, and shrinking attempts.
pub fn search_again<I: std::fmt::Debug>(
    property: &Property<I>,
    kind: &ElevatorKind,
    inputs: &impl Strategy<Value = I>,
    cases: u32,
    shrinks: u32,
) -> Result<(), (String, I)> {
    let config = Config { max_shrink_iters: shrinks, ..config(cases) };
    let runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    search_by(runner, inputs, |input| assess(property, kind, input))
}

pub(crate) fn config(cases: u32) -> Config {
    Config { cases, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() }
}

pub(crate) fn search_by<I: std::fmt::Debug>(
    mut runner: TestRunner,
    inputs: &impl Strategy<Value = I>,
    holds: impl Fn(&I) -> Result<(), String>,
) -> Result<(), (String, I)> {
    match runner.run(inputs, |input| holds(&input).map_err(TestCaseError::fail)) {
        Err(TestError::Fail(why, input)) => Err((why.to_string(), input)),
        other => {
            other.expect("the strategy yields inputs");
            Ok(())
        }
    }
}

/// Guarantees marked as not kept, each with whether an input breaks its property if the row makes
/// only this guarantee.
pub fn broken_guarantees(
    kind: &ElevatorKind,
    inputs: &[Input],
    scenarios: &[Scenario],
) -> Vec<(Guarantee, bool)> {
    let given_up = kind.guarantees.iter().filter_map(|guarantee| match guarantee {
        Guarantee::NotKept { guarantees, .. } => Some(guarantees.iter()),
        _ => None,
    });
    let mut found = Vec::new();
    for guarantee in given_up.flatten() {
        let only = kind.guaranteeing(std::slice::from_ref(guarantee));
        let broken = !broken_properties(&[&only], inputs).is_empty()
            || !broken_of(FLOW_PROPERTIES, &[&only], scenarios).is_empty();
        found.push((*guarantee, broken));
    }
    found
}
