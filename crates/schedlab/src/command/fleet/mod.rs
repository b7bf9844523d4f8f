//! `schedlab fleet`: results of many machines, from the results file to the verdict.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use experiment::analysis::Verdict;
use experiment::plan::{self, Criteria};
use experiment::results::Results;
use fleet::{Key, Known, Location, Machine, MachineResult, Pushed, Selection, Sides, Store};
use lab::watch::history::{History, Outcome};
use lab::{repeats, store};
use machine::Root;
use machine::files::Dir;
use serde_json::json;

use crate::cli::{
    ContributeArgs, FleetAnalyzeArgs, FleetArgs, FleetCommand, FleetCompareArgs, FleetCopyArgs,
    FleetLearnArgs, FleetPlaceArgs, FleetPushArgs, FleetSelectArgs,
};
use crate::failure::{INVALID, REACHED, usage};
use crate::out;
use crate::rights;

mod query;
mod show;

/// Facts that identify the machine of a results file.
const OF_MACHINE: [(&str, &str); 4] =
    [("cpu", "model"), ("cpu", "count"), ("machine", "vendor"), ("machine", "product")];

pub(crate) fn run(root: &Root, args: &FleetArgs) -> Result<u8> {
    match &args.what {
        FleetCommand::Push(args) => push(root, args),
        FleetCommand::Report(args) => analyze(args, true),
        FleetCommand::Verdict(args) => analyze(args, false),
        FleetCommand::Compare(args) => compare(args),
        FleetCommand::Query(args) => query::query(at(&args.place)?, args),
        FleetCommand::Copy(args) => copy(args),
        FleetCommand::Learn(args) => learn(root, args),
        FleetCommand::Contribute(args) => contribute(args),
    }
}

fn at(place: &FleetPlaceArgs) -> Result<Location> {
    let word = place.fleet.as_deref();
    let word = word.ok_or_else(|| {
        usage("fleet: no place; name it by --fleet DIR or s3://BUCKET/PREFIX, or in SCHEDLAB_FLEET")
    })?;
    Location::parse(word).map_err(usage)
}

fn key_of(word: &str) -> Key {
    let row = Key::ALL.iter().find(|(_, known)| *known == word);
    row.map(|(key, _)| *key).expect("the command line takes the words of the table alone")
}

/// None for a bucket.
fn directory(location: &Location) -> Option<&Path> {
    match location {
        Location::Directory(path) => Some(path),
        Location::Bucket { .. } => None,
    }
}

/// Drops unneeded privileges; buckets need TCP.
fn restrict(places: &[&Location], result: Option<&Path>) -> Result<()> {
    if places.iter().any(|place| matches!(place, Location::Bucket { .. })) {
        rights::give_up_but_connections(result)
    } else {
        rights::give_up(&[], result)
    }
}

fn now_unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn push(root: &Root, args: &FleetPushArgs) -> Result<u8> {
    let location = at(&args.place)?;
    restrict(&[&location], directory(&location))?;
    let mut sources = Vec::new();
    for results in &args.all_results {
        sources.extend(results_at(results));
    }
    if args.watched {
        sources.extend(watched(root)?);
    }
    if sources.is_empty() {
        out::note("the watches of this machine have no reports; nothing is pushed");
    }
    let store = Store::open_to_write(&location)?;
    let mut done = Vec::new();
    for source in &sources {
        let results = store::read(source)?;
        let machine = machine(root, args, &results, source)?;
        let named = || source.display().to_string();
        let result = MachineResult::of(&results, &machine).with_context(named)?;
        let pushed = store.push(&result).with_context(named)?;
        if !args.json {
            let words = match pushed {
                Pushed::New => "pushed",
                Pushed::There => "was there",
                Pushed::Repaired => "pushed again: the file that was there was damaged",
            };
            out::line(format_args!(
                "{}: {words} ({}, {})",
                source.display(),
                machine.name,
                result.header.model
            ))?;
        }
        done.push(json!({ "results": source, "machine": machine.name, "model": result.header.model, "result": pushed }));
    }
    if args.json {
        out::line(serde_json::to_string_pretty(&done)?)?;
    }
    Ok(REACHED)
}

fn results_at(path: &Path) -> Vec<PathBuf> {
    let below = if path.is_dir() { repeats::below(path) } else { Vec::new() };
    if below.is_empty() { vec![path.to_path_buf()] } else { below }
}

fn watched(root: &Root) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for history in History::all(root)? {
        let reports = history.entries.iter().filter_map(|entry| match &entry.outcome {
            Outcome::Measured(measured) => Some(history.dir().join(&measured.report)),
            _ => None,
        });
        found.extend(reports.filter(|dir| dir.join(store::RESULTS).is_file()));
    }
    Ok(found)
}

