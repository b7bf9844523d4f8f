//! Online CPUs, and this process's permissions.

use super::CpuList;
use crate::error::Error;
use crate::root::Root;
use crate::session::Fault;

/// Allows setting other tasks' affinity and priority.
pub const CAP_SYS_NICE: u32 = 23;

/// If unknown, the CPUs that this process may use.
pub fn online(root: &Root) -> Result<CpuList, Error> {
    let path = root.sys("devices/system/cpu/online");
    let text = root.read(&path)?;
    text.parse().map_err(|why| Fault::Placement { what: path.display().to_string(), why }.into())
}

/// [`Error::Session`] names missing or offline CPUs, and the available ones.
pub fn check_online(root: &Root, cpus: &CpuList) -> Result<(), Error> {
    let online = online(root)?;
    let Some(missing) = cpus.difference(&online) else { return Ok(()) };
    let possible = root
        .read_optional(root.sys("devices/system/cpu/present"))
        .and_then(|text| text.parse().ok());
    let absent = possible
        .as_ref()
        .map_or(Some(missing.clone()), |possible: &CpuList| missing.difference(possible));
    let why = match absent {
        Some(absent) => format!("this machine has no {}; it has {online}", absent.in_words()),
        None => format!(
            "it is offline; online CPUs are {online} (`echo 1 > /sys/devices/system/cpu/cpu{}/online` brings it online)",
            missing.iter().next().unwrap_or_default()
        ),
    };
    Err(Fault::Placement { what: missing.in_words(), why }.into())
}

/// True if unknown.
pub fn has_capability(root: &Root, number: u32) -> bool {
    let status = root.read_optional(root.proc("self/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_none_or(|mask| mask >> number & 1 == 1)
}
