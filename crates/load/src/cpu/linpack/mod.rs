//! LINPACK: systems of linear equations by DGEFA and DGESL, double precision, plain scalar code.
//!
//! Source: the C version with array size 200 in small benchmark collections (order = array / 2,
//! leading dimension = array; MATGEN, DGEFA with partial pivoting, DGESL; rolled and unrolled
//! vector operations in each round; repetitions double until a round is long enough). Over both
//! forms, KFLOPS = 2 * reps * (2n³/3 + 2n²) / (1000 * (time in DGEFA + time in DGESL)); OVERHEAD is
//! the rest, i.e. MATGEN. In addition, LINPACK's normalised residual checks each round's last
//! solution. Reading the clock around DGEFA and DGESL takes 0.1 µs per repetition: 0.1 % with array
//! = 200.

mod blas;
mod system;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use self::blas::{Form, Rolled, Unrolled};
use self::system::{System, has_equal_columns};
use crate::cpu::clock::{compute, is_virtual};
use crate::cpu::{Failure, Report};

/// The largest normalised residual due to rounding, with `n` unknowns.
///
/// Correct solutions have 0.3 to 6 for every order from 5 to 300, and up to 14, 23 and 22 at 1000,
/// 1800 and 3000: it grows because the divisor is the matrix's largest element, not a norm. The
/// limit is more than twice that. Elimination without pivoting gives 38 at order 100, a wrong
/// twelfth digit several hundred.
pub fn residual_limit(n: usize) -> f64 {
    (n as f64 / 20.0).max(10.0)
}

/// Operations a second of the CPU of virtual time.
const VIRTUAL_FLOPS: f64 = 1e9;

/// Minimum and maximum array.
pub const ARRAYS: (u32, u32) = (10, 10_000);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// Leading dimension, twice the number of unknowns. See [`check`].
    pub array: u32,
    /// Minimum length of a round.
    pub least_ns: u64,
    /// Exactly one round, for counting instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reps: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Row {
    /// Repetitions per form.
    pub reps: u64,
    /// Time of both forms.
    pub time_s: f64,
    pub dgefa_percent: f64,
    pub dgesl_percent: f64,
    /// The rest of the time.
    pub overhead_percent: f64,
    pub kflops: f64,
    /// The residual of the worse form.
    pub residual_norm: f64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    dgefa: Duration,
    dgesl: Duration,
    total: Duration,
}

pub fn check(array: u32) -> Result<(), String> {
    let (least, most) = ARRAYS;
    if !(least..=most).contains(&array) {
        return Err(format!("array is a number from {least} to {most}"));
    }
    let singular = |array: u32| has_equal_columns(array as usize / 2);
    if singular(array) {
        // Odd orders never repeat, and one of the next two arrays has one.
        let next = (array + 1..).find(|&array| !singular(array)).unwrap_or(most);
        return Err(format!(
            "array={array}: the benchmark's numbers repeat after 16384, so this matrix has equal columns and cannot be solved; array={next} can"
        ));
    }
    Ok(())
}

/// Per repetition and form, by LINPACK's formula.
pub fn operations(array: u32) -> f64 {
    let n = f64::from(array / 2);
    2.0 * n * n * n / 3.0 + 2.0 * n * n
}

/// `solving_s` is the time in DGEFA and DGESL.
pub fn kflops(array: u32, reps: u64, solving_s: f64) -> f64 {
    2.0 * reps as f64 * operations(array) / (1000.0 * solving_s)
}

/// The last complete round counts; [`Failure::Wrong`] if the residual is too large.
pub fn run(spec: &Spec, stop: &AtomicBool) -> Result<Report, Failure> {
    let last = rounds(spec, stop, |_| {})?;
    let counters = [
        ("dgefa_percent", last.dgefa_percent),
        ("dgesl_percent", last.dgesl_percent),
        ("overhead_percent", last.overhead_percent),
        ("reps", last.reps as f64),
        ("residual_norm", last.residual_norm),
    ];
    Ok(Report {
        window_ns: (last.time_s * 1e9) as u64,
        metrics: BTreeMap::from([("kflops".to_string(), last.kflops)]),
        counters: counters.map(|(name, value)| (name.to_string(), value)).into(),
        ..Report::default()
    })
}

