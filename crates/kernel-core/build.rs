//! Compiles the C cores of kernel/core for this machine, with every warning an error: what a kernel build would say is said here.

use std::path::Path;

const CORE: &str = "../../kernel/core";

fn main() {
    let mut build = cc::Build::new();
    build.std("gnu11").opt_level(2).extra_warnings(true).warnings(true).warnings_into_errors(true);
    build.flag("-Wconversion").flag("-ffreestanding").include(CORE);
    for source in ["antic.c", "anticipatory.c", "wpcas.c"] {
        build.file(Path::new(CORE).join(source));
    }
    build.compile("elevator_cores");
    println!("cargo::rerun-if-changed={CORE}");
    println!("cargo::rerun-if-changed=build.rs");
}
