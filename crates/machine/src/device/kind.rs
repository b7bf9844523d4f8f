//! Kinds of block devices.

use serde::Serialize;

/// What a device is, as far as it matters to scheduling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A disk that turns, or says so.
    Rotational,
    /// A solid-state disk that is not NVMe.
    Ssd,
    Nvme,
    /// A disk given by a hypervisor: what is below it schedules again.
    Virtual,
    Loop,
    /// Compressed memory.
    Zram,
    Ram,
    /// Stacked by device-mapper (LVM, LUKS, multipath).
    DeviceMapper,
    /// A software RAID.
    Md,
    Network,
    /// A CD, DVD or Blu-ray drive.
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
