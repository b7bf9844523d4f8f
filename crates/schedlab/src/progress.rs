//! Progress on the terminal, with the time left; silent where nobody looks.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::out;

/// How far the building of a kernel is, on the same bar.
#[derive(Debug)]
pub(crate) struct OfBuild<'a> {
    shown: &'a Progress,
    phase: String,
}

impl OfBuild<'_> {
    pub(crate) fn new(shown: &Progress) -> OfBuild<'_> {
        OfBuild { shown, phase: String::new() }
    }
}

impl guest::Progress for OfBuild<'_> {
    fn phase(&mut self, what: &str) {
        what.clone_into(&mut self.phase);
        self.shown.prepare(what, 0, 1);
    }

    fn step(&mut self, done: u64, total: u64, left: Option<Duration>) {
        let left = left.map_or_else(String::new, |left| format!(" · about {} s left", left.as_secs()));
        self.shown.prepare(&format!("{}{left}", self.phase), done, total);
    }

    fn say(&mut self, text: &str) {
        self.shown.say(text);
    }
}

/// A bar on standard error, or nothing.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar; hidden with `quiet`, and by itself where standard error is no terminal.
    pub(crate) fn new(quiet: bool) -> Progress {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(0) };
        bar.set_style(
            ProgressStyle::with_template("{bar:24} {wide_msg}")
                .expect("the template is well formed")
                .progress_chars("━╸ "),
        );
        Progress(bar)
    }

    /// A trial begins; `share` of the experiment (0 to 1) is done, and it goes on for `left` at most.
    pub(crate) fn trial(&self, share: f64, left: Option<Duration>, workload: &str, arm: &str, block: u32) {
        const STEPS: f64 = 1000.0;
        let left = left.map_or_else(String::new, |left| format!(" · at most {} s left", left.as_secs()));
        self.0.set_length(STEPS as u64);
        self.0.set_position((share * STEPS) as u64);
        self.0.set_message(format!("{workload} · block {} · {arm}{left}", block + 1));
    }

    /// Something that takes a while before the first trial: `done` of `total` bytes.
    pub(crate) fn prepare(&self, what: &str, done: u64, total: u64) {
        self.0.set_length(total.max(1));
        self.0.set_position(done);
        self.0.set_message(what.to_owned());
    }

    /// A part of a longer work begins: on the bar, or as a line where there is none, since each takes long enough to wonder.
    pub(crate) fn phase(&self, what: &str, quiet: bool) {
        self.0.set_length(0);
        self.0.set_position(0);
        self.0.set_message(what.to_owned());
        if self.0.is_hidden() && !quiet {
            out::note(what);
        }
    }

    /// Says something above the bar, or plainly where there is none.
    pub(crate) fn say(&self, text: &str) {
        self.0.suspend(|| out::note(text));
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}
