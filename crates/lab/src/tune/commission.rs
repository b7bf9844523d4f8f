//! A search of virtual time, for a program that has its trials measured elsewhere.
//!
//! `schedlab tune … --dry-run --json` says what the search is. The trials of its candidates are
//! measured in any place, side by side; the log that they make is that of one machine, and
//! `schedlab tune … --out OUT --resume` goes on from it to the confirmation.

use std::path::PathBuf;

use anyhow::{Context, Result};
use experiment::search::{Options, Proposals, Search};
use machine::files::Dir;
use serde::{Deserialize, Serialize};
use text::limits::RESULTS_LINE;

use super::log::{Header, Log, LoggedSearch};
use super::objective::{Constraint, Objective};
use super::scored::Scored;
use super::session::{Session, mode};
use super::space::{Field, SpaceRequest, build_on, modelled_attributes};
use crate::arena::Arena;
use crate::arena::model::Model;
use crate::arena::open::OpenOptions;
use crate::console::Console;
use crate::failure::usage;
use crate::shards::{Live, Prepared};
use crate::signals::Stop;

/// Challengers that are measured side by side in virtual time, and on a machine.
const WIDTH: (usize, usize) = (4, 3);

/// How a search goes about it; `trials` are its own, without those of the confirmation.
pub fn options(header: &Header, trials: u32) -> Options {
    Options {
        seed: header.plan.seed,
        mode: mode(&header.plan),
        margin: header.plan.criteria.margin.ln_1p(),
        trials,
        width: if header.plan.arena.is_virtual() { WIDTH.0 } else { WIDTH.1 },
        patience: header.patience,
        proposals: Proposals::Mixed,
    }
}

/// All that a search of virtual time is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commission {
    /// What its log begins with.
    pub header: Header,
    /// The space of `header`, as it was asked for.
    pub request: SpaceRequest,
    /// The objective, as it was asked for; none: the workload's own.
    pub objective: Option<String>,
    /// The trials of the search, without those of the confirmation.
    pub trials: u32,
}

impl Commission {
    /// Reads what `schedlab tune … --dry-run --json` printed under `commission`.
    ///
    /// # Errors
    /// It is none, or not of virtual time.
    pub fn from_json(text: &str) -> Result<Commission> {
        RESULTS_LINE.check(text.len())?;
        let commission: Commission =
            serde_json::from_str(text).context("search: cannot be read")?;
        commission.header.plan.check().map_err(|e| usage(e.to_string()))?;
        crate::shards::check_virtual(&commission.header.plan)?;
        Ok(commission)
    }

    /// Opens the arena, and takes down its environment: what workers need.
    ///
    /// # Errors
    /// The arena failed.
    pub fn prepared(
        &self,
        command: String,
        opening: &OpenOptions,
        console: Console<'_>,
    ) -> Result<Prepared> {
        Prepared::as_it_is(self.header.plan.clone(), command, opening, console)
    }

    /// Begins the search, whose log grows in this directory; the result is the directory.
    ///
    /// # Errors
    /// The device cannot be modelled, or the thread cannot be started.
    pub fn begin(self, prepared: Prepared, out: PathBuf, stop: Stop) -> Result<Live<PathBuf>> {
        let model = Model::read(&self.header.plan.device)?;
        let attributes = |scheduler: &str| modelled_attributes(&model, scheduler);
        let field = Field::of(&self.request, &build_on(&model), attributes)?;
        Live::spawn(prepared, stop, move |arena, console| {
            self.searched(&field, out, arena, console)
        })
    }

    fn searched(
        &self,
        field: &Field,
        out: PathBuf,
        arena: &mut dyn Arena,
        console: Console<'_>,
    ) -> Result<PathBuf> {
        let objective = Objective::parse(self.objective.as_deref())?;
        let constraints: Vec<Constraint> = self
            .header
            .constraints
            .iter()
            .map(|word| Constraint::parse(word))
            .collect::<Result<_>>()?;
        let mut scored = Scored { inner: arena, objective: &objective };
        let mut log = Log::create(&Dir::make(&out)?, &self.header, &scored.capture()?)?;
        let plain = field.plain(&self.header.plan.variants[0].scheduler);
        let mut search =
            Search::new(field.space.clone(), plain, options(&self.header, self.trials));
        let seen = LoggedSearch::default();
        let session = Session { field, constraints: &constraints, log: &mut log, seen, time: None };
        session.run(&mut search, &self.header.plan, &mut scored, console)?;
        Ok(out)
    }
}
