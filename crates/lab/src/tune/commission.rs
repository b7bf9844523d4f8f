//! A search in virtual time whose trials are distributed by another program.
//!
//! `schedlab tune … --dry-run --json` prints the search. Its trials may be measured anywhere; the log
//! is the same as on one machine, and `schedlab tune … --out OUT --resume` continues with the
//! confirmation.

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

/// Parallel challengers, in virtual time and on a real machine.
const WIDTH: (usize, usize) = (4, 3);

/// `trials` excludes the confirmation.
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commission {
    pub header: Header,
    /// The request behind the header's space.
    pub request: SpaceRequest,
    /// As written; None: the workloads' own.
    pub objective: Option<String>,
    /// Excludes the confirmation.
    pub trials: u32,
}

impl Commission {
    /// Parses `commission` printed by `schedlab tune … --dry-run --json`.
    pub fn from_json(text: &str) -> Result<Commission> {
        RESULTS_LINE.check(text.len())?;
        let commission: Commission =
            serde_json::from_str(text).context("search: cannot be read")?;
        commission.header.plan.check().map_err(|e| usage(e.to_string()))?;
        crate::shards::check_virtual(&commission.header.plan)?;
        Ok(commission)
    }

    /// Captures the environment for the workers.
    pub fn prepared(
        &self,
        command: String,
        opening: &OpenOptions,
        console: Console<'_>,
    ) -> Result<Prepared> {
        Prepared::as_it_is(self.header.plan.clone(), command, opening, console)
    }

    /// Starts the search with its log in `out`, the result.
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
