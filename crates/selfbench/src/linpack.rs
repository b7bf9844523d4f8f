//! `selfbench linpack`: the LINPACK table, and the same algorithm in C.
//!
//! The C program (kernel/reference/linpack.c) is compiled on the spot with `cc -O2` and has
//! identical steps. The ratio is the median over adjacent pairs. Neither uses a tuned library, so
//! the compilers are part of the comparison: rustc vectorises some loops that -O2 does not.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result, bail, ensure};
use experiment::stats::describe;
use load::cpu::linpack::{Row, Spec, operations, residual_limit, rounds};
use serde::Serialize;

use lab::failure::usage;
use lab::signals::Stop;

const SOURCE: &str = include_str!("../../../kernel/reference/linpack.c");

/// Shorter rounds are shown only if they are the last.
const SHOWN_S: f64 = 0.1;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// Validated by `load::cpu::linpack::check`.
    pub(crate) array: u32,
    /// Minimum seconds of the last round.
    pub(crate) least_s: f64,
    /// At least 1.
    pub(crate) rounds: u32,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    pub(crate) array: u32,
    pub(crate) operations: f64,
    pub(crate) table: Vec<Row>,
    pub(crate) compiler: String,
    /// Our measurements paired with C's, in order.
    pub(crate) schedlab: Vec<Row>,
    pub(crate) c: Vec<Row>,
    /// Ours / C's KFLOPS, median over pairs.
    pub(crate) ratio_kflops: f64,
    pub(crate) ratio_range: [f64; 2],
}

pub(crate) fn run(options: &Options, stop: &Stop) -> Result<Report> {
    let dir = tempfile::Builder::new().prefix("schedlab-linpack-").tempdir()?;
    let (program, compiler) = compile(dir.path())?;
    let flag = stop.flag();
    let array = options.array;
    let mut table = Vec::new();
    let order = Spec { array, least_ns: (options.least_s * 1e9) as u64, reps: None };
    let last = rounds(&order, &flag, |row| table.push(*row))?;
    table.retain(|row| row.time_s >= SHOWN_S || row.reps == last.reps);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..options.rounds {
        for side in [round, round + 1] {
            if let Some(signal) = stop.signal().filter(|_| flag.load(Ordering::Relaxed)) {
                bail!("interrupted by {signal}");
            }
            if side.is_multiple_of(2) {
                ours.push(rounds(&Spec { reps: Some(last.reps), ..order.clone() }, &flag, |_| {})?);
            } else {
                theirs.push(one_of_c(&program, array, last.reps)?);
            }
        }
    }
    let mut ratios: Vec<f64> =
        ours.iter().zip(&theirs).map(|(ours, c)| ours.kflops / c.kflops).collect();
    ratios.sort_by(f64::total_cmp);
    let [least, median, greatest] = [0.0, 0.5, 1.0].map(|share| quantile(&ratios, share));
    Ok(Report {
        array,
        operations: operations(array),
        table,
        compiler,
        schedlab: ours,
        c: theirs,
        ratio_kflops: median,
        ratio_range: [least, greatest],
    })
}

fn compile(dir: &Path) -> Result<(PathBuf, String)> {
    let Ok(version) = Command::new("cc").arg("--version").output() else {
        return Err(usage(
            "there is no C compiler (cc), and LINPACK is compared with C: apt-get install gcc libc6-dev",
        ));
    };
    let version =
        String::from_utf8_lossy(&version.stdout).lines().next().unwrap_or("cc").to_owned();
    let (source, program) = (dir.join("linpack.c"), dir.join("linpack"));
    std::fs::write(&source, SOURCE)
        .with_context(|| format!("cannot write {}", source.display()))?;
    let output =
        Command::new("cc").arg("-O2").arg("-o").arg(&program).arg(&source).arg("-lm").output()?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    ensure!(
        output.status.success(),
        "cc -O2 cannot compile LINPACK (apt-get install gcc libc6-dev): {said}"
    );
    Ok((program, format!("{version}, -O2")))
}

