//! Rejected descriptions and specifications, with their messages. tests/device has the properties.

use super::{DEVICES, DeviceError, device, device_from_toml};

#[test]
fn every_row_can_be_made_and_says_where_it_is_from() {
    for row in DEVICES {
        device(row.name, 1).unwrap_or_else(|error| panic!("{}: {error}", row.name));
        assert!(!row.help.is_empty() && !row.source.is_empty());
        assert!(row.toml.contains("\ntrial_ms = "), "{}", row.name);
    }
}

fn error(specification: &str) -> String {
    device(specification, 1).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn errors_name_what_is_wrong_and_what_would_be_right() {
    let expected = [
        (
            "hp97650",
            "device model \"hp97650\": unknown name; `schedlab list devices` lists the models (real devices and loop:SIZE need --arena disk); did you mean \"hp97560\"?",
        ),
        (
            "hp97560:queue=8:x",
            "“x”: not KEY=VALUE; write a device as NAME or NAME:KEY=VALUE:KEY=VALUE",
        ),
        (
            "hp97560:queue_dept=8",
            "in the device's specification: unknown key queue_dept; did you mean \"queue_depth\"?",
        ),
        (
            "hp97560:queue_depth=0",
            "in the device's specification: queue_depth = 0 is out of range: 1 to 4096",
        ),
        (
            "hp97560:queue_depth=many",
            "in the device's specification: queue_depth must be a whole number from 1 to 4096, not “many”",
        ),
        (
            "hp97560:order=far",
            "in the device's specification: order must be one of nearest, arrival, not “far”",
        ),
        (
            "hp97560:immediate_reporting=1",
            "in the device's specification: immediate_reporting: needs a write_cache (in sectors) to report from",
        ),
        (
            "hp97560:through_host=1",
            "in the device's specification: through_host: needs host_bytes_per_s, what the host takes",
        ),
        (
            "hp97560:write_runs=257",
            "in the device's specification: write_runs = 257 is out of range: 1 to 256",
        ),
        (
            "hp97560:read_on=cylinder",
            "in the device's specification: read_on must be one of sectors, track, not “cylinder”",
        ),
        (
            "hp97560:read_ahead=300",
            "in the device's specification: read_ahead: reads on further than a segment of 256 sectors holds",
        ),
        (
            "hp97560:sectors=3000000",
            "in the device's specification: sectors: 3000000 sectors, but the zones hold 2684016",
        ),
        ("nvme:queues=0", "in the device's specification: queues = 0 is out of range: 1 to 65535"),
        (
            "nvme:queues=65536",
            "in the device's specification: queues = 65536 is out of range: 1 to 65535",
        ),
        (
            "nvme:command_slots=0",
            "in the device's specification: command_slots = 0 is out of range: 1 to 4294967295",
        ),
        (
            "nvme:read_priority=70000",
            "in the device's specification: read_priority = 70000 is out of range: 0 to 65535",
        ),
        (
            "970pro-like:erase_suspends=1",
            "in the device's specification: erase_suspends: needs a read_priority, the number of reads that go first",
        ),
        (
            "null:service_ns=-1",
            "in the device's specification: service_ns = -1 is out of range: 0 to 60000000000",
        ),
    ];
    for (specification, message) in expected {
        assert_eq!(error(specification), message);
    }
}

#[test]
fn inconsistent_drives_are_refused_with_their_line() {
    let drive = |from: &str, to: &str| {
        let toml = DEVICES[0].toml;
        assert!(toml.contains(from), "{from}");
        device_from_toml(&toml.replacen(from, to, 1), &[], 1).map(|_| ()).unwrap_err()
    };
    let line =
        |text: &str| 1 + DEVICES[0].toml.lines().position(|line| line.starts_with(text)).unwrap();
    let at = |text: &str| format!("line {} of the device's description: ", line(text));
    let zones = at("zones");
    assert_eq!(
        drive("[[1962, ", "[[1961, ").to_string(),
        format!("{zones}zones: the zones have 1961 cylinders together, the disk has 1962")
    );
    assert_eq!(
        drive("1962, 72,", "1962, 0,").to_string(),
        format!("{zones}zones.0.1 = 0 is out of range: 1 to 65535")
    );
    assert_eq!(
        drive("72, 8, 18]", "72, 8]").to_string(),
        format!(
            "{zones}zones.0: a zone is [cylinders, sectors per track, track skew, cylinder skew], or these and [angle of its first \
             track, reserved tracks, spare tracks, slipped tracks]"
        )
    );
    for (layout, why) in [
        ("0, 20000, 20000", "20000 reserved and 20000 spare tracks leave none of 37278"),
        ("0, 0, 1, 5, 6", "2 slipped tracks, but 1 spare ones"),
        ("0, 0, 2, 6, 5", "the slipped tracks do not grow"),
        (
            "0, 7, 2, 6",
            "slipped tracks lie between the reserved ones and the last one in use, 7 to 37275",
        ),
        (
            "0, 0, 1, 37277",
            "slipped tracks lie between the reserved ones and the last one in use, 0 to 37276",
        ),
    ] {
        assert_eq!(
            drive("8, 18]", &format!("8, 18, {layout}]")).to_string(),
            format!("{zones}zones.0: {why}")
        );
    }
    assert_eq!(
        drive("c_ns = 8_000_000", "c_ns = 5_000_000").to_string(),
        format!(
            "{}seek.knee: the time falls from 11068154 ns at the knee to 8072000 ns beyond; the curve must not decrease",
            at("knee")
        )
    );
    let heads = at("heads");
    assert_eq!(
        drive("heads =", "haeds =").to_string(),
        format!("{heads}unknown key haeds; did you mean \"heads\"?")
    );
    assert_eq!(
        drive("heads =", "_ =").to_string(),
        "key heads: missing; add it: data surfaces (1 to 256)"
    );
    assert!(
        matches!(drive("rpm = ", "rpm = ="), DeviceError::Syntax { place: super::Location::Line(at), .. } if at == line("rpm"))
    );
    assert_eq!(
        device_from_toml("", &[], 1).map(|_| ()).unwrap_err().to_string(),
        "key model: missing; add it: one of hdd, flash, null, measured"
    );
}
