//! Reference pages of schedulers, tunables and modelled devices.

use elevator::{
    Build, Ceiling, ELEVATORS, Elevator, ElevatorKind, Evidence, Guarantee, Initial, LINUX, Origin,
    QUEUE_ATTRIBUTES, QueueAttribute, Role, Tunable, Values,
};
use sim::DEVICES;

use text::Field;

use super::sheet::{Sheet, code, range};
use lab::arena::{kernel, sim as simulator};
use lab::controllers::{CONTROLLERS, Location, Scope};

const MARKS: &str = "The mark says how sure it is that a rule or a figure is its source's: **C** confirmed in the source, **C2**\n\
                     second-hand, **D** derived, **R** recalled and not confirmed, **P** our proposal.";

fn row(kind: &ElevatorKind) -> [String; 5] {
    let guarantees: Vec<String> = kind.guarantees.iter().map(Guarantee::words).collect();
    [
        code(kind.name),
        kind.evidence.mark().to_owned(),
        kind.help.to_owned(),
        guarantees.join("; "),
        kind.source.to_owned(),
    ]
}

#[test]
fn the_page_about_schedulers_has_every_row() {
    let mut sheet = Sheet::new(
        "Schedulers",
        "A scheduler's name is what `--schedulers` and a plan's `scheduler` take. Tunables follow it:\n\
         `bfq:slice_idle=0:nr_requests=64`; a label of your own precedes it: `quick=bfq:slice_idle=0`.\n\
         `schedlab list schedulers` prints this table and marks what this machine's kernel has.",
    );
    sheet.section("Linux today").text(
        "The `disk` and `kernel` arenas run the kernel's own; the `sim` arena runs a model of the same name. `noop` is\n\
         understood as `none` and `deadline` as `mq-deadline` where a current kernel is measured.",
    );
    sheet.table(
        ["name", "kind", "since Linux", "kernel option", "what it does"],
        LINUX.iter().map(|row| {
            [
                code(row.name),
                row.family.name().to_owned(),
                row.since.to_owned(),
                code(row.config),
                row.help.to_owned(),
            ]
        }),
    );
    sheet.section("In the simulator").text(MARKS).text(
        "Guarantees hold with the default tunables; the properties in `crates/properties/src/properties.rs` try to break each of them.\n\
         In the simulator an old name means the old scheduler: `deadline` is that of Linux 2.6.20.",
    );
    for origin in [Origin::BlkMq, Origin::LegacyLinux, Origin::Literature] {
        let title = match origin {
            Origin::BlkMq => "Linux, blk-mq",
            Origin::LegacyLinux => "Linux before blk-mq, and schedulers built on it",
            Origin::Literature => "Literature",
        };
        let rows = ELEVATORS.iter().filter(|kind| kind.origin == origin).map(row);
        sheet
            .subsection(title)
            .table(["name", "mark", "what it does", "guarantees", "source"], rows);
    }
    sheet.section("In the kernel arena").text(&format!(
        "The kernel arena runs every scheduler of Linux today, and {} as modules of ours. `NAME@PATCH` is NAME of a\n\
         kernel with that patch.",
        kernel::MODULES.iter().map(code).collect::<Vec<_>>().join(", ")
    ));
    super::check("schedulers", sheet);
}

fn controllers_of_linux(sheet: &mut Sheet) {
    sheet.section("Settings of flows and of the device on Linux").text(
        "For the arenas with a real kernel. `NAME@FLOW` is a setting of the control group, or of the processes, of a flow\n\
         (`[[workload.flow]]` in a plan); without `@FLOW` it is the device's. On the command line `+` stands for a blank and `/`\n\
         for a colon: `bfq:io.bfq.weight@reader=400`, `none:io.max@writers=wbps=10M+wiops=100`.",
    );
    sheet.table(
        ["setting", "of", "values", "control groups v1", "kernel option", "meaning"],
        CONTROLLERS.iter().map(|row| {
            let of = match row.scope {
                Scope::Device => "device",
                Scope::Flow => "flow",
            };
            let v1 = match row.location {
                Location::Group { v1: Some(file) } => code(file),
                Location::Group { v1: None } | Location::Root => "no".to_owned(),
                Location::Processes | Location::Device(_) => String::new(),
            };
            [
                code(row.name),
                of.to_owned(),
                row.values.to_owned(),
                v1,
                code(row.config),
                row.help.to_owned(),
            ]
        }),
    );
}

fn role(role: Role) -> String {
    match role {
        Role::Knob | Role::Window => String::new(),
        Role::Alias(name) => format!("alias of {}", code(name)),
        Role::Reading => "model".to_owned(),
        Role::Disk => "disk".to_owned(),
        Role::Internal => "internal".to_owned(),
    }
}

fn values(row: &QueueAttribute) -> String {
    match row.values {
        Values::Number { min, max, ceiling } => {
            let numbers = range(min, max);
            match ceiling {
                Ceiling::None => numbers,
                Ceiling::Attribute(name) => format!("{numbers}, at most {}", code(name)),
                Ceiling::Tags => {
                    format!("{numbers}; without a scheduler at most the hardware's tags")
                }
            }
        }
        Values::Words([]) => "as the kernel offers".to_owned(),
        Values::Words(words) => words.iter().map(code).collect::<Vec<_>>().join(", "),
    }
}

fn attribute(row: &QueueAttribute) -> [String; 5] {
    let initial = match row.initial {
        Initial::Attribute(name) => format!("that of {}", code(name)),
        initial => initial.words(),
    };
    [code(row.name), row.unit.to_owned(), values(row), initial, row.help.to_owned()]
}

fn is_real(row: &Tunable) -> bool {
    matches!(row.role, Role::Knob | Role::Window | Role::Alias(_))
}

