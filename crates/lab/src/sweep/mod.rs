//! The tunables, attributes and values of a sweep.

mod offer;
mod values;

pub use offer::{Offer, Offered, Scale};
pub use values::{Turn, choose};
