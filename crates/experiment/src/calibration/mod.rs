//! Verifies the error guarantees on thousands of simulated experiments with known truth, over five
//! kinds of noise, including some that no theorem covers. Deterministic by seed; shared by the test
//! and the command that prints the tables.

use std::fmt;

mod engine;
mod guarantees;
mod noise;
mod power;

pub use engine::{Critical, Rule};
pub use guarantees::{Guarantee, LOOKS, PLANNED, VARIANTS};
pub use noise::{KINDS, Noise};
pub use power::{Decision, EFFECTS, MAX_ROUNDS, MAX_TIMES_FIXED, Power, Saving, fixed_size};

/// The product's rules: with a budget, and without one.
pub static RULES: [Rule; 2] = [Rule::spending(PLANNED), Rule::sequence(LOOKS)];

/// What to simulate.
#[derive(Debug, Clone, Copy)]
pub struct Calibration {
    /// Experiments per kind of noise and scenario.
    pub experiments: u64,
    /// Experiments per row of the savings table.
    pub savings: u64,
    /// Guaranteed family-wise error.
    pub alpha: f64,
    /// Master seed.
    pub seed: u64,
    /// Kinds of noise.
    pub noises: &'static [Noise],
    /// The rules under test, by default the product's.
    pub rules: &'static [Rule],
    /// Budgets at which thin looks are compared with a look each round.
    pub budgets: &'static [usize],
}

impl Default for Calibration {
    fn default() -> Self {
        Calibration {
            experiments: 10_000,
            savings: 5_000,
            alpha: 0.05,
            seed: 1,
            noises: &KINDS,
            rules: &RULES,
            budgets: &[24, 400, 5_000],
        }
    }
}

/// The results.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Experiments per kind of noise and scenario.
    pub experiments: u64,
    /// The guarantees.
    pub guarantees: Vec<Guarantee>,
    /// Decisions within a budget under three rules.
    pub decisions: Vec<Decision>,
    /// Decisions with thin looks and with a look each round.
    pub looks: Vec<Decision>,
    /// Power at a 2 % effect.
    pub powers: Vec<Power>,
    /// Rounds over a mix of effects.
    pub savings: Vec<Saving>,
}

/// Counts everything.
pub fn calibrate(calibration: &Calibration) -> Report {
    let Calibration { experiments, savings, alpha, seed, budgets, .. } = *calibration;
    let fewer = (experiments / 2).max(1);
    Report {
        experiments,
        guarantees: guarantees_of(calibration)
            .into_iter()
            .chain(guarantees::budget_events(fewer, alpha, seed))
            .collect(),
        decisions: power::decisions(experiments, alpha, seed),
        looks: power::looks(budgets, experiments, alpha, seed),
        powers: power::powers(fewer, alpha, seed),
        savings: power::savings(savings, alpha, seed),
    }
}

/// Counts the guarantees only.
pub fn guarantees_of(calibration: &Calibration) -> Vec<Guarantee> {
    let Calibration { experiments, alpha, seed, noises, rules, .. } = *calibration;
    rules
        .iter()
        .flat_map(|rule| guarantees::guarantees(*rule, noises, experiments, alpha, seed))
        .collect()
}

impl Report {
    /// Lists violated guarantees.
    pub fn broken(&self) -> Vec<&Guarantee> {
        self.guarantees.iter().filter(|guarantee| !guarantee.kept()).collect()
    }

