//! Writes a program's share to its control group, and reads it back.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;

use super::share::{BFQ_WEIGHT, Limits};

/// The file or share, and why.
pub(super) type Refused = (String, String);

pub(super) fn give_v2(dir: &Path, limits: &Limits, device: &str) -> Result<(), Refused> {
    if !limits.max.is_empty() {
        let bounds: Vec<String> =
            limits.max.iter().map(|(name, bound)| format!("{name}={bound}")).collect();
        apply_share(
            dir,
            "io.max",
            &format!("{device} {}", bounds.join(" ")),
            "the kernel needs CONFIG_BLK_DEV_THROTTLING",
        )?;
    }
    if let Some(us) = limits.latency_us {
        let config = "the kernel needs CONFIG_BLK_CGROUP_IOLATENCY";
        apply_share(dir, "io.latency", &format!("{device} target={us}"), config)?;
    }
    if let Some(class) = limits.prio_class {
        apply_share(dir, "io.prio.class", class, "the kernel needs CONFIG_BLK_CGROUP_IOPRIO")?;
    }
    if let Some(weight) = limits.cost_weight {
        apply_share(
            dir,
            "io.weight",
            &format!("default {weight}"),
            "the kernel needs CONFIG_BLK_CGROUP_IOCOST",
        )?;
    }
    if let Some(weight) = limits.bfq_weight {
        give_bfq(dir, "io.bfq.weight", weight)?;
    }
    let Some(weight) = limits.weight else { return Ok(()) };
    // The device decides whether the cost model's or bfq's weight takes effect.
    let has = |name: &str| dir.join(name).exists();
    if !has("io.weight") && !has("io.bfq.weight") {
        return apply_share(
            dir,
            "io.weight",
            "",
            "it needs bfq (`modprobe bfq`), or a kernel with CONFIG_BLK_CGROUP_IOCOST",
        );
    }
    if has("io.weight") {
        apply_share(dir, "io.weight", &format!("default {weight}"), "")?;
    }
    if has("io.bfq.weight") { give_bfq(dir, "io.bfq.weight", weight) } else { Ok(()) }
}

pub(super) fn give_v1(
    dir: &Path,
    limits: &Limits,
    device: &str,
    why_no_io: &str,
) -> Result<(), Refused> {
    let only_v2 =
        [("io.weight", limits.cost_weight.is_some()), ("io.latency", limits.latency_us.is_some())];
    if let Some((name, _)) = only_v2.into_iter().find(|(_, wanted)| *wanted) {
        return Err((
            name.to_string(),
            format!("control groups v1 do not have it, and {why_no_io}"),
        ));
    }
    if let Some(class) = limits.prio_class {
        apply_share(dir, "blkio.prio.class", class, "the kernel needs CONFIG_BLK_CGROUP_IOPRIO")?;
    }
    for (name, bound) in &limits.max {
        let direction = if name.starts_with('r') { "read" } else { "write" };
        let unit = if name.ends_with("bps") { "bps" } else { "iops" };
        let file = format!("blkio.throttle.{direction}_{unit}_device");
        apply_share(
            dir,
            &file,
            &format!("{device} {bound}"),
            "the kernel needs CONFIG_BLK_DEV_THROTTLING",
        )?;
    }
    let weight = limits.bfq_weight.or(limits.weight);
    weight.map_or(Ok(()), |weight| give_bfq(dir, "blkio.bfq.weight", weight))
}

fn give_bfq(dir: &Path, file: &str, weight: u32) -> Result<(), Refused> {
    if weight > BFQ_WEIGHT {
        let why = format!(
            "{file} takes 1 to {BFQ_WEIGHT}: choose a lower weight, in the same proportion to the others"
        );
        return Err((format!("io_weight {weight}"), why));
    }
    apply_share(
        dir,
        file,
        &weight.to_string(),
        "it needs the scheduler bfq, and its control groups (`modprobe bfq`)",
    )
}

fn apply_share(dir: &Path, file: &str, value: &str, advice: &str) -> Result<(), Refused> {
    let path = dir.join(file);
    write(&path, value).map_err(|cause| {
        (file.to_string(), format!("`{value}` in {}: {cause}; {advice}", path.display()))
    })?;
    let found = fs::read_to_string(&path).unwrap_or_default();
    if is_shown(value, &found) {
        return Ok(());
    }
    let why = format!(
        "`{value}` in {} has no effect: it reads `{}`; {advice}",
        path.display(),
        found.trim()
    );
    Err((file.to_string(), why))
}

/// A line contains all words, `default` aside.
fn is_shown(value: &str, found: &str) -> bool {
    let shows = |line: &str| {
        let has =
            |word: &str| word == "default" || line.split_whitespace().any(|shown| shown == word);
        value.split_whitespace().all(has)
    };
    found.lines().any(shows)
}

/// Requires an existing file: on a fake machine, a missing one would be created.
pub(super) fn write(path: &Path, value: &str) -> io::Result<()> {
    io::Write::write_all(&mut OpenOptions::new().write(true).open(path)?, value.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_not_shown_is_not_in_effect() {
        for (value, found) in [
            ("default 400", "default 400\n8:0 200\n"),
            ("400", "400\n"),
            ("400", "default 400\n"),
            ("7:0 wbps=1024", "8:0 wbps=5\n7:0 rbps=max wbps=1024\n"),
        ] {
            assert!(is_shown(value, found), "{value}");
        }
        for (value, found) in [
            ("default 400", "default 100\n"),
            ("7:0 target=5", "8:0 target=5\n7:0 target=6\n"),
            ("1", ""),
        ] {
            assert!(!is_shown(value, found), "{value}");
        }
    }
}
