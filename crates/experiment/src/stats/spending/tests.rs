//! Bounds compared with printed tables, closed forms and simulation.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, StandardNormal};

use super::super::Running;
use super::*;

/// Critical values of `looks` equally spaced normal looks with crossing probability `total`, each
/// `shape(k)` times one constant.
fn constant(looks: usize, total: f64, shape: impl Fn(usize) -> f64) -> f64 {
    let crossed = |c: f64| {
        let mut state: Option<State> = None;
        let mut sum = 0.0;
        for k in 1..=looks {
            let step = state.as_ref().map_or_else(
                || Step::first(Law::Normal, Sides::Two, 1),
                |last| Step::after(last, k),
            );
            let bound = step.coordinate(c * shape(k));
            sum += step.crossing(bound);
            state = Some(step.state(bound));
        }
        sum
    };
    let (mut low, mut high) = (1.0, 5.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if crossed(middle) > total { low = middle } else { high = middle }
    }
    low
}

#[test]
fn pocock_and_obrien_fleming_come_out_as_printed() {
    // Jennison & Turnbull 2000, tables 2.1 and 2.3: five looks, two-sided 5 %.
    let pocock = constant(5, 0.05, |_| 1.0);
    assert!((pocock - 2.413).abs() < 6e-4, "{pocock}");
    let obrien = constant(5, 0.05, |k| (5.0 / k as f64).sqrt());
    assert!((obrien - 2.040).abs() < 6e-4, "{obrien}");
}

/// Returns critical values of normal looks after equal shares of the data.
fn by_spending(looks: usize, total: f64, sides: Sides, gamma: f64) -> Vec<f64> {
    let mut states: Vec<State> = Vec::new();
    for k in 1..=looks {
        let step = states
            .last()
            .map_or_else(|| Step::first(Law::Normal, sides, 1), |last| Step::after(last, k));
        let share = |k: usize| spent(gamma, k as f64 / looks as f64);
        let state = step.state(step.bound(total * (share(k) - share(k - 1)), None));
        states.push(state);
    }
    states.iter().map(State::statistic).collect()
}

#[test]
fn hwang_shih_and_decani_come_out_as_printed() {
    // As printed by gsDesign for one-sided 2.5 % and γ = −4, its default.
    for printed in [&[3.01, 2.55, 2.00][..], &[3.25, 2.99, 2.69, 2.37, 2.03]] {
        for (found, printed) in
            by_spending(printed.len(), 0.025, Sides::One, -4.0).iter().zip(printed)
        {
            assert!((found - printed).abs() <= 0.0051, "{found} for {printed}");
        }
    }
}

#[test]
fn the_first_bound_is_students_own_quantile() {
    let alpha = 0.05 * spent(GAMMA, FIRST_LOOK as f64 / 24.0);
    let expected = super::super::fixed::critical(FIRST_LOOK as f64 - 1.0, alpha);
    let found = critical_t(Design::of(24), FIRST_LOOK, 0.05, Sides::Two).unwrap();
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} for {expected}");
    // A single look: Student's t.
    let found = critical_t(Design::of(4), 4, 0.05, Sides::Two).unwrap();
    assert!((found / super::super::fixed::critical(3.0, 0.05) - 1.0).abs() < 1e-6, "{found}");
}

/// The simulated share of experiments without an effect that a design calls different.
fn alarms(design: impl Fn(usize) -> Option<f64>, planned: usize, sides: Sides, total: u32) -> f64 {
    let mut rng = SmallRng::seed_from_u64(7);
    let mut crossed = 0;
    let critical: Vec<f64> = (0..=planned).map(|n| design(n).unwrap_or(f64::INFINITY)).collect();
    for _ in 0..total {
        let mut running = Running::default();
        for critical in &critical[1..] {
            running.push(StandardNormal.sample(&mut rng));
            let Moments { n, mean, sd } = running.moments();
            let t = (n as f64).sqrt() * mean / sd;
            let t = if sides == Sides::Two { t.abs() } else { t };
            if critical.is_finite() && t >= *critical {
                crossed += 1;
                break;
            }
        }
    }
    f64::from(crossed) / f64::from(total)
}

#[test]
fn simulated_experiments_alarm_as_often_as_alpha_says() {
    for (planned, alpha, sides) in
        [(5, 0.05, Sides::Two), (12, 0.1, Sides::One), (40, 0.0167, Sides::Two)]
    {
        let bound = |n| critical_t(Design::of(planned), n, alpha, sides);
        let found = alarms(bound, planned, sides, 60_000);
        let error = (alpha * (1.0 - alpha) / 60_000.0).sqrt();
        assert!((found - alpha).abs() < 4.0 * error, "N = {planned}: {found} for {alpha}");
    }
}

#[test]
fn what_is_left_is_spent_at_a_last_look_that_time_set() {
    let bound = |n: usize| {
        let look = if n == 9 { Look::Last } else { Look::Planned };
        (n <= 9)
            .then(|| critical_t(Design { look, ..Design::of(18) }, n, 0.05, Sides::Two))
            .flatten()
    };
    let found = alarms(bound, 9, Sides::Two, 60_000);
    assert!((found - 0.05).abs() < 0.0036, "{found}");
}

#[test]
fn bounds_do_not_depend_on_the_number_of_points_that_they_are_computed_with() {
    // Pinned to detect changes of the quadrature; the simulations above verify the values.
    let found = [4, 12, 24].map(|n| {
        let t = critical_t(Design::of(24), n, 0.05, Sides::Two).unwrap();
        (t * 1e3).round() / 1e3
    });
    assert_eq!(found, PINNED);
}

