//! Plans of version 0.1.0: what they wrote differently is read, and named in a note.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Plan;
use super::arena::CPU_DEVICE;

/// What a user should change in a plan that is valid as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlanNote {
    /// `device = "cpu"` in place of `arena = "cpu"`.
    CpuAsDevice,
}

impl fmt::Display for PlanNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanNote::CpuAsDevice => {
                f.write_str("device = \"cpu\" is the form of version 0.1.0; write arena = \"cpu\"")
            }
        }
    }
}

impl Plan {
    /// What should be changed in a plan that [`Plan::from_toml`] has accepted.
    pub fn notes(text: &str) -> Vec<PlanNote> {
        let table: toml::Table = text.parse().unwrap_or_default();
        let word = |key: &str| table.get(key).and_then(toml::Value::as_str);
        let outdated = word("device") == Some(CPU_DEVICE) && matches!(word("arena"), None | Some("host" | "disk"));
        if outdated { vec![PlanNote::CpuAsDevice] } else { Vec::new() }
    }
}

impl Serialize for Plan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Plan::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Plan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Plan, D::Error> {
        let mut plan = Plan::deserialize(deserializer)?;
        plan.arena = plan.arena.with_device(&plan.device);
        if plan.arena.is_cpu() && plan.device.is_empty() {
            CPU_DEVICE.clone_into(&mut plan.device);
        }
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::ArenaKind;

    const ARMS: &str = "[[arm]]\nname = 'default'\n[[arm]]\nname = 'nice'\ntunables = { nice = '-20' }\n\
                        [[workload]]\nname = 'linpack'\nkind = 'linpack'\n";

    fn read(head: &str) -> Plan {
        Plan::from_toml(&format!("{head}\n{ARMS}")).unwrap()
    }

    #[test]
    fn the_cpu_arena_needs_no_device_and_its_form_of_version_0_1_0_is_read_with_a_note() {
        let plan = read("arena = 'cpu'");
        assert_eq!((plan.arena, plan.device.as_str()), (ArenaKind::Cpu, "cpu"));
        for old in ["device = 'cpu'", "arena = 'host'\ndevice = 'cpu'"] {
            assert_eq!(read(old), plan, "{old}");
            assert_eq!(Plan::notes(old), [PlanNote::CpuAsDevice], "{old}");
        }
        assert_eq!(Plan::notes("arena = 'cpu'\ndevice = 'cpu'"), []);
        assert!(plan.to_toml().contains("arena = \"cpu\""), "{}", plan.to_toml());
        assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
        let error = Plan::from_toml(&format!("arena = 'cpu'\ndevice = 'sda'\n{ARMS}")).unwrap_err().to_string();
        assert!(error.contains("sda") && error.contains("leave it out"), "{error}");
    }

    #[test]
    fn host_is_a_synonym_of_disk() {
        let disk: ArenaKind = serde_json::from_str("\"host\"").unwrap();
        assert_eq!((disk, serde_json::to_string(&disk).unwrap().as_str()), (ArenaKind::Disk, "\"disk\""));
        for arena in [ArenaKind::Disk, ArenaKind::Cpu, ArenaKind::Sim, ArenaKind::Kernel] {
            assert_eq!(serde_json::to_string(&arena).unwrap(), format!("{:?}", arena.name()));
        }
    }
}