fn one_of_c(program: &Path, array: u32, reps: u64) -> Result<Row> {
    let output = Command::new(program).args([array.to_string(), reps.to_string()]).output();
    let output = output
        .with_context(|| format!("cannot start {} (is /tmp mounted noexec?)", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "LINPACK in C failed ({}): {}", output.status, said.trim());
    parse(&String::from_utf8_lossy(&output.stdout), array, reps)
}

/// Seconds in DGEFA, in DGESL and in total, and the residual.
fn parse(text: &str, array: u32, reps: u64) -> Result<Row> {
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [dgefa_s, dgesl_s, total_s, residual] = figures[..] else {
        bail!("LINPACK in C printed {text:?} instead of four numbers");
    };
    ensure!(
        residual <= residual_limit(array as usize / 2),
        "LINPACK in C is wrong: its normalised residual is {residual}"
    );
    Ok(Row::of(array, reps, [dgefa_s, dgesl_s, total_s], residual))
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    describe::quantile(sorted, share).expect("there is at least one round")
}

fn median(rows: &[Row], of: impl Fn(&Row) -> f64) -> f64 {
    let mut values: Vec<f64> = rows.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { array, operations, .. } = self;
        writeln!(
            f,
            "LINPACK, double precision, array size {array} x {array}, order {}: {operations:.0} operations in a repetition,\n\
             averages of the rolled and the unrolled form",
            array / 2
        )?;
        let mut table = comfy_table::Table::new();
        table.load_preset(comfy_table::presets::UTF8_FULL_CONDENSED);
        table.set_header([
            "Reps",
            "Time",
            "DGEFA %",
            "DGESL %",
            "OVERHEAD %",
            "KFLOPS",
            "Residual",
        ]);
        for row in &self.table {
            table.add_row([
                row.reps.to_string(),
                format!("{:.2}", row.time_s),
                format!("{:.2}", row.dgefa_percent),
                format!("{:.2}", row.dgesl_percent),
                format!("{:.2}", row.overhead_percent),
                format!("{:.0}", row.kflops),
                format!("{:.2}", row.residual_norm),
            ]);
        }
        writeln!(f, "{table}")?;
        writeln!(f, "The same in C ({}), in turn, medians of {}:", self.compiler, self.c.len())?;
        let mut table = comfy_table::Table::new();
        table.load_preset(comfy_table::presets::UTF8_FULL_CONDENSED);
        table.set_header(["", "KFLOPS", "DGEFA %", "DGESL %", "OVERHEAD %", "Residual"]);
        for (name, rows) in [("schedlab", &self.schedlab), ("C", &self.c)] {
            table.add_row([
                name.to_owned(),
                format!("{:.0}", median(rows, |row| row.kflops)),
                format!("{:.2}", median(rows, |row| row.dgefa_percent)),
                format!("{:.2}", median(rows, |row| row.dgesl_percent)),
                format!("{:.2}", median(rows, |row| row.overhead_percent)),
                format!("{:.2}", median(rows, |row| row.residual_norm)),
            ]);
        }
        writeln!(f, "{table}")?;
        let [least, greatest] = self.ratio_range;
        writeln!(
            f,
            "KFLOPS of schedlab / of C: {:.2} ({least:.2} to {greatest:.2}), median of the ratios of neighbours",
            self.ratio_kflops
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_c_prints_becomes_a_row_and_a_wrong_residual_is_refused() {
        let row = parse("0.6 0.1 1.0 1.67\n", 200, 1000).unwrap();
        assert_eq!((row.reps, row.residual_norm), (1000, 1.67));
        assert!(
            (row.dgefa_percent - 60.0).abs() < 1e-9 && (row.overhead_percent - 30.0).abs() < 1e-9,
            "{row:?}"
        );
        assert!((row.kflops - 2.0 * operations(200) / 0.7).abs() < 1.0, "{row:?}");
        for wrong in ["0.6 0.1 1.0 11\n", "0.6 0.1 1.0 nan\n", "0.6 0.1\n", ""] {
            assert!(parse(wrong, 200, 1000).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn both_sides_solve_the_same_systems_as_well() {
        let Ok(dir) = tempfile::tempdir().map_err(|e| eprintln!("{e}")) else { return };
        let program = match compile(dir.path()) {
            Ok((program, _)) => program,
            Err(error) => return testbed::skip(&format!("{error:#}")),
        };
        for array in [10, 22, 200, 250] {
            let c = one_of_c(&program, array, 2).unwrap();
            let order = Spec { array, least_ns: 0, reps: Some(2) };
            let ours = rounds(&order, &std::sync::atomic::AtomicBool::new(false), |_| {}).unwrap();
            // Ours is the larger of two: the plain system, which equals C's to the last bit, and
            // the transposed.
            assert!(
                ours.residual_norm >= c.residual_norm - 1e-6,
                "{array}: {} and {}",
                ours.residual_norm,
                c.residual_norm
            );
            assert!(c.residual_norm > 0.0);
        }
    }
}
