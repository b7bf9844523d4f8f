//! The cores as a kernel compiles them: freestanding, without floating point, with its stack limit,
//! and requiring only functions that a kernel has.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use crate::compiled::{compile, core, sources};

/// Functions that a kernel provides to modules.
const LENT: [&str; 4] = ["memcpy", "memmove", "memset", "memcmp"];

#[test]
fn the_cores_compile_freestanding_without_floating_point_and_link_against_memory_functions_only() {
    let dir = tempfile::tempdir().unwrap();
    for level in ["-O0", "-O2", "-Os"] {
        let mut defined = BTreeSet::new();
        let mut needed = BTreeSet::new();
        for (nr, source) in sources(&core()).into_iter().enumerate() {
            let object = dir.path().join(format!("{nr}{level}.o"));
            let mut flags =
                vec!["-ffreestanding", "-fno-stack-protector", "-Wframe-larger-than=1024", level];
            if cfg!(target_arch = "x86_64") {
                flags.extend(["-mno-sse", "-mno-mmx", "-mno-80387"]);
            }
            let mut arguments: Vec<_> = flags.into_iter().map(Into::into).collect();
            arguments.extend(["-c".into(), source.into(), "-o".into(), object.clone().into()]);
            compile(&arguments);
            let listed = Command::new("nm")
                .arg("-P")
                .arg(&object)
                .output()
                .expect("nm comes with the compiler");
            for line in String::from_utf8(listed.stdout).unwrap().lines() {
                let (name, kind) = line.split_once(' ').unwrap();
                let set = if kind.starts_with('U') { &mut needed } else { &mut defined };
                set.insert(name.to_owned());
            }
        }
        let missing: Vec<_> =
            needed.difference(&defined).filter(|name| !LENT.contains(&name.as_str())).collect();
        assert!(missing.is_empty(), "at {level} a kernel would have to have {missing:?}");
        assert!(
            ["anticipatory", "wpcas", "occupancy"]
                .iter()
                .all(|name| defined.contains(&format!("core_{name}")))
        );
    }
}

#[test]
fn the_parts_of_an_elevator_can_be_one_unit_as_its_module_has_them() {
    let dir = tempfile::tempdir().unwrap();
    for (own, of_own) in [
        ("anticipatory", &["antic"] as &[&str]),
        ("wpcas", &["antic-", "antic.", "wpcas"]),
        ("occupancy", &["occupancy"]),
    ] {
        let is_own = |path: &PathBuf| {
            let name = path.file_name().expect("a file has a name").to_string_lossy();
            of_own.iter().any(|part| name.starts_with(part))
        };
        let parts = sources(&core()).into_iter().filter(is_own);
        let unit = dir.path().join(own).with_extension("c");
        let text: String = parts.map(|path| format!("#include \"{}\"\n", path.display())).collect();
        std::fs::write(&unit, text).unwrap();
        let object = unit.with_extension("o");
        compile(&["-O2".into(), "-c".into(), unit.into(), "-o".into(), object.into()]);
    }
}
