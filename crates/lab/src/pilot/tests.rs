//! Pilot runs in an arena with a fixed request rate.

use std::sync::Mutex;

use experiment::plan::Variant;
use experiment::results::{Environment, InvalidReason};

use super::*;
use crate::arena::TrialSpec;
use crate::progress::Step;
use crate::signals::Stop;

struct Rated {
    /// Requests per second, by variant.
    rates: [f64; 2],
    /// The run time of a program that ignores the window.
    runs_for: Option<Duration>,
    is_virtual: bool,
    clock: Duration,
    variant: usize,
    trials: usize,
}

impl Arena for Rated {
    fn capture(&mut self) -> Result<Environment> {
        Ok(Environment::new())
    }

    fn admit(&mut self, _: &Variant) -> Result<VariantIndex> {
        unreachable!("no search")
    }

    fn apply(&mut self, variant: VariantIndex) -> Result<Vec<InvalidReason>> {
        self.variant = variant.0;
        Ok(Vec::new())
    }

    fn measure(&mut self, trial: &TrialSpec) -> Result<Observation> {
        let window = self.runs_for.unwrap_or(trial.duration);
        self.clock += window + trial.warmup;
        self.trials += 1;
        let duration_ns = u64::try_from(window.as_nanos()).expect("short");
        let rate = Some(self.rates[self.variant]).filter(|rate| *rate > 0.0);
        let metrics = rate.into_iter().map(|rate| ("iops".to_owned(), rate)).collect();
        Ok(Observation { duration_ns, metrics, ..Observation::default() })
    }

    fn one_seed_a_round(&self) -> bool {
        self.is_virtual
    }

    fn elapsed(&self) -> Duration {
        self.clock
    }

