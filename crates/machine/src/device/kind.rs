//! Kinds of block devices.

use serde::Serialize;

/// As far as it matters for scheduling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Or claims to be.
    Rotational,
    /// Not NVMe.
    Ssd,
    Nvme,
    /// The host below schedules again.
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
