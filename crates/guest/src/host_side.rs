//! Two changes to the host side of User-mode Linux (arch/um), without effect on the guest's results
//! or timing.
//!
//! Linux 6.1 calls getpid on the host whenever the CPU becomes idle: the only system call of a
//! request from the kernel's own clients, and a sixth of its time. Nothing uses the result, and
//! 6.12 has no such call. It is removed.
//!
//! Before 6.13, floating-point state has 2,696 bytes, enough for AVX-512 and protection keys. A
//! host with AMX refuses to set a part of its state (EFAULT), so the guest's first process dies.
//! The state is padded with zeros, which loses nothing, because a guest can never use AMX.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::Error;

const IDLE: &str = "arch/um/kernel/process.c";
const REGISTERS: &str = "arch/x86/um/os-Linux/registers.c";

/// In the length reported by the host on the first call.
const WHOLE_STATE: &str = "\
#include <string.h>

static struct iovec whole_state(int pid, unsigned long *fp_regs)
{
	static unsigned long state[8192];
	static size_t size;
	struct iovec iov = { .iov_base = state, .iov_len = sizeof(state) };

	if (!size && ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &iov) == 0) {
		size = iov.iov_len;
		memset(state, 0, sizeof(state));
	}
	iov.iov_base = fp_regs;
	iov.iov_len = FP_SIZE * sizeof(unsigned long);
	if (size > iov.iov_len) {
		memcpy(state, fp_regs, iov.iov_len);
		iov.iov_base = state;
		iov.iov_len = size;
	}
	return iov;
}

";

/// If the unpacked source has the code.
pub(crate) fn adjust(tree: &Path) -> Result<(), Error> {
    rewrite(&tree.join(IDLE), without_question)?;
    rewrite(&tree.join(REGISTERS), with_whole_state)
}

fn rewrite(path: &Path, change: fn(&str) -> Option<String>) -> Result<(), Error> {
    let text = match fs::read_to_string(path) {
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(()),
        text => text.map_err(|cause| Error::io("read", path, cause))?,
    };
    match change(&text) {
        Some(text) => fs::write(path, text).map_err(|cause| Error::io("write", path, cause)),
        None => Ok(()),
    }
}

/// Removes getpid; `None` if there is not exactly one call.
fn without_question(text: &str) -> Option<String> {
    let asks = |line: &str| {
        let line = line.trim();
        line.starts_with("cpu_tasks[") && line.ends_with(".pid = os_getpid();")
    };
    let lines = text.split_inclusive('\n');
    (lines.clone().filter(|line| asks(line)).count() == 1)
        .then(|| lines.filter(|line| !asks(line)).collect())
}

/// Sets the state in full length; `None` if it is not set in exactly one place with its own length.
fn with_whole_state(text: &str) -> Option<String> {
    const FUNCTION: &str = "int restore_fp_registers(int pid, unsigned long *fp_regs)\n";
    let sets = |line: &str| line.contains("ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &iov)");
    let has_own_length = text.contains("iov.iov_len = FP_SIZE * sizeof(unsigned long);");
    let is_known =
        text.matches(FUNCTION).count() == 1 && text.lines().filter(|line| sets(line)).count() == 1;
    if !is_known || !has_own_length {
        return None;
    }
    let line = |line: &str| match () {
        () if line == FUNCTION => format!("{WHOLE_STATE}{line}"),
        () if sets(line) => format!("\t\tiov = whole_state(pid, fp_regs);\n{line}"),
        () => line.to_owned(),
    };
    Some(text.split_inclusive('\n').map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_is_removed_and_nothing_else() {
        let idle = "void idle(void)\n{\n\tcpu_tasks[0].pid = os_getpid();\n\tsleep();\n}\n";
        assert_eq!(without_question(idle).unwrap(), "void idle(void)\n{\n\tsleep();\n}\n");
        assert_eq!(
            without_question("\tpid = os_getpid();\n\tcpu_tasks[0].pid = pid;\n"),
            None,
            "another statement"
        );
        assert_eq!(without_question(&idle.repeat(2)), None, "an unknown source");
    }

    #[test]
    fn state_is_set_in_its_whole_length_where_it_had_a_length_of_its_own() {
        let known = "int save(void)\n{\n\tiov.iov_len = FP_SIZE * sizeof(unsigned long);\n}\n\
                     int restore_fp_registers(int pid, unsigned long *fp_regs)\n{\n\
                     \t\tif (ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &iov) < 0)\n}\n";
        let text = with_whole_state(known).unwrap();
        assert!(
            text.contains("}\n\nint restore_fp_registers(int pid"),
            "the function comes before its caller: {text}"
        );
        assert!(
            text.contains("iov = whole_state(pid, fp_regs);\n\t\tif (ptrace(PTRACE_SETREGSET"),
            "{text}"
        );
        assert_eq!(
            with_whole_state(&known.replace("FP_SIZE * sizeof(unsigned long)", "host_fp_size")),
            None,
            "6.13"
        );
        assert_eq!(with_whole_state(&known.repeat(2)), None, "an unknown source");
    }

    #[test]
    fn a_tree_without_it_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(IDLE);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "void idle(void);\n").unwrap();
        adjust(dir.path()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "void idle(void);\n");
        fs::remove_file(&path).unwrap();
        adjust(dir.path()).unwrap();
    }
}
