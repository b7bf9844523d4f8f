//! Fleets with known effects, liars and kinds.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng};
use rand_distr::{Distribution, StandardNormal, StudentT};

use experiment::analysis::Verdict;
use experiment::fleet::{Effect, FleetComparison, Ratios, VariantEffects, compare_fleet};
use experiment::metric::Direction;
use experiment::plan::Criteria;
use experiment::stats::repeats::Repeat;

#[derive(Clone, Copy)]
struct Fleet {
    machines: usize,
    /// The true mean of the log ratios.
    mean: f64,
    /// SD between machines.
    between: f64,
    /// SD of a round.
    within: f64,
    /// The share with another effect, and its size.
    liars: f64,
    lie: f64,
    heavy: bool,
}

const FLEET: Fleet = Fleet {
    machines: 1000,
    mean: -0.2,
    between: 0.06,
    within: 0.05,
    liars: 0.03,
    lie: 0.6,
    heavy: false,
};

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// A correct machine's result: the mean of 4 to 30 rounds.
fn honest(of: &Fleet, rng: &mut ChaCha8Rng) -> Repeat {
    let deviation = if of.heavy {
        StudentT::new(3.0).expect("a distribution").sample(rng) / 3_f64.sqrt()
    } else {
        normal(rng)
    };
    let effect = of.mean + of.between * deviation;
    let rounds = 4 + (rng.next_u32() % 27) as usize;
    let ratios: Vec<f64> = (0..rounds).map(|_| effect + of.within * normal(rng)).collect();
    Repeat::of_rounds(&ratios).expect("rounds")
}

/// Also returns the liars' names and the effect of one more correct machine.
fn made(of: &Fleet, seed: u64) -> (VariantEffects, Vec<String>, f64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut effects, mut liars) = (Vec::new(), Vec::new());
    let nr_liars = (of.liars * of.machines as f64).round() as usize;
    for number in 0..of.machines {
        let machine = format!("m{number:04}");
        let mut repeat = honest(of, &mut rng);
        if number < nr_liars {
            repeat.mean += if number % 2 == 0 { of.lie } else { -of.lie };
            liars.push(machine.clone());
        }
        effects.push(Effect { machine, repeat });
    }
    let further = honest(of, &mut rng).mean;
    (VariantEffects { variant: "bfq".to_owned(), effects }, liars, further)
}

fn compared(of: &VariantEffects) -> FleetComparison {
    let criteria = Criteria::default();
    compare_fleet(std::slice::from_ref(of), Direction::HigherIsBetter, &criteria).remove(0)
}

fn covers(interval: Option<Ratios>, log: f64) -> bool {
    let Ratios { low, high, .. } = interval.expect("enough machines");
    low.is_none_or(|low| low.ln() <= log) && high.is_none_or(|high| log <= high.ln())
}

fn width(of: Option<Ratios>) -> f64 {
    let Ratios { low, high, .. } = of.expect("enough machines");
    (high.expect("an end") / low.expect("an end")).ln()
}

#[test]
fn two_hundred_fleets_of_a_thousand_machines_with_liars_keep_what_their_intervals_guarantee() {
    let (mut mean_covered, mut further_covered, mut named, mut honest_named) = (0, 0, 0, 0);
    let (mut mean_width, mut further_width) = (0.0, 0.0);
    for seed in 0..200 {
        let (effects, liars, further) = made(&FLEET, seed);
        let found = compared(&effects);
        assert_eq!(found.verdict, Verdict::Worse);
        mean_covered += usize::from(covers(found.mean, FLEET.mean));
        further_covered += usize::from(covers(found.further_machine, further));
        mean_width += width(found.mean) / 200.0;
        further_width += width(found.further_machine) / 200.0;
        let caught =
            found.outliers.iter().filter(|outlier| liars.contains(&outlier.machine)).count();
        named += caught;
        honest_named += found.outliers.len() - caught;
    }
    println!("of 200 fleets: mean covered {mean_covered}, a new machine covered {further_covered}");
    println!("liars named {named} of 6000, honest machines named {honest_named} of 194000");
    // 95 % of 200 are 190; 181 is three standard deviations below.
    assert!(mean_covered >= 181 && further_covered >= 181);
    // Widths of the intervals if the liars were known: from the SD between machines and that of
    // about 17 rounds.
    let deviation = FLEET.between.hypot(FLEET.within / 17_f64.sqrt());
    let least = (2.0 * 1.96 * deviation / 970_f64.sqrt(), 2.0 * 1.96 * deviation);
    println!(
        "width of the mean {mean_width:.4} (least {:.4}), of a new machine {further_width:.3} ({:.3})",
        least.0, least.1
    );
    assert!(mean_width < 1.25 * least.0 && further_width < 1.3 * least.1);
    assert!(named >= 5990 && honest_named <= 30, "{named} {honest_named}");
}