    fn finish(&mut self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

/// Warnings and remarks.
#[derive(Debug, Default)]
struct Heard(Mutex<(Vec<String>, Vec<String>)>);

impl Progress for Heard {
    fn trial(&self, _: &Step<'_>) {}
    fn prepare(&self, _: &str, _: u64, _: u64) {}
    fn phase(&self, _: &str) {}
    fn say(&self, text: &str) {
        self.0.lock().expect("one thread").0.push(text.to_owned());
    }
    fn remark(&self, text: &str) {
        self.0.lock().expect("one thread").1.push(text.to_owned());
    }
    fn clear(&self) {}
}

#[derive(Debug)]
struct Done {
    pilot: PilotRun,
    warnings: Vec<String>,
    trials: usize,
}

impl Done {
    fn ms(&self) -> (u64, u64) {
        let trial = &self.pilot.plan.trial;
        (trial.duration_ms.expect("completed"), trial.warmup_ms.expect("completed"))
    }
}

fn run(arena: Rated, budget_s: f64, asked: &TrialLength) -> Done {
    try_run(arena, budget_s, asked).expect("it is measured")
}

fn try_run(arena: Rated, budget_s: f64, asked: &TrialLength) -> Result<Done> {
    let (kind, device) = if arena.is_virtual { ("sim", "hp97560") } else { ("disk", "sda") };
    let text = format!(
        "arena = '{kind}'\ndevice = '{device}'\n[budget]\ntime_s = {budget_s}\n[trial]\nduration_ms = 200\nwarmup_ms = 40\n[[variant]]\nname = \
         'none'\nscheduler = 'none'\n[[variant]]\nname = 'bfq'\nscheduler = 'bfq'\n[[workload]]\nname = 'r'\nkind = 'randread'\nprimary = 'iops'\n"
    );
    let plan = Plan::from_toml(&text).expect("a plan");
    let (mut arena, heard) = (arena, Heard::default());
    let stop = Stop::install().expect("signals");
    let variants = [VariantIndex(0), VariantIndex(1)];
    let pilot = run_pilots(&plan, asked, &variants, &mut arena, Console::new(&stop, &heard))?;
    let (warnings, _) = heard.0.into_inner().expect("one thread");
    Ok(Done { pilot, warnings, trials: arena.trials })
}

fn rated(rates: [f64; 2], is_virtual: bool) -> Rated {
    Rated { rates, runs_for: None, is_virtual, clock: Duration::ZERO, variant: 0, trials: 0 }
}

#[test]
fn trials_become_as_long_as_the_metric_takes_and_a_quarter_longer() {
    let chosen = TrialLength::default();
    let done = run(rated([200.0, 1.0], false), 60.0, &chosen);
    // 40 requests in 200 ms; 125 take 625 ms.
    assert_eq!(
        (done.ms(), done.trials),
        ((630, 126), 1),
        "only the baseline has a pilot run on a machine"
    );
    assert!(done.warnings.is_empty(), "{:?}", done.warnings);
    let events: Vec<_> = done.pilot.notes.iter().map(|note| &note.event).collect();
    assert!(matches!(
        events[..],
        [
            Event::Precondition { .. },
            Event::LengthenedTrials { events: 40, floor: 100, from_ms: 200, to_ms: 630, .. }
        ]
    ));
    assert!(
        done.pilot.notes.iter().all(|note| note.at_ms == 240),
        "the pilot run is spent of the budget"
    );
    // In virtual time the slowest variant counts.
    let done = run(rated([200.0, 100.0], true), 60.0, &chosen);
    assert_eq!((done.ms(), done.trials), ((1250, 250), 2));
    assert!(done.pilot.notes.iter().all(|note| note.at_ms == 0), "and nothing is spent");
}

#[test]
fn a_starved_variant_lengthens_no_trial_where_another_has_enough() {
    let done = run(rated([500.0, 0.0], true), 60.0, &TrialLength::default());
    assert_eq!((done.ms(), done.warnings.len()), ((200, 40), 0), "it is a result already");
    // If none has enough, trials become as long as eight rounds allow.
    for rates in [[0.0, 0.0], [100.0, 0.0]] {
        let done = run(rated(rates, true), 16.0, &TrialLength::default());
        assert!((830..=834).contains(&done.ms().0), "{rates:?}: {:?}", done.ms());
        assert!(done.warnings[0].contains("about 0 requests"), "{:?}", done.warnings);
    }
}

#[test]
fn enough_is_left_as_it_is() {
    let done = run(rated([500.0, 500.0], false), 60.0, &TrialLength::default());
    assert_eq!((done.ms(), done.pilot.notes.len(), done.warnings.len()), ((200, 40), 1, 0));
}

#[test]
fn what_the_user_has_set_stays_and_is_warned_of() {
    let asked = TrialLength { duration_ms: Some(200), warmup_ms: None };
    let done = run(rated([200.0, 200.0], true), 60.0, &asked);
    assert_eq!((done.ms(), done.trials), ((200, 40), 1));
    assert!(
        done.warnings[0]
            .starts_with("CAUTION: r: a trial will have about 40 requests, and iops needs 100")
    );
    assert!(done.warnings[0].contains("or give 630 ms"), "{:?}", done.warnings);
}

#[test]
fn a_budget_leaves_room_for_eight_rounds_and_the_rest_is_warned_of() {
    let done = run(rated([20.0, 20.0], true), 16.0, &TrialLength::default());
    // 16 s for eight rounds of two variants are 1 s per trial, of which one sixth is warm-up.
    let (duration, warmup) = done.ms();
    assert!((830..=834).contains(&duration) && warmup == duration / 5, "{duration}, {warmup}");
    assert!(done.warnings[0].contains("give a larger --budget"), "{:?}", done.warnings);
    assert!(length::rounds(&done.pilot.plan) >= ROOM);
}

#[test]
fn a_program_that_runs_to_its_end_is_not_lengthened_but_warned_of() {
    let arena = Rated { runs_for: Some(Duration::from_secs(2)), ..rated([10.0, 10.0], false) };
    let done = run(arena, 60.0, &TrialLength::default());
    assert_eq!(done.ms(), (200, 40));
    assert!(
        done.warnings[0].contains("about 20 requests")
            && done.warnings[0].contains("increase the program's work")
    );
}

#[test]
fn a_budget_that_holds_no_round_of_a_program_is_refused() {
    let program =
        || Rated { runs_for: Some(Duration::from_secs(83)), ..rated([900.0, 900.0], false) };
    let error = try_run(program(), 100.0, &TrialLength::default())
        .expect_err("two variants take 166 s")
        .to_string();
    assert!(
        error.contains("found 100 s") && error.contains("one trial of every variant takes 166 s"),
        "{error}"
    );
    // 83 s for the first trial, 166 s per cycle: two cycles fit, an interval takes more.
    let done = run(program(), 450.0, &TrialLength::default());
    assert!(
        done.warnings[0].contains("2 rounds fit, and an interval needs"),
        "{:?}",
        done.warnings
    );
}
