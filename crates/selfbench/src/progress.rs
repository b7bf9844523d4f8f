//! Progress as lines on standard error, one per phase.

use std::sync::Mutex;

use lab::progress::Step;

#[derive(Debug, Default)]
pub(crate) struct Progress {
    last: Mutex<String>,
}

impl lab::progress::Progress for Progress {
    fn trial(&self, step: &Step<'_>) {
        self.phase(&format!("{} · {}", step.workload, step.variant));
    }

    fn prepare(&self, what: &str, _: u64, _: u64) {
        self.phase(what);
    }

    fn phase(&self, what: &str) {
        let mut last = self.last.lock().expect("no holder of the lock panics");
        if *last != what {
            eprintln!("{what}");
            what.clone_into(&mut last);
        }
    }

    fn say(&self, text: &str) {
        eprintln!("{text}");
    }

    fn remark(&self, text: &str) {
        self.say(text);
    }

    fn clear(&self) {}
}
