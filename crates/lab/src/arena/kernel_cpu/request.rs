//! The request to a guest, and what it starts its programs with.

use std::collections::BTreeMap;
use std::path::PathBuf;

use load::cpu::Spec;
use serde::{Deserialize, Serialize};

use crate::arena::kernel::DiskRequest;

/// One trial.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TrialRequest {
    /// `modelcpu`.
    pub(super) module: PathBuf,
    /// Events of the scheduler to log; 0: none.
    pub(super) log: u32,
    /// Attributes of the scheduler: key and value.
    pub(super) attributes: Vec<(String, String)>,
    /// Files of the program's control group and what is written into them; no group if empty.
    pub(super) group: Vec<(String, String)>,
    pub(super) program: Program,
    /// None: nothing does I/O.
    pub(super) disk: Option<DiskRequest>,
    /// By name.
    pub(super) loads: Vec<(String, Spec)>,
    /// From the start of the background to that of the program.
    pub(super) warmup_ns: u64,
}

/// The measured program, or a background load.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Program {
    pub(super) spec: Spec,
    /// Nice, policy, affinity and slice as a variant writes them.
    pub(super) placement: BTreeMap<String, String>,
    /// Its control group; None: the root.
    pub(super) group: Option<PathBuf>,
    pub(super) is_measured: bool,
}
