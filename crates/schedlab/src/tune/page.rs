//! tune.html: the answer, the search as a plot, and every setting that was tried.

use anyhow::{Context, Result};
use minijinja::{Environment, Value, context};

use super::result::Tuned;
use crate::report::plot::search;

/// Rows of the table of settings.
const ROWS: usize = 40;

/// The whole page: nothing from outside, no script.
///
/// # Errors
/// When the plot or the template fails, which no input should cause.
pub(crate) fn render(tuned: &Tuned) -> Result<String> {
    let candidates = &tuned.search.candidates;
    let dots: Vec<(f64, f64, bool)> = candidates
        .iter()
        .filter_map(|c| Some((f64::from(c.after_trials), c.effect?, c.holds != Some(false))))
        .collect();
    let line: Vec<(f64, f64)> = tuned.search.curve.iter().map(|step| (f64::from(step.trials), step.effect)).collect();
    let plot = search::plot("best so far over the trials of the search", &dots, &line, f64::from(tuned.search.trials))?;
    let mut best: Vec<_> = candidates.iter().filter(|c| c.effect.is_some()).collect();
    best.sort_by(|a, b| b.effect.unwrap_or_default().total_cmp(&a.effect.unwrap_or_default()));
    let rows: Vec<Value> = best
        .into_iter()
        .take(ROWS)
        .map(|c| {
            let change = format!("{:+.1} %", (c.effect.unwrap_or_default().exp() - 1.0) * 100.0);
            context! { arm => c.arm, change, blocks => c.blocks, holds => c.holds, state => c.state }
        })
        .collect();
    let page = context! {
        style => Value::from_safe_string(include_str!("../report/templates/style.css").into()),
        title => format!("{} on {}", tuned.workloads.join(", "), tuned.device),
        answer => tuned.answer,
        words => tuned.to_string(),
        plot => plot.map(Value::from_safe_string),
        rows,
        all => candidates.len(),
        confirmed => tuned.confirmation.is_some(),
    };
    let mut environment = Environment::new();
    environment
        .add_template("tune.html", include_str!("../report/templates/tune.html"))
        .context("the page of a search")?;
    environment.get_template("tune.html").and_then(|t| t.render(page)).context("cannot write the page of a search")
}
