//! tune.html: the answer, a plot of the search, and the settings tried.

use experiment::notation;
use minijinja::{Value, context};

use super::plot::{canvas, search};
use super::template;

/// Maximum number of settings listed.
const ROWS: usize = 40;

#[derive(Debug, Clone)]
pub struct Search<'a> {
    /// Workloads and device.
    pub title: &'a str,
    pub headline: &'a str,
    /// The setting, its open questions, and the commands that apply it, one per line.
    pub answer: &'a str,
    /// The terminal's text.
    pub words: &'a str,
    pub trials: u32,
    /// Number of trials, and the best effect so far as a log ratio to the default.
    pub curve: Vec<(u32, f64)>,
    pub candidates: Vec<Candidate<'a>>,
    pub confirmed: bool,
}

#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    pub variant: &'a str,
    /// Trials before its first one.
    pub after_trials: u32,
    /// Valid rounds.
    pub rounds: usize,
    /// Mean log ratio to the default, positive if better.
    pub effect: Option<f64>,
    /// Whether the constraints held, if any.
    pub holds: Option<bool>,
    pub state: &'a str,
}

pub fn page(of: &Search<'_>) -> crate::Result<String> {
    let dots: Vec<(f64, f64, bool)> = of
        .candidates
        .iter()
        .filter_map(|c| Some((f64::from(c.after_trials), c.effect?, c.holds != Some(false))))
        .collect();
    let line: Vec<(f64, f64)> =
        of.curve.iter().map(|(trials, effect)| (f64::from(*trials), *effect)).collect();
    let plot = search::plot(
        "best so far over the trials of the search",
        &dots,
        &line,
        f64::from(of.trials),
    )?;
    let mut best: Vec<_> = of.candidates.iter().filter(|c| c.effect.is_some()).collect();
    best.sort_by(|a, b| b.effect.unwrap_or_default().total_cmp(&a.effect.unwrap_or_default()));
    let rows: Vec<Value> = best
        .into_iter()
        .take(ROWS)
        .map(|c| {
            let change = notation::change(c.effect.unwrap_or_default().exp());
            context! { variant => c.variant, change, rounds => c.rounds, holds => c.holds, state => c.state }
        })
        .collect();
    let page = context! {
        style => Value::from_safe_string(include_str!("templates/style.css").into()),
        title => of.title,
        headline => of.headline,
        answer => of.answer.lines().collect::<Vec<_>>(),
        words => of.words,
        plot => plot.map(|svg| Value::from_safe_string(canvas::themed(&svg))),
        rows,
        all => of.candidates.len(),
        confirmed => of.confirmed,
    };
    template::fill(&[("tune.html", include_str!("templates/tune.html"))], page)
}
