//! Opens the virtual-time arena of a benchmark's plan.

use std::path::Path;

use anyhow::{Result, bail};
use experiment::plan::Plan;
use lab::arena::kernel::KernelArena;
use lab::arena::sim::SimArena;
use lab::arena::under_test::UnderTest;
use lab::console::Console;
use lab::progress::Progress;
use lab::resolve::Resolved;
use lab::signals::Stop;

pub(crate) fn sim(resolved: Resolved, stop: &Stop) -> Result<SimArena> {
    let Resolved { plan, workloads, under_test } = resolved;
    let UnderTest::Sim { model, variants } = under_test else {
        bail!("{}: the plan is not of the sim arena", plan.name)
    };
    SimArena::open(&plan, model, variants, workloads, stop)
}

pub(crate) fn kernel(
    plan: &Plan,
    cache: Option<&Path>,
    stop: &Stop,
    progress: &dyn Progress,
) -> Result<KernelArena> {
    let Resolved { plan, workloads, under_test } = Resolved::read(plan.clone())?;
    let UnderTest::Kernel { model, source, variants } = under_test else {
        bail!("{}: the plan is not of the kernel arena", plan.name)
    };
    KernelArena::open(
        &plan,
        model,
        source,
        variants,
        workloads,
        cache,
        Console::new(stop, progress),
    )
}
