//! PostgreSQL's own benchmark, on a cluster for the experiment.
//!
//! Data, write-ahead log and socket are on the file system under test. Every trial uses a copy of
//! the initial cluster (the *base*), with the same bytes, no bloat and the same recycled log
//! segments. Reflinks would make the first write to each page unusual. Initialising for each trial
//! would also write the load's log, and different bytes each time.
//!
//! pgbench logs a line per transaction to an unmounted tmpfs ([`scratch`]): on the device, the log
//! would be part of the measurement, and in a directory it would survive a killed schedlab.

mod cluster;
mod counters;
mod output;
mod scratch;
mod server;
mod settings;
#[cfg(test)]
mod tests;
mod tools;

use std::time::{Duration, Instant};

use machine::files::Bounded;
use text::limits::SCRIPT_BYTES;

use crate::programs::error::RunnerError;
use crate::programs::kind::{Bench, Measurement, Needs, Runner, RunnerKind, Trial};
use cluster::Cluster;
use output::Raw;
use settings::{Length, Script, Settings};
use text::{Form, field};
use tools::Tools;

pub(crate) static PGBENCH: RunnerKind = RunnerKind {
    name: "pgbench",
    help: "PostgreSQL with its own benchmark: TPC-B, or a script of SQL, on a private cluster",
    program: Some(("pgbench", "postgresql")),
    needs: Needs::Files,
    reaches_device: |_| true,
    writes: |_| true,
    primary: |_| "tps".to_string(),
    own_metrics: |_| Vec::new(),
    options: &[
        field("clients", "100", Form::Whole(1, 1000), "connections that work at the same time"),
        field("threads", "2", Form::Whole(1, 1000), "threads of pgbench that serve them"),
        field(
            "scale",
            "50",
            Form::Whole(1, 20_000),
            "size of the database in units of 100 000 accounts, about 15 MiB each",
        ),
        field(
            "transactions",
            "",
            Form::Whole(1, u64::MAX),
            "transactions of each client; not given: for the trial's time, in whole seconds",
        ),
        field(
            "warmup_transactions",
            "",
            Form::Whole(1, u64::MAX),
            "transactions of each client before those that count",
        ),
        field("mode", "", Form::Text, "tpcb, simple-update or select-only; tpcb if not given"),
        field(
            "script",
            "",
            Form::File,
            "a file with a script of one's own, as pgbench -f takes it",
        ),
        field("protocol", "simple", Form::Text, "simple, extended or prepared"),
        field("shared_buffers", "128MB", Form::Text, "PostgreSQL's own cache, in its units"),
        field(
            "conf",
            "",
            Form::Text,
            "further settings of PostgreSQL, e.g. `max_wal_size=256MB wal_compression=on`",
        ),
        field(
            "user",
            "postgres",
            Form::Text,
            "the user that the server runs as: PostgreSQL refuses root",
        ),
        field(
            "bindir",
            "",
            Form::Text,
            "where PostgreSQL's programs are; not given: the newest /usr/lib/postgresql/*/bin",
        ),
    ],
    check: |options| Settings::read(options).map(drop),
    // SQL (COPY … PROGRAM) and pgbench scripts (\\setshell) can start programs.
    starts: |options| options.words_of(&["script", "bindir"]),
    make: |options| {
        let settings = Settings::read(options).expect("the row's own check came before");
        Box::new(Pgbench { settings, script: Vec::new(), tools: None, cluster: None })
    },
};

#[derive(Debug)]
struct Pgbench {
    settings: Settings,
    /// Read once, for all trials.
    script: Vec<u8>,
    tools: Option<Tools>,
    cluster: Option<Cluster>,
}

impl Runner for Pgbench {
    fn version(&mut self, bench: &Bench<'_>) -> Result<String, RunnerError> {
        let tools = Tools::find(bench, &self.settings)?;
        if let Script::File(path) = &self.settings.script {
            self.script =
                SCRIPT_BYTES.read_file(path).map_err(RunnerError::file("read the script", path))?;
        }
        let version = tools.version.clone();
        self.tools = Some(tools);
        Ok(version)
    }

    fn prepare(&mut self, bench: &Bench<'_>) -> Result<(), RunnerError> {
        if self.tools.is_none() {
            self.version(bench)?;
        }
        let tools = self.tools.as_ref().expect("version has just found them");
        self.cluster = Some(Cluster::initialise(bench, tools, &self.settings)?);
        Ok(())
    }

    fn reset(&mut self, bench: &Bench<'_>) -> Result<(), RunnerError> {
        self.cluster.as_mut().expect("prepare came before").restore(bench)
    }

    fn measure(&mut self, bench: &Bench<'_>, trial: &Trial) -> Result<Measurement, RunnerError> {
        let raw = self.observe(bench, trial)?;
        output::measurement(&self.settings, &raw)
    }

    fn remarks(&self) -> Vec<String> {
        self.cluster.iter().map(Cluster::remark).collect()
    }
}

impl Pgbench {
    /// Runs a trial. Nothing remains in any case.
    fn observe(&mut self, bench: &Bench<'_>, trial: &Trial) -> Result<Raw, RunnerError> {
        let tools = self.tools.as_ref().expect("prepare came before");
        let cluster = self.cluster.as_mut().expect("prepare came before");
        let began = Instant::now();
        let left = || trial.deadline.saturating_sub(began.elapsed());
        let server = cluster.serve(bench, tools, &trial.share, left())?;
        let transact = |length: Length, seed: u64| -> Result<(String, String), RunnerError> {
            let log = scratch::Scratch::new(tools.account.uid)?;
            let mut launch = tools.launch("pgbench", server.client_args());
            launch.args.extend(self.settings.bench_args(length, seed, &log.prefix()));
            launch.share = trial.share.clone();
            launch.input.clone_from(&self.script);
            let ended = tools::run(bench, "pgbench", &launch, left())?;
            Ok((ended.stdout, log.text()?))
        };
        let observed = (|| {
            if let Some(length) = self.settings.warmup(trial) {
                // Another seed, for other accounts than the window's.
                transact(length, trial.seed.wrapping_add(1 << 31))?;
            }
            let before = counters::read(&server, tools, left())?;
            let (report, log) = transact(self.settings.window(trial), trial.seed)?;
            let after = counters::read_at_rest(&server, tools, left())?;
            Ok(Raw { report, log, before, after })
        })();
        match observed {
            Ok(raw) => server.stop(left().max(Duration::from_secs(60))).map(|()| raw),
            Err(error) => Err(server.explain(error)),
        }
    }
}
