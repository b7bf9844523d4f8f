//! A plan measured in segments gives the results file of one machine, byte for byte. Anything that
//! is not a segment of the plan is refused.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use experiment::plan::{Plan, TrialLength, Variant};
use experiment::results::EndReason;
use lab::arena::Arena;
use lab::arena::open::{OpenOptions, within};
use lab::console::Console;
use lab::output::Output;
use lab::progress::Silent;
use lab::resolve::{Resolved, resolve};
use lab::run::{Destination, Experiment, Pilot, Place, run};
use lab::session::ResultsOptions;
use lab::shards::{Live, Merged, Missing, Prepared, ShardRequest, Unit, measure, merge, shard};
use lab::signals::Stop;
use lab::store::RESULTS;
use lab::tune::log::{self, Log, LoggedSearch, SEARCH};
use lab::tune::session::Session;
use lab::tune::space::{Field, SpaceRequest};
use machine::files::Dir;
use sha2::{Digest, Sha256};

const LONG: Duration = Duration::from_secs(600);

const COMMAND: &str = "schedlab run plan.toml";

/// The variants are decided after different numbers of rounds; the pilot run lengthens the trials.
const PLAN: &str = r#"
name = "shards"
arena = "sim"
device = "hp97560"
seed = 5
trial = { warmup_ms = 500 }
budget = { time_s = 4000.0 }
variant = [
    { name = "none", scheduler = "none" },
    { name = "mq-deadline", scheduler = "mq-deadline" },
    { name = "sstf", scheduler = "sstf" },
]
workload = [
    { name = "random \"w\"", kind = "randread", params = { clients = "16" } },
    { name = "amount", kind = "seqread", params = { clients = "3", amount = "1M" } },
]
"#;

fn resolved() -> Resolved {
    resolve(Plan::from_toml(PLAN).unwrap(), &mut |_| ()).unwrap()
}

fn prepared() -> Prepared {
    let asked = Plan::from_toml(PLAN).unwrap().trial;
    let stop = Stop::manual();
    Prepared::of(
        resolved(),
        &asked,
        COMMAND.to_owned(),
        &OpenOptions::default(),
        Console::new(&stop, &Silent),
    )
    .unwrap()
}

fn request(resolved: Resolved, asked: &TrialLength, rounds: Range<u32>) -> ShardRequest<'_> {
    ShardRequest { resolved, asked, command: COMMAND.to_owned(), rounds }
}

fn options(dir: &Path) -> ResultsOptions {
    ResultsOptions {
        output: Output::Named(dir.to_path_buf()),
        resume: false,
        command: COMMAND.to_owned(),
    }
}

fn of_one_machine() -> Vec<u8> {
    let (dir, stop) = (tempfile::tempdir().unwrap(), Stop::manual());
    let asked = Plan::from_toml(PLAN).unwrap().trial;
    let experiment = Experiment {
        place: Place::New {
            resolved: resolved(),
            root: &machine::Root::real(),
            opening: &OpenOptions::default(),
        },
        pilot: Pilot::Run { asked: &asked },
        results: Destination::Directory(options(dir.path())),
        hooks: &(),
    };
    run(experiment, Console::new(&stop, &Silent)).unwrap();
    std::fs::read(dir.path().join(RESULTS)).unwrap()
}

fn segment(prepared: &Prepared, units: &[Unit]) -> Vec<u8> {
    measure(prepared, units, &OpenOptions::default(), Console::new(&Stop::manual(), &Silent))
        .unwrap()
}

fn rounds(prepared: &Prepared, rounds: std::ops::Range<u32>) -> Vec<u8> {
    segment(prepared, &prepared.units(rounds).unwrap())
}

fn merged(segments: &[(&str, &[u8])]) -> Result<Merged, String> {
    let segments =
        segments.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
    merge(segments, &Stop::manual()).map_err(|error| format!("{error:#}"))
}

fn whole(segments: &[(&str, &[u8])]) -> Vec<u8> {
    match merged(segments).unwrap() {
        Merged::Whole { text, .. } => text,
        Merged::Missing(missing) => panic!("missing: {:?}", missing.units),
    }
}

fn missing(segments: &[(&str, &[u8])]) -> Missing {
    match merged(segments).unwrap() {
        Merged::Whole { .. } => panic!("nothing is missing"),
        Merged::Missing(missing) => *missing,
    }
}

