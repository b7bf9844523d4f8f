//! A change to the host side of User-mode Linux (arch/um) that the kernel above it cannot notice.
//!
//! 6.1 asks the host for its process number whenever the CPU becomes idle. That is the only system call of a request of the kernel's
//! own clients, and a sixth of its time. The number is read by nothing, and 6.12 does not ask for it. The statement is removed where
//! a source has it; nothing else of a tree is changed, and what a guest computes and when is the same.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::Error;

const FILE: &str = "arch/um/kernel/process.c";

/// Removes the statement from an unpacked tree.
///
/// # Errors
/// If the file cannot be read or written.
pub(crate) fn adjust(tree: &Path) -> Result<(), Error> {
    let path = tree.join(FILE);
    let text = match fs::read_to_string(&path) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(()),
        text => text.map_err(|cause| Error::io("read", &path, cause))?,
    };
    match adjusted(&text) {
        Some(text) => fs::write(&path, text).map_err(|cause| Error::io("write", &path, cause)),
        None => Ok(()),
    }
}

/// The text without the statement; None if it has none, or more than one.
fn adjusted(text: &str) -> Option<String> {
    let asks = |line: &str| {
        let line = line.trim();
        line.starts_with("cpu_tasks[") && line.ends_with(".pid = os_getpid();")
    };
    let lines = text.split_inclusive('\n');
    (lines.clone().filter(|line| asks(line)).count() == 1).then(|| lines.filter(|line| !asks(line)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_is_removed_and_nothing_else() {
        let idle = "void idle(void)\n{\n\tcpu_tasks[0].pid = os_getpid();\n\tsleep();\n}\n";
        assert_eq!(adjusted(idle).unwrap(), "void idle(void)\n{\n\tsleep();\n}\n");
        assert_eq!(adjusted("\tpid = os_getpid();\n\tcpu_tasks[0].pid = pid;\n"), None, "another statement");
        assert_eq!(adjusted(&idle.repeat(2)), None, "an unknown source");
    }

    #[test]
    fn a_tree_without_it_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "void idle(void);\n").unwrap();
        adjust(dir.path()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "void idle(void);\n");
        fs::remove_file(&path).unwrap();
        adjust(dir.path()).unwrap();
    }
}
