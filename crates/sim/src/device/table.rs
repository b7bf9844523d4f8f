//! The table of devices.

/// A row of [`DEVICES`].
#[derive(Debug)]
pub struct DeviceKind {
    /// The name in plans and on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub help: &'static str,
    /// The source of its figures.
    pub source: &'static str,
    /// How sure they are, by the weakest essential one.
    pub evidence: elevator::Evidence,
    /// Its description, in the form that users write for their drives.
    pub toml: &'static str,
}

/// A row whose description is a separate file.
macro_rules! preset {
    ($name:literal, $help:literal, $evidence:ident, $source:literal) => {
        DeviceKind {
            name: $name,
            help: $help,
            source: $source,
            evidence: elevator::Evidence::$evidence,
            toml: include_str!(concat!("presets/", $name, ".toml")),
        }
    };
}

/// Every built-in device.
pub static DEVICES: &[DeviceKind] = &[
    preset!(
        "hp97560",
        "HP 97560, 1991: 1.3 GB, the disk of the classic studies",
        Confirmed,
        "Ruemler & Wilkes, IEEE Computer 27(3), 1994, by three agreeing encodings"
    ),
    preset!("c2247a", "HP C2247A: 1 GB, 5400 rpm, zoned", Confirmed, "DiskSim parameter files"),
    preset!(
        "c2490a",
        "HP C2490A: 2.1 GB, 6400 rpm, zoned",
        Derived,
        "DiskSim parameter files; curve fitted to the measured seeks"
    ),
    preset!(
        "c3323a",
        "HP C3323A: 1 GB, 5400 rpm, zoned",
        Derived,
        "DiskSim parameter files; curve fitted to the measured seeks"
    ),
    preset!(
        "c2200a-like",
        "a disk like the HP C2200A: 0.3 GB; not its confirmed figures",
        Recalled,
        "recalled"
    ),
    preset!(
        "barracuda7200",
        "Seagate Barracuda ST32171W: 2 GB, 7200 rpm, typical of early Linux 2.6",
        Derived,
        "DiskSim validation set; curve fitted to the measured seeks"
    ),
    preset!(
        "atlas3",
        "Quantum Atlas III: 9 GB, 7200 rpm",
        Derived,
        "DiskSim validation set; curve fitted to the measured seeks"
    ),
    preset!(
        "cheetah9lp",
        "Seagate Cheetah 9LP, 1997: 9 GB, 10,000 rpm",
        Derived,
        "DiskSim validation set; curve fitted to the measured seeks"
    ),
    preset!(
        "cheetah4lp",
        "Seagate Cheetah 4LP: 4.5 GB, 10,000 rpm",
        Derived,
        "DiskSim validation set; curve fitted to the measured seeks"
    ),
    preset!(
        "atlas10k",
        "Quantum Atlas 10K: 9 GB, 10,000 rpm",
        Derived,
        "DiskSim validation set; curve fitted to the measured seeks"
    ),
    preset!(
        "maxtor300g",
        "Maxtor of 300 GB: 10,000 rpm",
        Proposed,
        "DiskSim example; zones and overheads simplified"
    ),
    preset!(
        "wd4tb7200",
        "WD 4 TB: 7200 rpm, NCQ, a disk of today",
        Proposed,
        "DiskSim (WD), marked experimental there; skews and queue ours"
    ),
    preset!(
        "st2000dm006",
        "Seagate BarraCuda 2 TB: 7200 rpm, NCQ that hardly orders",
        Proposed,
        "ublk-disksim's measurements of one drive; layout and caches ours"
    ),
    preset!(
        "sata-ssd",
        "an SSD at SATA: 4 channels, NCQ 32",
        Proposed,
        "MQSim's flash; link and overhead ours"
    ),
    preset!(
        "nvme",
        "an NVMe SSD: 8 channels, 64 dies, MLC",
        Proposed,
        "MQSim defaults; a simple two-stage model in place of its own"
    ),
    preset!(
        "970pro-like",
        "an NVMe SSD like NVMeVirt's Samsung 970 PRO",
        Derived,
        "NVMeVirt's ssd configuration; same simple model"
    ),
    preset!(
        "980pro-like",
        "an NVMe SSD like the Samsung 980 PRO 1 TB of the ICPE 2024 study",
        Derived,
        "Samsung's and reviewers' figures, and the study's of the drive alone; its controller is not published"
    ),
    preset!("femu", "FEMU's black-box SSD", Recalled, "FEMU; latencies confirmed, shape recalled"),
    preset!(
        "null",
        "null device: completes after a given time: the cost of the queue alone, or a server with a known distribution of service times",
        Proposed,
        "none needed"
    ),
];
