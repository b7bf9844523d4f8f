//! `schedlab tune`: search, then confirm.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use elevator::{Initial, QueueFacts};
use experiment::plan::{self, ArenaKind, Arm, Budget, Plan};
use experiment::record::{End, Environment};
use experiment::study::Verdict;
use host::{Root, device};
use jiff::Timestamp;
use serde::Serialize;
use tuner::{Options, Proposals, Search, belief};

use crate::arena::host::Target;
use crate::arena::open::within;
use crate::arena::sim::Model;
use crate::cli::{ConductArgs, DesignArgs, MethodArg, TuneArgs};
use crate::command::experiment::open_store;
use crate::command::plan::{bare, checked, designed, every_scheduler, present_scheduler};
use crate::conduct::{Conductor, trial_length};
use crate::failure::{FAILED, REACHED, VOID, usage};
use crate::out;
use crate::report::{self, Evidence};
use crate::tune::log::{Header, Log, SEARCH, Seen};
use crate::tune::objective::{Constraint, Objective};
use crate::tune::page;
use crate::tune::result::{
    BranchOut, Confirmation, Recommended, Tuned, Why, Winner, confirmed, default_holds, searched,
};
use crate::tune::scored::Scored;
use crate::tune::session::{Course, Session, mode};
use crate::tune::space::{Attribute, Field, Wish, build_on, modelled_attributes};
use crate::whole_file;

/// How many trials the default length of one aims at on a machine.
const TRIALS_AIMED_AT: f64 = 150.0;
/// The wall time of a search on a machine, unless the user says otherwise.
const USUAL_BUDGET: &str = "10m";
/// The share of the trials that is kept for the confirmation.
const CONFIRM_SHARE: f64 = 0.35;
/// Blocks of a confirmation: at least, usually, at most.
const CONFIRM_BLOCKS: (u32, u32, u32) = (6, 20, 60);
/// Trials of the least search that is one, a workload.
const LEAST_SEARCH: u32 = 8;
/// Blocks that a sweep of one tunable needs for a level.
const SWEEP_BLOCKS: u64 = 6;
/// What switching and checking takes of each trial on a machine, about, in seconds.
const OVERHEAD_S: f64 = 0.03;
/// Makes the confirmation's seeds others than the search's.
const FRESH_SEEDS: u64 = 0x0c0f_1a3e_d5ee_d000;

/// Everything that is fixed before the first trial.
struct Design {
    plan: Plan,
    field: Field,
    objective: Objective,
    constraints: Vec<Constraint>,
    /// Trials of search and confirmation together.
    trials: u32,
    /// The wall time of both, where that is what limits.
    time_s: Option<f64>,
    alpha: f64,
    fixed: BTreeMap<String, String>,
    patience: u32,
}

/// Searches, confirms, reports.
pub(crate) fn tune(root: &Root, args: &TuneArgs) -> Result<u8> {
    let design = design(root, args)?;
    if args.space {
        return show_space(&design, args.json);
    }
    let dir = args.out.clone().unwrap_or_else(|| {
        let now = Timestamp::now().strftime("tune-%Y%m%dT%H%M%SZ").to_string();
        Path::new("schedlab-out").join(now)
    });
    let conduct = conduct_args(args, &dir);
    let done = within(root, &design.plan, &conduct, |arena, stop, progress| {
        let mut scored = Scored { inner: arena, objective: &design.objective };
        let environment = crate::arena::Arena::capture(&mut scored)?;
        let header = header(&design);
        let (mut log, seen) = if args.resume {
            Log::resume(&dir, &header, &environment)?
        } else {
            (Log::create(&dir, &header, &environment)?, Seen::default())
        };
        let mut search = Search::new(design.field.space.clone(), baseline_point(&design), options(&design));
        let course = Session {
            plan: &design.plan,
            field: &design.field,
            constraints: &design.constraints,
            arena: &mut scored,
            log: &mut log,
            seen,
            stop,
            progress,
            time: design.time_s.map(|s| Duration::from_secs_f64(s * (1.0 - CONFIRM_SHARE))),
        }
        .run(&mut search)?;
        let winner = search.chosen().filter(|_| course.why != "interrupted");
        let Some(winner) = winner else { return Ok(Done { search, course, environment, confirmation: None }) };
        let plan = confirmation_plan(&design, &search, &course, winner)?;
        let conduct = ConductArgs {
            out: Some(dir.join("confirm")),
            resume: dir.join("confirm").join(crate::store::RECORD).metadata().is_ok_and(|meta| meta.len() > 0),
            ..conduct_args(args, &dir)
        };
        crate::arena::Arena::admit(&mut scored, &plan.arms[1])?;
        let (mut store, record) = open_store(&plan, &conduct, &mut scored)?;
        let end = Conductor::new(&plan, &record, &mut scored, &mut store, stop, progress).run()?;
        Ok(Done { search, course, environment, confirmation: Some((winner, plan, end)) })
    })?;
    conclude(&dir, &design, &done, args.json)
}

