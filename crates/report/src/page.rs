//! A report, arranged once: everything that the renderers show, in the order in which a reader
//! needs it.
//!
//! A renderer turns a `Page` into text and decides nothing: what is shown, and in which words, is
//! the same in every format.

use experiment::analysis::Analysis;

use crate::answer::Merits;
use crate::evidence::Evidence;
use crate::invalid::InvalidGroup;
use crate::remarks::{self, Remark};
use crate::table::Table;
use crate::view::{self, WorkloadView};
use crate::{answer, cpu, method, repeats, tables, words};

/// What a report shows.
pub(crate) struct Page<'a> {
    /// Every estimate, interval and verdict.
    pub(crate) analysis: &'a Analysis,
    /// The results file; `None` for foreign data.
    pub(crate) evidence: Option<Evidence<'a>>,
    /// The title.
    pub(crate) title: String,
    /// What to do, and its costs.
    pub(crate) headline: Merits,
    /// How to decide what is inconclusive.
    pub(crate) next: Option<String>,
    /// Each workload, and what to do for it.
    pub(crate) advice: Vec<(String, Merits)>,
    /// The variants, the baseline first.
    pub(crate) variants: Vec<&'a str>,
    /// The workloads with their metrics.
    pub(crate) workloads: Vec<WorkloadView<'a>>,
    /// The tables that this analysis has figures for.
    pub(crate) tables: Vec<Table>,
    /// Invalid trials that concern a deciding metric.
    pub(crate) invalid: Vec<InvalidGroup<'a>>,
    /// Trials with too few requests for a percentile that does not decide.
    pub(crate) thin: Vec<InvalidGroup<'a>>,
    /// These in one line.
    pub(crate) thin_summary: Option<String>,
    /// Date, host, drive and kernel.
    pub(crate) about: Vec<String>,
    /// How a verdict is reached.
    pub(crate) method: [&'static str; 3],
    /// How the intervals were made, without a full stop.
    pub(crate) rules: String,
    /// The variants whose schedulers are not confirmed in their sources.
    pub(crate) unconfirmed: Option<String>,
    /// The CPU time that schedlab itself used.
    pub(crate) overhead: Option<String>,
    /// Device, time, trials, arena.
    pub(crate) facts: Vec<(&'static str, String)>,
}

impl<'a> Page<'a> {
    /// Arranges an analysis and its results file.
    pub(crate) fn of(analysis: &'a Analysis, evidence: Option<&Evidence<'a>>) -> Page<'a> {
        let workloads = view::workloads(analysis, evidence);
        let (invalid, thin) = evidence
            .map(|evidence| remarks::invalid(evidence.trials, &workloads))
            .unwrap_or_default();
        Page {
            title: view::title(analysis),
            headline: answer::headline_parts(analysis),
            next: match &analysis.pooled {
                Some(pooled) => repeats::next(analysis, pooled),
                None => answer::next(evidence, &workloads),
            },
            advice: answer::lines(analysis, &workloads),
            variants: view::variants(analysis, evidence),
            tables: tables::tables(analysis, evidence),
            thin_summary: remarks::thin_percentiles(&workloads),
            about: evidence.map(view::about).unwrap_or_default(),
            method: method::method(analysis),
            rules: method::rules(analysis),
            unconfirmed: evidence.and_then(method::unconfirmed),
            overhead: evidence.and_then(|evidence| method::overhead(evidence.trials)),
            facts: view::facts(analysis, evidence),
            analysis,
            evidence: evidence.copied(),
            workloads,
            invalid,
            thin,
        }
    }

    /// The remarks on the deciding metrics of these workloads, invalid evidence first.
    pub(crate) fn remarks(&self, workloads: &[WorkloadView<'a>]) -> Vec<Remark> {
        let mut found = remarks::remarks(workloads, false, &self.invalid);
        found.extend(cpu::remarks(self.evidence.as_ref(), workloads, &self.variants));
        found
    }

    /// The cautions of the analysis.
    pub(crate) fn cautions(&self) -> Vec<String> {
        self.analysis.cautions.iter().map(|caution| words::clean(caution)).collect()
    }

    /// The plan as it would be written in plan.toml.
    pub(crate) fn plan(&self) -> Option<String> {
        let plan = &self.evidence.as_ref()?.header.plan;
        Some(
            toml::to_string_pretty(plan)
                .unwrap_or_else(|error| format!("# plan: not writable as TOML ({error})")),
        )
    }

    /// The command that repeats the experiment.
    pub(crate) fn command(&self) -> Option<String> {
        self.evidence.as_ref().map(|evidence| words::clean(&evidence.header.command))
    }
}
