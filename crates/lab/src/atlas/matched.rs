//! The kernel arena's guest as seen by the simulator, for comparing cells of both.

use std::io::Read;

use anyhow::Result;
use experiment::plan::{Plan, Variant};
use guest::Source;

use crate::arena::agreement;
use crate::failure::usage;

/// The known relative difference between the arenas in each variant's primary metric.
pub(super) fn known(plan: &Plan, device: &str) -> Vec<(String, f64)> {
    let Some(spec) = plan.workloads.first() else { return Vec::new() };
    let (work, metric) =
        (agreement::workload_of(spec), spec.primary.as_deref().unwrap_or_default());
    let of = |variant: &Variant| {
        (
            variant.name.clone(),
            agreement::bound(device, &work, &variant.scheduler).of(metric) / 100.0,
        )
    };
    plan.variants.iter().map(of).collect()
}

/// The supported Linux version closest to the kernel; for a tree, according to its Makefile.
pub(super) fn linux_of(kernel: &Source) -> Result<u32> {
    let release = match kernel {
        Source::Debian(version) => version.clone(),
        Source::Newest => return Ok(703),
        Source::Directory(tree) => {
            let makefile = tree.join("Makefile");
            let unreadable = || {
                usage(format!(
                    "{}: cannot read its version; name the tree of a kernel",
                    makefile.display()
                ))
            };
            let file = machine::files::open_input(&makefile).map_err(|_| unreadable())?;
            let mut head = Vec::new();
            file.take(4096).read_to_end(&mut head).map_err(|_| unreadable())?;
            let head = String::from_utf8_lossy(&head);
            let number = |key: &str| {
                let value =
                    head.lines().find_map(|line| line.strip_prefix(key)?.trim().strip_prefix('='));
                value.map(|value| value.trim().to_owned()).ok_or_else(unreadable)
            };
            format!("{}.{}", number("VERSION")?, number("PATCHLEVEL")?)
        }
    };
    Ok(agreement::linux(&release))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_the_matched_simulation_are_those_of_the_kernel_that_is_named() {
        let of = |word: &str| linux_of(&word.parse().unwrap());
        assert_eq!(of("debian:6.1").unwrap(), 601);
        assert_eq!((of("6.12").unwrap(), of("debian:newest").unwrap()), (612, 703));
        let tree = tempfile::tempdir().unwrap();
        let word = tree.path().display().to_string();
        assert!(of(&word).unwrap_err().to_string().contains("cannot read its version"));
        std::fs::write(
            tree.path().join("Makefile"),
            "# SPDX\nVERSION = 6\nPATCHLEVEL = 14\nSUBLEVEL = 0\n",
        )
        .unwrap();
        assert_eq!(of(&word).unwrap(), 612);
    }
}