/// What the arena gave back.
struct Done {
    search: Search,
    course: Course,
    environment: Environment,
    confirmation: Option<(usize, Plan, End)>,
}

fn options(design: &Design) -> Options {
    let workloads = design.plan.workloads.len() as u32;
    Options {
        seed: design.plan.seed,
        mode: mode(&design.plan),
        margin: design.plan.criteria.margin.ln_1p(),
        trials: (design.trials - confirmation_trials(design.trials, workloads)) / workloads,
        width: if design.plan.arena.is_virtual() { 4 } else { 3 },
        patience: Some(design.patience),
        proposals: Proposals::Mixed,
    }
}

/// How many of so many trials are kept for the confirmation.
fn confirmation_trials(trials: u32, workloads: u32) -> u32 {
    let (least, _, most) = CONFIRM_BLOCKS;
    let share = (f64::from(trials) * CONFIRM_SHARE) as u32;
    share.clamp(2 * workloads * least, 2 * workloads * most)
}

fn baseline_point(design: &Design) -> Option<tuner::Point> {
    design.field.plain(&design.plan.arms[0].scheduler)
}

/// The plan of the comparison that has the last word: fresh seeds, the default and the winner, at the part of alpha that fresh
/// evidence is judged at.
fn confirmation_plan(design: &Design, search: &Search, course: &Course, winner: usize) -> Result<Plan> {
    let point = search.candidates()[winner].point.as_ref().expect("a winner is a point of the space");
    let mut plan = design.plan.clone();
    let winner = design.field.arm(point);
    plan.name = format!("{} against the default, {}: the confirmation of a search", winner.name, plan.arms[0].name);
    plan.arms.truncate(1);
    plan.arms.push(winner);
    plan.seed ^= FRESH_SEEDS;
    plan.criteria.alpha = belief::FRESH * design.alpha;
    let pair = 2 * plan.workloads.len() as u32;
    let by_trials = (design.trials.saturating_sub(course.trials) / pair).max(CONFIRM_BLOCKS.0);
    let left = design.time_s.map(|s| (s - course.spent.as_secs_f64()).max(0.0) / (each_s(&plan) * f64::from(pair)));
    let blocks = left.map_or(by_trials, |blocks| (blocks as u32).clamp(CONFIRM_BLOCKS.0, by_trials));
    // Several workloads are judged together, and a constraint may take longer to show: then every block is measured.
    let to_the_end = plan.workloads.len() > 1 || !design.constraints.is_empty();
    let time_s = 4.0 * f64::from(blocks * pair) * each_s(&plan);
    plan.budget = Budget { time_s: time_s.max(1.0), blocks: Some(blocks), no_early_stop: to_the_end };
    plan.check().map_err(|e| usage(e.to_string()))?;
    Ok(plan)
}

/// What a trial takes, in seconds.
fn each_s(plan: &Plan) -> f64 {
    let (duration, warmup) = trial_length(plan);
    (duration + warmup).as_secs_f64() + if plan.arena.is_virtual() { 0.0 } else { OVERHEAD_S }
}

