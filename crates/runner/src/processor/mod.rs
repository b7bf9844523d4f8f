//! Work for processors alone: this program's own works, each in a process that is started like any other program.
//!
//! The works are in the crate `cpuwork`; a row here says which options one takes and makes the order of them.

mod linpack;
mod loads;

use std::path::PathBuf;
use std::time::Duration;

use cpuwork::{Order, Report};
use host::session::{Ended, Launch};

use crate::error::{RunnerError, tail};
use crate::kind::{Bench, Runner, Seen, Trial};
use crate::options::Options;

pub(crate) use linpack::LINPACK;
pub use loads::{LOADS, LoadKind, find as find_load};

/// The hidden subcommand that does the work of an order on standard input.
pub const SUBCOMMAND: &str = "cpu-work";

/// Measures a work of this program's own.
#[derive(Debug)]
struct Own {
    name: &'static str,
    options: Options,
    order: fn(&Options, &Trial) -> Order,
}

/// The runner of a work; `order` makes what is to be done in a trial.
fn own(name: &'static str, options: &Options, order: fn(&Options, &Trial) -> Order) -> Box<dyn Runner> {
    Box::new(Own { name, options: options.clone(), order })
}

impl Runner for Own {
    fn version(&mut self, _bench: &Bench<'_>) -> Result<String, RunnerError> {
        Ok(format!("schedlab {}", env!("CARGO_PKG_VERSION")))
    }

    fn measure(&mut self, bench: &Bench<'_>, trial: &Trial) -> Result<Seen, RunnerError> {
        let order = (self.order)(&self.options, trial);
        let running = bench.session.start(&Launch { placement: trial.placement.clone(), ..launch(&order)? })?;
        let ended = bench.finish(running, self.name, trial.deadline)?;
        let report = report(self.name, &ended)?;
        Ok(Seen {
            window: Duration::from_nanos(report.window_ns),
            metrics: report.metrics,
            counts: report.counts,
            counters: report.counters,
            moved: None,
        })
    }
}

/// How the process of an order is started.
///
/// # Errors
/// [`RunnerError`] when this program's own file is not to be found.
pub fn launch(order: &Order) -> Result<Launch, RunnerError> {
    let failed = |why: String| RunnerError::Wrong { program: SUBCOMMAND.into(), problem: why, tail: String::new() };
    let program: PathBuf =
        std::env::current_exe().map_err(|e| failed(format!("its own file is not to be found: {e}")))?;
    let input = serde_json::to_vec(order).map_err(|e| failed(e.to_string()))?;
    Ok(Launch { program, args: vec![SUBCOMMAND.into()], dir: "/".into(), input, ..Launch::default() })
}

/// Reads what the process has told: the last line that it printed.
///
/// # Errors
/// [`RunnerError::Unreadable`] when it told nothing.
pub fn report(name: &str, ended: &Ended) -> Result<Report, RunnerError> {
    let last = ended.stdout.lines().last().unwrap_or_default();
    serde_json::from_str(last).map_err(|e| RunnerError::Unreadable {
        program: name.to_string(),
        missing: format!("report: {e}"),
        tail: tail(ended),
    })
}
