//! Reference pages of schedulers, tunables and modelled devices.

use elevator::{
    Build, Ceiling, ELEVATORS, Elevator, ElevatorKind, Evidence, Guarantee, Initial, LINUX, Origin,
    QUEUE_ATTRIBUTES, QueueAttribute, Role, Tunable, Values,
};
use sim::DEVICES;

use text::Field;

use super::sheet::{Sheet, code, range, short_form};
use lab::arena::{kernel, sim as simulator};
use lab::controllers::{CONTROLLERS, Location, Scope};

const MARKS: &str = "The mark is the confidence that a rule or a figure is its source's: **C** confirmed in the source, **C2**\n\
                     second-hand, **D** derived, **R** recalled and not confirmed, **P** our proposal.";
const SEE_MARKS: &str =
    "[Schedulers](schedulers.md#in-the-simulator) explains the marks of confidence.";

/// Guarantees of many schedulers, and the words for them in the table.
const GUARANTEES: [(&str, &str); 3] = [
    ("idles on purpose, always with a timer", "idles"),
    ("service by weight differs by at most", "weights within"),
    ("synchronous requests wait at most", "sync within"),
];

fn row(kind: &ElevatorKind) -> [String; 5] {
    let words = |guarantee: &Guarantee| {
        let long = guarantee.words();
        GUARANTEES.iter().fold(long, |words, (long, short)| words.replace(long, short))
    };
    let guarantees: Vec<String> = kind.guarantees.iter().map(words).collect();
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
    let short = GUARANTEES.map(|(long, short)| format!("*{short}*: {long}"));
    sheet.section("In the simulator").text(MARKS).text(&format!(
        "Guarantees hold with the default tunables and are tested by `crates/properties/src/properties.rs`. {}.\n\
         An old name is the old scheduler: `deadline` is that of Linux 2.6.20.",
        short.join("; ")
    ));
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

fn role(role: Role) -> &'static str {
    match role {
        Role::Knob | Role::Window | Role::Alias(_) => "",
        Role::Reading => "*",
        Role::Disk => "†",
        Role::Internal => "",
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
        "switch" | "version" | "factor" | "choice" => value.to_string(),
        "percent" => format!("{value} %"),
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

/// A tunable of the simulator, in one row for all schedulers that share it.
struct Simulated {
    kinds: Vec<&'static str>,
    cells: [String; 4],
}

fn simulated_of(origin: Origin) -> Vec<Simulated> {
    let mut rows: Vec<Simulated> = Vec::new();
    for kind in ELEVATORS.iter().filter(|kind| kind.origin == origin) {
        let elevator = (kind.build)(&Build::default());
        let shown =
            |row: &&Tunable| row.role != Role::Internal && (!is_of_linux(kind) || !is_real(row));
        for tunable in kind.tunables.iter().filter(shown) {
            let mark = format!("{}{}", tunable.evidence.mark(), role(tunable.role));
            let help = match tunable.role {
                Role::Alias(name) => format!("alias of {}", code(name)),
                _ => tunable.help.to_owned(),
            };
            let cells = [code(tunable.name), default_of(&*elevator, tunable), mark, help];
            match rows.iter_mut().find(|row| row.cells == cells) {
                Some(row) => row.kinds.push(kind.name),
                None => rows.push(Simulated { kinds: vec![kind.name], cells }),
            }
        }
    }
    rows
}

fn simulator_tunables(sheet: &mut Sheet) {
    sheet.section("Schedulers of the simulator").text(&format!(
        "{SEE_MARKS} Next to a mark, * is a choice between readings of the source or between kernel versions, and † describes\n\
         the disk to the scheduler: these exist in the simulator only. `schedlab list schedulers --json` also has the ranges,\n\
         and the meaning of the constants below."
    ));
    for (origin, title) in [
        (Origin::BlkMq, "Linux, blk-mq"),
        (Origin::LegacyLinux, "Linux before blk-mq"),
        (Origin::Literature, "Literature"),
    ] {
        let rows = simulated_of(origin).into_iter().map(|Simulated { kinds, cells }| {
            let kinds: Vec<String> = kinds.iter().map(code).collect();
            let [name, default, mark, help] = cells;
            [kinds.join(" "), name, default, mark, help]
        });
        let header = ["scheduler", "tunable", "default", "mark", "meaning"];
        sheet.subsection(title).table(header, rows);
    }
    for kind in ELEVATORS {
        let constants = kind.tunables.iter().filter(|row| row.role == Role::Internal);
        let constants: Vec<String> = constants.map(|row| code(row.name)).collect();
        if !constants.is_empty() {
            sheet.text(&format!("Constants of {}: {}.", code(kind.name), constants.join(", ")));
        }
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
    let attributes =
        |row: &Field| [code(row.name), short_form(&row.form.words()), row.help.to_owned()];
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
    sheet.text(SEE_MARKS);
    let turns = |toml: &str| {
        sim::device::device_from_toml(toml, &[], 0).is_ok_and(|device| !device.tables().is_empty())
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
