//! The facts of an environment that can change what a device does: kernel, programs, firmware. Two
//! results files differ in them.
//!
//! An environment also has what differs from one start to the next (load, uptime, free memory) and
//! explains nothing; those are left out here, and so is what tells machines apart, which is not
//! compared but required to be the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::results::Environment;

/// Facts by `section.name`, as text.
pub type Facts = BTreeMap<String, String>;

/// Sections that count as a whole, with the names in them that do not.
const WHOLE: [(&str, &[&str]); 4] = [
    ("kernel", &["boot_id", "uptime_s", "load"]),
    ("programs", &[]),
    ("files", &[]),
    ("tools", &[]),
];

/// Single facts that count.
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
    /// What it was; none where it was not known.
    pub then: Option<String>,
    /// What it is.
    pub now: Option<String>,
}

/// The facts of an environment that can change what a device does.
pub fn telling(environment: &Environment) -> Facts {
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

/// What differs, the kernel's release first.
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
        let found = differences(&telling(&now), &telling(&then));
        let names: Vec<&str> = found.iter().map(|difference| difference.name.as_str()).collect();
        assert_eq!(names, ["kernel.release", "device.firmware", "programs.oltp"]);
        assert_eq!(found[0].then.as_deref(), Some("6.1.0"));
        assert_eq!(found[2].now, None);
    }
}
