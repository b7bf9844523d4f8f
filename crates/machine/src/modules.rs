//! Kernel modules of I/O schedulers.
//!
//! Some kernels load a scheduler's module when its name is written to `queue/scheduler`; others
//! return "Invalid argument", and a script that ignores this measures the old scheduler under the
//! new name. The module is therefore loaded first, by its alias `NAME-iosched` (kyber's module has
//! this name itself).

use std::collections::BTreeSet;

use elevator::LINUX;

use crate::error::Error;
use crate::root::Root;

const SUFFIX: &str = "-iosched";

/// Modules of the running kernel that are not in `available`, sorted.
pub fn unloaded(root: &Root, available: &[String]) -> Vec<String> {
    let dir = root.modules();
    let mut found = BTreeSet::new();
    // `alias mq-deadline-iosched mq-deadline`
    for line in root.read_optional(dir.join("modules.alias")).unwrap_or_default().lines() {
        let mut words = line.split_whitespace();
        if words.next() == Some("alias")
            && let Some(name) = words.next().and_then(|alias| alias.strip_suffix(SUFFIX))
        {
            found.insert(name.to_string());
        }
    }
    // `kernel/block/kyber-iosched.ko.zst: …`
    for line in root.read_optional(dir.join("modules.dep")).unwrap_or_default().lines() {
        let path = line.split(':').next().unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or_default();
        if let Some(name) = file.split(".ko").next().and_then(|module| module.strip_suffix(SUFFIX))
        {
            found.insert(name.to_string());
        }
    }
    found.into_iter().filter(|name| !available.contains(name)).collect()
}

/// Afterwards, the kernel offers the scheduler.
///
/// # Errors
/// [`Error::ModuleNotLoaded`] naming module, kernel configuration option and a source.
pub fn load(root: &Root, scheduler: &str) -> Result<(), Error> {
    let alias = format!("{scheduler}{SUFFIX}");
    let why =
        match root.run("modprobe", &[&alias], "kmod", "to load the module of an I/O scheduler") {
            Ok(output) if output.status.success() => return Ok(()),
            Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_string(),
            Err(error) => error.to_string(),
        };
    let row = LINUX.iter().find(|row| row.name == scheduler);
    let module = row.map_or(alias.as_str(), |row| row.module);
    let option = row.map_or(String::new(), |row| format!(", {}", row.config));
    let advice = if root.modules().exists() {
        let release = root.kernel_release();
        format!(
            "the module may be in linux-modules-extra-{release} (Ubuntu) or kernel-modules-extra (Fedora)"
        )
    } else {
        "no modules are installed for this kernel: use one that is built with the scheduler"
            .to_string()
    };
    let why = format!("module {module}{option} could not be loaded: {why}; {advice}");
    Err(Error::ModuleNotLoaded { scheduler: scheduler.into(), why })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine_with_modules() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Root::at(dir.path());
        fs::create_dir_all(root.proc("sys/kernel")).expect("fake proc");
        fs::write(root.proc("sys/kernel/osrelease"), "6.1.0-test\n").expect("fake release");
        fs::create_dir_all(root.modules()).expect("fake modules");
        let alias =
            "alias bfq-iosched bfq\nalias mq-deadline-iosched mq_deadline\nalias pci:v1 nvme\n";
        fs::write(root.modules().join("modules.alias"), alias).expect("fake alias");
        let dep =
            "kernel/block/bfq.ko.xz:\nkernel/block/kyber-iosched.ko.zst:\nkernel/fs/x.ko: a.ko\n";
        fs::write(root.modules().join("modules.dep"), dep).expect("fake dep");
        (dir, root)
    }

    #[test]
    fn schedulers_that_exist_only_as_modules_are_found_by_alias_and_by_file_name() {
        let (_dir, root) = machine_with_modules();
        assert_eq!(unloaded(&root, &["none".into(), "mq-deadline".into()]), ["bfq", "kyber"]);
    }

    #[test]
    fn a_machine_without_modules_has_nothing_unloaded() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert!(unloaded(&Root::at(dir.path()), &[]).is_empty());
    }

    #[test]
    fn a_module_that_cannot_be_loaded_is_named_with_its_option_and_package() {
        let (_dir, root) = machine_with_modules();
        let error = load(&root.with_tool_dirs(vec![]), "bfq").unwrap_err().to_string();
        for word in
            ["bfq", "CONFIG_IOSCHED_BFQ", "modprobe", "kmod", "linux-modules-extra-6.1.0-test"]
        {
            assert!(error.contains(word), "{word} is missing in: {error}");
        }
    }

    #[test]
    fn a_scheduler_that_no_kernel_knows_cannot_be_loaded_on_this_machine() {
        let error = load(&Root::real(), "no-such-scheduler").unwrap_err().to_string();
        assert!(error.contains("no-such-scheduler-iosched"), "{error}");
    }
}
