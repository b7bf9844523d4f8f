//! The statements of `plausibility.rs` on real kernels.

use super::plausibility;
use crate::common::kernel_cache;

#[test]
fn plain_statements_hold_in_guests() {
    if kernel_cache().is_some() {
        plausibility::hold_in("kernel");
    }
}
