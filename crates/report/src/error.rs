//! Rendering errors.

use plotters::drawing::DrawingAreaErrorKind;

/// Rendering failed. Every variant is a bug in schedlab: no input should cause one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("report template: {0}; this is a bug in schedlab; report it with the results file")]
    Template(#[from] minijinja::Error),
    #[error("report plot: {0}; this is a bug in schedlab; report it with the results file")]
    Plot(String),
    #[error("report table: {0}; this is a bug in schedlab; report it with the results file")]
    Csv(#[from] csv::Error),
    #[error("analysis.json: {0}; this is a bug in schedlab; report it with the results file")]
    Json(#[from] serde_json::Error),
}

pub type Result<T> = std::result::Result<T, Error>;

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for Error {
    fn from(error: DrawingAreaErrorKind<E>) -> Error {
        Error::Plot(error.to_string())
    }
}
