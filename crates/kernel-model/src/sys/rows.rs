//! Rows for the C cores; outside the table of schedulers, because only tests use them.

use elevator::{Build, Elevator, ElevatorKind, find};

use super::ffi::{Ops, core_anticipatory, core_occupancy, core_wpcas};
use super::wrapper::CElevator;

pub fn anticipatory() -> &'static Ops {
    // SAFETY: it is a constant.
    unsafe { &core_anticipatory }
}

pub fn wpcas() -> &'static Ops {
    // SAFETY: it is a constant.
    unsafe { &core_wpcas }
}

pub fn occupancy() -> &'static Ops {
    // SAFETY: it is a constant.
    unsafe { &core_occupancy }
}

/// With the guarantees of their Rust counterparts.
pub fn rows() -> [ElevatorKind; 3] {
    [
        row("anticipatory", "c-anticipatory", |build| boxed(anticipatory(), build)),
        row("wpcas", "c-wpcas", |build| boxed(wpcas(), build)),
        row("occupancy", "c-occupancy", |build| boxed(occupancy(), build)),
    ]
}

fn boxed(ops: &'static Ops, build: &Build) -> Box<dyn Elevator> {
    Box::new(CElevator::new(ops, build))
}

fn row(of: &str, name: &'static str, build: fn(&Build) -> Box<dyn Elevator>) -> ElevatorKind {
    let ElevatorKind { origin, help, source, evidence, guarantees, tunables, .. } =
        *find(of).expect("a row of the table");
    ElevatorKind { name, origin, help, source, evidence, guarantees, tunables, build }
}

#[cfg(test)]
mod tests {
    use super::super::ffi::Row;
    use super::*;
    use elevator::Role;

    #[test]
    fn the_cores_tunables_are_those_of_the_rows_with_their_defaults() {
        for (ops, kind) in [anticipatory(), wpcas(), occupancy()].into_iter().zip(rows()) {
            let like = find(ops.name()).expect("the core is called as its counterpart");
            let rust = (like.build)(&Build::default());
            let expected: Vec<Row> = like
                .tunables
                .iter()
                .map(|t| Row {
                    name: t.name,
                    unit: t.unit,
                    min: t.min,
                    max: t.max,
                    initial: rust.get(t.name),
                })
                .collect();
            assert_eq!(ops.tunables().collect::<Vec<_>>(), expected);
            let made = (kind.build)(&Build::default());
            let internal = like.tunables.iter().filter(|t| t.role == Role::Internal).count();
            assert_eq!(ops.nr_internal(), internal, "of {}", ops.name());
            assert!(
                like.tunables[expected.len() - internal..].iter().all(|t| t.role == Role::Internal)
            );
            assert!(expected.iter().all(|row| made.get(row.name) == row.initial), "{}", kind.name);
        }
    }
}