/// The given name, or this machine's if the results fit it.
fn machine(root: &Root, args: &FleetPushArgs, results: &Results, source: &Path) -> Result<Machine> {
    if let Some(name) = &args.machine {
        text::limits::NAME_BYTES
            .check(name.len())
            .map_err(|exceeded| usage(format!("--machine: {exceeded}")))?;
        return Ok(Machine { name: name.clone() });
    }
    let here = machine::environment::of_machine(root)?;
    let environment = &results.header.environment;
    for (section, name) in OF_MACHINE {
        let of = |all: &experiment::results::Environment| {
            all.get(section).and_then(|facts| facts.get(name)).cloned()
        };
        let (found, expected) = (of(environment), of(&here));
        if found != expected {
            let word = |fact: Option<String>| fact.unwrap_or_else(|| "unknown".to_owned());
            return Err(usage(format!(
                "{}: measured on another machine: {section} {name} (found {}, expected {}); say which one by --machine NAME",
                source.display(),
                word(found),
                word(expected)
            )));
        }
    }
    let path = root.path("/etc/machine-id");
    let id = std::fs::read_to_string(&path).unwrap_or_default();
    if id.trim().is_empty() {
        return Err(usage(format!(
            "{}: not there or empty; name this machine by --machine NAME",
            path.display()
        )));
    }
    Ok(Machine { name: fleet::machine_name(&id) })
}

fn criteria(args: &FleetSelectArgs) -> Result<Criteria> {
    let percent = |flag: &str, word: &str| {
        plan::parse_percent(word).map_err(|e| usage(format!("{flag}: {e}")))
    };
    let criteria = Criteria {
        margin: percent("--margin", &args.margin)?,
        alpha: percent("--alpha", &args.alpha)?,
        ..Criteria::default()
    };
    criteria.check().map_err(|e| usage(e.to_string()))?;
    Ok(criteria)
}

fn selection(args: &FleetSelectArgs) -> Selection {
    Selection {
        model: args.model.clone(),
        firmware: args.firmware.clone(),
        kernel: args.kernel.clone(),
        build: args.build.clone(),
        arena: args.arena.clone(),
        workload: args.workload.clone(),
        metric: args.metric.clone(),
        variant: args.variant.clone(),
    }
}

fn loaded(location: &Location, select: &FleetSelectArgs) -> Result<(fleet::Loaded, Criteria)> {
    let criteria = criteria(select)?;
    let store = Store::open(location).map_err(|error| match location {
        Location::Directory(dir) if !dir.exists() => usage(format!("{error:#}")),
        _ => error,
    })?;
    let loaded = fleet::load(&store, &selection(select), &criteria, now_unix_ms())?;
    if loaded.results.is_empty() {
        let left_out = text::counted(loaded.filtered as u64, "result");
        let damaged = text::counted(loaded.damaged.len() as u64, "damaged file");
        bail!(
            "fleet: no result is selected (the filters leave out {left_out}; {damaged}); see: schedlab fleet report"
        );
    }
    Ok((loaded, criteria))
}

fn analyze(args: &FleetAnalyzeArgs, is_report: bool) -> Result<u8> {
    let location = at(&args.place)?;
    restrict(&[&location], None)?;
    let (loaded, criteria) = loaded(&location, &args.select)?;
    let keys: Vec<Key> = args.by.iter().map(|word| key_of(word)).collect();
    let analysis = fleet::analyze(&loaded, &keys, &criteria);
    if args.json {
        out::line(serde_json::to_string_pretty(&analysis)?)?;
    } else if is_report {
        show::report(&analysis)?;
    } else {
        show::verdict(&analysis, &criteria)?;
    }
    Ok(if !is_report && analysis.is_invalid() { INVALID } else { REACHED })
}

fn compare(args: &FleetCompareArgs) -> Result<u8> {
    let location = at(&args.place)?;
    restrict(&[&location], None)?;
    let (loaded, criteria) = loaded(&location, &args.select)?;
    let sides =
        Sides { key: key_of(&args.by), first: args.first.clone(), second: args.second.clone() };
    for side in [&sides.first, &sides.second] {
        let known = || loaded.results.iter().map(|(of, _)| sides.key.of(&of.header));
        if !known().any(|value| value == *side) {
            let known: Vec<String> = known().collect();
            let hint = text::did_you_mean(side, known.iter().map(String::as_str));
            let word = sides.key.word();
            return Err(usage(format!(
                "{side}: no result has this {word}{hint}; see: schedlab fleet report --by {word}"
            )));
        }
    }
    let questions = fleet::compare(&loaded, &sides, &criteria);
    let is_invalid = questions
        .iter()
        .flat_map(|of| &of.comparisons)
        .all(|comparison| comparison.verdict == Verdict::Invalid);
    if args.json {
        let all = json!({ "by": sides.key, "first": sides.first, "second": sides.second, "questions": questions });
        out::line(serde_json::to_string_pretty(&all)?)?;
    } else {
        show::comparison(&sides, &questions)?;
    }
    Ok(if is_invalid { INVALID } else { REACHED })
}

