//! Shared by the tests: the built binary, and whether a guest kernel exists.

use std::process::{Command, Output};

pub(crate) fn selfbench(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_selfbench"))
        .args(words)
        .env("SCHEDLAB_KERNEL", "debian:6.1")
        .output()
        .expect("the binary runs")
}

/// Whether debian:6.1 without patches is in the cache. Tests that need it are skipped with a
/// message, or fail where every test must run.
pub(crate) fn kernel_is_built() -> bool {
    let cache = guest::Cache::default_dir()
        .map(|dir| guest::Cache::open(&dir).expect("the cache can be opened"));
    let kernels =
        cache.map(|cache| cache.list().expect("the cache can be listed")).unwrap_or_default();
    let plain = |kernel: &guest::Kernel| {
        kernel.source == "debian:6.1"
            && !kernel.debug
            && kernel.hz.is_none()
            && kernel.patches.is_empty()
    };
    let built = kernels.iter().any(plain);
    if !built {
        testbed::skip("a kernel needed (schedlab kernel build)");
    }
    built
}
