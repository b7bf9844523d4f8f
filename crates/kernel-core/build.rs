//! Compiles the C cores of kernel/core for this machine, with every warning an error: what a kernel build would say is said here.

use std::fs;

const CORE: &str = "../../kernel/core";

fn main() {
    let mut build = cc::Build::new();
    build.std("gnu11").opt_level(2).extra_warnings(true).warnings(true).warnings_into_errors(true);
    build.flag("-Wconversion").flag("-ffreestanding").include(CORE);
    for entry in fs::read_dir(CORE).expect("the sources are there") {
        let path = entry.expect("the sources can be listed").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.ends_with(".c") && ["antic", "wpcas", "occupancy"].iter().any(|part| name.starts_with(part)) {
            build.file(path);
        }
    }
    build.file("shim.c").compile("elevator_cores");
    println!("cargo::rerun-if-changed=shim.c");
    println!("cargo::rerun-if-changed={CORE}");
    println!("cargo::rerun-if-changed=build.rs");
}
