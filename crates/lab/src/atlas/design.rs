//! The design of an atlas: arenas, devices, schedulers and workloads, and the plan of each cell.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use experiment::atlas::{About, Hole, Key};
use experiment::plan::{
    self, ArenaFacts, Budget, Criteria, MAX_TIME_S, Method, Plan, TrialLength, Variant,
};
use machine::files::{Bounded, Dir};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use text::build;
use text::limits::{ATLAS_BYTES, ATLAS_CELLS};

use super::matched::{known, linux_of};
use super::workloads::{Row, rows};
use super::{DESIGN, names};
use crate::arena::agreement;
use crate::arena::kernel::MODULES;
use crate::arena::model::Model;
use crate::failure::usage;
use crate::resolve::{Resolved, bare, resolve};

const SCHEMA: u32 = 2;

/// Default devices: five disks, a SATA SSD and an NVMe SSD.
const DEVICES: [&str; 7] =
    ["hp97560", "barracuda7200", "cheetah9lp", "wd4tb7200", "st2000dm006", "sata-ssd", "nvme"];

/// Schedulers that order by deadlines only; requests without deadlines are first come, first
/// served.
const BY_DEADLINE: &[&str] = &["edf", "scan-edf", "dm-scan", "rg-scan", "gsr"];

/// The baseline, available in every arena.
const BASELINE: &str = "none";

/// The arena of simulator cells with the settings of the kernel arena's guest.
const MATCHED: &str = "matched-sim";

/// Rounds of a cell, and of a quick one. The number is fixed: all intervals of a cell hold
/// simultaneously at one look.
const ROUNDS: u32 = 8;
const QUICK_ROUNDS: u32 = 3;

/// Divisors of the device's usual trial length, since each cell has several trials, and of a trial
/// for its warm-up.
const PART: u64 = 2;
const QUICK_PART: u64 = 8;
const WARMUP_PART: u64 = 3;

#[derive(Debug, Clone, Default)]
pub struct Choice {
    pub arenas: Vec<&'static ArenaFacts>,
    /// Model names, which may contain `*`, and device files. Empty: the usual ones.
    pub devices: Vec<String>,
    pub schedulers: Vec<String>,
    pub workloads: Vec<String>,
    pub quick: bool,
    pub kernel: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    schema: u32,
    /// The build whose tables define the names.
    schedlab: String,
    arenas: Vec<&'static ArenaFacts>,
    devices: Vec<String>,
    schedulers: Vec<String>,
    workloads: Vec<String>,
    quick: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    /// The Linux version whose rules the matched simulations follow. Stored, because a user's
    /// kernel tree may exist on one machine only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    linux: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    pub key: Key,
    pub dir: String,
    pub plan: Plan,
    fairness: String,
    known: Vec<(String, f64)>,
}

