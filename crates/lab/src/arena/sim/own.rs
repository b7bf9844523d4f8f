//! Schedulers added by the embedding program.
//!
//! The `elevator` table is fixed at compile time; a Python class is not. Plans name both alike, so
//! the registry is global rather than passed through every caller.

use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use elevator::ElevatorKind;

use crate::failure::usage;

static OWN: Mutex<Vec<&'static ElevatorKind>> = Mutex::new(Vec::new());

/// Adds or replaces a scheduler; its name must not be in the table.
pub fn add(row: &'static ElevatorKind) -> Result<()> {
    if elevator::find(row.name).is_some() {
        return Err(usage(format!(
            "scheduler {:?}: already a built-in scheduler of the simulator; choose another name",
            row.name
        )));
    }
    let mut own = OWN.lock().unwrap_or_else(PoisonError::into_inner);
    own.retain(|known| known.name != row.name);
    own.push(row);
    Ok(())
}

pub fn find(name: &str) -> Option<&'static ElevatorKind> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner).iter().find(|row| row.name == name).copied()
}

pub(super) fn names() -> Vec<&'static str> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|row| row.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::sim::Setting;

    fn row(name: &'static str, help: &'static str) -> &'static ElevatorKind {
        let fcfs = elevator::find("fcfs").expect("a row");
        Box::leak(Box::new(ElevatorKind { name, help, ..fcfs.guaranteeing(&[]) }))
    }

    #[test]
    fn an_added_scheduler_is_a_variant_and_a_later_one_of_its_name_replaces_it() {
        let variant = experiment::plan::parse_variant("own=own-test:hz=250").expect("a variant");
        assert!(Setting::of(&variant).is_err());
        for help in ["first", "second"] {
            add(row("own-test", help)).expect("a free name");
            let setting = Setting::of(&variant).expect("it is known");
            assert_eq!((setting.kind.help, setting.hz), (help, 250));
        }
        let refused = add(row("bfq", "not ours")).expect_err("the table's").to_string();
        assert!(refused.contains("bfq"), "{refused}");
    }
}
