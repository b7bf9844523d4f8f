//! The laws of schedulers that promise something to flows: shares, latency bounds, insulation,
//! classes.
//!
//! They are a table of their own because their input is a [`Scenario`] of flows: what a share of,
//! how long and among whom cannot be read out of a list of single requests. A row without the
//! promise passes.

mod classes;
mod drive;
mod insulation;
mod latency;
mod scenario;
mod shares;
mod starvation;

pub use scenario::{Flow, MAX_FLOWS, MAX_WINDOW, Scenario};

use crate::laws::Law;
use classes::real_time_first;
use insulation::insulated_from_others;
use latency::latency_inside_the_curve;
use shares::{lag_at_most, share_within};
use starvation::no_flow_starves;

macro_rules! table {
    ($($name:ident),* $(,)?) => {
        /// Every law of flows.
        pub const FLOW_LAWS: &[Law<Scenario>] = &[$(Law { name: stringify!($name), check: $name }),*];

        /// Declares one test per law of flows; each calls `$hold` with its law.
        #[macro_export]
        macro_rules! test_every_flow_law {
            ($hold:path) => {
                $(#[test] fn $name() { $hold($crate::promises::flow_law(stringify!($name))) })*
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

/// The law of flows of this name.
///
/// # Panics
/// If there is none.
pub fn flow_law(name: &str) -> &'static Law<Scenario> {
    FLOW_LAWS
        .iter()
        .find(|law| law.name == name)
        .unwrap_or_else(|| panic!("there is no law {name} of flows"))
}