impl Planned {
    pub fn about(&self) -> About<'_> {
        About {
            key: self.key.clone(),
            fairness: &self.fairness,
            special: BY_DEADLINE,
            known: &self.known,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plans {
    pub cells: Vec<Planned>,
    pub holes: Vec<Hole>,
    /// Omissions and their reasons.
    pub notes: Vec<String>,
}

impl Design {
    pub fn of(choice: &Choice) -> Result<Design> {
        let all: Vec<&str> = elevator::ELEVATORS.iter().map(|row| row.name).collect();
        let mut schedulers = names::chosen("--schedulers", &choice.schedulers, &all)?;
        if !schedulers.contains(&BASELINE) {
            schedulers.insert(0, BASELINE);
        }
        let table = rows()?;
        let loads: Vec<&str> = table.iter().map(|row| row.spec.name.as_str()).collect();
        let models: Vec<&str> = sim::DEVICES.iter().map(|row| row.name).collect();
        let (own, named): (Vec<String>, Vec<String>) =
            choice.devices.iter().cloned().partition(|word| is_file(word));
        let mut devices: Vec<String> = match (choice.devices.is_empty(), named.is_empty()) {
            (true, _) => DEVICES.map(str::to_owned).to_vec(),
            (false, true) => Vec::new(),
            (false, false) => names::chosen("--devices", &named, &models)?
                .into_iter()
                .map(str::to_owned)
                .collect(),
        };
        // Shards and later sessions may start in another directory.
        let whole = |word: &String| {
            let path = std::fs::canonicalize(word)
                .with_context(|| format!("{word}: cannot read the device"))?;
            path.into_os_string()
                .into_string()
                .map_err(|_| usage(format!("{word}: its path is not UTF-8; rename it")))
        };
        devices.extend(own.iter().map(whole).collect::<Result<Vec<_>>>()?);
        let design = Design {
            schema: SCHEMA,
            schedlab: build::identity().to_owned(),
            arenas: choice.arenas.clone(),
            devices,
            schedulers: schedulers.into_iter().map(str::to_owned).collect(),
            workloads: names::chosen("--workloads", &choice.workloads, &loads)?
                .into_iter()
                .map(str::to_owned)
                .collect(),
            quick: choice.quick,
            kernel: choice.kernel.clone(),
            linux: match choice.arenas.iter().any(|arena| arena.chooses_kernel()) {
                true => Some(linux_of(choice.kernel.as_deref())?),
                false => None,
            },
        };
        design.check().map(|()| design)
    }

    /// Reads the design of a directory.
    ///
    /// # Errors
    /// Wrong usage: not a design, written by another build, or it names missing items.
    pub fn read(dir: &Dir) -> Result<Option<Design>> {
        let path = dir.file(DESIGN);
        let wrong = |why: String| usage(format!("{}: {why}", path.display()));
        let Some(file) = dir.open_if_exists(DESIGN)? else { return Ok(None) };
        let text = ATLAS_BYTES.read_text(file).map_err(|error| wrong(error.to_string()))?;
        let written = toml::from_str::<toml::Table>(&text).unwrap_or_default();
        if let Some(found) =
            written.get("schema").filter(|found| found.as_integer() != Some(i64::from(SCHEMA)))
        {
            let why = build::other_format(
                found,
                SCHEMA,
                written.get("schedlab").and_then(toml::Value::as_str),
            );
            return Err(wrong(format!(
                "{why}; use the schedlab that wrote it, or name another --out"
            )));
        }
        let design: Design =
            toml::from_str(&text).map_err(|e| wrong(format!("not the design of an atlas: {e}")))?;
        if let Some(why) = build::difference(&design.schedlab, build::identity()) {
            return Err(wrong(format!(
                "{why}; continue it with that build, or name another --out"
            )));
        }
        design.check().with_context(|| path.display().to_string())?;
        Ok(Some(design))
    }

    /// Writes the design into the directory of an atlas, or checks that it matches the existing
    /// one.
    pub fn keep(&self, dir: &Dir) -> Result<()> {
        match Design::read(dir)? {
            None => Ok(dir.replace(DESIGN, toml::to_string(self)?.as_bytes())?),
            Some(there) if there == *self => Ok(()),
            Some(_) => Err(usage(format!(
                "{}: holds an atlas of another choice; leave out the options that choose to continue it, or name another --out",
                dir.path().display()
            ))),
        }
    }

    pub fn arenas(&self) -> &[&'static ArenaFacts] {
        &self.arenas
    }

    pub fn files(&self) -> Vec<PathBuf> {
        self.devices.iter().filter(|device| is_file(device)).map(PathBuf::from).collect()
    }

    /// Checks that every name is in a table, and the number of cells.
    fn check(&self) -> Result<()> {
        let table = rows()?;
        for (what, found) in [("arenas", self.arenas.len()), ("devices", self.devices.len())] {
            if found == 0 {
                return Err(usage(format!("{what}: none is chosen; name at least one")));
            }
        }
        // Each kernel cell has a matched simulation.
        let arenas =
            self.arenas.len() + self.arenas.iter().filter(|arena| arena.chooses_kernel()).count();
        check_number([arenas, self.devices.len(), self.workloads.len()].iter().product())?;
        if self.linux.is_some_and(|linux| ![601, 612, 703].contains(&linux)) {
            return Err(usage(
                "linux: version not supported by the simulator; write 601, 612 or 703",
            ));
        }
        for arena in &self.arenas {
            if !arena.is_virtual() {
                return Err(usage(format!(
                    "arena {}: not supported in an atlas; use sim and kernel only",
                    arena.name
                )));
            }
        }
        if let Some(name) = self.schedulers.iter().find(|name| elevator::find(name).is_none()) {
            return Err(usage(format!(
                "scheduler {name:?}: unknown to this schedlab; see schedlab list schedulers"
            )));
        }
        if let Some(name) =
            self.workloads.iter().find(|name| table.iter().all(|row| row.spec.name != **name))
        {
            return Err(usage(format!(
                "workload {name:?}: unknown to this schedlab; take those of the schedlab that wrote it"
            )));
        }
        let mut short: Vec<&str> = self.devices.iter().map(|device| name_of(device)).collect();
        short.sort_unstable();
        match short.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => {
                Err(usage(format!("device {}: two have this name; rename a file", pair[0])))
            }
            None => Ok(()),
        }
    }

    /// The plan of each cell, ordered by arena, device and workload. A matched simulation follows
    /// its kernel cell.
    pub fn plans(&self) -> Result<Plans> {
        let table = rows()?;
        let mut plans = Plans::default();
        let left = self.schedulers.iter().filter(|name| BY_DEADLINE.contains(&name.as_str()));
        let left: Vec<&str> = left.map(String::as_str).collect();
        if !left.is_empty() {
            plans.notes.push(format!(
                "{}: on real-time workloads only, since they order by deadlines",
                left.join(", ")
            ));
        }
        for arena in &self.arenas {
            for device_word in &self.devices {
                let model = Model::read(device_word)?;
                let on = model.look(|device| Device {
                    word: device_word,
                    usual_ms: device.trial_ms(),
                    has_arm: device.geometry().cylinders > 0,
                });
                for row in table.iter().filter(|row| self.workloads.contains(&row.spec.name)) {
                    self.plan(arena.name, &on, row, &mut plans);
                    if arena.chooses_kernel() {
                        self.plan(MATCHED, &on, row, &mut plans);
                    }
                }
            }
        }
        if self.arenas.iter().any(|arena| arena.chooses_kernel()) {
            let not = self.schedulers.iter().filter(|name| !is_of_kernel(name)).count();
            plans.notes.push(format!("{not} schedulers exist only in the simulator"));
        }
        Ok(plans)
    }

    /// A scheduler with its defaults, or as configured in the guest.
    fn variant(&self, arena: &str, name: &str, on: &Device<'_>) -> Variant {
        match self.linux.filter(|_| arena == MATCHED) {
            Some(linux) => {
                Variant { tunables: agreement::as_in_guest(name, linux, on.has_arm), ..bare(name) }
            }
            None => bare(name),
        }
    }

    fn plan(&self, arena: &str, on: &Device<'_>, row: &Row, plans: &mut Plans) {
        let (kind, device, usual_ms) =
            (ArenaFacts::find(arena).unwrap_or(&plan::SIM), on.word, on.usual_ms);
        let part = if self.quick { QUICK_PART } else { PART };
        // The bounds refer to trials of a full atlas.
        let bound = |ms: u64| (ms / part).saturating_mul(PART);
        let duration_ms = (usual_ms / part).max(bound(row.least_ms)).min(bound(row.most_ms)).max(1);
        let warmup_ms = (usual_ms / part).min(bound(row.most_ms)) / WARMUP_PART;
        let variants = self.schedulers.iter().filter(|name| {
            (arena == "sim" || is_of_kernel(name))
                && (row.real_time || !BY_DEADLINE.contains(&name.as_str()))
        });
        let key = Key {
            arena: arena.to_owned(),
            device: name_of(device).to_owned(),
            workload: row.spec.name.clone(),
        };
        let plan = Plan {
            schema: plan::SCHEMA,
            name: format!("{} on {}: {}", row.spec.name, key.device, row.about),
            arena: kind,
            device: device.to_owned(),
            kernel: self.kernel.clone().filter(|_| kind.chooses_kernel()),
            seed: 1,
            baseline: Some(BASELINE.to_owned()),
            budget: Budget {
                time_s: MAX_TIME_S,
                rounds: Some(if self.quick { QUICK_ROUNDS } else { ROUNDS }),
                no_early_stop: true,
                figures_only: false,
            },
            trial: TrialLength {
                duration_ms: Some(duration_ms),
                warmup_ms: Some(warmup_ms.max(1)),
            },
            criteria: Criteria { method: Method::Fixed, ..Criteria::default() },
            limits: plan::Limits::default(),
            variants: variants.map(|name| self.variant(arena, name, on)).collect(),
            workloads: vec![row.spec.clone()],
            files: None,
            metrics: Vec::new(),
            published: Vec::new(),
        };
        let dir = format!("{}.{}.{}", key.arena, slug(&key.device), key.workload);
        match resolve(plan, &mut |_| ()) {
            Ok(Resolved { plan, .. }) => {
                let known = known(&plan, &key.device);
                plans.cells.push(Planned { key, dir, plan, fairness: row.fairness.clone(), known });
            }
            Err(error) => {
                plans.holes.push(Hole { key, why: format!("cannot be measured: {error:#}") })
            }
        }
    }
}

struct Device<'a> {
    word: &'a str,
    usual_ms: u64,
    has_arm: bool,
}

