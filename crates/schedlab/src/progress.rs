//! Progress on the terminal, with the time left; silent where nobody looks.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::out;

/// How far the building of a kernel is: on the bar, and where there is none one line for each part, since each takes long enough to
/// wonder.
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
        self.shown.phase(what);
    }

    fn step(&mut self, done: u64, total: u64, left: Option<Duration>) {
        let of = if total == 0 { String::new() } else { format!(" of about {total}") };
        let left = left.map_or_else(String::new, |left| format!(" · {} s left", left.as_secs()));
        self.shown.prepare(&format!("{} · {done}{of}{left}", self.phase), done, total);
    }

    fn say(&mut self, text: &str) {
        self.shown.remark(text);
    }
}

/// A bar on standard error, or nothing.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    quiet: bool,
}

impl Progress {
    /// A bar; hidden with `quiet`, and by itself where standard error is no terminal.
    pub(crate) fn new(quiet: bool) -> Progress {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(0) };
        bar.set_style(
            ProgressStyle::with_template("{bar:24} {wide_msg}")
                .expect("the template is well formed")
                .progress_chars("━╸ "),
        );
        Progress { bar, quiet }
    }

    /// A trial begins; `share` of the experiment (0 to 1) is done, and it goes on for `left` at most.
    pub(crate) fn trial(&self, share: f64, left: Option<Duration>, workload: &str, arm: &str, block: u32) {
        const STEPS: f64 = 1000.0;
        let left = left.map_or_else(String::new, |left| format!(" · at most {} s left", left.as_secs()));
        self.bar.set_length(STEPS as u64);
        self.bar.set_position((share * STEPS) as u64);
        self.bar.set_message(format!("{workload} · block {} · {arm}{left}", block + 1));
    }

    /// Something that takes a while before the first trial: `done` of `total` bytes.
    pub(crate) fn prepare(&self, what: &str, done: u64, total: u64) {
        self.bar.set_length(total.max(1));
        self.bar.set_position(done);
        self.bar.set_message(what.to_owned());
    }

    /// A part of a longer work begins: on the bar, or as a line where there is none, since each takes long enough to wonder.
    pub(crate) fn phase(&self, what: &str) {
        self.bar.set_length(0);
        self.bar.set_position(0);
        self.bar.set_message(what.to_owned());
        if self.bar.is_hidden() && !self.quiet {
            out::note(what);
        }
    }

    /// Says something above the bar, or plainly where there is none.
    pub(crate) fn say(&self, text: &str) {
        self.bar.suspend(|| out::note(text));
    }

    /// Says something that nobody needs who wants quiet.
    pub(crate) fn remark(&self, text: &str) {
        if !self.quiet {
            self.say(text);
        }
    }

    /// Takes the bar away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
