//! Flags of `schedlab atlas`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use experiment::plan::{ArenaFacts, KERNEL, SIM};

use super::arena::{self, Choice};
use super::shared;

pub(super) const ATLAS_HELP: &str = "\
Each cell (arena, device, workload) is an experiment in OUT/cells with a fixed number of rounds. \
The same command continues an interrupted atlas. The page atlas.html and the figures atlas.json \
and atlas.csv show the best scheduler of each cell and by how much, tail latency, fairness, the \
regret of one scheduler for everything, and where two arenas disagree.

Examples:
  schedlab atlas --out atlas
      every scheduler, 7 devices, in the simulator
  schedlab atlas --out atlas --arenas sim,kernel
      the schedulers of a real kernel, too
  schedlab atlas --out atlas --devices nvme,my-disk.toml
      on an NVMe model and a device of `fit`
  schedlab atlas --out small --quick --schedulers none,bfq,*scan
      a rough map of some
  schedlab atlas --out part-2 --shard 2/8
      the second of eight parts
  schedlab atlas --out whole --merge part-1 part-2
      join parts

Exit status: 0 the map (with --shard: the part) is complete, 9 cells are missing.";

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

#[derive(Debug, Args)]
pub(crate) struct AtlasArgs {
    /// Write the atlas into this directory, or continue the one in it.
    #[arg(long, value_name = "DIR", default_value = "schedlab-out/atlas")]
    pub(crate) out: PathBuf,
    /// Measure in these arenas [default: sim].
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = arena::among(&ARENAS))]
    pub(crate) arenas: Vec<&'static ArenaFacts>,
    /// Measure these: names of `list devices`, patterns with `*`, or device files [default: 5
    /// disks, sata-ssd, nvme].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) devices: Vec<String>,
    /// Measure these schedulers, or patterns with `*`; always also none, the baseline [default:
    /// all].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) schedulers: Vec<String>,
    /// Measure these standard workloads, or patterns with `*` [default: all].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) workloads: Vec<String>,
    /// Measure 3 rounds of short trials per cell instead of 8.
    #[arg(long)]
    pub(crate) quick: bool,
    #[arg(help = shared::KERNEL, long, value_name = "SOURCE")]
    pub(crate) kernel: Option<String>,
    /// Measure only part K of N of the cells.
    #[arg(long, value_name = "K/N", value_parser = part, conflicts_with_all = ["merge", "render"])]
    pub(crate) shard: Option<Part>,
    /// Join the cells of these atlases of the same choice, and measure nothing.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub(crate) merge: Vec<PathBuf>,
    /// Write page and data from existing cells, and measure nothing.
    #[arg(long)]
    pub(crate) render: bool,
    #[arg(help = shared::THREADS, long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    #[arg(
        help = shared::CACHE_DIR,
        long,
        value_name = "DIR",
        env = "SCHEDLAB_CACHE_DIR",
        hide_env_values = true,
    )]
    pub(crate) cache_dir: Option<PathBuf>,
    /// Print atlas.json instead of the tables.
    #[arg(long)]
    pub(crate) json: bool,
    #[arg(help = shared::QUIET, long, short)]
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
