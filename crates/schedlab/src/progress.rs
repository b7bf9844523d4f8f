//! Progress on standard error: a bar on a terminal, occasional lines elsewhere. Names are escaped
//! as in [`out`].
//!
//! Logs of long runs must show activity and stay short: at most a line per round, a tenth of the
//! expected time after the last, between ten seconds and five minutes. Shorter experiments write
//! none. `SCHEDLAB_PROGRESS_S` replaces the ten seconds.

use std::io::IsTerminal;
use std::iter;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use experiment::results::Trial;
use indicatif::{ProgressBar, ProgressStyle};
use lab::progress::Step;
use report::number::span_ms;
use text::escaped;

use crate::cli::MonitorArgs;
use crate::monitor::Monitor;
use crate::out;

#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    quiet: bool,
    has_remarks: bool,
    lines: Mutex<Lines>,
    monitor: Option<Monitor>,
}

impl Progress {
    /// Shows a bar, or lines if standard error is not a terminal.
    pub(crate) fn new(quiet: bool) -> Progress {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(0) };
        bar.set_style(
            ProgressStyle::with_template("{bar:10} {msg}")
                .expect("the template is well formed")
                .progress_chars("━╸ "),
        );
        let lines = Mutex::new(Lines::new(Instant::now()));
        Progress { bar, quiet, has_remarks: !quiet, lines, monitor: None }
    }

    pub(crate) fn watched(quiet: bool, monitor: &MonitorArgs) -> Result<Progress> {
        Ok(Progress { monitor: monitor.begin()?, ..Progress::new(quiet) })
    }

    /// The same, with fewer words on what is measured.
    pub(crate) fn without_remarks(self) -> Progress {
        Progress { has_remarks: false, ..self }
    }

    pub(crate) fn monitor(&self) -> Option<&Monitor> {
        self.monitor.as_ref()
    }

    fn show(&self, message: &str) {
        self.bar.set_message(escaped(message).replace('\n', " "));
    }
}

const BAR: usize = 11;

impl lab::progress::Progress for Progress {
    fn measured(&self, trial: &Trial, metric: &str) {
        if let Some(monitor) = &self.monitor {
            monitor.measured(trial, metric);
        }
    }

    fn decided(&self, workload: &str, variant: &str) {
        if let Some(monitor) = &self.monitor {
            monitor.decided(workload, variant);
        }
    }

    fn trial(&self, step: &Step<'_>) {
        if let Some(monitor) = &self.monitor {
            monitor.step(step);
        }
        const STEPS: f64 = 1000.0;
        if self.bar.is_hidden() {
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            if !self.quiet && lines.is_due(step, Instant::now()) {
                out::note(words(step));
            }
            return;
        }
        self.bar.set_length(STEPS as u64);
        self.bar.set_position((step.share * STEPS) as u64);
        self.show(&words_within(step, out::width().saturating_sub(BAR)));
    }

    fn prepare(&self, what: &str, done: u64, total: u64) {
        self.bar.set_length(total.max(1));
        self.bar.set_position(done);
        self.show(what);
    }

    fn phase(&self, what: &str) {
        self.bar.set_length(0);
        self.bar.set_position(0);
        self.show(what);
        if self.bar.is_hidden() && !self.quiet {
            out::note(what);
        }
    }

    fn say(&self, text: &str) {
        self.bar.suspend(|| out::note(text));
    }

    fn remark(&self, text: &str) {
        if self.has_remarks {
            self.say(text);
        }
    }