#[test]
fn an_honest_fleet_of_any_size_has_a_machine_named_in_about_one_of_twenty_cases() {
    for machines in [6, 8, 10, 15, 25, 50, 200, 1000] {
        let fleets = if machines > 100 { 400 } else { 2000 };
        let of = Fleet { machines, liars: 0.0, ..FLEET };
        let named =
            (0..fleets).filter(|seed| !compared(&made(&of, *seed).0).outliers.is_empty()).count();
        let share = 100.0 * named as f64 / fleets as f64;
        println!("{machines} honest machines: one is named in {share:.1} % of the fleets");
        assert!(share < 8.0, "{machines}: {share}");
    }
}

#[test]
fn the_interval_for_a_further_machine_covers_it_for_normal_and_heavy_tailed_effects_and_few_machines()
 {
    // At most three standard errors below 95 %. The heavy tails are Student's t with 3 degrees of
    // freedom, for which the t interval of few machines does not hold, and at 39 none for a new
    // machine that omits any: those bounds are their coverage in 20,000 fleets each, with the same
    // tolerance.
    let cases = [
        (3, false, 0.95),
        (5, false, 0.95),
        (10, false, 0.95),
        (20, false, 0.95),
        (39, false, 0.95),
        (10, true, 0.9232),
        (20, true, 0.925),
        (39, true, 0.935),
        (80, true, 0.95),
        (200, true, 0.95),
    ];
    let fleets: u64 = if testbed::is_soak() { 4000 } else { 1000 };
    let nr = fleets as f64;
    let least = |share: f64| (nr * share - 3.0 * (nr * share * (1.0 - share)).sqrt()) as usize;
    for (machines, heavy, share) in cases {
        let of = Fleet { machines, heavy, liars: 0.0, ..FLEET };
        let (mut covered, mut mean) = (0, 0);
        for seed in 10_000..10_000 + fleets {
            let (effects, _, further) = made(&of, seed);
            let found = compared(&effects);
            covered += usize::from(covers(found.further_machine, further));
            mean += usize::from(covers(found.mean, of.mean));
        }
        println!(
            "{machines} machines, heavy {heavy}: a further one covered {covered}, the mean {mean} of {fleets}"
        );
        assert!(
            covered >= least(share) && mean >= least(0.95),
            "{machines} {heavy}: {covered} {mean} of {fleets}"
        );
    }
}

#[test]
fn a_third_of_another_kind_is_no_crowd_of_outliers_and_is_said() {
    let of = Fleet { liars: 0.34, machines: 100, ..FLEET };
    let found = compared(&made(&of, 1).0);
    assert!(found.outliers.is_empty() && found.far_but_counted > 30, "{found:?}");
    assert_eq!(found.machines, 100);
    assert!(found.between_percent.expect("variances") > 30.0);
}