fn default_of(elevator: &dyn Elevator, row: &Tunable) -> String {
    let value = elevator.get(row.name);
    match row.unit {
        "switch" | "version" => value.to_string(),
        unit => format!("{value} {unit}"),
    }
}

fn is_of_linux(kind: &ElevatorKind) -> bool {
    LINUX.iter().any(|row| row.name == kind.name)
}

fn kernel_tunables(sheet: &mut Sheet) {
    sheet.section("Schedulers of Linux").text(
        "Defaults are those of a queue with 128 tags at 1000 ticks a second, all confirmed in the kernel's source. `none` has\n\
         no tunables.",
    );
    let kinds = ELEVATORS.iter().filter(|kind| is_of_linux(kind));
    for kind in kinds.filter(|kind| kind.tunables.iter().any(is_real)) {
        let elevator = (kind.build)(&Build::default());
        let rows = kind.tunables.iter().filter(|row| is_real(row)).map(|row| {
            assert_eq!(row.evidence, Evidence::Confirmed, "{}: {}", kind.name, row.name);
            let default = default_of(&*elevator, row);
            [code(row.name), default, range(row.min, row.max), row.help.to_owned()]
        });
        sheet.subsection(kind.name).table(["tunable", "default", "range", "meaning"], rows);
    }
}

fn simulator_tunables(sheet: &mut Sheet) {
    sheet.section("Schedulers of the simulator").text(
        "`schedlab list schedulers --json` also has the ranges. After the mark, *model* means a choice between readings of the\n\
         source or between kernel versions, *disk* a description of the disk for the scheduler, *internal* a constant of a\n\
         scheduler of ours: these exist in the simulator only.",
    );
    sheet.text(MARKS);
    let header = ["tunable", "default", "mark", "meaning"];
    let row = |name: String, kind: &ElevatorKind, row: &Tunable| {
        let default = default_of(&*(kind.build)(&Build::default()), row);
        let mark = format!("{} {}", row.evidence.mark(), role(row.role));
        [name, default, mark.trim_end().to_owned(), row.help.to_owned()]
    };
    let linux = ELEVATORS.iter().filter(|kind| is_of_linux(kind));
    let models = linux.flat_map(|kind| {
        let models = kind.tunables.iter().filter(|tunable| !is_real(tunable));
        models
            .map(move |tunable| row(code(format!("{}:{}", kind.name, tunable.name)), kind, tunable))
    });
    sheet.subsection("Models of Linux").table(header, models);
    let others = ELEVATORS.iter().filter(|kind| !is_of_linux(kind));
    for kind in others.filter(|kind| !kind.tunables.is_empty()) {
        let rows = kind.tunables.iter().map(|tunable| row(code(tunable.name), kind, tunable));
        sheet.subsection(kind.name).table(header, rows);
    }
}

#[test]
fn the_page_about_tunables_has_every_tunable_and_attribute() {
    let mut sheet = Sheet::new(
        "Tunables and CPU settings",
        "What a variant can change besides the scheduler itself. `schedlab show DEVICE` prints the tunables of a real device with\n\
         their present values; `schedlab sweep` measures the effect of each.",
    );
    kernel_tunables(&mut sheet);
    let (writable, fixed): (Vec<_>, Vec<_>) = QUEUE_ATTRIBUTES.iter().partition(|row| row.writable);
    sheet.section("The device's queue").text(
        "Files of `/sys/block/DEVICE/queue`. A variant of the `disk` arena can set each; `schedlab tune` searches those\n\
         that have levels worth trying.",
    );
    sheet.table(
        ["attribute", "unit", "values", "fresh device", "meaning"],
        writable.into_iter().map(attribute),
    );
    let fixed: Vec<String> = fixed.iter().map(|row| code(row.name)).collect();
    sheet.text(&format!("Read-only: {}.", fixed.join(", ")));
    controllers_of_linux(&mut sheet);
    super::cpu::add_cpu_settings(&mut sheet);
    let attributes = |row: &Field| [code(row.name), row.form.words(), row.help.to_owned()];
    for (arena, rows) in
        [("the simulator", simulator::ATTRIBUTES), ("the kernel arena", kernel::ATTRIBUTES)]
    {
        sheet
            .section(&format!("Every variant in {arena}"))
            .table(["attribute", "values", "meaning"], rows.iter().map(attributes));
    }
    simulator_tunables(&mut sheet);
    super::check("tunables", sheet);
}

#[test]
fn the_page_about_modelled_devices_has_every_row() {
    let mut sheet = Sheet::new(
        "Modelled devices",
        "What `--device` takes in the `sim` and `kernel` arenas. `NAME:KEY=VALUE` changes a device: `hp97560:read_ahead=0`,\n\
         `wd4tb7200:queue_depth=1`. A file `NAME.toml` describes a device of your own; `schedlab list devices --json` prints the\n\
         description of each model to start from.",
    );
    sheet.text(MARKS);
    let turns = |toml: &str| {
        sim::device::device_from_toml(toml, &[], 0).is_ok_and(|device| device.tables().is_some())
    };
    let described = |row: &sim::DeviceKind| {
        [code(row.name), row.evidence.mark().to_owned(), row.help.to_owned(), row.source.to_owned()]
    };
    let header = ["name", "mark", "what it is", "source"];
    assert!(DEVICES.iter().all(|row| turns(row.toml)), "both arenas have every device");
    sheet.section("In both virtual arenas").table(header, DEVICES.iter().map(described));
    assert!(
        DEVICES.iter().all(|row| row.evidence != Evidence::Confirmed || !row.source.is_empty())
    );
    super::check("devices", sheet);
}