fn copy(args: &FleetCopyArgs) -> Result<u8> {
    let (from, to) = (at(&args.place)?, Location::parse(&args.to).map_err(usage)?);
    restrict(&[&from, &to], directory(&to))?;
    let (from, to) = (Store::open(&from)?, Store::open_to_write(&to)?);
    let listing = from.list()?;
    let there = to.list()?.entries;
    let lacking: Vec<_> =
        listing.entries.iter().filter(|entry| !there.contains(entry)).cloned().collect();
    // In chunks, so that memory does not grow with the fleet.
    let (mut copied, mut damaged) = (0_u64, Vec::new());
    for piece in lacking.chunks(64) {
        let read = from.read(piece, |entry, bytes| {
            let bytes = bytes?;
            MachineResult::from_file(&entry.name, bytes.clone())?;
            Ok::<_, anyhow::Error>(bytes)
        });
        for (entry, bytes) in piece.iter().zip(read) {
            match bytes {
                Ok(bytes) => {
                    to.put(&entry.name, bytes)?;
                    copied += 1;
                }
                Err(error) => damaged.push(format!("{}: {error:#}", entry.name)),
            }
        }
    }
    if args.json {
        let there = listing.entries.len() - lacking.len();
        out::line(serde_json::to_string_pretty(
            &json!({ "copied": copied, "there": there, "damaged": damaged }),
        )?)?;
    } else {
        damaged.iter().for_each(|line| out::note(format_args!("left out: {line}")));
        out::line(format_args!(
            "{} copied, {} there already, {} left out",
            text::counted(copied, "result"),
            listing.entries.len() - lacking.len(),
            damaged.len()
        ))?;
    }
    Ok(REACHED)
}

fn learn(root: &Root, args: &FleetLearnArgs) -> Result<u8> {
    let location = at(&args.place)?;
    let state: Dir = root.state_dir()?;
    restrict(&[&location], Some(state.path()))?;
    let (loaded, criteria) = loaded(&location, &args.select)?;
    let analysis = fleet::analyze(&loaded, &[Key::Model], &criteria);
    let known =
        Known::of(&analysis, args.place.fleet.as_deref().unwrap_or_default(), now_unix_ms());
    known.write(&state)?;
    out::line(format_args!(
        "{}: {} of {} by {}; shown by `schedlab devices NAME` and `schedlab advise`",
        state.file(fleet::KNOWN).display(),
        text::counted(known.answers.len() as u64, "verdict"),
        text::counted(analysis.groups.len() as u64, "drive model"),
        text::counted(analysis.machines as u64, "machine")
    ))?;
    Ok(REACHED)
}

pub(crate) fn known_of(root: &Root, model: Option<&str>) -> Vec<String> {
    let Some(model) = model else { return Vec::new() };
    let model = model.split_whitespace().collect::<Vec<_>>().join(" ");
    match Known::read(&root.state(fleet::KNOWN)) {
        Ok(known) => known.map(|known| known.sentences(&model)).unwrap_or_default(),
        Err(error) => {
            out::note(format!("{error:#}"));
            Vec::new()
        }
    }
}

fn contribute(args: &ContributeArgs) -> Result<u8> {
    let mut lines = String::new();
    for source in &args.all_results {
        let results = store::read(source)?;
        // A name that is never written.
        let result = MachineResult::of(&results, &Machine { name: String::new() })?;
        let analysis = experiment::analyze(&results, None);
        let plan = &results.header.plan;
        let verdict = |workload: &str, metric: &str, variant: &str| {
            let is = |of: &&experiment::analysis::Comparison| {
                let spec = plan.workloads.iter().find(|spec| spec.name == of.workload);
                let setting = plan.variants.iter().find(|setting| setting.name == of.variant);
                of.metric == metric
                    && spec.is_some_and(|spec| fleet::compact_workload(spec) == workload)
                    && setting.is_some_and(|setting| fleet::compact_variant(setting) == variant)
            };
            let of = analysis.comparisons.iter().find(is);
            of.map_or_else(|| "unknown".to_owned(), |of| format!("{:?}", of.verdict).to_lowercase())
        };
        let line = fleet::line_of(&result, &results.header.plan.criteria, &verdict)
            .with_context(|| source.display().to_string())?;
        lines.push_str(&text::escaped(&serde_json::to_string(&line)?));
        lines.push('\n');
    }
    out::print(&lines)?;
    match &args.out {
        Some(path) => {
            let (dir, name) = Dir::of_file(path)?;
            let mut file = dir.append(&name)?;
            std::io::Write::write_all(&mut file, lines.as_bytes()).map_err(|e| {
                anyhow::anyhow!(
                    "{}: cannot be written: {e}; {}",
                    path.display(),
                    machine::files::remedy(&e)
                )
            })?;
            out::note(format_args!("appended to {}; nothing was sent", path.display()));
        }
        None => out::note(
            "nothing was written or sent; --out FILE appends this to a file that you may pass on",
        ),
    }
    Ok(REACHED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_word_on_the_command_line() {
        assert_eq!(Key::ALL.map(|(_, word)| word), crate::cli::KEYS);
    }
}
