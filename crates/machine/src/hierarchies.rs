//! Control group hierarchies that control I/O.

use std::fs;
use std::path::{Path, PathBuf};

use crate::root::Root;

/// v2, and v1 with `blkio`.
#[derive(Debug, Default)]
pub(crate) struct Hierarchies {
    pub(crate) v2: Option<PathBuf>,
    pub(crate) blkio: Option<PathBuf>,
}

impl Hierarchies {
    pub(crate) fn of(root: &Root) -> Hierarchies {
        let mut found = Hierarchies::default();
        for line in root.read_optional(root.proc("self/mounts")).unwrap_or_default().lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, at, kind, options, ..] = words[..] else { continue };
            let is_blkio = kind == "cgroup" && options.split(',').any(|option| option == "blkio");
            let place = match kind {
                "cgroup2" => &mut found.v2,
                _ if is_blkio => &mut found.blkio,
                _ => continue,
            };
            place.get_or_insert_with(|| root.path(at));
        }
        found
    }

    /// If v2 has the io controller.
    pub(crate) fn io(&self) -> Option<&Path> {
        self.v2.as_deref().filter(|v2| has_word(&v2.join("cgroup.controllers"), "io"))
    }

    /// Why v2 has no io controller, and how to get one.
    pub(crate) fn why_no_io(&self) -> &'static str {
        match (&self.v2, &self.blkio) {
            (_, Some(_)) => {
                "the io controller is bound to control groups v1's blkio; boot with cgroup_no_v1=io (with systemd: \
                 systemd.unified_cgroup_hierarchy=1)"
            }
            (None, None) => {
                "no hierarchy of control groups v2 is mounted; `mount -t cgroup2 none /sys/fs/cgroup`, with a kernel \
                 that has CONFIG_BLK_CGROUP"
            }
            (Some(_), None) => {
                "control groups v2 have no io controller here (`cat /sys/fs/cgroup/cgroup.controllers`); this requires a kernel with \
                 CONFIG_BLK_CGROUP, and outside a container the root of the hierarchy"
            }
        }
    }
}

pub(crate) fn has_word(file: &Path, word: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.split_whitespace().any(|has| has == word))
}
