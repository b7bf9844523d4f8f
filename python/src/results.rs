//! Results files and analyses: read, compared, displayed. Nothing is computed here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use experiment::plan::{Method, parse_percent};
use machine::files::Dir;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use report::Evidence;

use crate::error::{of, usage};
use crate::plan::unit_of;
use crate::table::Table;
use crate::tables;

/// The results of an experiment.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub(crate) struct Results {
    results: Arc<experiment::results::Results>,
    /// The content of results.jsonl.
    text: Vec<u8>,
    messages: Vec<String>,
    measured_s: Option<f64>,
}

/// Reads the results of an experiment from its directory or results.jsonl.
#[pyfunction]
pub(crate) fn read_results(py: Python<'_>, path: PathBuf) -> PyResult<Results> {
    py.detach(|| Results::read(&path)).map_err(of)
}

impl Results {
    pub(crate) fn read(source: &Path) -> anyhow::Result<Results> {
        let results = Arc::new(lab::store::read(source)?);
        let path =
            if source.is_dir() { source.join(lab::store::RESULTS) } else { source.to_owned() };
        let text =
            std::fs::read(&path).with_context(|| format!("{}: cannot read", path.display()))?;
        Ok(Results { results, text, messages: Vec::new(), measured_s: None })
    }

    pub(crate) fn of_bytes(text: Vec<u8>) -> anyhow::Result<Results> {
        let results = Arc::new(experiment::results::Results::from_bytes(&text)?);
        Ok(Results { results, text, messages: Vec::new(), measured_s: None })
    }

    pub(crate) fn measured(self, messages: Vec<String>, took: Duration) -> Results {
        Results { messages, measured_s: Some(took.as_secs_f64()), ..self }
    }

    pub(crate) fn compared(&self, criteria: Option<&experiment::plan::Criteria>) -> Analysis {
        let analysis = experiment::analyze(&self.results, criteria);
        Analysis { analysis, results: Arc::clone(&self.results) }
    }
}

#[pymethods]
impl Results {
    /// Parses the text of results.jsonl.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, text: Vec<u8>) -> PyResult<Results> {
        py.detach(|| Results::of_bytes(text)).map_err(of)
    }

    /// The text of results.jsonl.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.text)
    }

    /// The plan, as TOML.
    #[getter]
    fn plan(&self) -> String {
        self.results.header.plan.to_toml()
    }

    /// Facts about the machine, as JSON.
    #[getter]
    fn environment(&self) -> PyResult<String> {
        serde_json::to_string(&self.results.header.environment).map_err(usage)
    }

    /// Why the experiment ended; None if it was cut off.
    #[getter]
    fn ended(&self) -> Option<String> {
        self.results.end.as_ref().map(|end| end.reason.word().to_owned())
    }

    /// Messages during the measurement.
    #[getter]
    fn messages(&self) -> Vec<String> {
        self.messages.clone()
    }

    /// Duration of the measurement in seconds; None if the results were read.
    #[getter]
    fn measured_s(&self) -> Option<f64> {
        self.measured_s
    }

    fn __len__(&self) -> usize {
        self.results.trials.len()
    }

    /// Every trial, including invalid ones.
    fn trials(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| tables::trials(&self.results))
    }

    /// Latency percentiles of every trial.
    fn latencies(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| tables::latencies(&self.results))
    }

    /// Compares by the criteria of the plan, or by others.
    #[pyo3(signature = (*, margin=None, alpha=None, method=None))]
    fn analyze(
        &self,
        py: Python<'_>,
        margin: Option<&str>,
        alpha: Option<&str>,
        method: Option<&str>,
    ) -> PyResult<Analysis> {
        let mut criteria = self.results.header.plan.criteria.clone();
        if let Some(word) = margin {
            criteria.margin = parse_percent(word).map_err(|e| usage(format!("margin: {e}")))?;
        }
        if let Some(word) = alpha {
            criteria.alpha = parse_percent(word).map_err(|e| usage(format!("alpha: {e}")))?;
        }
        if let Some(word) = method {
            criteria.method = method_of(word)?;
            criteria.planned = criteria.planned.filter(|_| criteria.method == Method::Spending);
        }
        criteria.check().map_err(usage)?;
        let other = criteria != self.results.header.plan.criteria;
        Ok(py.detach(|| self.compared(other.then_some(&criteria))))
    }
}

fn method_of(word: &str) -> PyResult<Method> {
    serde_json::from_value(serde_json::Value::String(word.to_owned()))
        .map_err(|e| usage(format!("method: {e}")))
}

/// The conclusions from a results file.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub(crate) struct Analysis {
    analysis: experiment::analysis::Analysis,
    results: Arc<experiment::results::Results>,
}

impl Analysis {
    fn evidence(&self) -> Evidence<'_> {
        Evidence { unit_of, ..Evidence::of(&self.results) }
    }

    pub(crate) fn write(&self, dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
        let files = report::files(&self.analysis, Some(&self.evidence()))?;
        let dir = Dir::make(dir)?;
        let write = |(name, text): (&str, String)| {
            dir.replace(name, text.as_bytes())?;
            Ok(dir.file(name))
        };
        files.into_iter().map(write).collect()
    }
}

#[pymethods]
impl Analysis {
    /// analysis.json.
    fn to_json(&self) -> PyResult<String> {
        report::json(&self.analysis).map_err(usage)
    }

    /// The recommendation in one sentence.
    #[getter]
    fn sentence(&self) -> String {
        report::headline(&self.analysis)
    }

    /// The variant recommended for all workloads, if there is one.
    #[getter]
    fn variant(&self) -> Option<&str> {
        self.analysis.recommendation.variant.as_deref()
    }

    /// Warnings that readers of the analysis must know.
    #[getter]
    fn cautions(&self) -> Vec<String> {
        self.analysis.cautions.clone()
    }

    /// The report as text.
    #[pyo3(signature = (*, verbose=false, width=100))]
    fn report(&self, verbose: bool, width: u16) -> String {
        let options = report::terminal::Options {
            width: width.max(60),
            colour: false,
            verbose,
            offered: Vec::new(),
        };
        report::terminal::render(&self.analysis, Some(&self.evidence()), &[], &options)
    }

    /// One row per workload, metric and variant other than the baseline.
    fn comparisons(&self) -> PyResult<Table> {
        tables::comparisons(&self.analysis)
    }

    /// One row per workload, metric and variant.
    fn summaries(&self) -> PyResult<Table> {
        tables::summaries(&self.analysis)
    }

    /// The plots of the report.
    fn figures(&self, py: Python<'_>) -> PyResult<Vec<Figure>> {
        let all =
            py.detach(|| report::figures(&self.analysis, Some(&self.evidence()))).map_err(usage)?;
        Ok(all.into_iter().map(Figure).collect())
    }

    /// Writes analysis.json, report.html, report.md and the tables; returns their paths.
    fn save(&self, py: Python<'_>, dir: PathBuf) -> PyResult<Vec<PathBuf>> {
        py.detach(|| self.write(&dir)).map_err(of)
    }
}

/// A plot of a report.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub(crate) struct Figure(report::Figure);

#[pymethods]
impl Figure {
    #[getter]
    fn workload(&self) -> &str {
        &self.0.workload
    }

    #[getter]
    fn metric(&self) -> &str {
        &self.0.metric
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind.name()
    }

    #[getter]
    fn of(&self) -> &str {
        &self.0.of
    }

    #[getter]
    fn label(&self) -> &str {
        &self.0.label
    }

    #[getter]
    fn svg(&self) -> &str {
        &self.0.svg
    }
}