const PINNED: [f64; 3] = [8.796, 3.565, 2.417];

#[test]
fn a_larger_level_never_has_the_larger_bound_and_one_side_never_the_larger_of_two() {
    for planned in [4, 12, 24, 100] {
        for n in FIRST_LOOK..=planned {
            let at = |alpha, sides| critical_t(Design::of(planned), n, alpha, sides).unwrap();
            for (small, large) in [(0.05 / 3.0, 0.025), (0.025, 0.05), (0.05, 0.1)] {
                assert!(
                    at(large, Sides::Two) <= at(small, Sides::Two),
                    "N = {planned}, n = {n}, {large}"
                );
                assert!(
                    at(large, Sides::One) <= at(small, Sides::One),
                    "N = {planned}, n = {n}, {large}"
                );
            }
            assert!(at(0.05, Sides::One) < at(0.05, Sides::Two), "N = {planned}, n = {n}");
            let last =
                critical_t(Design { look: Look::Last, ..Design::of(planned) }, n, 0.05, Sides::Two)
                    .unwrap();
            assert!(last <= at(0.05, Sides::Two) + 1e-6, "N = {planned}, n = {n}: {last}");
        }
    }
}

#[test]
fn there_are_no_bounds_before_the_first_look_and_after_the_last() {
    let at = |n| critical_t(Design::of(24), n, 0.05, Sides::Two);
    assert_eq!((at(3), at(25)), (None, None));
    assert_eq!(
        interval(&Moments { n: 3, mean: 1.0, sd: 0.1 }, Design::of(24), 0.05, Sides::Two),
        Interval::UNBOUNDED
    );
}

#[test]
fn beyond_200_rounds_a_look_follows_each_fiftieth_part_and_the_last_round() {
    let looks = |design: Design| {
        (0..=design.planned + 1).filter(move |n| critical_t(design, *n, 0.05, Sides::Two).is_some())
    };
    assert!(looks(Design::of(200)).eq(FIRST_LOOK..=200));
    let thin: Vec<usize> = looks(Design::of(230)).skip(200 - FIRST_LOOK).collect();
    assert_eq!(thin, [200, 204, 209, 214, 219, 224, 229, 230]);
    assert_eq!([199, 200, 203, 204, 229, 230, 240].map(|n| Design::of(230).latest(n)), LATEST);
    let each = Design { each_round: true, ..Design::of(230) };
    assert!(looks(each).eq(FIRST_LOOK..=230), "as plans of schema 2 do");
    let at = |look, n| critical_t(Design { look, ..Design::of(230) }, n, 0.05, Sides::Two);
    assert!(at(Look::Last, 207) < at(Look::Planned, 204), "the end spends the rest at any round");
}

const LATEST: [usize; 7] = [199, 200, 200, 204, 229, 230, 240];

#[test]
fn the_law_after_several_values_is_that_of_drawn_ones() {
    const K: usize = 20;
    const N: usize = 24;
    let mut rng = SmallRng::seed_from_u64(3);
    for sides in [Sides::One, Sides::Two] {
        let table = table(Design::of(30), 0.3, sides);
        let mut table = table.lock().unwrap();
        table.extend_to(K);
        let before = table.states.last().unwrap();
        let end = Step::after(before, N).end();
        let [inside, beyond] = [0.9, 1.001].map(|f| before.mean_over_later_values(f * end, N));
        assert!(inside > 0.0 && beyond == 0.0, "{inside}, {beyond}");
        for t in [-2.0, -1.0, 0.5, 1.0, 1.4, 1.8] {
            let at = (t / (N as f64 - 1.0).sqrt()).atan();
            let (mut sum, mut squares, draws) = (0.0, 0.0, 60_000);
            for _ in 0..draws {
                // A direction with this mean, and the statistic of its first values.
                let mut values: [f64; N] = std::array::from_fn(|_| StandardNormal.sample(&mut rng));
                let mean = values.iter().sum::<f64>() / N as f64;
                let rest = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>().sqrt();
                values.iter_mut().for_each(|x| {
                    *x = (*x - mean) / rest * at.cos() + at.sin() / (N as f64).sqrt();
                });
                let first = Moments::of(&values[..K]);
                let then = (K as f64).sqrt() * first.mean / first.sd;
                let crossed = match sides {
                    Sides::One => then >= before.statistic(),
                    Sides::Two => then.abs() >= before.statistic(),
                };
                let place = (then / (K as f64 - 1.0).sqrt()).atan();
                let h = if crossed { 0.0 } else { before.probability(place) };
                (sum, squares) = (sum + h, squares + h * h);
            }
            let (mean, draws) = (sum / f64::from(draws), f64::from(draws));
            let error = ((squares / draws - mean * mean) / draws).sqrt();
            let found = before.mean_over_later_values(at, N);
            assert!(
                (found - mean).abs() < 4.0 * error + 1e-6,
                "{sides:?}, t = {t}: {found} for {mean} ± {error}"
            );
        }
    }
}

#[test]
fn simulated_experiments_alarm_as_often_with_thin_looks() {
    for sides in [Sides::One, Sides::Two] {
        let bound = |n| critical_t(Design::of(400), n, 0.05, sides);
        let found = alarms(bound, 400, sides, 20_000);
        assert!((found - 0.05).abs() < 4.0 * (0.05_f64 * 0.95 / 20_000.0).sqrt(), "{found}");
    }
}