#[test]
fn a_noisy_machine_is_not_named_and_a_machine_with_many_results_counts_once() {
    let mut effects = made(&Fleet { machines: 30, liars: 0.0, ..FLEET }, 4).0;
    effects.effects[0].repeat = Repeat { mean: 0.5, variance: Some(0.25), degrees: 3.0 };
    assert!(compared(&effects).outliers.is_empty(), "its own scatter explains its distance");
    effects.effects[0].repeat = Repeat { mean: 0.5, variance: Some(1e-9), degrees: 3.0 };
    let alone = compared(&effects);
    assert_eq!(
        alone.outliers.iter().map(|outlier| outlier.machine.as_str()).collect::<Vec<_>>(),
        ["m0000"]
    );
    let again = effects.effects[0].clone();
    effects.effects.extend(std::iter::repeat_n(again, 500));
    let often = compared(&effects);
    assert_eq!((often.machines, often.results), (29, 530));
    assert_eq!(often.mean, alone.mean);
}

#[test]
fn a_verdict_on_the_mean_says_whether_it_holds_for_one_machine() {
    let narrow = Fleet { between: 0.01, liars: 0.0, machines: 100, ..FLEET };
    let wide = Fleet { between: 0.3, ..narrow };
    let (narrow, wide) = (compared(&made(&narrow, 7).0), compared(&made(&wide, 7).0));
    assert_eq!((narrow.verdict, narrow.holds_for_one), (Verdict::Worse, true));
    assert_eq!((wide.verdict, wide.holds_for_one), (Verdict::Worse, false));
    assert!(wide.between_share.expect("variances") > 0.9);
}

#[test]
fn two_machines_are_no_fleet_and_neither_are_values_that_are_no_numbers() {
    let mut effects = made(&Fleet { machines: 2, liars: 0.0, ..FLEET }, 1).0;
    let nothing = Repeat { mean: f64::NAN, variance: None, degrees: 0.0 };
    effects.effects.push(Effect { machine: "nan".to_owned(), repeat: nothing });
    let found = compared(&effects);
    assert_eq!((found.verdict, found.machines, found.mean), (Verdict::Invalid, 2, None));
    assert_eq!(compare_fleet(&[], Direction::HigherIsBetter, &Criteria::default()), []);
}

mod comparisons {
    use experiment::fleet::levels::*;

    use super::*;

    fn levels(machines: std::ops::Range<usize>, shift: f64, seed: u64) -> Vec<(String, f64)> {
        // A machine's own level is the same in both groups.
        let level = |number: usize| {
            let mut own = ChaCha8Rng::seed_from_u64(number as u64);
            let mut day = ChaCha8Rng::seed_from_u64(seed + 1000 * number as u64);
            8.0 + 0.5 * normal(&mut own) + 0.01 * normal(&mut day) + shift
        };
        machines.map(|number| (format!("m{number}"), level(number))).collect()
    }

    fn compared(first: Vec<(String, f64)>, second: Vec<(String, f64)>) -> LevelComparison {
        let of = VariantLevels { variant: "none".to_owned(), first, second };
        compare_levels(&[of], Direction::HigherIsBetter, &Criteria::default()).remove(0)
    }

    #[test]
    fn machines_that_are_in_both_groups_are_compared_with_themselves() {
        let found = compared(levels(0..20, 0.0, 1), levels(0..20, -0.1, 2));
        assert_eq!((found.verdict, found.paired, found.first_machines), (Verdict::Worse, true, 20));
        assert!((found.ratio.expect("enough").ratio - (-0.1_f64).exp()).abs() < 0.01);
        // Other machines differ too much from each other to show it.
        let other = compared(levels(0..20, 0.0, 1), levels(20..40, -0.1, 2));
        assert_eq!((other.verdict, other.paired), (Verdict::Inconclusive, false));
    }

    #[test]
    fn one_wrong_machine_does_not_move_a_comparison_and_is_named() {
        let mut second = levels(0..20, 0.0, 2);
        second[3].1 += 3.0;
        let found = compared(levels(0..20, 0.0, 1), second);
        assert_eq!(found.verdict, Verdict::Equivalent);
        assert_eq!(
            found.outliers.iter().map(|outlier| outlier.machine.as_str()).collect::<Vec<_>>(),
            ["m3"]
        );
        assert_eq!(compared(levels(0..2, 0.0, 1), levels(5..9, 0.0, 1)).verdict, Verdict::Invalid);
    }
}

mod identities {
    use experiment::fleet::identity::*;

