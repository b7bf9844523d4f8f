//! Runs the tests of the Python package by pytest, with the extension module built by cargo.
//!
//! They need the environment made by `scripts/need test` below target/tools and are skipped without
//! it, which CI does not allow. The package is assembled in a temporary directory;
//! `scripts/test-packages` tests the wheel.

use std::path::{Path, PathBuf};
use std::process::Command;

fn interpreter() -> Option<PathBuf> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/tools/python/bin/python");
    if !found.exists() {
        testbed::skip(&format!("no {}; scripts/need test makes it", found.display()));
        return None;
    }
    Some(found)
}

/// A directory with the package, for PYTHONPATH.
fn package() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let to = dir.path().join("schedlab");
    std::fs::create_dir(&to).expect("a directory");
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("schedlab"))
        .expect("the sources")
    {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            std::fs::copy(&path, to.join(path.file_name().expect("it has a name")))
                .expect("it is copied");
        }
    }
    let exe = std::env::current_exe().expect("this test");
    let library = exe.parent().expect("it is in a directory").join("lib_schedlab.so");
    std::os::unix::fs::symlink(library, to.join("_schedlab.abi3.so")).expect("a link");
    dir
}

/// Runs a Python module with the package; panics with its output if it fails.
fn run(words: &[&str]) {
    let Some(python) = interpreter() else { return };
    // Not in python/, where the package has no extension module.
    let (package, here) = (package(), Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"));
    // TMPDIR may be a small tmpfs that other tests fill at the same time.
    let files = testbed::Directory::new();
    let program = std::env::current_exe().expect("this test");
    let program = program.ancestors().nth(2).expect("target/debug").join("schedlab");
    let output = Command::new(&python)
        .args(words)
        .current_dir(here)
        .env("TMPDIR", files.path())
        .env("PYTHONPATH", package.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("MYPYPATH", package.path())
        .env("SCHEDLAB_PACKAGE", package.path().join("schedlab"))
        .env("SCHEDLAB_PROGRAM", program)
        .output()
        .expect("Python starts");
    let text = [output.stdout, output.stderr]
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .concat();
    assert!(output.status.success(), "{words:?}: {}\n{text}", output.status);
    println!("{text}");
}

#[test]
fn the_package_does_what_its_tests_say() {
    run(&["-m", "pytest", "-p", "no:cacheprovider", ".", "--ignore", "test_ray.py"]);
}

#[test]
fn the_examples_of_its_documentation_run() {
    let Some(_) = interpreter() else { return };
    run(&["doctests.py"]);
}

#[test]
fn its_types_are_what_it_says() {
    run(&[
        "-m",
        "mypy",
        "--config-file",
        "../pyproject.toml",
        "--cache-dir=/dev/null",
        "-p",
        "schedlab",
    ]);
    run(&["-m", "mypy.stubtest", "schedlab._schedlab", "--ignore-missing-stub"]);
}

#[test]
fn experiments_on_ray_are_those_of_one_machine() {
    run(&["-m", "pytest", "-p", "no:cacheprovider", "test_ray.py"]);
}
