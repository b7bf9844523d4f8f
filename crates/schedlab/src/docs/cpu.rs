//! CPU settings, a section of the tunables page.

use lab::arena::kernel_cpu::ATTRIBUTES;
use machine::cpu::KEYS;

use super::sheet::{Sheet, code};

pub(super) fn add_cpu_settings(sheet: &mut Sheet) {
    sheet.section("CPU settings").text(
        "A variant of the `cpu` arena: settings joined by `+`, `nice=-20+affinity=0`; a label may precede\n\
         them, `pinned=affinity=0`. `default` is the machine as it was found, `sched_ext:BINARY` a scheduler that a program\n\
         loads (Linux 6.12). `schedlab list settings` shows which of them this machine has.",
    );
    sheet.table(
        ["setting", "example", "meaning"],
        KEYS.iter().map(|row| {
            let name = if row.name.ends_with(':') {
                format!("{}NAME", row.name)
            } else {
                row.name.to_owned()
            };
            [code(name), code(row.example), row.help.to_owned()]
        }),
    );
    sheet.text(
        "In virtual time (`--arena kernel` with a CPU workload) there is nothing of a machine (`isolate`, `governor`,\n\
         `boost`, `autogroup`), and a variant has these, too:",
    );
    sheet.table(
        ["setting", "default", "meaning"],
        ATTRIBUTES.iter().map(|row| [code(row.name), code(row.default), row.help.to_owned()]),
    );
    sheet.text(
        "The measured program gets nice level, policy, slice and affinity before its first instruction. All other settings\n\
         change the machine and are journaled: see [CPU scheduler settings](../decide/cpu.md).",
    );
}
