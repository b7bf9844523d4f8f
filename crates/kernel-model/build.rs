//! Compiles the C of kernel/core for this machine with warnings as errors, to find them before a
//! kernel build does.

use std::fs;

use cc::Build;

const CORE: &str = "../../kernel/core";

const DISK: [&str; 7] = [
    "disk.c",
    "disk-hdd.c",
    "disk-hdd-tables.c",
    "disk-cache.c",
    "disk-mechanics.c",
    "disk-null.c",
    "disk-measured.c",
];

fn main() {
    println!("cargo::rerun-if-changed=shim.c");
    println!("cargo::rerun-if-changed={CORE}");
    println!("cargo::rerun-if-changed=build.rs");
    elevators();
    disk();
}

/// Optimised: a million disk commands would otherwise take most of a minute.
fn strict() -> Build {
    let mut build = Build::new();
    build.std("gnu11").opt_level(2).extra_warnings(true).warnings(true).warnings_into_errors(true);
    build.flag("-Wconversion").flag("-ffreestanding").include(CORE);
    build
}

fn elevators() {
    let mut build = strict();
    for entry in fs::read_dir(CORE).expect("the sources are there") {
        let path = entry.expect("the sources can be listed").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.ends_with(".c")
            && ["antic", "wpcas", "occupancy"].iter().any(|part| name.starts_with(part))
        {
            build.file(path);
        }
    }
    build.file("shim.c").compile("elevator_cores");
}

fn disk() {
    let mut build = strict();
    for warning in ["-Wsign-conversion", "-Wshadow", "-Wmissing-prototypes", "-Wstrict-prototypes"]
    {
        build.flag_if_supported(warning);
    }
    // Traps on undefined behaviour, without the sanitizer's run-time library.
    build
        .flag_if_supported("-fsanitize=undefined")
        .flag_if_supported("-fsanitize-undefined-trap-on-error");
    build.files(DISK.map(|file| format!("{CORE}/{file}"))).compile("schedlab_disk");
}
