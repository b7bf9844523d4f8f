//! `schedlab kernel` on trees that are not kernels. `guest`'s tests build real ones.

use std::fs;
use std::path::Path;

use rustix_free::{interrupt, kill};
use testbed::{eventually, require};

use crate::common::Lab;

const TOOLS: [&str; 8] = ["root", "gcc", "make", "flex", "bison", "bc", "xz", "ld"];

mod rustix_free {
    use std::process::{Child, Command};

    pub(super) fn interrupt(child: &Child) {
        send("-INT", child);
    }

    pub(super) fn kill(child: &Child) {
        send("-KILL", child);
    }

    fn send(signal: &str, child: &Child) {
        assert!(
            Command::new("kill")
                .args([signal, &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
    }
}

fn tree(lab: &Lab, recipe: &str) {
    let top = lab.path("linux");
    fs::create_dir_all(top.join("arch/um")).unwrap();
    fs::write(top.join("Kconfig"), "").unwrap();
    fs::write(top.join("arch/um/Kconfig"), "").unwrap();
    fs::write(top.join("Makefile"), format!(".DEFAULT:\n\t{recipe}\n")).unwrap();
}

fn words(lab: &Lab, command: &str) -> String {
    format!("kernel --cache-dir {} {command}", lab.path("cache").display())
}

fn build(lab: &Lab) -> String {
    words(lab, &format!("build --source {}", lab.path("linux").display()))
}

fn entries(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

fn works_in(dir: &Path) -> bool {
    let cwd = |pid: &String| {
        fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(dir))
    };
    entries(Path::new("/proc")).iter().any(cwd)
}

#[test]
fn wrong_words_and_an_empty_cache_are_told() {
    let lab = Lab::new();
    let told = lab.run(&words(&lab, "list")).expect_status(0).stdout;
    assert!(told.contains("holds no kernel") && told.contains("schedlab kernel build"), "{told}");
    assert_eq!(lab.run(&words(&lab, "list --json")).expect_status(0).json(), serde_json::json!([]));
    lab.run(&words(&lab, "build --source fedora:40"))
        .expect_status(2)
        .says(&["fedora:40", "debian:7.3"]);
    lab.run(&words(&lab, "clean ../../etc")).expect_status(1).says(&["../../etc", "kernel list"]);
    lab.run(&words(&lab, "build --patch nowhere.patch"))
        .expect_status(1)
        .says(&["nowhere.patch", "No such file"]);
    let empty = lab.path("linux");
    fs::create_dir(&empty).unwrap();
    lab.run(&build(&lab)).expect_status(1).says(&["not a kernel tree", "Kconfig"]);
    let told = lab.run(&words(&lab, "clean --all")).expect_status(0).stdout;
    assert!(told.contains("freed "), "{told}");
}

#[test]
fn missing_tools_are_named_by_the_package_to_install() {
    let lab = Lab::new();
    tree(&lab, "true");
    let bin = lab.path("bin");
    fs::create_dir(&bin).unwrap();
    let none = lab.command(&build(&lab)).env("PATH", &bin).output().unwrap();
    assert_eq!(none.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&none.stderr).contains("apt-get install gcc"), "{none:?}");
    if !require(&["root", "gcc"]) {
        return;
    }
    fs::write(bin.join("gcc"), "#!/bin/sh\necho gcc 1\n").unwrap();
    fs::set_permissions(bin.join("gcc"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let few = lab.command(&build(&lab)).env("PATH", &bin).output().unwrap();
    let said = String::from_utf8_lossy(&few.stderr);
    assert!(said.contains("apt-get install binutils make flex bison bc xz-utils"), "{said}");
}

#[test]
fn an_error_of_the_build_is_shown_with_its_place_and_the_log_kept() {
    if !require(&TOOLS) {
        return;
    }
    let lab = Lab::new();
    tree(
        &lab,
        "@echo '  CC x.o'; echo 'block/x.c:3:7: error: no such thing'; echo '    3 | int x'; echo '      | ^'; echo later; false",
    );
    let log = lab.path("cache/logs");
    let ran = lab.run(&build(&lab)).expect_status(1);
    ran.says(&[
        "block/x.c:3:7: error: no such thing\n      3 | int x\n        | ^\n",
        log.to_str().unwrap(),
    ]);
    assert!(entries(&lab.path("cache/kernels")).is_empty());
    assert_eq!(entries(&log).len(), 1);
}

#[test]
fn a_cache_that_cannot_be_written_is_told_with_the_way_out() {
    if !require(&TOOLS) {
        return;
    }
    let lab = Lab::new();
    tree(&lab, "true");
    fs::write(lab.path("cache"), "a file").unwrap();
    let ran = lab.run(&build(&lab)).expect_status(1);
    ran.says(&[lab.path("cache").to_str().unwrap(), "expected a directory"]);
}

#[test]
fn an_interrupted_or_killed_build_leaves_no_process_and_nothing_half_built() {
    if !require(&TOOLS) {
        return;
    }
    let lab = Lab::new();
    tree(&lab, "sleep 1000 & sleep 1000");
    let kernels = lab.path("cache/kernels");
    let interrupted = lab.start(&build(&lab));
    eventually("the build goes on", || works_in(&kernels));
    interrupt(&interrupted);
    let output = interrupted.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(130) && said.contains("nothing half built"), "{said}");
    eventually("no child is left", || !works_in(&kernels));
    assert!(entries(&kernels).is_empty());

    let mut killed = lab.start(&build(&lab));
    eventually("the build goes on", || works_in(&kernels));
    kill(&killed);
    killed.wait().unwrap();
    eventually("no child is left", || !works_in(&kernels));
    assert_eq!(entries(&kernels).len(), 1, "who is killed cannot clean up");
    lab.run(&words(&lab, "clean")).expect_status(0);
    assert!(entries(&kernels).is_empty());
}