fn design(root: &Root, args: &TuneArgs) -> Result<Design> {
    let objective = Objective::parse(args.objective.as_deref())?;
    let constraints: Vec<Constraint> =
        args.constraint.iter().map(|word| Constraint::parse(word)).collect::<Result<_>>()?;
    let (design, time_s) = design_args(args)?;
    let schedulers = if args.schedulers.is_empty() { every_scheduler(root, &design)? } else { args.schedulers.clone() };
    let baseline = baseline(root, args, &schedulers)?;
    let wish = Wish { schedulers, tunables: args.tunables.clone(), fixed: fixed(&args.fix)? };
    let field = field(root, args, &wish)?;
    let other = field.space.points().map(|point| field.arm(&point)).find(|arm| arm.name != baseline);
    let other = other.expect("a space that can be searched has two points");
    let mut plan = designed(&design, vec![bare(&baseline), other])?;
    plan.name = format!("search: {}", plan.name);
    objective.decide(&mut plan.workloads);
    let plan = checked(plan)?;
    let workloads = plan.workloads.len() as u32;
    let trials = match (args.trials, time_s) {
        (Some(trials), _) => trials,
        (None, Some(time_s)) => (time_s / each_s(&plan)) as u32,
        (None, None) => {
            let quarter = field.space.one_at_a_time().saturating_mul(SWEEP_BLOCKS).div_ceil(4).clamp(40, 2000) as u32;
            workloads * (quarter + 2 * CONFIRM_BLOCKS.1)
        }
    };
    let least = workloads * (LEAST_SEARCH + 2 * CONFIRM_BLOCKS.0);
    if trials < least {
        let (words, remedy) = match args.trials {
            Some(_) => (format!("--trials {trials}"), format!("--trials {least}")),
            None => {
                let needed = (f64::from(least) * each_s(&plan) * 1.05).ceil();
                (
                    format!("the budget holds {trials} trials, which"),
                    format!("--budget {needed:.0}s, or shorter trials (--trial-time)"),
                )
            }
        };
        return Err(usage(format!(
            "{words} is too few for a search of {workloads} workload{} and a confirmation of {} blocks: give at least {remedy}",
            if workloads == 1 { "" } else { "s" },
            CONFIRM_BLOCKS.0
        )));
    }
    let time_s = time_s.filter(|_| !plan.arena.is_virtual());
    let alpha = plan.criteria.alpha;
    let patience = field.space.one_at_a_time().clamp(40, 10_000) as u32;
    Ok(Design { plan, field, objective, constraints, trials, time_s, alpha, fixed: wish.fixed, patience })
}

/// The flags that `compare` shares, and the time of the whole search where it is limited by time.
fn design_args(args: &TuneArgs) -> Result<(DesignArgs, Option<f64>)> {
    let virtual_time = ArenaKind::from(args.arena).is_virtual();
    let budget = match (&args.budget, args.trials) {
        (Some(word), _) => Some(word.clone()),
        (None, None) if !virtual_time => Some(USUAL_BUDGET.to_owned()),
        _ => None,
    };
    let seconds = |word: &String| plan::parse_duration_s(word).map_err(|e| usage(format!("--budget: {e}")));
    let time_s = budget.as_ref().map(seconds).transpose()?;
    let trial_time = args.trial_time.clone().or_else(|| {
        let each = time_s.map_or(1.2, |s| s / TRIALS_AIMED_AT / args.workload.len() as f64);
        let ms = ((each - OVERHEAD_S) * 1000.0 * 5.0 / 6.0).clamp(200.0, 5000.0);
        (!virtual_time).then(|| format!("{ms:.0}ms"))
    });
    let design = DesignArgs {
        arena: args.arena,
        device: args.device.clone(),
        kernel: args.kernel.clone(),
        workload: args.workload.clone(),
        clients: args.clients,
        budget: None,
        blocks: "auto".to_owned(),
        seed: args.seed,
        margin: args.margin.clone(),
        alpha: args.alpha.clone(),
        method: MethodArg::Anytime,
        trial_time,
        warmup: args.warmup.clone(),
        plan_only: false,
    };
    Ok((design, time_s))
}

fn conduct_args(args: &TuneArgs, dir: &Path) -> ConductArgs {
    ConductArgs {
        out: Some(dir.to_path_buf()),
        resume: args.resume,
        destroy_data: args.destroy_data.clone(),
        loop_dir: args.loop_dir.clone(),
        cache_dir: args.cache_dir.clone(),
        trace: None,
        json: args.json,
        verbose: false,
        quiet: args.quiet,
    }
}

fn fixed(words: &[String]) -> Result<BTreeMap<String, String>> {
    let pair = |word: &String| {
        let pair = word.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
        let (name, value) =
            pair.ok_or_else(|| usage(format!("--fix {word}: write NAME=VALUE, e.g. nr_requests=128")))?;
        Ok((name.to_owned(), value.to_owned()))
    };
    words.iter().map(pair).collect()
}

/// The scheduler that the winner has to beat.
fn baseline(root: &Root, args: &TuneArgs, schedulers: &[String]) -> Result<String> {
    const KERNELS_CHOICE: &str = "mq-deadline";
    if let Some(name) = &args.baseline {
        return Ok(name.clone());
    }
    if !ArenaKind::from(args.arena).is_virtual()
        && let Some(now) = present_scheduler(root, &args.device)?
    {
        return Ok(now);
    }
    let usual = schedulers.iter().find(|name| *name == KERNELS_CHOICE).or(schedulers.first());
    usual.cloned().ok_or_else(|| usage("there is no scheduler to choose; name some with --schedulers"))
}

