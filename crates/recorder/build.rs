//! Compiles kernel/bpf/record.bpf.c for BPF. Only the full build needs it, and clang.

use std::path::PathBuf;
use std::process::Command;

const DIRECTORY: &str = "../../kernel/bpf";

fn main() {
    println!("cargo::rerun-if-changed={DIRECTORY}");
    println!("cargo::rerun-if-env-changed=CLANG");
    if std::env::var_os("CARGO_FEATURE_FULL").is_none() {
        return;
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where to write"))
        .join("record.bpf.o");
    let clang = std::env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    // v3: atomic operations that return a value, and 32-bit registers; Linux 5.12 and later.
    let mut command = Command::new(&clang);
    command
        .args([
            "-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-c", "-o",
        ])
        .arg(&out);
    // Reproducible, wherever it is built.
    command.args(["-fdebug-compilation-dir", "."]).arg("record.bpf.c").current_dir(DIRECTORY);
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("kernel/bpf/record.bpf.c: {} failed ({status})", clang.display()),
        Err(cause) => panic!(
            "{}: cannot be run ({cause}); install clang (`scripts/need bpf` does), or build with `--no-default-features`",
            clang.display()
        ),
    }
}
