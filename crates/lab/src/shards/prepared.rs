//! A plan prepared for measuring in segments, and its identity.

use std::fmt::Display;

use anyhow::{Context, Result, bail};
use experiment::plan::{self, Plan, TrialLength};
use experiment::results::{Environment, Header, Note};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use text::build;
use text::limits::{RESULTS_LINE, ROUNDS};

use super::Unit;
use crate::arena::open::{OpenOptions, within};
use crate::arena::{Arena, VariantIndex};
use crate::console::Console;
use crate::failure::usage;
use crate::feasibility;
use crate::length::{planned_rounds, trial_length};
use crate::pilot::{PilotRun, run_pilots};
use crate::resolve::Resolved;
use crate::signals::Stop;

const FORM: &str = "schedlab segment 1\n";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Beginning {
    pub(super) header: Header,
    pub(super) notes: Vec<Note>,
}

/// A virtual-time plan with everything that its trials depend on: trial lengths from the pilot run,
/// device, variants, kernel builds and trace contents.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    beginning: Beginning,
    identity: String,
}

impl Prepared {
    /// Opens the plan's arena, runs the pilots and records the environment. `asked` is the trial
    /// length set by the user, `command` repeats the experiment on one machine.
    pub fn of(
        resolved: Resolved,
        asked: &TrialLength,
        command: String,
        opening: &OpenOptions,
        console: Console<'_>,
    ) -> Result<Prepared> {
        check_virtual(&resolved.plan)?;
        within(&machine::Root::real(), resolved, opening, console, |plan, arena| {
            Prepared::within(plan, asked, command, arena, console)
        })
    }

    /// The same without a pilot run, for a plan with final trial lengths such as one from `schedlab
    /// tune`.
    pub fn as_it_is(
        plan: Plan,
        command: String,
        opening: &OpenOptions,
        console: Console<'_>,
    ) -> Result<Prepared> {
        check_virtual(&plan)?;
        let resolved = Resolved::read(plan)?;
        within(&machine::Root::real(), resolved, opening, console, |plan, arena| {
            Ok(Prepared::begun(plan.clone(), Vec::new(), command, arena.capture()?))
        })
    }

    fn begun(plan: Plan, notes: Vec<Note>, command: String, environment: Environment) -> Prepared {
        let header = Header {
            schema: plan::SCHEMA,
            schedlab: build::identity().to_owned(),
            plan,
            environment,
            started_unix_ms: 0,
            command,
        };
        Prepared::new(Beginning { header, notes })
    }

    /// Like [`Prepared::of`] in an open arena.
    pub(super) fn within(
        plan: &Plan,
        asked: &TrialLength,
        command: String,
        arena: &mut dyn Arena,
        console: Console<'_>,
    ) -> Result<Prepared> {
        feasibility::check(plan)?;
        let variants: Vec<VariantIndex> = (0..plan.variants.len()).map(VariantIndex).collect();
        let PilotRun { plan, notes } = run_pilots(plan, asked, &variants, arena, console)?;
        not_stopped(console.stop)?;
        Ok(Prepared::begun(plan, notes, command, arena.capture()?))
    }

    pub(super) fn new(beginning: Beginning) -> Prepared {
        let nameless = Header { command: String::new(), ..beginning.header.clone() };
        let of = Beginning { header: nameless, notes: beginning.notes.clone() };
        let text = FORM.to_owned() + &json(&of);
        Prepared { identity: format!("{:x}", Sha256::digest(text)), beginning }
    }