fn field(root: &Root, args: &TuneArgs, wish: &Wish) -> Result<Field> {
    if ArenaKind::from(args.arena).is_virtual() {
        let model = Model::read(&args.device)?;
        return Field::of(wish, &build_on(&model), |scheduler| modelled_attributes(&model, scheduler));
    }
    let temporary = Target::is_temporary(&args.device)?;
    let found =
        if temporary { None } else { Some(device::find(root, &args.device).map_err(|e| usage(e.to_string()))?) };
    let present = present_scheduler(root, &args.device)?;
    let read = |name: &str| {
        let path = root.sys("block").join(&found.as_ref()?.name).join("queue").join(name);
        std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok()
    };
    let build = elevator::Build { rotational: read("rotational") == Some(1), ..elevator::Build::default() };
    let shown = |name: &str| read(name).map(|value| value.to_string());
    Field::of(wish, &build, |scheduler| {
        let tags = read("nr_requests").filter(|_| present.as_deref() == Some("none"));
        let facts = QueueFacts { scheduler, tags, shown: &shown };
        let rows = elevator::QUEUE_ATTRIBUTES.iter().filter(|row| !row.levels.is_empty() && is_turned(row.name, wish));
        let attributes = rows.filter_map(|row| {
            // What belongs to the scheduler says nothing of another one.
            let own = !matches!(row.initial, Initial::Scheduler(_)) || present.as_deref() == Some(scheduler);
            let usual = || row.default(&facts).and_then(|value| value.parse().ok());
            let default = read(row.name).filter(|_| own).or_else(usual);
            let mut levels = row.levels(&facts);
            if row.name == "nr_requests" && scheduler == "none" {
                // Without a scheduler there are as many requests as the hardware has tags, and no more.
                levels.retain(|level| default.is_some_and(|tags| *level <= tags));
            }
            // What a device does not have cannot be set.
            let there = found.is_none() || read(row.name).is_some();
            there.then(|| Attribute { name: row.name.to_owned(), default, levels })
        });
        attributes.collect()
    })
}

/// Whether an attribute of the queue is worth turning: what only concerns the page cache is, when the user names it.
fn is_turned(name: &str, wish: &Wish) -> bool {
    const OF_THE_CACHE: [&str; 2] = ["read_ahead_kb", "wbt_lat_usec"];
    let named = wish.tunables.iter().any(|own| own == name) || wish.fixed.contains_key(name);
    !OF_THE_CACHE.contains(&name) || named
}

fn header(design: &Design) -> Header {
    Header {
        schema: 1,
        plan: design.plan.clone(),
        objective: design.objective.words(),
        constraints: design.constraints.iter().map(|c| c.text.clone()).collect(),
        space: branches(&design.field),
        fixed: design.fixed.clone(),
        trials: design.trials,
        patience: Some(design.patience),
    }
}

/// What `--space --json` prints.
#[derive(Debug, Serialize)]
struct SpaceOut {
    points: u64,
    default: String,
    trials: u32,
    sweep_trials: u64,
    trial_s: f64,
    space: Vec<BranchOut>,
}

fn branches(field: &Field) -> Vec<BranchOut> {
    let of = |branch: &tuner::Branch| BranchOut {
        scheduler: branch.name.clone(),
        tunables: branch.dimensions.iter().map(|d| (d.name.clone(), d.levels.clone())).collect(),
    };
    field.space.branches().iter().map(of).collect()
}

fn show_space(design: &Design, json: bool) -> Result<u8> {
    let space = &design.field.space;
    let shown = SpaceOut {
        points: space.size(),
        default: design.plan.arms[0].name.clone(),
        trials: design.trials,
        sweep_trials: space.one_at_a_time().saturating_mul(SWEEP_BLOCKS),
        trial_s: each_s(&design.plan),
        space: branches(&design.field),
    };
    if json {
        out::line(serde_json::to_string_pretty(&shown)?)?;
        return Ok(REACHED);
    }
    for branch in space.branches() {
        out::line(&branch.name)?;
        for dimension in &branch.dimensions {
            let marked = |(i, level): (usize, &String)| {
                if i == dimension.default { format!("[{level}]") } else { level.clone() }
            };
            let levels: Vec<String> = dimension.levels.iter().enumerate().map(marked).collect();
            out::line(format!("  {:<20} {}", dimension.name, levels.join(" ")))?;
        }
    }
    out::line(format!(
        "\n{} settings; the default is {}; search and confirmation get {} trials of {:.1} s (sweeps of one tunable at a time would take {})",
        shown.points, shown.default, shown.trials, shown.trial_s, shown.sweep_trials
    ))?;
    Ok(REACHED)
}