/// Edits a segment and corrects its checksum.
fn sealed(segment: &[u8], change: impl Fn(String) -> String) -> Vec<u8> {
    let text = String::from_utf8(segment.to_vec()).unwrap();
    let body_end = text.trim_end().rfind('\n').unwrap() + 1;
    let body = change(text[..body_end].to_owned());
    let (trials, digest) = (body.lines().count() - 1, Sha256::digest(&body));
    format!("{body}{{\"kind\":\"end\",\"trials\":{trials},\"sha256\":\"{digest:x}\"}}\n")
        .into_bytes()
}

#[test]
fn pieces_of_any_number_order_and_repetition_give_the_results_of_one_machine() {
    let (one, prepared) = (of_one_machine(), prepared());
    assert!(
        String::from_utf8_lossy(&one).contains("lengthened-trials"),
        "the pilot run is part of the test"
    );
    let most = prepared.most_rounds();
    let all = rounds(&prepared, 0..most);
    assert_eq!(whole(&[("all", &all)]), one);
    // Cut anywhere, overlapping, repeated, reordered, on another number of threads; the last rounds
    // are speculative.
    let (a, b, c) = (rounds(&prepared, 3..most), rounds(&prepared, 0..2), rounds(&prepared, 1..5));
    let narrow = OpenOptions { threads: std::num::NonZeroUsize::new(1), ..OpenOptions::default() };
    let again = measure(
        &prepared,
        &prepared.units(0..2).unwrap(),
        &narrow,
        Console::new(&Stop::manual(), &Silent),
    )
    .unwrap();
    assert_eq!(again, b);
    for order in [[0, 1, 2, 3, 4], [4, 2, 0, 1, 3], [3, 4, 2, 1, 0]] {
        let all = [("a", &a), ("b", &b), ("c", &c), ("b again", &again), ("a again", &a)];
        let segments: Vec<(&str, &[u8])> =
            order.iter().map(|at| (all[*at].0, all[*at].1.as_slice())).collect();
        assert_eq!(whole(&segments), one, "{order:?}");
    }
    // Each trial in its own segment.
    let units: Vec<Unit> = prepared.units(0..most).unwrap();
    let single = |unit: &Unit, variant: &Variant| {
        segment(&prepared, &[Unit { variants: vec![variant.clone()], ..unit.clone() }])
    };
    let singles: Vec<Vec<u8>> = units
        .iter()
        .flat_map(|unit| unit.variants.iter().map(move |variant| single(unit, variant)))
        .collect();
    let named: Vec<(&str, &[u8])> =
        singles.iter().rev().map(|bytes| ("single", bytes.as_slice())).collect();
    assert_eq!(whole(&named), one);
}

