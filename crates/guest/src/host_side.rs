//! Changes to the host side of User-mode Linux (arch/um), without effect on the guest's results or
//! timing.
//!
//! Linux 6.1 calls getpid on the host whenever the CPU becomes idle: the only system call of a
//! request from the kernel's own clients, and a sixth of its time. Nothing uses the result, and
//! 6.12 has no such call. It is removed.
//!
//! Before 6.13, floating-point state has 2,696 bytes, enough for AVX-512 and protection keys. A
//! host with AMX refuses to set a part of its state (EFAULT), so the guest's first process dies.
//! The state is padded with zeros, which loses nothing, because a guest can never use AMX.
//!
//! Since 7.1 or so, the page of functions that a guest maps into each process (vDSO) has no getcpu,
//! which programs may rely on (rustix does). Such a guest does not announce the page: its functions
//! only made system calls anyway.
//!
//! A kernel for CPU experiments has four more ([`adjust_clock`]): its tick rate can be configured,
//! the scheduler's clock is virtual time instead of a count of ticks, a task can compute in virtual
//! time, which `kernel/modelcpu-main.c` offers to programs, and switching to a thread of a program
//! makes no system call. Linux 6.1 makes three (ptrace) to set a register that it also sets with all
//! others on the way to user mode; 6.12 makes none.
//!
//! One with several CPUs has those of `kernel/um` ([`add_cpus`]) instead of User-mode Linux's own,
//! which are threads of the host and know no virtual time; and random numbers from a seed.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::Error;
use crate::patch::Text;

const IDLE: &str = "arch/um/kernel/process.c";
/// What the vDSO exports.
const VDSO: &str = "arch/x86/um/vdso/vdso.lds.S";
const VECTOR: &str = "arch/x86/um/asm/elf.h";
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

const TIME: &str = "arch/um/kernel/time.c";
const OPTIONS: &str = "arch/um/Kconfig";
/// The tick rate as an option that cannot be chosen.
const TICKS: &str = "config HZ\n\tint\n";

const SWITCH: &str = "arch/x86/um/syscalls_64.c";
const SWITCH_CALL: &str = "\tarch_prctl(to, ARCH_SET_FS, (void __user *) to->thread.arch.fs);\n";
/// Part of the recipe of kernels for CPU experiments.
pub(crate) const SWITCH_STORE: &str =
    "\tto->thread.regs.regs.gp[HOST_FS_BASE] = to->thread.arch.fs;\n";

const CPUS_PATCH: &str = "several-cpus.patch";
/// Part of the recipe of kernels with several CPUs: files of the tree, and a patch to the others.
pub(crate) const SEVERAL_CPUS: [(&str, &str); 3] = [
    ("arch/um/kernel/smp.c", include_str!("../../../kernel/um/cpus.c")),
    ("arch/um/os-Linux/smp.c", include_str!("../../../kernel/um/host.c")),
    (CPUS_PATCH, include_str!("../../../kernel/um/several-cpus.patch")),
];

/// Part of the recipe of kernels for CPU experiments. A task computes up to the next event, so that
/// it is preempted at the very time of a tick or timer.
pub(crate) const CLOCK: &str = "
notrace unsigned long long sched_clock(void)
{
	if (time_travel_mode == TT_MODE_OFF)
		return (unsigned long long)(jiffies - INITIAL_JIFFIES) * (NSEC_PER_SEC / HZ);
	return time_travel_time;
}

unsigned long long time_travel_burn(unsigned long long ns);

/* Advances time by @ns or to the next event, and delivers it; returns the time that has passed. */
unsigned long long time_travel_burn(unsigned long long ns)
{
	unsigned long long start, end;
	struct time_travel_event *event;
	unsigned long flags;

	local_irq_save(flags);
	start = time_travel_time;
	end = start + ns;
	event = time_travel_first_event();
	if (event && event->time < end)
		end = max(event->time, start);
	time_travel_update_time(end, false);
	end = time_travel_time;
	local_irq_restore(flags);
	return end - start;
}
EXPORT_SYMBOL_GPL(time_travel_burn);
";

/// If the unpacked source has the code.
pub(crate) fn adjust(tree: &Path) -> Result<(), Error> {
    rewrite(&tree.join(IDLE), without_question)?;
    rewrite(&tree.join(REGISTERS), with_whole_state)?;
    let exports = fs::read_to_string(tree.join(VDSO)).unwrap_or_default();
    if !exports.contains("getcpu") {
        rewrite(&tree.join(VECTOR), without_vdso)?;
    }
    Ok(())
}

/// Gives a tree with an exact clock several CPUs that take turns in virtual time.
pub(crate) fn add_cpus(tree: &Path, stop: &AtomicBool) -> Result<(), Error> {
    for (name, text) in SEVERAL_CPUS {
        let path = tree.join(name);
        fs::write(&path, text).map_err(|cause| Error::io("write", &path, cause))?;
    }
    Text::read(&tree.join(CPUS_PATCH))?.apply(tree, stop)
}

