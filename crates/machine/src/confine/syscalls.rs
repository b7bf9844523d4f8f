//! System calls forbidden to a confined program.
//!
//! A deny list, because the calls of future guest kernels are unknown. It covers gaps of the other
//! layers (mode, owner, times and attributes of files; sockets) and large unneeded parts of the
//! kernel.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

/// Mounts and namespaces.
const TREE: &[c_long] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_open_by_handle_at,
];
/// Not covered by Landlock. `fchmodat2` is newer than the C library's list.
const FILES: &[c_long] = &[
    FCHMODAT2,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_utimensat,
    libc::SYS_mknodat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
];
const FCHMODAT2: c_long = 452;
/// The kernel itself. io_uring would bypass the filter.
const KERNEL: &[c_long] = &[
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];
/// `socketpair` is still allowed.
const SOCKETS: &[c_long] = &[libc::SYS_socket, libc::SYS_connect, libc::SYS_bind, libc::SYS_listen];

#[derive(Debug, Clone)]
pub(crate) struct Forbidden(Vec<BpfProgram>);

impl Forbidden {
    /// Calls fail with EPERM. `fchmod` instead succeeds without effect, because User-mode Linux
    /// exits if it cannot change its memory file's mode.
    pub(crate) fn new() -> io::Result<Forbidden> {
        let listed = [TREE, FILES, KERNEL, SOCKETS].concat();
        let eperm = libc::EPERM.cast_unsigned();
        Ok(Forbidden(vec![filter(&listed, eperm)?, filter(&[libc::SYS_fchmod], 0)?]))
    }

    /// Does not allocate.
    pub(crate) fn apply(&self) -> io::Result<()> {
        for filter in &self.0 {
            match seccompiler::apply_filter(filter) {
                Ok(()) => {}
                Err(seccompiler::Error::Prctl(cause) | seccompiler::Error::Seccomp(cause)) => {
                    return Err(cause);
                }
                Err(_) => return Err(io::ErrorKind::InvalidInput.into()),
            }
        }
        Ok(())
    }
}

fn filter(calls: &[c_long], errno: u32) -> io::Result<BpfProgram> {
    let arch = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let rules: BTreeMap<i64, _> = calls.iter().map(|number| (*number, Vec::new())).collect();
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), arch)
        .and_then(BpfProgram::try_from)
        .map_err(io::Error::other)
}
