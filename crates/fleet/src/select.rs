//! Filters for the results of a question.

use experiment::fleet::identity::Provenance;

use crate::result::Header;

/// Filters; an empty one selects everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Substring of the drive's model, ignoring case.
    pub model: Option<String>,
    pub firmware: Option<String>,
    /// The kernel's release, or a prefix of it before `.` or `-`: 6.12 selects 6.12.9-amd64.
    pub kernel: Option<String>,
    /// Prefix of the measuring build.
    pub build: Option<String>,
    pub arena: Option<String>,
    /// Prefix of the workload in compact form.
    pub workload: Option<String>,
    /// Default: primary metrics.
    pub metric: Option<String>,
    /// The variant in compact form, or its scheduler.
    pub variant: Option<String>,
}

impl Selection {
    pub(crate) fn matches(&self, header: &Header) -> bool {
        let contains =
            |text: &str, wanted: &String| text.to_lowercase().contains(&wanted.to_lowercase());
        self.model.as_ref().is_none_or(|wanted| contains(&header.model, wanted))
            && self.firmware.as_ref().is_none_or(|wanted| header.firmware == *wanted)
            && self.kernel.as_ref().is_none_or(|wanted| is_release(&header.kernel, wanted))
            && self.build.as_ref().is_none_or(|wanted| header.schedlab.starts_with(wanted.as_str()))
            && self.arena.as_ref().is_none_or(|wanted| header.arena == *wanted)
    }

    /// Whether a series is selected; a variant's baseline always is.
    pub(crate) fn matches_series(&self, of: &crate::result::Series) -> bool {
        let is_metric = match &self.metric {
            Some(metric) => of.metric == *metric,
            None => of.is_deciding,
        };
        is_metric
            && self.workload.as_ref().is_none_or(|wanted| of.workload.starts_with(wanted.as_str()))
            && self.variant.as_ref().is_none_or(|wanted| {
                of.is_baseline || of.variant == *wanted || of.scheduler == *wanted
            })
    }
}

pub(crate) fn is_release(kernel: &str, wanted: &str) -> bool {
    kernel
        .strip_prefix(wanted)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '+']))
}

/// A result's origin, for the identity rules.
pub(crate) fn provenance(object: &str, header: &Header) -> Provenance {
    Provenance {
        object: object[..12.min(object.len())].to_owned(),
        experiment: header.experiment.clone(),
        machine: header.machine.clone(),
        hardware: [header.cpu.as_str(), header.system.as_str()].join(", "),
        boot: header.boot.clone(),
        drive: header.drive.clone(),
        started_unix_ms: header.started_unix_ms,
        ended_unix_ms: header.ended_unix_ms,
        trials: header.trials,
    }
}