#[test]
fn a_worker_measures_by_the_prepared_plan_that_was_sent_to_it() {
    let prepared = prepared();
    let sent = Prepared::from_json(&prepared.to_json()).unwrap();
    assert_eq!((sent.identity(), &sent), (prepared.identity(), &prepared));
    assert_eq!(prepared.clone().with_command("other".to_owned()).identity(), prepared.identity());
    let asked = Plan::from_toml(PLAN).unwrap().trial;
    let (stop, opening) = (Stop::manual(), OpenOptions::default());
    let made =
        shard(request(resolved(), &asked, 0..2), &opening, Console::new(&stop, &Silent)).unwrap();
    assert_eq!((made.trials, made.rounds.clone()), (12, 0..2));
    assert!(made.segment == rounds(&sent, 0..2), "by the plan or by what was prepared of it");
    let unit = sent.units(0..1).unwrap().remove(0);
    let other = Variant { scheduler: "sstf".to_owned(), ..unit.variants[0].clone() };
    for (unit, says) in [
        (Unit { workload: "amuont".to_owned(), ..unit.clone() }, "did you mean \"amount\""),
        (
            Unit { variants: vec![other], ..unit.clone() },
            "variant \"none\" is set otherwise in the plan",
        ),
        (Unit { rounds: 0..20_000, ..unit.clone() }, "too many"),
    ] {
        let error = measure(&sent, &[unit], &opening, Console::new(&stop, &Silent)).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn what_is_missing_is_named_and_is_enough() {
    let prepared = prepared();
    let (a, c) = (rounds(&prepared, 0..1), rounds(&prepared, 2..3));
    let lacks = missing(&[("c", &c)]);
    assert_eq!(lacks.found, 6);
    assert_eq!(lacks.rounds()[0].start, 0);
    let lacks = missing(&[("c", &c), ("a", &a)]);
    assert_eq!(lacks.rounds()[0], 1..2, "{:?}", lacks.rounds());
    // Repeatedly add only the trials reported missing.
    let mut segments = vec![a, c];
    loop {
        let named: Vec<(&str, &[u8])> =
            segments.iter().map(|bytes| ("piece", bytes.as_slice())).collect();
        match merged(&named).unwrap() {
            Merged::Whole { text, .. } => break assert_eq!(text, of_one_machine()),
            Merged::Missing(missing) => {
                let first = Unit {
                    rounds: missing.units[0].rounds.start..missing.units[0].rounds.start + 1,
                    ..missing.units[0].clone()
                };
                segments.push(segment(&prepared, &[first]));
            }
        }
        assert!(segments.len() < 200, "it asks for more and more");
    }
}

#[test]
fn two_segments_that_disagree_are_both_named() {
    let prepared = prepared();
    let a = rounds(&prepared, 0..2);
    let other = sealed(&a, |text| text.replacen("\"iops\":", "\"iops\":1", 1));
    for order in [[("a", &a), ("liar", &other)], [("liar", &other), ("a", &a)]] {
        let error = merged(&order.map(|(name, bytes)| (name, bytes.as_slice()))).unwrap_err();
        assert!(
            error.contains("disagrees with") && error.contains("liar") && error.contains("round 0"),
            "{error}"
        );
    }
}

#[test]
fn a_segment_of_an_edited_plan_or_another_build_is_refused() {
    let prepared = prepared();
    let a = rounds(&prepared, 0..2);
    let edited = PLAN
        .replace("seed = 5", "seed = 6")
        .replace("warmup_ms = 500", "duration_ms = 20000, warmup_ms = 500");
    let resolved = resolve(Plan::from_toml(&edited).unwrap(), &mut |_| ()).unwrap();
    let asked = Plan::from_toml(&edited).unwrap().trial;
    let (stop, opening) = (Stop::manual(), OpenOptions::default());
    let b = shard(request(resolved, &asked, 2..3), &opening, Console::new(&stop, &Silent))
        .unwrap()
        .segment;
    let error = merged(&[("a", &a), ("b", &b)]).unwrap_err();
    assert!(error.contains("b: of another plan than a: plan.seed: found 6, expected 5"), "{error}");
    let old =
        sealed(&a, |text| text.replacen("\"schedlab\":\"unnamed\"", "\"schedlab\":\"other\"", 1));
    let error = merged(&[("a", &a), ("old", &old)]).unwrap_err();
    assert!(
        error.contains("old: prepared plan: measured by another build of schedlab (found other, expected unnamed)"),
        "{error}"
    );
    let later =
        sealed(&a, |text| text.replacen("\"segment\",\"schema\":1", "\"segment\",\"schema\":2", 1));
    let error = merged(&[("later", &later)]).unwrap_err();
    assert!(
        error.contains("later: segment: another format (found 2, of build unnamed; expected 1, of this build unnamed)"),
        "{error}"
    );
    let elsewhere =
        sealed(&a, |text| text.replacen("\"identity\":\"", "\"identity\":\"another-", 1));
    let error = merged(&[("elsewhere", &elsewhere)]).unwrap_err();
    assert!(error.contains("its identity is not that of its plan"), "{error}");
}

#[test]
fn a_segment_that_was_cut_or_changed_anywhere_is_refused() {
    let prepared = prepared();
    let a = rounds(&prepared, 0..1);
    for share in 0..40 {
        let at = a.len() * share / 40;
        let error = merged(&[("torn", &a[..at])]).unwrap_err();
        let head = a.iter().position(|byte| *byte == b'\n').unwrap();
        let fault = if at < head { "torn: not a segment" } else { "torn: segment: cut off" };
        assert!(error.starts_with(fault), "cut at {at}: {error}");
        let mut changed = a.clone();
        changed[at] ^= 1;
        assert!(merged(&[("changed", &changed)]).is_err(), "changed at {at}");
    }
    let error = merged(&[("torn", &a[..a.len() - 1])]).unwrap_err();
    assert!(
        error
            .contains("cut off, its last line is missing; make it again: schedlab shard run PLAN --rounds 0..1 --out torn"),
        "{error}"
    );
    let error = merged(&[("text", b"variant,value\n")]).unwrap_err();
    assert!(error.contains("text: not a segment"), "{error}");
    let error = merged(&[]).unwrap_err();
    assert!(error.contains("segments: none"), "{error}");
}

#[test]
fn a_hostile_segment_is_refused_whatever_its_checksum_says() {
    let prepared = prepared();
    let a = rounds(&prepared, 0..prepared.most_rounds());
    for (from, to, says) in [
        (
            "{\"workload\":0,\"round\":0,\"variant\":0",
            "{\"workload\":9,\"round\":0,\"variant\":0",
            "that its plan does not have (workload 9",
        ),
        (
            "{\"workload\":0,\"round\":0,\"variant\":0",
            "{\"workload\":0,\"round\":4000000000,\"variant\":0",
            "round 4000000000",
        ),
        (
            "{\"workload\":0,\"round\":0,\"variant\":0",
            "{\"workload\":0,\"round\":0,\"variant\":70",
            "variant 70",
        ),
        (
            "{\"workload\":0,\"round\":0,\"variant\":0",
            "{\"workload\":-1,\"round\":0,\"variant\":0",
            "line 2: not a trial",
        ),
        (
            "\"variants\":[{\"name\":\"none\",\"scheduler\":\"none\"}",
            "\"variants\":[{\"name\":\"none\",\"scheduler\":\"sstf\"}",
            "\"none\" is not one of its plan",
        ),
        ("\"observation\":{\"duration_ns\"", "\"observation\":{\"duration\"", "missing field"),
        ("\"metrics\":{", "\"metrics\":[{", "line 2: not a trial"),
        // Skipped while comparing, detected when the results file is read.
        ("\"counters\":{", "\"counters\":{\"x\":[],", "liar: segment: invalid trial"),
        ("\"latency\":[{", "\"latency\":[{\"op\":1,\"x\":{", ""),
        (
            "\"invalid\":[",
            "\"invalid\":[{\"reason\":\"interrupted\",\"by\":\"SIGINT\"},",
            "cut short",
        ),
    ] {
        let hostile = sealed(&a, |text| {
            let (head, body) = text.split_once('\n').unwrap();
            if head.contains(from) {
                text.replacen(from, to, 1)
            } else {
                format!("{head}\n{}", body.replacen(from, to, 1))
            }
        });
        assert!(hostile != a, "{from}");
        let error = merged(&[("liar", &hostile)]).expect_err(to);
        assert!(error.contains(says) && error.contains("liar"), "{to}: {error}");
    }
}

/// Measures what is needed with `workers` units outstanding; every `lost`-th unit is lost. Returns
/// the maximum number of trials in a unit.
fn drive<T: Send + 'static>(
    live: &Live<T>,
    prepared: &Prepared,
    workers: usize,
    lost: usize,
) -> u64 {
    let (mut out, mut nr, mut most) = (Vec::<Vec<Unit>>::new(), 0, 0);
    while !live.is_done() {
        let units = live.take(7);
        if !units.is_empty() {
            most = most.max(units.iter().map(Unit::trials).sum());
            out.push(units);
        } else if out.is_empty() {
            assert!(live.wait(LONG), "nothing is wanted and nothing is out");
        }
        // Last in, first out.
        if (out.len() >= workers || !live.wait(Duration::ZERO))
            && let Some(units) = out.pop()
        {
            nr += 1;
            if nr % lost == 0 {
                live.give_back(&units);
                continue;
            }
            let bytes = segment(prepared, &units);
            live.put("piece", bytes.clone()).unwrap();
            live.put("the same again", bytes).unwrap();
        }
    }
    most
}

fn search(
    arena: &mut dyn Arena,
    plan: &Plan,
    dir: &Path,
    console: Console<'_>,
) -> anyhow::Result<Vec<u8>> {
    let schedulers = ["deadline", "anticipatory"].map(str::to_owned).into();
    let request = SpaceRequest { schedulers, ..SpaceRequest::default() };
    let field = Field::of(&request, &elevator::Build::default(), |_| Vec::new())?;
    let header = log::Header {
        schema: log::SCHEMA,
        schedlab: text::build::identity().to_owned(),
        plan: plan.clone(),
        objective: String::new(),
        constraints: Vec::new(),
        space: Vec::new(),
        fixed: Default::default(),
        trials: 40,
        patience: None,
    };
    let mut log = Log::create(&Dir::make(dir)?, &header, &arena.capture()?)?;
    let options = experiment::search::Options {
        seed: 5,
        mode: experiment::search::Mode::Reused,
        margin: 0.01,
        trials: 40,
        width: 4,
        patience: None,
        proposals: experiment::search::Proposals::Mixed,
    };
    let mut search = experiment::search::Search::new(field.space.clone(), None, options);
    let seen = LoggedSearch::default();
    let session = Session { field: &field, constraints: &[], log: &mut log, seen, time: None };
    session.run(&mut search, plan, arena, console)?;
    Ok(std::fs::read(dir.join(SEARCH))?)
}

#[test]
fn a_search_whose_candidates_are_measured_elsewhere_side_by_side_has_the_log_of_one_machine() {
    let (prepared, dir) = (prepared(), tempfile::tempdir().unwrap());
    let (stop, opening) = (Stop::manual(), OpenOptions::default());
    let resolved = Resolved::read(prepared.plan().clone()).unwrap();
    let one = within(
        &machine::Root::real(),
        resolved,
        &opening,
        Console::new(&stop, &Silent),
        |plan, arena| search(arena, plan, &dir.path().join("one"), Console::new(&stop, &Silent)),
    );
    let (plan, many) = (prepared.plan().clone(), dir.path().join("many"));
    let work =
        move |arena: &mut dyn Arena, console: Console<'_>| search(arena, &plan, &many, console);
    let live = Live::spawn(prepared.clone(), Stop::manual(), work).unwrap();
    let most = drive(&live, &prepared, 3, 4);
    assert!(most > 2, "the candidates of a step are wanted together ({most} trials at most)");
    assert!(live.finish().unwrap() == one.unwrap(), "another log");
}

#[test]
fn trials_that_arrive_in_any_order_from_workers_that_are_lost_give_the_results_of_one_machine() {
    let (one, prepared) = (of_one_machine(), prepared());
    for (workers, lost) in [(1, 1000), (4, 3)] {
        let dir = tempfile::tempdir().unwrap();
        let live =
            Live::experiment(prepared.clone(), options(&dir.path().join("out")), Stop::manual())
                .unwrap();
        drive(&live, &prepared, workers, lost);
        let dir = live.finish().unwrap();
        assert!(std::fs::read(dir.join(RESULTS)).unwrap() == one, "{workers} workers");
    }
}

#[test]
fn an_experiment_that_is_abandoned_or_asked_to_end_ends_and_one_that_is_lied_to_says_so() {
    let (prepared, dir) = (prepared(), tempfile::tempdir().unwrap());
    let live =
        Live::experiment(prepared.clone(), options(&dir.path().join("a")), Stop::manual()).unwrap();
    assert!(live.wait(LONG));
    let units = live.take(1);
    assert_eq!(units.iter().map(Unit::trials).sum::<u64>(), 1);
    let piece = segment(&prepared, &units);
    live.put("piece", piece.clone()).unwrap();
    let liar = sealed(&piece, |text| text.replacen("\"iops\":", "\"iops\":1", 1));
    let error = live.put("liar", liar).unwrap_err().to_string();
    assert!(error.starts_with("liar: disagrees with"), "{error}");
    let error = live.finish().unwrap_err().to_string();
    assert!(error.contains("abandoned"), "{error}");
    let stop = Stop::manual();
    let live = Live::experiment(prepared, options(&dir.path().join("b")), stop.clone()).unwrap();
    stop.ask();
    while !live.is_done() {
        live.wait(Duration::from_millis(10));
    }
    let dir = live.finish().unwrap();
    let end = lab::store::read(&dir).unwrap().end.expect("it has ended");
    assert_eq!(end.reason, EndReason::Interrupted { by: "SIGINT".to_owned() });
}

#[test]
fn a_plan_of_real_time_is_not_measured_in_pieces() {
    let text = PLAN
        .replace("arena = \"sim\"", "arena = \"disk\"")
        .replace("hp97560", "loop:16M")
        .replace("sstf", "bfq");
    let resolved = resolve(Plan::from_toml(&text).unwrap(), &mut |_| ()).unwrap();
    let asked = resolved.plan.trial.clone();
    let (stop, opening) = (Stop::manual(), OpenOptions::default());
    let error =
        Prepared::of(resolved, &asked, String::new(), &opening, Console::new(&stop, &Silent))
            .unwrap_err();
    assert!(error.to_string().starts_with("arena disk: only virtual-time plans"), "{error}");
}