    fn is_interactive(&self) -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn words(step: &Step<'_>) -> String {
    let Step { workload, variant, standing, .. } = step;
    let known = if standing.is_empty() { String::new() } else { format!(" · {standing}") };
    let left = time_left(step).map_or_else(String::new, |left| format!(", {left}"));
    format!("{workload} · round {} · {variant}{known} · {}{left}", step.round + 1, time_spent(step))
}

/// Time left first, then the parts that fit into `columns`.
fn words_within(step: &Step<'_>, columns: usize) -> String {
    let time = time_left(step).unwrap_or_else(|| time_spent(step));
    let known = step.standing.split("; ").filter(|part| !part.is_empty()).map(str::to_owned);
    let place = format!("round {} · {}", step.round + 1, step.variant);
    let parts = iter::once(time).chain(known).chain([place, step.workload.to_owned()]);
    let mut line = String::new();
    for part in parts {
        let dot = if line.is_empty() { "" } else { " · " };
        if line.chars().count() + dot.chars().count() + part.chars().count() <= columns {
            line += dot;
            line += &part;
        }
    }
    line
}

fn time_left(step: &Step<'_>) -> Option<String> {
    step.left.map(|left| format!("at most {} left", span_ms(millis(left))))
}

fn time_spent(step: &Step<'_>) -> String {
    let simulated = if step.simulated { " simulated" } else { "" };
    format!("{}{simulated}", span_ms(millis(step.elapsed)))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[derive(Debug)]
struct Lines {
    began: Instant,
    shortest: Duration,
    last: Option<(Instant, u32, String)>,
}

impl Lines {
    const SHORTEST: Duration = Duration::from_secs(10);
    const LONGEST: Duration = Duration::from_secs(300);

    fn new(now: Instant) -> Lines {
        let set = std::env::var("SCHEDLAB_PROGRESS_S").ok().and_then(|text| text.parse().ok());
        let shortest = set
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .unwrap_or(Self::SHORTEST);
        Lines { began: now, shortest, last: None }
    }

    /// If true, the line counts as written.
    fn is_due(&mut self, step: &Step<'_>, now: Instant) -> bool {
        let expected = now.duration_since(self.began) + step.left.unwrap_or_default();
        let every = (expected / 10).max(self.shortest).min(Self::LONGEST);
        let (since, other_round) = match &self.last {
            Some((at, round, workload)) => (*at, *round != step.round || workload != step.workload),
            None => (self.began, true),
        };
        let due = other_round && now.duration_since(since) >= every;
        if due {
            self.last = Some((now, step.round, step.workload.to_owned()));
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(round: u32, left_s: u64) -> Step<'static> {
        Step {
            share: 0.5,
            elapsed: Duration::from_secs(70),
            simulated: false,
            left: Some(Duration::from_secs(left_s)),
            workload: "randread",
            variant: "bfq",
            round,
            standing: "3 of 5 decided; iops: bfq −12 % so far",
        }
    }

    fn written(total_s: u64, trials_a_round: u64) -> Vec<u64> {
        let began = Instant::now();
        let mut lines = Lines::new(began);
        let is_due = |s: &u64| {
            let round = u32::try_from(s / trials_a_round).expect("few");
            lines.is_due(&step(round, total_s - s), began + Duration::from_secs(*s))
        };
        (0..total_s).filter(is_due).collect()
    }

    #[test]
    fn lines_come_every_tenth_of_the_time_within_bounds_and_never_twice_a_round() {
        assert_eq!(written(9, 1), [0; 0], "a short experiment writes none");
        assert_eq!(written(60, 1), [10, 20, 30, 40, 50]);
        assert_eq!(written(1000, 1).len(), 9);
        assert_eq!(written(36_000, 1).len(), 119, "every five minutes of ten hours");
        assert_eq!(written(60, 25), [10, 25, 50], "one line a round");
    }

    #[test]
    fn a_line_says_what_is_measured_what_is_known_and_the_time() {
        let text = words(&step(4, 50));
        assert_eq!(
            text,
            "randread · round 5 · bfq · 3 of 5 decided; iops: bfq −12 % so far · 1 min 10 s, at most 50.0 s left"
        );
        let simulated = words(&Step { simulated: true, left: None, standing: "", ..step(0, 0) });
        assert_eq!(simulated, "randread · round 1 · bfq · 1 min 10 s simulated");
    }

    #[test]
    fn beside_the_bar_the_time_left_is_first_and_parts_fit_whole() {
        let step = step(4, 50);
        let all = "at most 50.0 s left · 3 of 5 decided · iops: bfq −12 % so far · round 5 · bfq · randread";
        assert_eq!(words_within(&step, 200), all);
        for columns in 1..120 {
            let text = words_within(&step, columns);
            assert!(text.chars().count() <= columns, "{columns}: {text}");
            let is_whole = text.split(" · ").all(|part| all.split(" · ").any(|one| one == part));
            assert!(text.is_empty() || is_whole, "{columns}: {text}");
        }
        assert_eq!(
            words_within(&step, 80 - BAR),
            "at most 50.0 s left · 3 of 5 decided · iops: bfq −12 % so far"
        );
    }
}