pub fn check_number(cells: usize) -> Result<()> {
    ATLAS_CELLS.check(cells).map_err(|exceeded| usage(exceeded.to_string()))
}

fn is_file(word: &str) -> bool {
    word.ends_with(".toml") || word.contains('/')
}

fn is_of_kernel(name: &str) -> bool {
    MODULES.contains(&name) || elevator::LINUX.iter().any(|row| row.name == name)
}

/// The name of a device; for a file its stem.
fn name_of(device: &str) -> &str {
    if is_file(device) {
        Path::new(device).file_stem().and_then(|stem| stem.to_str()).unwrap_or(device)
    } else {
        device
    }
}

/// A part of a directory name: letters, digits and dashes, plus a checksum if anything was dropped.
fn slug(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.chars().all(plain) && name.len() <= 64 {
        return name.to_owned();
    }
    let kept: String = name.chars().filter(|c| plain(*c)).take(40).collect();
    let sum = Sha256::digest(name)
        .iter()
        .take(6)
        .fold(String::new(), |sum, byte| format!("{sum}{byte:02x}"));
    format!("{kept}-{sum}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn design(choice: Choice) -> Result<Design> {
        let arenas =
            if choice.arenas.is_empty() { vec![&plan::SIM] } else { choice.arenas.clone() };
        Design::of(&Choice { arenas, ..choice })
    }

    #[test]
    fn every_scheduler_of_the_table_is_on_every_device_and_those_by_deadline_on_real_time_alone() {
        let plans = design(Choice::default()).unwrap().plans().unwrap();
        assert_eq!(plans.holes, []);
        assert_eq!(plans.cells.len(), DEVICES.len() * rows().unwrap().len());
        for cell in &plans.cells {
            let missing = if cell.key.workload == "real-time" { 0 } else { BY_DEADLINE.len() };
            assert_eq!(
                cell.plan.variants.len(),
                elevator::ELEVATORS.len() - missing,
                "{}",
                cell.dir
            );
            assert_eq!(cell.plan.workloads[0].name, cell.key.workload);
        }
    }

    #[test]
    fn the_kernel_has_all_devices_and_its_own_schedulers() {
        let arenas = vec![&plan::SIM, &plan::KERNEL];
        let plans = design(Choice { arenas, ..Choice::default() }).unwrap().plans().unwrap();
        let kernel: Vec<&Planned> =
            plans.cells.iter().filter(|cell| cell.key.arena == "kernel").collect();
        let all = DEVICES.len() * rows().unwrap().len();
        assert_eq!(kernel.len(), all, "{:?} {:?}", plans.notes, plans.holes);
        assert!(kernel.iter().all(|cell| cell.plan.variants.len() >= 6));
    }

    #[test]
    fn a_cell_of_the_kernel_has_a_matched_simulation_with_the_same_requests_and_the_settings_of_the_guest()
     {
        let arenas = vec![&plan::SIM, &plan::KERNEL];
        let plans = design(Choice { arenas, ..Choice::default() }).unwrap().plans().unwrap();
        for kernel in plans.cells.iter().filter(|cell| cell.key.arena == "kernel") {
            let matched =
                |matched: &&Planned| matched.dir == kernel.dir.replacen("kernel", "matched-sim", 1);
            let matched = &plans.cells.iter().find(matched).unwrap().plan;
            assert_eq!(
                (matched.arena, matched.seed, &matched.workloads),
                (&plan::SIM, kernel.plan.seed, &kernel.plan.workloads)
            );
            assert_eq!(
                (matched.trial.clone(), matched.budget.rounds),
                (kernel.plan.trial.clone(), kernel.plan.budget.rounds)
            );
            let names = |plan: &Plan| {
                plan.variants.iter().map(|variant| variant.name.clone()).collect::<Vec<_>>()
            };
            assert_eq!(names(matched), names(&kernel.plan));
            let model = Model::read(&kernel.plan.device).unwrap();
            let has_arm = model.look(|device| device.geometry().cylinders > 0);
            for variant in &matched.variants {
                assert_eq!(
                    variant.tunables,
                    agreement::as_in_guest(&variant.scheduler, 612, has_arm),
                    "{}",
                    variant.name
                );
            }
        }
        let own = plans.cells.iter().filter(|cell| cell.key.arena == "sim");
        assert!(
            own.flat_map(|cell| &cell.plan.variants).all(|variant| variant.tunables.is_empty()),
            "the map is of the defaults"
        );
    }

    #[test]
    fn a_design_of_another_build_or_with_a_foreign_name_is_refused() {
        let at = tempfile::tempdir().unwrap();
        let dir = Dir::open(at.path()).unwrap();
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let bfq = design(Choice { schedulers: words(&["bfq"]), ..Choice::default() }).unwrap();
        bfq.keep(&dir).unwrap();
        assert_eq!(Design::read(&dir).unwrap(), Some(bfq.clone()));
        let error = design(Choice::default()).unwrap().keep(&dir).unwrap_err().to_string();
        assert!(error.contains("another choice"), "{error}");
        let text = std::fs::read_to_string(at.path().join(DESIGN)).unwrap();
        for (from, to, says) in [
            (
                "schema = 2",
                "schema = 1",
                "another format (found 1, of build unnamed; expected 2, of this build unnamed)",
            ),
            ("unnamed", "9.9.9", "another build of schedlab (found 9.9.9, expected unnamed)"),
            ("\"bfq\"", "\"../../etc\"", "unknown to this schedlab"),
            ("two-readers", "../two", "unknown to this schedlab"),
            ("arenas", "colours", "not the design of an atlas"),
            ("\"sim\"", "\"disk\"", "sim and kernel only"),
        ] {
            std::fs::write(at.path().join(DESIGN), text.replacen(from, to, 1)).unwrap();
            let error = format!("{:#}", Design::read(&dir).unwrap_err());
            assert!(error.contains(says), "{from}: {error}");
        }
    }

    #[test]
    fn the_name_of_a_file_becomes_that_of_a_directory_without_leaving_it() {
        assert_eq!(name_of("/a/b/my disk.toml"), "my disk");
        let slug = slug("my disk");
        assert!(slug.starts_with("mydisk-") && slug.len() == 19, "{slug}");
        assert!(!super::slug("../../etc").contains('/') && !super::slug("..").contains('.'));
    }
}