/// Fails if the source is not known, since an experiment would be wrong without it.
pub(crate) fn adjust_clock(tree: &Path) -> Result<(), Error> {
    for (name, change) in
        [(TIME, with_exact_clock as fn(&str) -> Option<String>), (OPTIONS, with_ticks)]
    {
        let path = tree.join(name);
        let text = fs::read_to_string(&path).map_err(|cause| Error::io("read", &path, cause))?;
        let text = change(&text).ok_or_else(|| Error::Clock { file: path.clone() })?;
        fs::write(&path, text).map_err(|cause| Error::io("write", &path, cause))?;
    }
    rewrite(&tree.join(SWITCH), with_quiet_switch)
}

fn with_quiet_switch(text: &str) -> Option<String> {
    (text.matches(SWITCH_CALL).count() == 1).then(|| text.replace(SWITCH_CALL, SWITCH_STORE))
}

/// Without the kernel's own `sched_clock`, if it has one here, and with [`CLOCK`].
fn with_exact_clock(text: &str) -> Option<String> {
    const FUNCTION: &str = "notrace unsigned long long sched_clock(void)\n";
    if !["time_travel_first_event(void)", "time_travel_update_time(unsigned"]
        .iter()
        .all(|needed| text.contains(needed))
    {
        return None;
    }
    let text = match text.split_once(FUNCTION) {
        None => text.to_owned(),
        Some((before, rest)) => format!("{before}{}", rest.split_once("\n}\n")?.1),
    };
    (!text.contains(FUNCTION)).then(|| text + CLOCK)
}

fn with_ticks(text: &str) -> Option<String> {
    (text.matches(TICKS).count() == 1)
        .then(|| text.replace(TICKS, "config HZ\n\tint \"Ticks a second\"\n"))
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

/// `None` if the vDSO is not announced in exactly one place.
fn without_vdso(text: &str) -> Option<String> {
    const ANNOUNCEMENT: &str = "#define ARCH_DLINFO\tNEW_AUX_ENT(AT_SYSINFO_EHDR, um_vdso_addr)\n";
    (text.matches(ANNOUNCEMENT).count() == 1)
        .then(|| text.replace(ANNOUNCEMENT, "#define ARCH_DLINFO\n"))
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
    fn the_schedulers_clock_is_virtual_time_whether_or_not_there_was_another() {
        let old = "static struct time_travel_event *time_travel_first_event(void)\n{\n}\n\
                   static void time_travel_update_time(unsigned long long next, bool idle)\n{\n}\n";
        let new = format!(
            "notrace unsigned long long sched_clock(void)\n{{\n\treturn jiffies;\n}}\n{old}"
        );
        assert_eq!(with_exact_clock(old).unwrap(), format!("{old}{CLOCK}"), "6.1");
        assert_eq!(with_exact_clock(&new).unwrap(), format!("{old}{CLOCK}"), "7.3");
        assert_eq!(with_exact_clock("int main(void);\n"), None, "an unknown source");
        let ticks = "config HZ\n\tint\n\tdefault 100\n";
        assert_eq!(
            with_ticks(ticks).unwrap(),
            "config HZ\n\tint \"Ticks a second\"\n\tdefault 100\n"
        );
        assert_eq!(with_ticks("config HZ\n\tint \"HZ\"\n"), None);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(TIME);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "int main(void);\n").unwrap();
        let error = adjust_clock(dir.path()).unwrap_err().to_string();
        assert!(error.contains(TIME) && error.contains("6.1"), "{error}");
    }

    #[test]
    fn a_switch_stores_the_thread_pointer_where_it_made_a_system_call() {
        let old = format!("void arch_switch_to(struct task_struct *to)\n{{\n{SWITCH_CALL}}}\n");
        let new = with_quiet_switch(&old).unwrap();
        assert!(new.contains(SWITCH_STORE) && !new.contains("arch_prctl"), "{new}");
        assert_eq!(with_quiet_switch(&new), None, "6.12");
        assert_eq!(with_quiet_switch(&old.repeat(2)), None, "an unknown source");
    }

    #[test]
    fn a_vdso_without_getcpu_is_not_announced() {
        const ANNOUNCED: &str = "#define ARCH_DLINFO\tNEW_AUX_ENT(AT_SYSINFO_EHDR, um_vdso_addr)\n";
        let dir = tempfile::tempdir().unwrap();
        let (vdso, vector) = (dir.path().join(VDSO), dir.path().join(VECTOR));
        for file in [&vdso, &vector] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
        }
        for (exports, expected) in [
            ("__vdso_clock_gettime; __vdso_getcpu;\n", ANNOUNCED),
            ("__vdso_clock_gettime;\n", "#define ARCH_DLINFO\n"),
        ] {
            fs::write(&vdso, exports).unwrap();
            fs::write(&vector, ANNOUNCED).unwrap();
            adjust(dir.path()).unwrap();
            assert_eq!(fs::read_to_string(&vector).unwrap(), expected, "{exports}");
        }
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