fn conclude(dir: &Path, design: &Design, done: &Done, json: bool) -> Result<u8> {
    let Done { search, course, confirmation, .. } = done;
    let resume = format!("go on with the same command, --out {} --resume", dir.display());
    if course.why == "interrupted" {
        let best = match search.incumbent() {
            tuner::BASELINE => "nothing better than the default was seen".to_owned(),
            best => format!(
                "best so far {} ({:+.1} % in {} blocks, not confirmed)",
                search.key(best),
                (search.candidates()[best].effect().exp() - 1.0) * 100.0,
                search.candidates()[best].blocks()
            ),
        };
        out::note(format_args!("interrupted after {} trials: {best}; {resume}", course.trials));
        return Ok(FAILED);
    }
    let mut confirmed_as = None;
    if let Some((winner, plan, end)) = confirmation {
        if matches!(end.why.as_str(), "interrupted" | "failed") {
            out::note(format_args!("the confirmation was {}: {}; {resume}", end.why, end.text));
            return Ok(FAILED);
        }
        let below = dir.join("confirm");
        let record = crate::store::read(&below)?;
        let study = experiment::study(&record, None);
        report::write_all(&below, &study, Some(&Evidence::of(&record)))?;
        confirmed_as =
            Some(confirmed(plan, search, *winner, &record.trials, &study, design.alpha, &design.constraints));
    }
    let tuned = tuned(design, done, confirmed_as, dir);
    let written = write(dir, &tuned)?;
    if json {
        out::line(serde_json::to_string_pretty(&tuned)?)?;
    } else {
        out::print(&tuned)?;
        out::line(format!(
            "written: {}",
            written.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")
        ))?;
    }
    let void = tuned.confirmation.as_ref().is_some_and(|c| c.verdict == Verdict::Void);
    Ok(if void { VOID } else { REACHED })
}

fn write(dir: &Path, tuned: &Tuned) -> Result<Vec<PathBuf>> {
    let files = [("tune.json", serde_json::to_string_pretty(tuned)? + "\n"), ("tune.html", page::render(tuned)?)];
    let mut written = Vec::new();
    for (name, text) in files {
        let path = dir.join(name);
        whole_file::replace(&path, &text)?;
        written.push(path);
    }
    written.push(dir.join(SEARCH));
    if tuned.confirmation.is_some() {
        written.push(dir.join("confirm"));
    }
    Ok(written)
}

fn tuned(design: &Design, done: &Done, confirmation: Option<Confirmation>, dir: &Path) -> Tuned {
    let Done { search, course, environment, confirmation: compared } = done;
    let plan = &design.plan;
    let arm_of = |number: usize| -> Arm {
        match &search.candidates()[number].point {
            Some(point) if number != tuner::BASELINE => design.field.arm(point),
            _ => plan.arms[0].clone(),
        }
    };
    let arms: Vec<String> = (0..search.candidates().len()).map(|number| arm_of(number).name).collect();
    let winner = compared.as_ref().map(|(number, _, _)| Winner {
        arm: arms[*number].clone(),
        searched_ratio: search.candidates()[*number].effect().exp(),
        blocks: search.candidates()[*number].blocks(),
    });
    let identity = environment.get("device").and_then(|facts| facts.get("identity")).cloned();
    let recommended =
        compared.as_ref().zip(confirmation.as_ref()).filter(|(_, c)| c.holds()).map(|((number, _, _), c)| {
            let Arm { scheduler, tunables, .. } = arm_of(*number);
            let verdict = Why {
                verdict: c.verdict,
                default: plan.arms[0].name.clone(),
                change: c.words(),
                confidence: c.confidence,
            };
            let date = (!plan.arena.is_virtual()).then(|| Timestamp::now().strftime("%Y-%m-%d").to_string());
            let (device, arena) = (plan.device.clone(), plan.arena.name().to_owned());
            let identity = identity.clone().unwrap_or_default();
            Recommended { device, identity, arena, scheduler, tunables, verdict, date }
        });
    let answer =
        answer(design, &arms, compared.as_ref().map(|(n, ..)| *n), confirmation.as_ref(), recommended.as_ref(), dir);
    Tuned {
        schema: 1,
        schedlab: env!("CARGO_PKG_VERSION").to_owned(),
        arena: plan.arena.name().to_owned(),
        device: plan.device.clone(),
        identity,
        workloads: plan.workloads.iter().map(|workload| workload.name.clone()).collect(),
        objective: objective_words(design),
        constraints: design.constraints.iter().map(|c| c.text.clone()).collect(),
        default: plan.arms[0].name.clone(),
        default_holds: default_holds(search, &design.constraints),
        space: branches(&design.field),
        points: design.field.space.size(),
        search: searched(search, course, &arms, !design.constraints.is_empty()),
        winner,
        confirmation,
        recommended,
        answer,
    }
}

