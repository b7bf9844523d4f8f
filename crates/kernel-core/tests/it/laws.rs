//! The laws of `elevator`'s schedulers over the C cores, with random inputs.

use elevator_laws::{Law, check, test_every_law};

fn hold(law: &Law) {
    check(law, &kernel_core::rows());
}

test_every_law!(hold);
