//! The content of a report in reading order.
//!
//! Renderers only convert it to text, so all formats show the same facts in the same words.

use experiment::analysis::Analysis;

use crate::answer::Merits;
use crate::evidence::Evidence;
use crate::invalid::InvalidGroup;
use crate::remarks::{self, Remark};
use crate::table::Table;
use crate::view::{self, WorkloadView};
use crate::{answer, cpu, method, repeats, tables, words};

pub(crate) struct Page<'a> {
    pub(crate) analysis: &'a Analysis,
    /// `None` for external data.
    pub(crate) evidence: Option<Evidence<'a>>,
    pub(crate) title: String,
    pub(crate) headline: Merits,
    /// How to decide inconclusive comparisons.
    pub(crate) next: Option<String>,
    /// Workload and advice.
    pub(crate) advice: Vec<(String, Merits)>,
    /// The baseline first.
    pub(crate) variants: Vec<&'a str>,
    pub(crate) workloads: Vec<WorkloadView<'a>>,
    pub(crate) tables: Vec<Table>,
    /// Trials that affect a deciding metric.
    pub(crate) invalid: Vec<InvalidGroup<'a>>,
    /// Trials with too few requests for a secondary percentile.
    pub(crate) thin: Vec<InvalidGroup<'a>>,
    pub(crate) thin_summary: Option<String>,
    /// Date, host, drive and kernel.
    pub(crate) about: Vec<String>,
    /// How a verdict is reached.
    pub(crate) method: [&'static str; 3],
    /// How the intervals were computed, without a full stop.
    pub(crate) rules: String,
    /// Variants whose schedulers are not confirmed in their sources.
    pub(crate) unconfirmed: Option<String>,
    /// schedlab's own CPU time.
    pub(crate) overhead: Option<String>,
    /// Device, time, trials, arena.
    pub(crate) facts: Vec<(&'static str, String)>,
}

impl<'a> Page<'a> {
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

    /// Remarks on the deciding metrics.
    pub(crate) fn remarks(&self, workloads: &[WorkloadView<'a>]) -> Vec<Remark> {
        let mut found = remarks::remarks(workloads, false, &self.invalid);
        found.extend(cpu::remarks(self.evidence.as_ref(), workloads, &self.variants));
        found
    }

    pub(crate) fn cautions(&self) -> Vec<String> {
        self.analysis.cautions.iter().map(|caution| words::clean(caution)).collect()
    }

    pub(crate) fn plan(&self) -> Option<String> {
        let plan = &self.evidence.as_ref()?.header.plan;
        Some(
            toml::to_string_pretty(plan)
                .unwrap_or_else(|error| format!("# plan: not writable as TOML ({error})")),
        )
    }

    pub(crate) fn command(&self) -> Option<String> {
        self.evidence.as_ref().map(|evidence| words::clean(&evidence.header.command))
    }
}