fn objective_words(design: &Design) -> String {
    let mut metrics: Vec<&str> =
        design.plan.workloads.iter().filter_map(|workload| workload.primary.as_deref()).collect();
    metrics.dedup();
    let words = match design.objective {
        Objective::Own => metrics.join(", "),
        _ => design.objective.words(),
    };
    if design.plan.workloads.len() > 1 {
        format!("{words}, the geometric mean of the workloads' ratios")
    } else {
        words
    }
}

/// What to do, in a sentence or two.
fn answer(
    design: &Design,
    arms: &[String],
    winner: Option<usize>,
    confirmation: Option<&Confirmation>,
    recommended: Option<&Recommended>,
    dir: &Path,
) -> String {
    let default = &design.plan.arms[0].name;
    let (Some(winner), Some(confirmation)) = (winner, confirmation) else {
        return format!(
            "nothing that was tried looked better than {default}: no improvement is confirmed, keep the default"
        );
    };
    let arm = &arms[winner];
    if let Some(recommended) = recommended {
        let keep = if design.plan.arena == ArenaKind::Host {
            let mut words = vec![format!("scheduler={}", recommended.scheduler)];
            words.extend(recommended.tunables.iter().map(|(name, value)| format!("{name}={value}")));
            format!(
                "\nset it now: schedlab set {} {}\nmake it last: schedlab keep --from {}",
                recommended.device,
                words.join(" "),
                dir.display()
            )
        } else {
            String::new()
        };
        return format!("recommended: {arm}{keep}");
    }
    let why = match confirmation.verdict {
        Verdict::Better => {
            let open: Vec<&str> =
                confirmation.constraints.iter().filter(|(_, shown)| !shown).map(|(text, _)| text.as_str()).collect();
            format!("{arm} is better, but it is not shown that {} holds", open.join(" and "))
        }
        Verdict::Equivalent => format!("{arm} is no better than {default} by more than the margin"),
        Verdict::Worse => format!("{arm} is worse than {default} on fresh blocks"),
        Verdict::Inconclusive => format!("fresh blocks do not show that {arm} is better than {default}"),
        Verdict::Void => format!("the evidence about {arm} is void, see {}", dir.join("confirm").display()),
    };
    format!(
        "no improvement is confirmed: keep the default ({default})\n{why}; alpha is spent, so nothing else is tried on this evidence: search \
         again with another --seed or a larger budget"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_confirmation_always_gets_enough_for_a_verdict_and_never_everything() {
        for workloads in 1..4 {
            for trials in (workloads * 20)..600 {
                let kept = confirmation_trials(trials, workloads);
                assert!(kept >= 2 * workloads * CONFIRM_BLOCKS.0, "{trials}");
                assert!(
                    trials - kept >= workloads * LEAST_SEARCH,
                    "{trials} trials, {workloads} workloads: {kept} kept"
                );
            }
        }
    }

    #[test]
    fn what_is_fixed_is_a_name_and_a_value() {
        assert_eq!(fixed(&["nr_requests=64".to_owned()]).unwrap()["nr_requests"], "64");
        for word in ["nr_requests", "=64", "nr_requests="] {
            assert!(fixed(&[word.to_owned()]).unwrap_err().to_string().contains("NAME=VALUE"), "{word}");
        }
    }

    #[test]
    fn the_seeds_of_the_confirmation_are_none_of_the_searchs() {
        use experiment::schedule::trial_seed;
        let search: Vec<u64> = (0..1000).map(|block| trial_seed(1, "oltp", block, 0)).collect();
        assert!((0..1000).all(|block| !search.contains(&trial_seed(1 ^ FRESH_SEEDS, "oltp", block, 0))));
    }
}
