//! Flags of `schedlab atlas`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use experiment::plan::{ArenaFacts, KERNEL, SIM};

use super::arena::{self, Choice};

pub(super) const ATLAS_HELP: &str = "\
Each cell (arena, device, workload) is an experiment in OUT/cells, with a fixed number of rounds. \
The same command continues what was cut off. OUT/atlas.html is the page, OUT/atlas.json and \
atlas.csv are the figures: who is best where and by how much, the tail, fairness, and the regret \
of one scheduler for everything; of two arenas also where they disagree.

Examples:
  schedlab atlas --out atlas
      every scheduler, 7 devices, in the simulator
  schedlab atlas --out atlas --arenas sim,kernel
      the schedulers of a real kernel, too
  schedlab atlas --out atlas --devices nvme,my-disk.toml
      on an NVMe model and on a device that `fit` described
  schedlab atlas --out small --quick --schedulers none,bfq,*scan
      a rough map of some
  schedlab atlas --out part-2 --shard 2/8
      the second of eight parts
  schedlab atlas --out whole --merge part-1 part-2
      the map of parts

Exit status: 0 the map is whole (of --shard: the part is), 9 cells are missing.";

static ARENAS: [Choice; 2] = [
    Choice { arena: &SIM, help: "Schedlab's own schedulers on modelled devices" },
    Choice {
        arena: &KERNEL,
        help: "The schedulers of a real Linux, and modules of ours, on the same models",
    },
];

/// Part `number` of `of`, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) number: usize,
    pub(crate) of: usize,
}

/// `schedlab atlas`.
#[derive(Debug, Args)]
pub(crate) struct AtlasArgs {
    /// Write the atlas into this directory, or continue the one that is there.
    #[arg(long, value_name = "DIR", default_value = "schedlab-out/atlas")]
    pub(crate) out: PathBuf,
    /// Measure in these arenas [default: sim].
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = arena::among(&ARENAS))]
    pub(crate) arenas: Vec<&'static ArenaFacts>,
    /// Measure on these devices: names of `schedlab list devices`, `*` in them, or files that
    /// describe one [default: 5 disks, sata-ssd, nvme].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) devices: Vec<String>,
    /// Measure these schedulers, `*` in a name; `none` is always one of them, since the others are
    /// compared with it [default: all].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) schedulers: Vec<String>,
    /// Measure these of the standard workloads, `*` in a name [default: all].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) workloads: Vec<String>,
    /// Measure a rough map: 3 rounds of short trials for a cell in place of 8.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Kernel arena: use this kernel, as `schedlab kernel build --source` takes it [default:
    /// debian:7.3].
    #[arg(long, value_name = "SOURCE")]
    pub(crate) kernel: Option<String>,
    /// Measure only part K of N of the cells, for machines that share the work.
    #[arg(long, value_name = "K/N", value_parser = part, conflicts_with_all = ["merge", "render"])]
    pub(crate) shard: Option<Part>,
    /// Take over the cells of these atlases of the same choice, and measure nothing.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub(crate) merge: Vec<PathBuf>,
    /// Measure nothing: make the page and the data of what is there.
    #[arg(long)]
    pub(crate) render: bool,
    /// Measure on this number of threads [default: one for each CPU that this process may use].
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Kernel arena: store built kernels in this directory [default: ~/.cache/schedlab].
    #[arg(long, value_name = "DIR", env = "SCHEDLAB_CACHE_DIR", hide_env_values = true)]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Print atlas.json instead of the tables.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress bar and no remarks.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl AtlasArgs {
    /// Whether any option determines the atlas's content.
    pub(crate) fn chooses(&self) -> bool {
        let lists = [&self.devices, &self.schedulers, &self.workloads];
        !self.arenas.is_empty()
            || lists.iter().any(|list| !list.is_empty())
            || self.quick
            || self.kernel.is_some()
    }
}

fn part(word: &str) -> Result<Part, String> {
    let ends = word.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    match ends {
        Some((number, of)) if (1..=of).contains(&number) => Ok(Part { number, of }),
        _ => Err("not a part; write K/N with K from 1 to N, e.g. 2/8".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_one_of_so_many() {
        assert_eq!(part("2/8"), Ok(Part { number: 2, of: 8 }));
        for word in ["0/8", "9/8", "8", "/", "a/b", "1/0", "-1/2"] {
            assert!(part(word).is_err(), "{word}");
        }
    }
}
