//! The criteria of `analyze`: the plan's or a table's, with the flags' changes.

use anyhow::Result;
use experiment::plan::{self, Criteria, Method};

use crate::cli::AnalyzeArgs;
use crate::failure::usage;

pub(super) fn criteria(args: &AnalyzeArgs, mut criteria: Criteria) -> Result<Criteria> {
    if let Some(word) = &args.margin {
        criteria.margin = plan::parse_percent(word).map_err(|e| usage(format!("--margin: {e}")))?;
    }
    if let Some(word) = &args.alpha {
        criteria.alpha = plan::parse_percent(word).map_err(|e| usage(format!("--alpha: {e}")))?;
    }
    if let Some(method) = args.method {
        criteria.method = method.into();
        criteria.planned = criteria.planned.filter(|_| criteria.method == Method::Spending);
    }
    if let Some(planned) = args.planned {
        if criteria.method != Method::Spending {
            return Err(usage(
                "--planned: belongs to --method spending; add it, or leave --planned out",
            ));
        }
        criteria.planned = Some(planned);
    }
    if criteria.method == Method::Spending && args.method.is_some() && criteria.planned.is_none() {
        return Err(usage(
            "--method spending: looks within a budget of rounds; name how many there were to be, e.g. --planned 24",
        ));
    }
    criteria.check().map_err(|e| usage(e.to_string()))?;
    Ok(criteria)
}
