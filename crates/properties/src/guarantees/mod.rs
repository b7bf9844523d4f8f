//! The properties of flow guarantees: shares, latency bounds, insulation, classes. They have their
//! own table because their input is a [`Scenario`] of flows, not a list of requests. A row without
//! the guarantee passes.

mod classes;
mod drive;
mod insulation;
mod latency;
mod scenario;
mod shares;
mod starvation;

pub use scenario::{Flow, MAX_FLOWS, MAX_WINDOW, Scenario};

use crate::properties::Property;
use classes::real_time_first;
use insulation::insulated_from_others;
use latency::latency_inside_the_curve;
use shares::{lag_at_most, share_within};
use starvation::no_flow_starves;

macro_rules! table {
    ($($name:ident),* $(,)?) => {
        pub const FLOW_PROPERTIES: &[Property<Scenario>] = &[$(Property { name: stringify!($name), check: $name }),*];

        /// Declares one test per flow property; each calls `$hold` with it.
        #[macro_export]
        macro_rules! test_every_flow_property {
            ($hold:path) => {
                $(#[test] fn $name() { $hold($crate::guarantees::flow_property(stringify!($name))) })*
            };
        }
    };
}

table![
    lag_at_most,
    share_within,
    latency_inside_the_curve,
    insulated_from_others,
    real_time_first,
    no_flow_starves,
];

/// # Panics
/// If there is no such property.
pub fn flow_property(name: &str) -> &'static Property<Scenario> {
    FLOW_PROPERTIES
        .iter()
        .find(|property| property.name == name)
        .unwrap_or_else(|| panic!("there is no property {name} of flows"))
}
