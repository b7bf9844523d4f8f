//! Compiles kernel/core/disk*.c as an ordinary program would, with all warnings as errors.

const SOURCES: [&str; 7] =
    ["disk.c", "disk-hdd.c", "disk-hdd-tables.c", "disk-cache.c", "disk-mechanics.c", "disk-null.c", "disk-measured.c"];
const HEADERS: [&str; 7] =
    ["types.h", "disk.h", "disk-model.h", "disk-mechanics.h", "disk-hdd.h", "disk-random.h", "disk-inside.h"];

fn main() {
    let core = "../../kernel/core";
    for file in SOURCES.iter().chain(&HEADERS) {
        println!("cargo:rerun-if-changed={core}/{file}");
    }
    let mut build = cc::Build::new();
    build.std("gnu11").warnings(true).extra_warnings(true).warnings_into_errors(true).flag("-ffreestanding");
    for warning in ["-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wmissing-prototypes", "-Wstrict-prototypes"] {
        build.flag_if_supported(warning);
    }
    // The models are what the tests exercise: a million commands, unoptimised, are most of a minute.
    build.opt_level(2);
    // Undefined behaviour ends the program, without the sanitizer's run-time library, which would have to be linked in.
    build.flag_if_supported("-fsanitize=undefined").flag_if_supported("-fsanitize-undefined-trap-on-error");
    build.files(SOURCES.map(|file| format!("{core}/{file}"))).include(core).compile("schedlab_disk");
}
