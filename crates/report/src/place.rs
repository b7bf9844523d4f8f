//! Device and arena of a result, as worded in a headline.

use experiment::analysis::Analysis;
use experiment::plan::ArenaFacts;

use super::words::clean;

/// ` on a simulated HP 97560, 1991` or ` on the model mine.toml`; empty if unknown, as for a table.
pub(crate) fn of(analysis: &Analysis) -> String {
    let Some((origin, device)) =
        analysis.origin.as_ref().and_then(|origin| Some((origin, origin.device.as_deref()?)))
    else {
        return String::new();
    };
    let fact = |section: &str, name: &str| {
        let value = origin.environment.get(section)?.get(name)?;
        Some(clean(value)).filter(|value| !value.trim().is_empty() && value != "not exposed")
    };
    let arena = ArenaFacts::find(&analysis.arena).unwrap_or_default();
    let word = clean(device);
    // With other parameters, a model is not the disk whose name it has.
    let modelled = || match fact("device", "model") {
        Some(title) if device.contains(':') => format!("a simulated {title} ({word})"),
        Some(title) => format!("a simulated {title}"),
        None => format!("the model {word}"),
    };
    if arena.is_virtual() {
        if !arena.chooses_kernel() {
            return format!(" on {}", modelled());
        }
        let release = fact("kernel", "release")
            .map(|release| format!(" (Linux {release})"))
            .unwrap_or_default();
        if arena.is_cpu() {
            return format!(" on one CPU in virtual time{release}");
        }
        return format!(" on {} in the kernel arena{release}", modelled());
    }
    if arena.is_cpu() {
        return fact("cpu", "model").map(|model| format!(" on {model}")).unwrap_or_default();
    }
    match fact("device", "model") {
        _ if device.starts_with("loop:") => format!(" on a loop device ({word})"),
        Some(model) => format!(" on {model} ({word})"),
        None => format!(" on {word}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use experiment::analysis::Origin;

    use super::*;
    use crate::fixture::Lab;

    fn said(arena: &str, device: &str, facts: &[(&str, &str, &str)]) -> String {
        let mut analysis = Lab::typical().analysis;
        analysis.arena = arena.into();
        let mut origin = Origin { device: Some(device.into()), ..Origin::default() };
        for (section, name, value) in facts {
            let section: &mut BTreeMap<_, _> =
                origin.environment.entry((*section).into()).or_default();
            section.insert((*name).into(), (*value).into());
        }
        analysis.origin = Some(origin);
        of(&analysis)
    }

    #[test]
    fn each_arena_names_its_device_in_its_own_words() {
        let hp = ("device", "model", "HP 97560");
        assert_eq!(said("sim", "hp97560", &[hp]), " on a simulated HP 97560");
        assert_eq!(
            said("sim", "hp97560:queue_depth=8", &[hp]),
            " on a simulated HP 97560 (hp97560:queue_depth=8)"
        );
        assert_eq!(said("sim", "mine.toml", &[]), " on the model mine.toml");
        let linux = ("kernel", "release", "6.1.176");
        assert_eq!(
            said("kernel", "hp97560", &[hp, linux]),
            " on a simulated HP 97560 in the kernel arena (Linux 6.1.176)"
        );
        assert_eq!(
            said("kernel-cpu", "cpu", &[linux]),
            " on one CPU in virtual time (Linux 6.1.176)"
        );
        let drive = ("device", "model", "SAMSUNG MZ7LH960");
        assert_eq!(said("disk", "/dev/sdb", &[drive]), " on SAMSUNG MZ7LH960 (/dev/sdb)");
        assert_eq!(said("disk", "/dev/vdb", &[("device", "model", "not exposed")]), " on /dev/vdb");
        assert_eq!(said("disk", "loop:1G", &[]), " on a loop device (loop:1G)");
        assert_eq!(said("cpu", "cpu", &[("cpu", "model", "Intel Xeon")]), " on Intel Xeon");
    }

    #[test]
    fn a_table_has_no_place() {
        let mut analysis = Lab::typical().analysis;
        analysis.origin = Some(Origin::default());
        assert_eq!(of(&analysis), "");
    }
}