    /// The identity of all segments of this plan: 64 hexadecimal digits over plan, environment and
    /// build, without the command.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    pub fn plan(&self) -> &Plan {
        &self.beginning.header.plan
    }

    pub fn environment(&self) -> &Environment {
        &self.beginning.header.environment
    }

    pub fn header(&self) -> &Header {
        &self.beginning.header
    }

    pub fn notes(&self) -> &[Note] {
        &self.beginning.notes
    }

    pub(super) fn beginning(&self) -> &Beginning {
        &self.beginning
    }

    /// Replaces the command, which is not part of the identity.
    pub fn with_command(mut self, command: String) -> Prepared {
        self.beginning.header.command = command;
        self
    }

    /// Maximum rounds per workload: the plan's, or the number that fits into its budget with the
    /// planned trial length.
    pub fn most_rounds(&self) -> u32 {
        let plan = self.plan();
        let (duration, warmup) = trial_length(plan);
        let trials = plan.variants.len() as f64 * plan.workloads.len() as f64;
        let cycle = (duration + warmup).mul_f64(trials);
        plan.budget.rounds.unwrap_or_else(|| planned_rounds(plan, cycle, cycle))
    }

    /// Every trial of these rounds, up to a fixed number of rounds in the plan.
    pub fn units(&self, rounds: std::ops::Range<u32>) -> Result<Vec<Unit>> {
        let (start, end) = (rounds.start, rounds.end);
        if start >= end {
            return Err(usage(format!(
                "--rounds {start}..{end}: no round; the first is 0 and the end is not measured: give e.g. 0..{}",
                self.most_rounds()
            )));
        }
        ROUNDS.check(end as usize).map_err(|exceeded| usage(exceeded.to_string()))?;
        let plan = self.plan();
        let end = plan.budget.rounds.map_or(end, |most| end.min(most));
        let of = |name: &str| Unit {
            workload: name.to_owned(),
            rounds: start.min(end)..end,
            variants: plan.variants.clone(),
        };
        Ok(plan.workloads.iter().map(|spec| of(&spec.name)).collect())
    }

    /// The same plan in another environment.
    pub(super) fn with_environment(&self, environment: Environment) -> Prepared {
        let header = Header { environment, ..self.beginning.header.clone() };
        Prepared::new(Beginning { header, ..self.beginning.clone() })
    }

    /// Serializes it for a worker, in one line.
    pub fn to_json(&self) -> String {
        json(&self.beginning)
    }

    /// Reads the output of [`Prepared::to_json`]. It must be of the same build.
    pub fn from_json(text: &str) -> Result<Prepared> {
        RESULTS_LINE.check(text.len())?;
        let value: Value = serde_json::from_str(text).context("prepared plan: not JSON")?;
        Prepared::from_value(value)
    }

    pub(super) fn from_value(value: Value) -> Result<Prepared> {
        let header = &value["header"];
        // Checked first, since another build may use another format.
        if let Some(why) =
            build::difference(header["schedlab"].as_str().unwrap_or_default(), build::identity())
        {
            bail!("prepared plan: {why}; measure it again with this one");
        }
        let beginning: Beginning =
            serde_json::from_value(value).context("prepared plan: cannot be read")?;
        let plan = &beginning.header.plan;
        plan.check().map_err(|error| usage(error.to_string()))?;
        check_virtual(plan)?;
        if beginning.header.started_unix_ms != 0
            || plan.trial.duration_ms.is_none()
            || plan.trial.warmup_ms.is_none()
        {
            bail!("prepared plan: not complete; make it of the plan again");
        }
        Ok(Prepared::new(beginning))
    }

    /// Describes the first difference from another plan; None if they are equal.
    pub(super) fn difference(&self, other: &Prepared) -> Option<String> {
        let parts = |one: &Prepared| {
            let value = |what: &dyn Fn() -> serde_json::Result<Value>| what().unwrap_or_default();
            let header = one.header();
            [
                ("plan", value(&|| serde_json::to_value(&header.plan))),
                ("environment", value(&|| serde_json::to_value(&header.environment))),
                ("notes", value(&|| serde_json::to_value(one.notes()))),
            ]
        };
        let pairs = parts(self).into_iter().zip(parts(other));
        pairs
            .filter(|((_, here), (_, there))| here != there)
            .map(|((name, here), (_, there))| first(name, &here, &there))
            .next()
    }
}

fn first(path: &str, here: &Value, there: &Value) -> String {
    let none = Value::Null;
    if let (Value::Object(one), Value::Object(other)) = (here, there) {
        for key in one.keys().chain(other.keys()) {
            let (a, b) = (one.get(key).unwrap_or(&none), other.get(key).unwrap_or(&none));
            if a != b {
                return first(&format!("{path}.{key}"), a, b);
            }
        }
    }
    if let (Value::Array(one), Value::Array(other)) = (here, there)
        && one.len() == other.len()
        && let Some(at) = (0..one.len()).find(|at| one[*at] != other[*at])
    {
        return first(&format!("{path}[{at}]"), &one[at], &other[at]);
    }
    format!("{path}: found {}, expected {}", short(there), short(here))
}

fn short(value: &impl Display) -> String {
    const MOST: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Only virtual trials are a function of their place in the plan.
pub(crate) fn check_virtual(plan: &Plan) -> Result<()> {
    if plan.arena.is_virtual() {
        return Ok(());
    }
    Err(usage(format!(
        "arena {}: only virtual-time plans can be sharded: trials in real time are compared within a round on one machine; use --arena sim or \
         kernel, or measure in several repeats (run --repeat)",
        plan.arena.name
    )))
}

/// Fails if a signal has arrived: an incomplete segment is worthless.
pub(super) fn not_stopped(stop: &Stop) -> Result<()> {
    match stop.signal() {
        Some(signal) => bail!("interrupted by {signal}: nothing was written; repeat the command"),
        None => Ok(()),
    }
}

fn json(beginning: &Beginning) -> String {
    serde_json::to_string(beginning).expect("a header has only text keys and numbers")
}
