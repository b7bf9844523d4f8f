//! Why a report could not be made.

use plotters::drawing::DrawingAreaErrorKind;

/// A report that could not be made. Each of these is a fault of schedlab: no input should cause it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A page could not be filled in.
    #[error("report template: {0}; this is a fault of schedlab: report it with the results file")]
    Template(#[from] minijinja::Error),
    /// A plot could not be drawn.
    #[error("report plot: {0}; this is a fault of schedlab: report it with the results file")]
    Plot(String),
    /// A table could not be written as CSV.
    #[error("report table: {0}; this is a fault of schedlab: report it with the results file")]
    Csv(#[from] csv::Error),
    /// An analysis could not be written as JSON.
    #[error("analysis.json: {0}; this is a fault of schedlab: report it with the results file")]
    Json(#[from] serde_json::Error),
}

/// What the functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;

impl<E: std::error::Error + Send + Sync> From<DrawingAreaErrorKind<E>> for Error {
    fn from(error: DrawingAreaErrorKind<E>) -> Error {
        Error::Plot(error.to_string())
    }
}
