//! The results file of a virtual-time experiment does not depend on the number of threads.

use std::time::Duration;

use experiment::plan::{Plan, SCHEMA};
use experiment::results::{Environment, Header, Results};
use lab::arena::sim::SimArena;
use lab::arena::under_test::UnderTest;
use lab::console::Console;
use lab::progress::Silent;
use lab::resolve::Resolved;
use lab::run::{Destination, Experiment, Pilot, Place, run};
use lab::signals::Stop;
use lab::store::{RESULTS, Store};
use machine::files::Dir;

/// The variants are decided after different numbers of rounds; trial lengths differ.
const PLAN: &str = r#"
name = "threads"
arena = "sim"
device = "hp97560"
seed = 5
trial = { duration_ms = 20000, warmup_ms = 500 }
budget = { time_s = 3000.0 }
variant = [
    { name = "none", scheduler = "none" },
    { name = "mq-deadline", scheduler = "mq-deadline" },
    { name = "sstf", scheduler = "sstf" },
]
workload = [
    { name = "random", kind = "randread", params = { clients = "16" } },
    { name = "amount", kind = "seqread", params = { clients = "3", amount = "1M" } },
]
"#;

/// The results file, and the number of rounds of its first workload.
fn results_on(threads: usize) -> (Vec<u8>, usize) {
    let (stop, dir) = (Stop::install().unwrap(), tempfile::tempdir().unwrap());
    let Resolved { plan, workloads, under_test } =
        Resolved::read(Plan::from_toml(PLAN).unwrap()).unwrap();
    let UnderTest::Sim { model, variants } = under_test else {
        panic!("the plan is the simulator's")
    };
    let mut arena =
        SimArena::open(&plan, model, variants, workloads, &stop).unwrap().with_threads(threads);
    let header = Header {
        schema: SCHEMA,
        schedlab: String::new(),
        plan: plan.clone(),
        environment: Environment::new(),
        started_unix_ms: 0,
        command: String::new(),
    };
    let mut store = Store::create(Dir::open(dir.path()).unwrap(), &header).unwrap();
    let experiment = Experiment {
        place: Place::Open { plan, arena: &mut arena },
        pilot: Pilot::Skipped("the plan has the lengths of its trials"),
        results: Destination::Begun { results: Box::new(Results::new(header)), log: &mut store },
        hooks: &(),
    };
    run(experiment, Console::new(&stop, &Silent)).unwrap();
    let results = lab::store::read(dir.path()).unwrap();
    assert!(
        results.end.is_some() && results.last_ms() > Duration::from_secs(60).as_millis() as u64
    );
    (std::fs::read(dir.path().join(RESULTS)).unwrap(), results.trials.len())
}

#[test]
fn results_are_the_same_on_any_number_of_threads() {
    let (one, trials) = results_on(1);
    assert!(trials > 20, "{trials} trials");
    for threads in [2, 5] {
        assert!(results_on(threads).0 == one, "another results file on {threads} threads");
    }
}
