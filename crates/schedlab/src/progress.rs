//! Progress on the terminal, with the time left; silent where nobody looks. Names in it are escaped as in [`out`].

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use text::escaped;

use crate::out;

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

    fn show(&self, message: &str) {
        self.bar.set_message(escaped(message).replace('\n', " "));
    }
}

impl lab::progress::Progress for Progress {
    fn trial(&self, share: f64, left: Option<Duration>, workload: &str, arm: &str, block: u32) {
        const STEPS: f64 = 1000.0;
        let left = left.map_or_else(String::new, |left| format!(" · at most {} s left", left.as_secs()));
        self.bar.set_length(STEPS as u64);
        self.bar.set_position((share * STEPS) as u64);
        self.show(&format!("{workload} · block {} · {arm}{left}", block + 1));
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
        if !self.quiet {
            self.say(text);
        }
    }

    fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
