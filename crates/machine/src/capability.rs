//! Capability checks before privileged operations.
//!
//! Even root can be without one, in a container or by a unit's `CapabilityBoundingSet=`, and EPERM
//! does not name it.

use crate::error::Error;
use crate::placement::has_capability;
use crate::root::Root;
use crate::session::Fault;

/// Name and number, as in linux/capability.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability(pub &'static str, u32);

pub const CHOWN: Capability = Capability("CAP_CHOWN", 0);
pub const KILL: Capability = Capability("CAP_KILL", 5);
pub const SETGID: Capability = Capability("CAP_SETGID", 6);
pub const SETUID: Capability = Capability("CAP_SETUID", 7);
pub const SYS_CHROOT: Capability = Capability("CAP_SYS_CHROOT", 18);
pub const SYS_PTRACE: Capability = Capability("CAP_SYS_PTRACE", 19);
pub const SYS_ADMIN: Capability = Capability("CAP_SYS_ADMIN", 21);
pub const MKNOD: Capability = Capability("CAP_MKNOD", 27);
pub const PERFMON: Capability = Capability("CAP_PERFMON", 38);
pub const BPF: Capability = Capability("CAP_BPF", 39);

pub fn missing(root: &Root, needed: &[Capability]) -> Vec<String> {
    let missing = needed.iter().filter(|Capability(_, number)| !has_capability(root, *number));
    missing.map(|Capability(name, _)| (*name).to_string()).collect()
}

/// Returns [`Error::Session`], naming `what` and the missing capabilities.
pub fn require(root: &Root, what: &str, needed: &[Capability]) -> Result<(), Error> {
    let missing = missing(root, needed);
    if missing.is_empty() {
        return Ok(());
    }
    Err(Fault::Capability { what: what.to_string(), missing }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Root::at(dir.path());
        std::fs::create_dir_all(root.proc("self")).expect("fake proc");
        std::fs::write(root.proc("self/status"), "CapEff:\t0000000000200020\n").expect("fake proc");
        assert!(require(&root, "it", &[SYS_ADMIN, KILL]).is_ok());
        let error = require(&root, "it", &[SYS_ADMIN, MKNOD, SETUID]).unwrap_err().to_string();
        assert!(error.contains("it: needs CAP_MKNOD, CAP_SETUID,"), "{error}");
    }
}