/// Like [`run`], with each round passed to `each`. `stop` drops the current round, unless it is the
/// first.
pub fn rounds(spec: &Spec, stop: &AtomicBool, mut each: impl FnMut(&Row)) -> Result<Row, Failure> {
    check(spec.array).map_err(|what| Failure::Wrong { what })?;
    let mut system = System::new(spec.array);
    let mut reps = spec.reps.unwrap_or(1).max(1);
    let mut last = None;
    loop {
        // Ensures a result.
        let never = AtomicBool::new(false);
        let Some(row) =
            round(spec.array, reps, &mut system, if last.is_none() { &never } else { stop })?
        else {
            break;
        };
        each(&row);
        last = Some(row);
        let long_enough = row.time_s * 1e9 >= spec.least_ns as f64;
        if spec.reps.is_some() || long_enough || stop.load(Ordering::Relaxed) {
            break;
        }
        reps *= 2;
    }
    last.ok_or_else(|| Failure::Wrong { what: "not one repetition was done".to_string() })
}

/// `None` if stopped.
fn round(
    array: u32,
    reps: u64,
    system: &mut System,
    stop: &AtomicBool,
) -> Result<Option<Row>, Failure> {
    if is_virtual() {
        return Ok(charged_round(array, reps, stop));
    }
    let Some((rolled, rolled_residual)) = form::<Rolled>(reps, system, stop)? else {
        return Ok(None);
    };
    let Some((unrolled, unrolled_residual)) = form::<Unrolled>(reps, system, stop)? else {
        return Ok(None);
    };
    let both = |of: fn(&Spent) -> Duration| (of(&rolled) + of(&unrolled)).as_secs_f64();
    let seconds = [both(|spent| spent.dgefa), both(|spent| spent.dgesl), both(|spent| spent.total)];
    Ok(Some(Row::of(array, reps, seconds, rolled_residual.max(unrolled_residual))))
}

/// A round in virtual time, where operations take time instead of being executed: all of them, so
/// that nothing is overhead.
fn charged_round(array: u32, reps: u64, stop: &AtomicBool) -> Option<Row> {
    let repetition_ns = (operations(array) / VIRTUAL_FLOPS * 1e9).ceil() as u64;
    let began = Instant::now();
    for _ in 0..2 * reps {
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        compute(repetition_ns);
    }
    let time_s = began.elapsed().as_secs_f64();
    Some(Row::of(array, reps, [time_s, 0.0, time_s], 0.0))
}

impl Row {
    /// `reps` of both forms, with seconds in DGEFA, in DGESL, and in total.
    pub fn of(
        array: u32,
        reps: u64,
        [dgefa_s, dgesl_s, time_s]: [f64; 3],
        residual_norm: f64,
    ) -> Row {
        let solving_s = dgefa_s + dgesl_s;
        Row {
            reps,
            time_s,
            dgefa_percent: 100.0 * dgefa_s / time_s,
            dgesl_percent: 100.0 * dgesl_s / time_s,
            overhead_percent: 100.0 * (time_s - solving_s) / time_s,
            kflops: kflops(array, reps, solving_s),
            residual_norm,
        }
    }
}

/// Repetitions of one form; returns the residual of the last.
fn form<F: Form>(
    reps: u64,
    system: &mut System,
    stop: &AtomicBool,
) -> Result<Option<(Spent, f64)>, Failure> {
    let mut spent = Spent::default();
    let began = Instant::now();
    for _ in 0..reps {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        system.generate();
        let before = Instant::now();
        let whole = system.factor::<F>();
        let factored = Instant::now();
        system.solve::<F>();
        black_box(&mut system.b);
        spent.dgefa += factored - before;
        spent.dgesl += factored.elapsed();
        if !whole {
            return Err(Failure::Wrong {
                what: "a pivot is zero, and the matrix has none".to_string(),
            });
        }
    }
    spent.total = began.elapsed();
    let residual = assess(system.residual::<F>(), residual_limit(system.n))?;
    Ok(Some((spent, residual)))
}

