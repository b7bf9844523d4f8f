//! The error guarantees, counted; rules known to be wrong must fail. Tables:
//! `SCHEDLAB_SOAK=1 cargo test -p experiment --test it calibration -- --nocapture`.

use experiment::calibration::{
    Calibration, Decision, Guarantee, Noise, Rule, calibrate, guarantees_of,
};
use experiment::stats::spending::{Design, Look, Sides, critical_t};
use experiment::stats::{fixed, sequence};

/// Experiments per row, which fails beyond the 99.99 % point of the binomial distribution. At 5 %,
/// 2,500 experiments detect an error of 8 % with probability 99 %, and of 10 % with over 99.999 %;
/// 10,000 detect 6.4 % with 99 %.
fn experiments() -> u64 {
    if testbed::is_soak() { 10_000 } else { 2_500 }
}

#[test]
fn every_guarantee_is_kept_under_every_kind_of_noise() {
    let all = Calibration::default();
    let budgets = if testbed::is_soak() { all.budgets } else { &[400] };
    let report = calibrate(&Calibration { experiments: experiments(), budgets, ..all });
    println!("{report}");
    assert_eq!(report.experiments, experiments());
    assert!(report.broken().is_empty(), "broken guarantees: {:#?}", report.broken());
    for round_sd in [0.01, 0.02] {
        let share = report.mix_share(round_sd);
        assert!(
            share <= 0.5,
            "the sequential design takes {share:.2} of the fixed design's rounds at sd {round_sd}"
        );
    }
    for pair in report.looks.chunks(4) {
        // Without an effect, and with one: thin looks, and a look each round.
        let [thin, each, power, every] = pair else { panic!("four rows a budget") };
        let bound = 0.05 + 4.0 * (0.05 * 0.95 / experiments() as f64).sqrt();
        assert!(thin.decided < bound && each.decided < bound, "{thin:?} {each:?}");
        assert!(power.decided > every.decided - 0.01, "{power:?} {every:?}");
        assert!(power.mean_rounds < 1.02 * every.mean_rounds, "{power:?} {every:?}");
    }
    for (deviations, least) in [(0.5, 0.55), (0.7, 0.84), (1.0, 0.98)] {
        let row = |row: &&Decision| {
            row.budget == 24 && row.deviations == deviations && row.rule == "spending"
        };
        let decided = report.decisions.iter().find(row).expect("the table has it").decided;
        assert!(decided >= least, "at {deviations} deviations {decided:.3} are decided");
    }
}

/// The guarantees violated by a wrong rule under one kind of noise.
fn broken(rules: &'static [Rule], noises: &'static [Noise]) -> Vec<Guarantee> {
    let calibration = Calibration { experiments: 2_000, rules, noises, ..Calibration::default() };
    guarantees_of(&calibration).into_iter().filter(|guarantee| !guarantee.kept()).collect()
}

fn alarms(broken: &[Guarantee]) -> bool {
    broken.iter().any(|guarantee| guarantee.what.contains("any variant called"))
}

#[test]
fn students_interval_looked_at_after_every_round_is_caught() {
    static PEEKING: [Rule; 1] = [Rule {
        name: "looks that are not counted",
        differ: |_, n, alpha, _| Some(fixed::critical(n as f64 - 1.0, alpha)),
        ..Rule::sequence(100)
    }];
    let worst = broken(&PEEKING, &[Noise::Normal])
        .iter()
        .map(|guarantee| guarantee.found)
        .fold(0.0, f64::max);
    assert!(
        worst > 0.3,
        "peeking should alarm falsely in over 30 % of the experiments, found {worst}"
    );
}

#[test]
fn a_sequence_that_does_not_divide_its_level_among_the_variants_is_caught() {
    // Undoes the division by up to three variants.
    static UNDIVIDED: [Rule; 1] = [Rule {
        differ: |_, n, alpha, _| sequence::critical_t(n, (alpha * 3.0).min(0.05)),
        ..Rule::sequence(100)
    }];
    assert!(alarms(&broken(&UNDIVIDED, &[Noise::Normal])));
}

#[test]
fn alpha_that_is_spent_twice_is_caught() {
    static TWICE: [Rule; 1] = [Rule {
        differ: |planned, n, alpha, _| critical_t(Design::of(planned), n, 2.0 * alpha, Sides::Two),
        ..Rule::spending(24)
    }];
    assert!(alarms(&broken(&TWICE, &[Noise::Normal])));
}

#[test]
fn spending_that_counts_only_the_last_look_is_caught() {
    static LAST: [Rule; 1] = [Rule {
        differ: |planned, n, alpha, _| {
            critical_t(Design { look: Look::Last, ..Design::of(planned) }, n, alpha, Sides::Two)
        },
        ..Rule::spending(24)
    }];
    assert!(alarms(&broken(&LAST, &[Noise::Normal])));
}

#[test]
fn bounds_of_the_normal_statistic_are_caught_where_t_is_looked_at() {
    // With forty times the values t is nearly normal.
    static NORMAL: [Rule; 1] = [Rule {
        differ: |planned, n, alpha, _| {
            critical_t(Design::of(40 * planned), 40 * n, alpha, Sides::Two)
        },
        ..Rule::spending(12)
    }];
    assert!(alarms(&broken(&NORMAL, &[Noise::Normal])));
}

#[test]
fn an_equivalence_at_twice_its_level_is_caught() {
    static DOUBLE: [Rule; 1] = [Rule {
        equal: |planned, n, alpha, _| critical_t(Design::of(planned), n, 2.0 * alpha, Sides::One),
        ..Rule::spending(24)
    }];
    assert!(
        broken(&DOUBLE, &[Noise::Autocorrelated])
            .iter()
            .any(|guarantee| guarantee.what.contains("false `equivalent`"))
    );
}
