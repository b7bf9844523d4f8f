//! Whether processors are there to be used or emptied.

use crate::cpu::CpuList;
use crate::error::Error;
use crate::root::Root;
use crate::session::Fault;

/// The capability to set other tasks' processors and priorities.
pub(in crate::cpu) const CAP_SYS_NICE: u32 = 23;

/// The processors that can be used now. A kernel that does not say has all that this process may use.
pub(super) fn online(root: &Root) -> Result<CpuList, Error> {
    let path = root.sys("devices/system/cpu/online");
    let text = root.read(&path)?;
    text.parse().map_err(|why| Fault::Placement { what: path.display().to_string(), why }.into())
}

/// Refuses processors that do not exist or are offline.
///
/// # Errors
/// [`Error::Session`] naming them and those that there are; [`Error::Io`].
pub fn check_online(root: &Root, cpus: &CpuList) -> Result<(), Error> {
    let online = online(root)?;
    let Some(missing) = cpus.without(&online) else { return Ok(()) };
    let possible = root.read_optional(root.sys("devices/system/cpu/present")).and_then(|text| text.parse().ok());
    let absent = possible.as_ref().map_or(Some(missing.clone()), |possible: &CpuList| missing.without(possible));
    let why = match absent {
        Some(absent) => format!("this machine has no {}; it has {online}", absent.in_words()),
        None => format!(
            "it is offline; online are {online} (`echo 1 > /sys/devices/system/cpu/cpu{}/online` takes it in again)",
            missing.iter().next().unwrap_or_default()
        ),
    };
    Err(Fault::Placement { what: missing.in_words(), why }.into())
}

/// Refuses an isolation that can be known to be impossible here.
pub(super) fn admit(root: &Root, cpus: &CpuList) -> Result<(), Error> {
    check_online(root, cpus)?;
    let refused = |why: String| Err(Fault::Placement { what: format!("isolate={cpus}"), why }.into());
    let online = online(root)?;
    if online.without(cpus).is_none() {
        return refused(format!(
            "no processor would be left for the other tasks: online {} {online}; leave at least one out",
            if online.count() == 1 { "is only" } else { "are only" }
        ));
    }
    if !has_capability(root, CAP_SYS_NICE) {
        return refused("moving other tasks needs CAP_SYS_NICE: run as root".to_string());
    }
    Ok(())
}

/// Whether this process has a capability; a kernel that does not say is taken to permit.
pub(in crate::cpu) fn has_capability(root: &Root, number: u32) -> bool {
    let status = root.read_optional(root.proc("self/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_none_or(|mask| mask >> number & 1 == 1)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine(present: &str, online: &str, capabilities: &str) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        fs::create_dir_all(root.sys("devices/system/cpu")).unwrap();
        fs::create_dir_all(root.proc("self")).unwrap();
        fs::write(root.sys("devices/system/cpu/present"), present).unwrap();
        fs::write(root.sys("devices/system/cpu/online"), online).unwrap();
        fs::write(root.proc("self/status"), format!("Name:\tx\nCapEff:\t{capabilities}\n")).unwrap();
        (dir, root)
    }

    #[test]
    fn what_cannot_be_emptied_is_refused_with_what_there_is() {
        let (all, none) = ("000001ffffffffff", "0000000000000000");
        for (online, capabilities, cpus, said) in [
            ("0-3", all, "0", None),
            ("0-3", all, "0-2", None),
            ("0-3", all, "9", Some("no processor 9; it has 0-3")),
            ("0-3", all, "1,9", Some("no processor 9; it has 0-3")),
            ("0,2-3", all, "1", Some("offline; online are 0,2-3")),
            ("0-3", all, "0-3", Some("no processor would be left")),
            ("2", all, "2", Some("online is only 2")),
            ("0-3", none, "0", Some("CAP_SYS_NICE")),
            ("0-3", "0000000000800000", "0", None),
        ] {
            let (_dir, root) = machine("0-3\n", online, capabilities);
            let answer = admit(&root, &cpus.parse().unwrap()).map_err(|error| error.to_string());
            match said {
                None => assert_eq!(answer, Ok(()), "{online} {cpus}"),
                Some(said) => assert!(answer.clone().unwrap_err().contains(said), "{online} {cpus}: {answer:?}"),
            }
        }
    }
}
