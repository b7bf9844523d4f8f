//! The laws of `elevator`'s schedulers over the C cores, with random inputs.

use properties::{Law, check, test_every_law};

fn hold(law: &Law) {
    check(law, &kernel_model::rows());
}

test_every_law!(hold);
