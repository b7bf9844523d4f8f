//! Kinds of block devices.

use serde::Serialize;

/// Devices that differ for scheduling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A rotational disk, or one that claims to be.
    Rotational,
    /// Solid-state, but not NVMe.
    Ssd,
    Nvme,
    /// A hypervisor's disk: the host schedules again.
    Virtual,
    Loop,
    /// Compressed memory.
    Zram,
    Ram,
    /// LVM, LUKS, multipath.
    DeviceMapper,
    /// Software RAID.
    Md,
    Network,
    Optical,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Rotational => "rotational",
            Kind::Ssd => "SSD",
            Kind::Nvme => "NVMe",
            Kind::Virtual => "virtual",
            Kind::Loop => "loop",
            Kind::Zram => "zram",
            Kind::Ram => "RAM disk",
            Kind::DeviceMapper => "device-mapper",
            Kind::Md => "software RAID",
            Kind::Network => "network",
            Kind::Optical => "optical",
        }
    }
}
