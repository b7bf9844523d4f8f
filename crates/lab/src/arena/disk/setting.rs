//! A variant's settings for a real device and its flows.

use anyhow::Result;
use elevator::Priority;
use experiment::plan::Variant;
use machine::Setting;
use machine::session::Share;
use sim::workload::FlowWork;

use crate::controllers::{self, Control};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantSetting {
    pub device: Setting,
    /// Of flows, and of the device outside the scheduler; `device` contains the latter, too.
    pub controls: Vec<Control>,
}

pub fn setting_of(variant: &Variant) -> Result<VariantSetting> {
    let mut device =
        Setting { scheduler: Some(variant.scheduler.clone()), tunables: Default::default() };
    let mut controls = Vec::new();
    for (word, text) in &variant.tunables {
        let Some(control) = controllers::read(&variant.name, word, text)? else {
            device.tunables.insert(word.clone(), text.clone());
            continue;
        };
        if control.flow.is_none() {
            device.tunables.insert(word.clone(), control.value.clone());
        }
        controls.push(control);
    }
    controllers::sort(&mut controls);
    Ok(VariantSetting { device, controls })
}

impl VariantSetting {
    /// Each flow gets a control group, so that all compete at one level.
    pub(super) fn share(&self, flow: &FlowWork) -> Share {
        let ioprio = (flow.priority != Priority::default()).then(|| flow.priority.to_string());
        let mut share = Share { own_group: true, ioprio, ..Share::default() };
        let of_flow = |control: &&Control| control.flow.as_ref() == Some(&flow.name);
        for control in self.controls.iter().filter(of_flow) {
            let value = &control.value;
            match control.row().name {
                "io.weight" => share.cost_weight = value.parse().ok(),
                "io.bfq.weight" => share.bfq_weight = value.parse().ok(),
                "io.max" => share.io_max = bounds(control),
                "io.latency" => {
                    share.latency_us = control
                        .pairs()
                        .find(|(name, _)| *name == "target")
                        .and_then(|(_, us)| us.parse().ok());
                }
                "io.prio.class" => share.prio_class = Some(value.clone()),
                "ioprio" => share.ioprio = Some(value.clone()),
                other => unreachable!("{other} is a setting of the device"),
            }
        }
        share
    }
}

/// Limits other than `max`, which means none.
fn bounds(control: &Control) -> Option<String> {
    let bounds: Vec<String> = control
        .pairs()
        .filter(|(_, bound)| *bound != "max")
        .map(|(name, bound)| format!("{name}={bound}"))
        .collect();
    (!bounds.is_empty()).then(|| bounds.join(" "))
}

#[cfg(test)]
mod tests {
    use experiment::plan::parse_variant;

    use super::*;

    fn share(variant: &str, flow: &str) -> Share {
        let work = sim::workload::find("flows").expect("a row");
        let flows = (work.defaults)().flows;
        let flow = flows
            .iter()
            .find(|of| of.name == flow)
            .expect("a flow that the workload has by itself");
        setting_of(&parse_variant(variant).expect("a variant")).expect("a setting").share(flow)
    }

    #[test]
    fn what_is_for_the_device_is_sorted_out_of_what_is_for_flows() {
        let variant =
            parse_variant("bfq:slice_idle=0:io.bfq.weight@reader=400:io.cost.qos=enable=1+rpct=95")
                .expect("a variant");
        let setting = setting_of(&variant).expect("a setting");
        let expected =
            Setting::of("bfq").with("slice_idle", "0").with("io.cost.qos", "enable=1 rpct=95");
        assert_eq!((setting.device, setting.controls.len()), (expected, 2));
    }

    #[test]
    fn a_flow_gets_what_is_named_for_it_and_a_group_in_any_case() {
        let variant = "bfq:io.bfq.weight@reader=400:io.weight@reader=300:io.max@reader=wbps=1M+rbps=max:\
                   io.latency@reader=10ms:io.prio.class@reader=idle:ioprio@reader=realtime/2";
        let wanted = Share {
            bfq_weight: Some(400),
            cost_weight: Some(300),
            io_max: Some("wbps=1048576".to_owned()),
            latency_us: Some(10_000),
            prio_class: Some("idle".to_owned()),
            ioprio: Some("realtime:2".to_owned()),
            own_group: true,
            io_weight: None,
        };
        assert_eq!(share(variant, "reader"), wanted);
        assert_eq!(share(variant, "writers"), Share { own_group: true, ..Share::default() });
        assert_eq!(share("none:io.max@reader=rbps=max", "reader").io_max, None);
    }
}
