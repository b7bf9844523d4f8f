//! The page about CPU settings.

use machine::cpu::KEYS;

use super::sheet::{Sheet, code};

#[test]
fn the_page_about_cpu_settings_has_every_key() {
    let mut sheet = Sheet::new(
        "CPU settings",
        "What a variant of the `cpu` arena is made of: settings with `+` between them, `nice=-20+affinity=0`; a label may precede\n\
         them, `pinned=affinity=0`. `default` is the machine as it was found, `sched_ext:BINARY` a scheduler that a program\n\
         loads (Linux 6.12). `schedlab list settings` says which of them this machine has.",
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
        "The measured program gets nice level, policy, slice and affinity before its first instruction. All other settings\n\
         change the machine; they go through the [journal](../explanation/journal.md). [The CPU arena](../explanation/cpu.md)\n\
         has the rules.",
    );
    super::check("cpu-settings", sheet);
}
