//! The properties of `elevator` on the C cores, with random inputs.

use properties::{Property, check, test_every_property};

fn hold(property: &Property) {
    check(property, &kernel_model::rows());
}

test_every_property!(hold);
