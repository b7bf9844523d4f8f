//! What a sweep turns: the tunables and attributes of an arena, and the values that are tried of
//! each.

mod offer;
mod values;

pub use offer::{Offer, Offered, Scale};
pub use values::{Turn, choose};
