//! Plans: any text gives a plan that is written and read again as itself, and resolved for an arena
//! in virtual time, or an error.
//!
//! The first byte: whether the rest is the text of a plan, or lines of variants and workloads as on
//! a command line. Plans that name files are not resolved: what those hold is no part of the input.
#![no_main]

use experiment::plan::{self, Plan};
use lab::resolve::{Resolved, resolve};
use libfuzzer_sys::fuzz_target;

/// The least plan around variants and workloads.
fn from_words(text: &str) -> Option<Plan> {
    let mut plan = Plan::from_toml(include_str!("../seeds/plan.toml")).expect("the frame is a plan");
    let (variants, workloads): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| !line.starts_with(' '));
    plan.variants = plan::parse_variants(&variants).ok()?;
    plan.workloads = plan::parse_workloads(&workloads.iter().map(|line| line.trim()).collect::<Vec<_>>()).ok()?;
    plan.check().is_ok().then_some(plan)
}

fn names_files(plan: &Plan) -> bool {
    let text = plan.to_toml();
    ["/", "file", "script", ".toml", "@", "trace"].iter().any(|word| text.contains(word))
}

fuzz_target!(|data: &[u8]| {
    let Some((way, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let read = if way % 2 == 0 {
        Plan::from_toml(&text).inspect_err(|error| assert!(!error.to_string().is_empty())).ok()
    } else {
        from_words(&text)
    };
    let Some(plan) = read else { return };
    let written = plan.to_toml();
    let again = Plan::from_toml(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(again.to_toml(), written, "a plan that is written is the same plan");
    if !plan.arena.is_virtual() || names_files(&plan) {
        return;
    }
    let mut notes = 0;
    let Ok(resolved) = resolve(plan, &mut |_| notes += 1) else { return };
    let plan = &resolved.plan;
    let again = resolve(plan.clone(), &mut |_| ()).unwrap_or_else(|error| panic!("{error:#}: {plan:?}"));
    assert_eq!(again.plan.to_toml(), plan.to_toml(), "a plan that is complete stays as it is");
    let work = |of: &Resolved| format!("{:?}", of.workloads);
    assert_eq!(work(&again), work(&resolved), "what is written out is what is measured");
});