/// Refuses a wrong solution.
fn assess(residual: f64, limit: f64) -> Result<f64, Failure> {
    if residual <= limit {
        return Ok(residual);
    }
    let what = format!(
        "the normalised residual of the solution is {residual:.3e}, and at most {limit} is rounding"
    );
    Err(Failure::Wrong { what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(array: u32, least_ms: u64) -> Spec {
        Spec { array, least_ns: least_ms * 1_000_000, reps: None }
    }

    #[test]
    fn repetitions_double_until_a_round_is_long_enough() {
        let mut rows = Vec::new();
        let last = rounds(&spec(40, 20), &AtomicBool::new(false), |row| rows.push(*row)).unwrap();
        assert_eq!(rows.last(), Some(&last));
        assert!(last.time_s >= 0.02, "{last:?}");
        assert!(rows[..rows.len() - 1].iter().all(|row| row.time_s < 0.02), "{rows:?}");
        for (at, row) in rows.iter().enumerate() {
            assert_eq!(row.reps, 1 << at);
            let sum = row.dgefa_percent + row.dgesl_percent + row.overhead_percent;
            assert!((sum - 100.0).abs() < 1e-6, "{row:?}");
            assert!(row.residual_norm > 0.0 && row.residual_norm < 10.0, "{row:?}");
        }
    }

    #[test]
    fn a_report_holds_the_figures_of_the_last_round() {
        let report = run(&spec(200, 5), &AtomicBool::new(false)).unwrap();
        let of = |name: &str| report.counters[name];
        let solving_s =
            report.window_ns as f64 / 1e9 * (of("dgefa_percent") + of("dgesl_percent")) / 100.0;
        let wanted = kflops(200, of("reps") as u64, solving_s);
        assert!((report.metrics["kflops"] / wanted - 1.0).abs() < 1e-6, "{report:?}");
        assert!(of("residual_norm") > 0.0);
    }

    #[test]
    fn the_published_row_follows_from_the_formula_as_far_as_its_rounding_tells() {
        assert!((operations(200) - 686_666.67).abs() < 0.01);
        // 4096 repetitions, 0.78 s, 71.30 % DGEFA and 2.59 % DGESL gave 9717238 KFLOPS.
        let of = |time: f64, share: f64| kflops(200, 4096, time * share / 100.0);
        let (least, most) = (of(0.785, 71.305 + 2.595), of(0.775, 71.295 + 2.585));
        assert!(least < 9_717_238.0 && 9_717_238.0 < most, "{least} to {most}");
        assert!(most / least < 1.014, "the time has two digits");
        let row = Row::of(200, 4096, [0.557_958, 0.020_268, 0.782_55], 1.0);
        assert!(
            (row.dgefa_percent - 71.30).abs() < 0.01 && (row.dgesl_percent - 2.59).abs() < 0.01,
            "{row:?}"
        );
        assert!(
            (row.overhead_percent - 26.11).abs() < 0.01
                && (row.kflops / 9_728_400.0 - 1.0).abs() < 1e-3,
            "{row:?}"
        );
    }

    #[test]
    fn a_residual_that_is_no_rounding_is_refused() {
        assert!(assess(1.7, 10.0).is_ok());
        for wrong in [10.1, f64::INFINITY, f64::NAN] {
            assert!(matches!(assess(wrong, 10.0), Err(Failure::Wrong { .. })), "{wrong}");
        }
    }

    #[test]
    fn a_stop_drops_the_round_on_its_way_and_keeps_what_was_whole() {
        let stop = AtomicBool::new(false);
        let mut seen = 0;
        let last = rounds(&spec(40, u64::MAX / 2_000_000), &stop, |_| {
            seen += 1;
            stop.store(seen == 4, Ordering::Relaxed);
        });
        assert_eq!((seen, last.unwrap().reps), (4, 8));
        let never_begun = rounds(&spec(40, 1000), &AtomicBool::new(true), |_| {}).unwrap();
        assert_eq!(never_begun.reps, 1);
    }

    #[test]
    fn a_number_of_repetitions_is_done_exactly_once() {
        let mut rows = Vec::new();
        let spec = Spec { reps: Some(3), ..spec(40, 1000) };
        rounds(&spec, &AtomicBool::new(false), |row| rows.push(row.reps)).unwrap();
        assert_eq!(rows, [3]);
    }

    #[test]
    fn arrays_that_cannot_be_solved_are_refused_with_one_that_can() {
        assert_eq!((check(200), check(10), check(9_998)), (Ok(()), Ok(()), Ok(())));
        for wrong in [0, 9, 10_001] {
            assert!(check(wrong).unwrap_err().contains("10 to 10000"), "{wrong}");
        }
        let refused = check(512).unwrap_err();
        assert!(refused.contains("array=514"), "{refused}");
        assert_eq!(check(514), Ok(()));
    }
}
