//! Size limits of a plan, checked first, because later checks are quadratic in the number of names.

use std::collections::BTreeMap;

use text::limits::{
    BACKGROUND, Exceeded, FLOWS, NAME_BYTES, OWN_METRICS, PUBLISHED, SETTINGS, TEXT_BYTES,
    VARIANTS, WORKLOADS,
};

use super::Plan;

impl Plan {
    pub(super) fn check_sizes(&self) -> Result<(), Exceeded> {
        VARIANTS.check(self.variants.len())?;
        WORKLOADS.check(self.workloads.len())?;
        OWN_METRICS.check(self.metrics.len())?;
        PUBLISHED.check(self.published.len())?;
        let texts = [Some(&self.name), Some(&self.device), self.kernel.as_ref()];
        texts.into_iter().flatten().try_for_each(|text| TEXT_BYTES.check(text.len()))?;
        for variant in &self.variants {
            NAME_BYTES.check(variant.name.len())?;
            TEXT_BYTES.check(variant.scheduler.len())?;
            values(&variant.tunables)?;
        }
        for workload in &self.workloads {
            let primary = workload.primary.as_ref();
            [Some(&workload.name), Some(&workload.kind), primary]
                .into_iter()
                .flatten()
                .try_for_each(|name| NAME_BYTES.check(name.len()))?;
            BACKGROUND.check(workload.background.len())?;
            values(&workload.params)?;
            FLOWS.check(workload.flows.len())?;
            for flow in &workload.flows {
                let texts =
                    [&flow.rate, &flow.burst, &flow.latency, &flow.ioprio].into_iter().flatten();
                [&flow.name, &flow.kind]
                    .into_iter()
                    .chain(texts)
                    .try_for_each(|text| NAME_BYTES.check(text.len()))?;
                values(&flow.params)?;
            }
            workload.background.iter().try_for_each(|load| values(&load.params))?;
        }
        if let Some(files) = &self.files {
            TEXT_BYTES.check(files.mkfs.len().max(files.mount.len()))?;
        }
        self.metrics.iter().try_for_each(|metric| NAME_BYTES.check(metric.name.len()))?;
        self.published.iter().try_for_each(|figure| TEXT_BYTES.check(figure.source.len()))
    }
}

fn values(values: &BTreeMap<String, String>) -> Result<(), Exceeded> {
    SETTINGS.check(values.len())?;
    values.iter().try_for_each(|(key, value)| {
        NAME_BYTES.check(key.len())?;
        TEXT_BYTES.check(value.len())
    })
}