    fn result(object: &str, machine: &str) -> Provenance {
        Provenance {
            object: object.to_owned(),
            experiment: format!("experiment of {object}"),
            machine: machine.to_owned(),
            hardware: "cpu".to_owned(),
            boot: format!("boot of {machine}"),
            drive: format!("drive of {machine}"),
            started_unix_ms: 1_000,
            ended_unix_ms: 2_000,
            trials: 10,
        }
    }

    fn machines(results: &[Provenance]) -> (Vec<Option<String>>, Vec<Finding>) {
        let Checked { machines, findings } = check(results, 10_000);
        (machines, findings)
    }

    #[test]
    fn one_experiment_counts_once_however_often_it_was_pushed() {
        let whole = Provenance { trials: 20, started_unix_ms: 1_000, ..result("b", "x") };
        let part = Provenance { object: "a".to_owned(), trials: 5, ..whole.clone() };
        let (counts, findings) = machines(&[part.clone(), whole.clone(), result("c", "y")]);
        assert_eq!(counts, [None, Some("x".to_owned()), Some("y".to_owned())]);
        assert!(matches!(&findings[..], [Finding::Repeated { counts, .. }] if counts == "b"));
        // The listing order of a store has no effect.
        assert_eq!(machines(&[whole, part]).0, [Some("x".to_owned()), None]);
    }

    #[test]
    fn a_result_that_two_machines_report_counts_once() {
        let copy = Provenance {
            machine: "thief".to_owned(),
            object: "z".to_owned(),
            ..result("a", "honest")
        };
        let (counts, findings) = machines(&[copy, result("a", "honest")]);
        assert_eq!(counts, [None, Some("honest".to_owned())]);
        assert!(
            matches!(&findings[0], Finding::Copied { others, .. } if others == &["thief"]),
            "{findings:?}"
        );
    }

    #[test]
    fn a_name_with_two_kinds_of_hardware_is_two_machines() {
        let other = Provenance {
            hardware: "other cpu".to_owned(),
            started_unix_ms: 5_000,
            ended_unix_ms: 6_000,
            ..result("b", "x")
        };
        let (counts, findings) = machines(&[result("a", "x"), other]);
        assert_eq!(counts, [Some("x (cpu)".to_owned()), Some("x (other cpu)".to_owned())]);
        assert!(matches!(&findings[..], [Finding::SeveralMachines { .. }]));
    }

    #[test]
    fn a_machine_cannot_be_in_two_boots_nor_a_drive_in_two_machines_at_once() {
        let reboot = |at: u64| Provenance {
            boot: "another".to_owned(),
            started_unix_ms: at,
            ended_unix_ms: at + 1_000,
            ..result("b", "x")
        };
        assert_eq!(machines(&[result("a", "x"), reboot(2_000)]).1, []);
        let (counts, findings) = machines(&[result("a", "x"), reboot(1_999)]);
        assert_eq!(counts, [Some("x".to_owned()), Some("x".to_owned())]);
        assert!(matches!(&findings[..], [Finding::TwoAtOnce { .. }]));
        let moved = Provenance { drive: "drive of x".to_owned(), ..result("b", "y") };
        assert!(matches!(
            &machines(&[result("a", "x"), moved]).1[..],
            [Finding::DriveTwice { .. }]
        ));
    }

    #[test]
    fn a_wrong_clock_is_reported_and_changes_no_count() {
        let days = 86_400_000;
        let ahead =
            Provenance { started_unix_ms: 40 * days, ended_unix_ms: 41 * days, ..result("a", "x") };
        let before = Provenance { started_unix_ms: 0, ended_unix_ms: 0, ..result("b", "y") };
        let (counts, findings) = machines(&[ahead, before]);
        assert_eq!(counts, [Some("x".to_owned()), Some("y".to_owned())]);
        assert!(matches!(&findings[..], [Finding::ClockAhead { days: 39, .. }]), "{findings:?}");
        for finding in findings {
            assert!(finding.to_string().starts_with("x: "), "{finding}");
        }
    }
}
