//! The extension module behind the Python package `schedlab`.
//!
//! Plans and analyses cross the interface as TOML and JSON, with the program's parsers and errors;
//! figures cross as Arrow and SVG. Convenience functions are written in Python in
//! `python/schedlab`. Virtual-time experiments run in this process without the GIL. Other
//! experiments are run by the program `schedlab`, which Python starts.
#![forbid(unsafe_code)]

mod agent;
mod decisions;
mod elevator;
mod error;
mod plan;
mod results;
mod run;
mod shards;
mod table;
mod tables;

use pyo3::prelude::*;

/// Schedlab's Rust part; use the package `schedlab`, which documents it.
#[pymodule(gil_used = false)]
mod _schedlab {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::decisions::Decisions;
    #[pymodule_export]
    use super::elevator::properties::broken_properties;
    #[pymodule_export]
    use super::elevator::request::{Disk, Request};
    #[pymodule_export]
    use super::elevator::rows::{register, schedulers};
    #[pymodule_export]
    use super::plan::{complete_plan, plan_as_json, plan_of_json, read_plan};
    #[pymodule_export]
    use super::results::{Analysis, Figure, Results, read_results};
    #[pymodule_export]
    use super::run::run;
    #[pymodule_export]
    use super::shards::{Distributed, measure, prepare, prepare_search};
    #[pymodule_export]
    use super::table::Table;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        text::build::register(|| lab::build::identity(env!("SCHEDLAB_SOURCE")));
        super::error::add(module)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("__build__", text::build::identity())
    }
}