    /// Returns mean rounds over the mix of effects, relative to the fixed design, at one noise
    /// level.
    pub fn mix_share(&self, round_sd: f64) -> f64 {
        let rows: Vec<&Saving> =
            self.savings.iter().filter(|row| row.round_sd == round_sd).collect();
        let fixed: usize = rows.iter().map(|row| row.fixed_rounds).sum();
        rows.iter().map(|row| row.mean_rounds).sum::<f64>() / fixed as f64
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Guarantees: {} experiments per row, {} variants and a baseline, a look after each round: {PLANNED} rounds for spending, {LOOKS} \
             for the confidence sequence\n",
            self.experiments, VARIANTS
        )?;
        writeln!(
            f,
            "| rule | noise | what must be rare | guaranteed at most | found | bound | kept |"
        )?;
        writeln!(f, "|---|---|---|---:|---:|---:|---|")?;
        for row in &self.guarantees {
            let kept = if row.kept() { "yes" } else { "NO" };
            let [guaranteed, found, bound] = [row.guaranteed, row.found, row.bound].map(percent);
            let (rule, noise, what) = (row.rule, row.noise.name(), row.what);
            writeln!(
                f,
                "| {rule} | {noise} | {what} | {guaranteed} | {found} | {bound} | {kept} |"
            )?;
        }
        let margin = "one variant, margin 0, normal noise; share decided and mean rounds";
        writeln!(f, "\nWhat a budget decides: {margin}\n")?;
        write_decisions(f, &self.decisions)?;
        writeln!(f, "\nThin looks, and a look each round: {margin}\n")?;
        write_decisions(f, &self.looks)?;
        writeln!(
            f,
            "\nPower at a true effect of +2 %, one variant, normal noise, at most {MAX_ROUNDS} rounds\n"
        )?;
        writeln!(
            f,
            "| round-to-round SD | design | calls it better | calls it something false | mean rounds | false alarms if identical |"
        )?;
        writeln!(f, "|---:|---|---:|---:|---:|---:|")?;
        for row in &self.powers {
            let [sd, power, wrong, alarms] =
                [row.round_sd, row.power, row.wrong, row.false_alarms].map(percent);
            writeln!(
                f,
                "| {sd} | {} | {power} | {wrong} | {:.1} | {alarms} |",
                row.design, row.mean_rounds
            )?;
        }
        self.write_savings(f)
    }
}

impl Report {
    fn write_savings(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\nBlocks against a fixed design sized to tell 2 % from 0 (margin 1 %, 90 % right on both); spending: at most \
             {MAX_TIMES_FIXED} times as many\n"
        )?;
        writeln!(
            f,
            "| round-to-round SD | true effect | fixed: rounds | right | wrong | spending: mean rounds | right | wrong |"
        )?;
        writeln!(f, "|---:|---:|---:|---:|---:|---:|---:|---:|")?;
        let mut sizes: Vec<f64> = Vec::new();
        for row in &self.savings {
            let [sd, effect, fixed_wrong, wrong] =
                [row.round_sd, row.effect, row.fixed_wrong, row.wrong].map(percent);
            let [fixed, ours] = [row.fixed_correct, row.correct]
                .map(|share| share.map_or("-".to_string(), percent));
            writeln!(
                f,
                "| {sd} | {effect} | {} | {fixed} | {fixed_wrong} | {:.1} | {ours} | {wrong} |",
                row.fixed_rounds, row.mean_rounds
            )?;
            if sizes.last() != Some(&row.round_sd) {
                sizes.push(row.round_sd);
            }
        }
        writeln!(f)?;
        for round_sd in sizes {
            let saved = percent(1.0 - self.mix_share(round_sd));
            writeln!(
                f,
                "Over this mix of effects, at {} per round: {saved} of the rounds saved.",
                percent(round_sd)
            )?;
        }
        Ok(())
    }
}

fn write_decisions(f: &mut fmt::Formatter<'_>, rows: &[Decision]) -> fmt::Result {
    writeln!(f, "| budget | effect / round-to-round SD | rule | decided | mean rounds |")?;
    writeln!(f, "|---:|---:|---|---:|---:|")?;
    for Decision { budget, deviations, rule, decided, mean_rounds } in rows {
        let decided = percent(*decided);
        // At most three digits.
        let effect = (deviations * 1e3).round() / 1e3;
        writeln!(f, "| {budget} | {effect} | {rule} | {decided} | {mean_rounds:.1} |")?;
    }
    Ok(())
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
