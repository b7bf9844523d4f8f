//! Any program as a workload.

use host::session::Launch;

use crate::error::RunnerError;
use crate::kind::{Bench, Needs, Runner, RunnerKind, Seen, Trial};
use crate::options::{Form, Opt};

/// The row.
pub(crate) static COMMAND: RunnerKind = RunnerKind {
    name: "command",
    help: "any program: the time that it takes, or figures from what it prints",
    program: None,
    needs: Needs::Files,
    reaches_device: |_| true,
    writes: |_| true,
    primary: |_| "wall_s".to_string(),
    own_metrics: |_| Vec::new(),
    options: &[Opt { name: "run", default: "", form: Form::Text, help: "the command line, run by /bin/sh" }],
    check: |options| {
        options.text("run").map(drop).ok_or_else(|| "say what to run, e.g. run=\"tar xf /tmp/x.tar\"".into())
    },
    make: |options| Box::new(Command { line: options.text("run").unwrap_or_default().to_string() }),
};

#[derive(Debug)]
struct Command {
    line: String,
}

impl Runner for Command {
    fn version(&mut self, _bench: &Bench<'_>) -> Result<String, RunnerError> {
        Ok("unknown".to_string())
    }

    fn measure(&mut self, bench: &Bench<'_>, trial: &Trial) -> Result<Seen, RunnerError> {
        let launch = Launch {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), self.line.clone().into()],
            dir: bench.files().to_path_buf(),
            share: trial.share.clone(),
            ..Launch::default()
        };
        let ended = bench.run(&launch, trial.deadline)?;
        let metrics = [("wall_s".to_string(), ended.wall.as_secs_f64())].into();
        Ok(Seen { window: ended.wall, metrics, ..Seen::default() })
    }
}
