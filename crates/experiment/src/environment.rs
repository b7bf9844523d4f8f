//! Facts of an environment that can affect a device: kernel, programs, firmware. Facts that vary
//! from run to run (load, uptime, free memory) are excluded, and so are machine identities, which
//! must be equal anyway.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::results::Environment;

/// Facts by `section.name`.
pub type Facts = BTreeMap<String, String>;

/// Whole sections, with their excluded names.
const WHOLE: [(&str, &[&str]); 4] = [
    ("kernel", &["boot_id", "uptime_s", "load"]),
    ("programs", &[]),
    ("files", &[]),
    ("tools", &[]),
];

const SINGLE: [(&str, &str); 7] = [
    ("device", "firmware"),
    ("machine", "system"),
    ("machine", "firmware"),
    ("cpu", "microcode"),
    ("cpu", "mitigated"),
    ("cpu", "governor"),
    ("schedlab", "build"),
];

/// A fact that differs between two environments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// `kernel.release`.
    pub name: String,
    /// The old value, if known.
    pub then: Option<String>,
    /// The new value, if known.
    pub now: Option<String>,
}

/// The facts that can affect a device.
pub fn relevant_facts(environment: &Environment) -> Facts {
    let mut facts = Facts::new();
    for (section, names) in environment {
        let whole = WHOLE.iter().find(|(name, _)| name == section);
        for (name, text) in names {
            let counts = match whole {
                Some((_, but)) => !but.contains(&name.as_str()),
                None => SINGLE.contains(&(section.as_str(), name.as_str())),
            };
            if counts {
                facts.insert(format!("{section}.{name}"), text.clone());
            }
        }
    }
    facts
}

/// All differences, the kernel's release first.
pub fn differences(now: &Facts, then: &Facts) -> Vec<Difference> {
    let mut names: Vec<&String> = now.keys().chain(then.keys()).collect();
    names.sort_by_key(|name| (*name != "kernel.release", *name));
    names.dedup();
    let differs = names.into_iter().filter(|name| now.get(*name) != then.get(*name));
    differs
        .map(|name| Difference {
            name: name.clone(),
            then: then.get(name).cloned(),
            now: now.get(name).cloned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(facts: &[(&str, &str, &str)]) -> Environment {
        let mut environment = Environment::new();
        for (section, name, text) in facts {
            environment
                .entry((*section).to_owned())
                .or_default()
                .insert((*name).to_owned(), (*text).to_owned());
        }
        environment
    }

    #[test]
    fn another_kernel_is_a_difference_and_another_load_is_none() {
        let then = environment(&[
            ("kernel", "release", "6.1.0"),
            ("kernel", "load", "0.1"),
            ("cpu", "model", "x"),
            ("programs", "oltp", "fio-3.33"),
        ]);
        let now = environment(&[
            ("kernel", "release", "6.12.0"),
            ("kernel", "load", "7"),
            ("cpu", "model", "x"),
            ("device", "firmware", "2"),
        ]);
        let found = differences(&relevant_facts(&now), &relevant_facts(&then));
        let names: Vec<&str> = found.iter().map(|difference| difference.name.as_str()).collect();
        assert_eq!(names, ["kernel.release", "device.firmware", "programs.oltp"]);
        assert_eq!(found[0].then.as_deref(), Some("6.1.0"));
        assert_eq!(found[2].now, None);
    }
}
