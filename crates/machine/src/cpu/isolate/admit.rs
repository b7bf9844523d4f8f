//! Checks whether CPUs can be used or isolated.

use crate::placement::{CAP_SYS_NICE, CpuList, check_online, has_capability, online};
use crate::session::Fault;
use crate::{Error, Root};

pub(super) fn admit(root: &Root, cpus: &CpuList) -> Result<(), Error> {
    check_online(root, cpus)?;
    let refused =
        |why: String| Err(Fault::Placement { what: format!("isolate={cpus}"), why }.into());
    let online = online(root)?;
    if online.difference(cpus).is_none() {
        return refused(format!(
            "no CPU would be left for the other tasks: online {} {online}; leave at least one out",
            if online.count() == 1 { "is only" } else { "are only" }
        ));
    }
    if !has_capability(root, CAP_SYS_NICE) {
        return refused("moving other tasks needs CAP_SYS_NICE: run as root".to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine(present: &str, online: &str, capabilities: &str) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        fs::create_dir_all(root.sys("devices/system/cpu")).unwrap();
        fs::create_dir_all(root.proc("self")).unwrap();
        fs::write(root.sys("devices/system/cpu/present"), present).unwrap();
        fs::write(root.sys("devices/system/cpu/online"), online).unwrap();
        fs::write(root.proc("self/status"), format!("Name:\tx\nCapEff:\t{capabilities}\n"))
            .unwrap();
        (dir, root)
    }

    #[test]
    fn what_cannot_be_isolated_is_refused_with_what_there_is() {
        let (all, none) = ("000001ffffffffff", "0000000000000000");
        for (online, capabilities, cpus, said) in [
            ("0-3", all, "0", None),
            ("0-3", all, "0-2", None),
            ("0-3", all, "9", Some("no CPU 9; it has 0-3")),
            ("0-3", all, "1,9", Some("no CPU 9; it has 0-3")),
            ("0,2-3", all, "1", Some("offline; online CPUs are 0,2-3")),
            ("0-3", all, "0-3", Some("no CPU would be left")),
            ("2", all, "2", Some("online is only 2")),
            ("0-3", none, "0", Some("CAP_SYS_NICE")),
            ("0-3", "0000000000800000", "0", None),
        ] {
            let (_dir, root) = machine("0-3\n", online, capabilities);
            let answer = admit(&root, &cpus.parse().unwrap()).map_err(|error| error.to_string());
            match said {
                None => assert_eq!(answer, Ok(()), "{online} {cpus}"),
                Some(said) => assert!(
                    answer.clone().unwrap_err().contains(said),
                    "{online} {cpus}: {answer:?}"
                ),
            }
        }
    }
}
