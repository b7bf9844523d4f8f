//! Cores with one fault each, compiled from modified sources, tested with the differential test and
//! the properties.
//!
//! Fails if the differential test misses a fault, or if it or a property rejects the original
//! sources. Findings of the properties are only printed, and only searched for with
//! `SCHEDLAB_SOAK`.

use std::cell::Cell;
use std::ops::Range;

use crate::compiled::{self, Cores};
use crate::lockstep;
use elevator::{Build, Elevator, ElevatorKind, find};
use kernel_model::{CElevator, Ops, Seek};
use properties::{Input, broken_properties, catch_panic, fixed_inputs};

/// Worlds per fault, and operations per world.
const WORLDS: u64 = 500;
const OF_A_WORLD: u64 = 4_000;
/// Per property and row.
const INPUTS: usize = 24;
const SEEKS: u64 = 20_000;

struct Fault {
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

macro_rules! faults {
    ($($name:literal in $file:literal: $from:literal => $to:literal;)*) => {
        const FAULTS: &[Fault] = &[$(Fault { name: $name, file: $file, from: $from, to: $to }),*];
    };
}

faults![
    "milliseconds are rounded down to ticks" in "antic-time.c":
        "core_div_up(ms * antic->hz, 1000)" => "core_div(ms * antic->hz, 1000)";
    "a tick begins a nanosecond early" in "antic-time.c":
        "rest = core_div_up(" => "rest = core_div(";
    "going back costs as much as going on" in "antic-requests.c":
        "#define BACK_PENALTY 2" => "#define BACK_PENALTY 1";
    "of two equally near the one behind" in "antic-requests.c":
        "near == far && one >= two" => "near == far && one <= two";
    "no wrap to the lowest" in "antic-requests.c":
        "up = class->sorted[0];" => "up = CORE_NONE;";
    "a request is old a tick early" in "antic-batch.c":
        "now.ticks > antic->slots[class->fifo.head].expires" => "now.ticks >= antic->slots[class->fifo.head].expires";
    "the FIFO is looked at all the time" in "antic-batch.c":
        "	class->was_checked = true;\n	return" => "	return";
    "a batch ends a tick early" in "antic-batch.c":
        "now.ticks > antic->batch_expires\n" => "now.ticks >= antic->batch_expires\n";
    "a drained device always sets the deadline" in "antic-batch.c":
        "if (antic->drain)" => "if (1)";
    "a new batch does not wait for the device" in "antic-batch.c":
        "if (antic->nr_dispatched)\n" => "if (0)\n";
    "batches of writes do not adapt" in "antic-batch.c":
        "antic->write_count = core_add(antic->write_count, 1);" => ";";
    "a request that was given back counts twice" in "antic.c":
        "slot->process->in_device--;\n" => "slot->process->in_device--;\n		antic->nr_dispatched++;\n";
    "the dispatch list is not circular" in "antic.c":
        "	antic->list_end = antic_end_of(rq);\n" => "";
    "the dispatch list miscounts" in "antic.c":
        "	antic_chain_add(antic, &antic->list, rq->tag, CORE_NONE, antic->list.head);\n	antic->nr_listed++;" =>
        "	antic_chain_add(antic, &antic->list, rq->tag, CORE_NONE, antic->list.head);";
    "no timer for who is still in the device" in "antic-wait.c":
        "	if (antic->state == ANTIC_WAIT_REQ)\n		start_timer(antic);" => "";
    "a late timer does not end the wait" in "antic-wait.c":
        "|| now < antic->antic_ends)" => "|| now != antic->antic_ends)";
    "a failed wait is also a success" in "antic-wait.c":
        "antic->counts.failures++;" => "antic->counts.successes = ++antic->counts.failures;";
    "milliseconds against one tick less" in "antic-wait.c":
        "if (delay_ms > ticks)" => "if (delay_ms >= ticks)";
    "nothing behind the head is close" in "antic-wait.c":
        "next + window / 2" => "next";
    "a process that has ended seems to live" in "antic-wait.c":
        "	if (process->exited) {\n		if (!process->think.samples)\n			antic_raise(&newcomers->exit_prob);\n		if (n" =>
        "	if (0) {\n		if (!process->think.samples)\n			antic_raise(&newcomers->exit_prob);\n		if (n";
    "newcomers that ask again do not count" in "antic-history.c":
        "		antic_lower(&newcomers->exit_prob);\n	}\n	mean_add" => "	}\n	mean_add";
    "who works together does not count" in "antic-wait.c":
        "antic_lower(&newcomers->exit_no_coop);" => ";";
    "think times are not rounded" in "antic-history.c":
        "mean->samples / 2 : ONE / 2;" => "mean->samples / 2 : 0;";
    "stray seeks are clamped a sample early" in "antic-history.c":
        "process->seek.samples <= 60" => "process->seek.samples < 60";
    "a merge leaves the one-hit cache alone" in "antic.c":
        "	antic->last_merge = after->tag;\n" => "";
    "the younger expiry survives" in "antic.c":
        "		one->expires = two->expires;\n" => "";
    "what is merged away has not ended" in "antic.c":
        "	if (two->sync)\n		antic_request_ended(" => "	if (0)\n		antic_request_ended(";
    "reads front-merge, sync writes do not" in "antic.c":
        "return rq->sync == bio->write;" => "return rq->sync != bio->write;";
    "roots are rounded up" in "arith.h":
        "if ((unsigned __int128)larger * larger <= square)" =>
        "if ((unsigned __int128)(larger - 1) * larger <= square)";
    "listed distances outlive the curve" in "wpcas.c":
        "wpcas->seek.nr_first = 0;" => ";";
    "old cylinders are compared with new ones" in "wpcas.c":
        "	if (other_cylinders) {" => "	if (0) {";
    "a mean distance has no fraction" in "wpcas.c":
        "above = seek_ns(wpcas, whole + 1);" => "above = below;";
    "the window is one too large" in "wpcas-parts.h":
        "ring->len < window ? 0" => "ring->len <= window ? 0";
    "a smaller window forgets no seeks" in "wpcas.c":
        "	while (record->seeks.len > wpcas->own[WINDOW_SIZE])\n		record->seek_sum -= ring_pop(&record->seeks);\n" =>
        "";
    "the cap is in no bin" in "wpcas-classifier.c":
        "if (ns > cap)" => "if (ns >= cap)";
    "of equally dense ones the last" in "wpcas-classifier.c":
        "if (held > most)" => "if (held >= most)";
    "a neighbour must hold more than half" in "wpcas-classifier.c":
        "2 * count >= most" => "2 * count > most";
    "the share must be exceeded" in "wpcas-classifier.c":
        "(u64)held * 100 < wpcas" => "(u64)held * 100 <= wpcas";
    "a trial comes a refusal early" in "wpcas.c":
        "record->refusals > wpcas->own[RELEARN]" => "record->refusals >= wpcas->own[RELEARN]";
    "a trial can be called off" in "wpcas.c":
        "phase == ANTIC_CONTINUE && wpcas->on_trial" => "0 && wpcas->on_trial";
    "no failure is expected before the first" in "wpcas.c":
        "(record->waits.failures + 1) * p" => "record->waits.failures * p";
    "times are not halved with counts" in "wpcas.c":
        "		waits->success_ns /= 2;\n" => "";
    "a tunable does not reach what was concluded" in "wpcas.c":
        "	record->has_period = false;\n	while" => "	while";
    "requests in the device do not disturb intervals" in "wpcas.c":
        "|| !arrival->nothing_outstanding ||" => "||";
    "the nearest is the farther" in "antic-requests.c":
        "above - sector <= sector - below" => "above - sector > sector - below";
    "a think time is in the edge below" in "occupancy-think.c":
        "ns ? ns - 1 : 0" => "ns";
    "old think times weigh as much as new ones" in "occupancy-think.c":
        "thinks->counts[edge] /= 2;" => "thinks->counts[edge] = (u16)(thinks->counts[edge] - thinks->counts[edge] / 4);";
    "those that do not come cost nothing" in "occupancy-think.c":
        "spent + (total - hits) * (until - elapsed)" => "spent";
    "writes teach reads" in "occupancy-model.c":
        "&model->of[of->write];" => "&model->of[0];";
    "a stall teaches" in "occupancy-model.c":
        "gap = core_min(gap, known ? core_mul(of->predicted, 16) : CORE_SECOND_NS);" => "";
    "the first sample of a bucket stays alone" in "occupancy-model.c":
        "	if (first)\n		spread(" => "	if (0)\n		spread(";
    "each completion teaches its own gap" in "occupancy-model.c":
        "if (!beside ||" => "if (1 ||";
    "parts by distance are never negative" in "occupancy-model.c":
        "return model->of[0].pos[bucket].value >> OCC_MODEL_BITS;" => "return model->of[0].pos[bucket].value > 0 ? model->of[0].pos[bucket].value >> OCC_MODEL_BITS : 0;";
    "a read pays for the writes around it" in "occupancy-model.c":
        "} else if (known && of->with_writes) {" => "} else if (0) {";
    "writes do not pay for the reads around them" in "occupancy-model.c":
        "		gap += model->owed;\n" => "";
    "a queue of reads looks like a seek" in "occupancy-model.c":
        "response - transfer : 0, reads);" => "response - transfer : 0, 1);";
    "a transfer looks like a seek" in "occupancy-model.c":
        "own = core_div(response > transfer ? response - transfer : 0," => "own = core_div(response,";
    "of two at one sector the younger" in "occupancy-order.c":
        "one->seq < seq)" => "one->seq > seq)";
    "the order does not wrap" in "occupancy-order.c":
        "	return lowest;" => "	return occ->exposed[class].root + 0 * lowest;";
    "of equal start tags any" in "occupancy-order.c":
        "one->entered[heap] < two->entered[heap]" => "one->entered[heap] > two->entered[heap]";
    "a heap does not sink" in "occupancy-order.c":
        "while ((child = 2 * at + 1) < heap->nr)" => "while ((child = 2 * at + 1) < 0)";
    "a flow is exposed one too far" in "occupancy-requests.c":
        "fifo->exposed < occ->most" => "fifo->exposed <= occ->most";
    "a throttled flow stays exposed" in "occupancy-requests.c":
        "			hide_all(occ, &of->fifos[class]);" => "			;";
    "the survivor keeps its place" in "occupancy-requests.c":
        "	if (lost->rank < kept->rank &&" => "	if (0 &&";
    "a flow that returns has lost what it did not use" in "occupancy-shares.c":
        "		behind = occ->virtual_slack;" => "		behind = 0;";
    "the account is never filled" in "occupancy-shares.c":
        "(now - occ->granted_since) / 8" => "0";
    "credit for everybody" in "occupancy-shares.c":
        "|| now - occ->busy_since < CORE_SECOND_NS" => "";
    "births do not halve credit" in "occupancy-shares.c":
        "most >> core_min(births, 63)" => "most";
    "credit does not end" in "occupancy-shares.c":
        "of->credit > spent ? of->credit - spent : 0;" => "of->credit;";
    "those on credit count among the others" in "occupancy-shares.c":
        "(occ->weights - occ->credit_weights)" => "occ->weights";
    "the idle class counts once" in "occupancy-shares.c":
        "return core_max(of->weight / OCC_WEIGHT_SCALE, 1);" => "return of->weight;";
    "what is overdue goes every time" in "occupancy-choice.c":
        " &&\n	    occ->since_overdue >= occ->set[OCC_OVERDUE_EVERY])" => ")";
    "dispatches because of age are not told apart" in "occupancy-events.c":
        "occ->since_overdue = is_overdue ? 0 : " => "occ->since_overdue = ";
    "asynchronous requests never have a turn" in "occupancy-choice.c":
        "if (occ->turn ||" => "if (0 && occ->turn ||";
    "positions on flash" in "occupancy-parts.h":
        "if (seeks == OCC_NO || model->near.nr" => "if (model->near.nr";
    "near reads never show that positions do not matter" in "occupancy-parts.h":
        "	return model->far.value > 2 * model->near.value ? OCC_YES : OCC_NO;" => "	return OCC_YES;";
    "noise is a gain" in "occupancy-choice.c":
        "(u64)back > occ_far_ns(&occ->model) / 2" => "1";
    "failed waits may take all of the time" in "occupancy-choice.c":
        "	if (!until || !occ->idle_tokens)" => "	if (!until)";
    "what a drive read ahead tells of seeks" in "occupancy-events.c":
        "return distance >= OCC_FAR && !rq->write;" => "return !rq->write;";
    "a returned request is charged again" in "occupancy-events.c":
        "	if (!slot->predicted)\n" => "	if (1)\n";
    "think time begins with the first of many" in "occupancy-events.c":
        "if (slot->sync && !of->waiting && !of->busy)" => "if (slot->sync)";
    "what follows from a tunable is as it was" in "occupancy.c":
        "	occ->set[tunable] = value;\n	occ_refresh(occ);" => "	occ->set[tunable] = value;";
    "the credit of a process that exits is lost" in "occupancy-shares.c":
        "	occ->granted = occ->granted > of->credit ? occ->granted - of->credit : 0;\n" => "";
    "a clock that goes back is believed" in "occupancy-parts.h":
        "	return occ->latest;" => "	return now;";
    "a wait ends by a clock of its own" in "occupancy.c":
        "occ->timer > occ->ahead ? occ->timer - occ->ahead : 0" => "occ->timer";
    "nobody holds others back" in "occupancy-events.c":
        "if (active && occ_on(occ, OCC_HOLDS))" => "if (0)";
    "a device that seeks takes what it can" in "occupancy-events.c":
        "return seeks == OCC_YES || occ->nr_privileged" => "return occ->nr_privileged";
    "nobody is privileged" in "occupancy-events.c":
        "seeks == OCC_YES || occ->nr_privileged ||" => "seeks == OCC_YES ||";
    "an unknown device takes what it can" in "occupancy-events.c":
        "(seeks == OCC_UNKNOWN && occ->random_in_flight" => "(0 && occ->random_in_flight";
    "an unknown device is bounded without random reads" in "occupancy-events.c":
        "seeks == OCC_UNKNOWN && occ->random_in_flight &&" => "seeks == OCC_UNKNOWN &&";
    "a real-time process finds the device full" in "occupancy-events.c":
        "occ->latest < occ->real_time_until;" => "0;";
    "a real-time process bounds the others indefinitely" in "occupancy-events.c":
        "occ->latest < occ->real_time_until;" => "occ->real_time_until;";
    "who is behind is not waited for" in "occupancy-events.c":
        "		if (of->start < occ->virtual_time)\n			occ->last = of;\n" => "";
    "everybody is waited for" in "occupancy-choice.c":
        "occ_on(occ, OCC_HOLDS) && last->start < other->start" => "occ_on(occ, OCC_HOLDS)";
    "a throttled flow is eligible on flash" in "occupancy-choice.c":
        "return first && first->may_go;" => "return first;";
    "requests without a position stay hidden" in "occupancy-requests.c":
        "			expose(occ, now, of, class);\n}\n\nu32" => "			;\n}\n\nu32";
    "requests have positions on flash" in "occupancy.c":
        "occ_seeks(&occ->model) != OCC_NO);" => "true);";
    "another weight is no privilege" in "occupancy-shares.c":
        "on_credit || (active && weight != OCC_USUAL_WEIGHT)" => "on_credit";
    "credit is no privilege" in "occupancy-shares.c":
        "on_credit || (active && weight != OCC_USUAL_WEIGHT)" => "active && weight != OCC_USUAL_WEIGHT";
    "one read among writes tells of seeks" in "occupancy-parts.h":
        "model->quick_among_writes.nr >= 8" => "model->quick_among_writes.nr >= 1";
    "a quarter of quick reads among writes is a seek" in "occupancy-parts.h":
        "model->quick_among_writes.value < 64" => "model->quick_among_writes.value < 256";
    "reads among writes count as others" in "occupancy-model.c":
        "with_writes ? &model->quick_among_writes : &model->quick" => "&model->quick";
    "writes at the issue do not count" in "occupancy-events.c":
        "slot->with_writes || occ->writes_in_flight" => "occ->writes_in_flight";
    "writes share the time of random reads" in "occupancy-events.c":
        "occ->in_flight + 1 - occ->writes_in_flight" => "occ->in_flight + 1";
    "a returned request counts twice" in "occupancy-events.c":
        "	fill(slot, rq);\n	occ->in_flight--;\n" => "	fill(slot, rq);\n";
    "few reads without writes tell more than many among them" in "occupancy-parts.h":
        "if (model->quick.nr < 8 &&" => "if (!model->quick.nr &&";
    "writes leave tags that nobody wants" in "occupancy-events.c":
        "occ->leaves_tags = now < occ->read_until;" => "occ->leaves_tags = occ->read_until;";
    "requests of two processes join" in "occupancy.c":
        "slot->process == occ_process_of(bio->process) && slot->sync" => "slot->sync";
];

thread_local! {
    /// A static, because a row's function captures nothing.
    static CORES: Cell<Option<[&'static Ops; 3]>> = const { Cell::new(None) };
}

fn made(which: usize, build: &Build) -> Box<dyn Elevator> {
    Box::new(CElevator::new(CORES.get().expect("a mutant is assessed")[which], build))
}

fn rows() -> [ElevatorKind; 3] {
    let [one, two, three] = kernel_model::rows();
    [
        ElevatorKind { build: |build| made(0, build), ..one },
        ElevatorKind { build: |build| made(1, build), ..two },
        ElevatorKind { build: |build| made(2, build), ..three },
    ]
}

/// The cores that a source is part of.
fn made_of(file: &str) -> Range<usize> {
    match file.split(['-', '.']).next() {
        Some("occupancy") => 2..3,
        Some("wpcas") => 1..2,
        Some("antic" | "anticipatory") => 0..2,
        _ => 0..3,
    }
}

/// By these cores.
fn broken(cores: Cores, some: Range<usize>, inputs: &[Input]) -> Vec<&'static str> {
    CORES.set(Some(cores.ops));
    broken_properties(&rows().each_ref()[some], inputs)
}

/// After a number of operations.
fn parts(cores: Cores, some: Range<usize>) -> Option<(u64, String)> {
    if let Err(what) = lockstep::seeks_agree(cores.seek, SEEKS) {
        return Some((0, what));
    }
    for seed in 0..WORLDS {
        for core in &cores.ops[some.clone()] {
            let rust = find(core.name()).expect("the core is called as its counterpart");
            let assessed = catch_panic(|| lockstep::run(rust, core, seed, OF_A_WORLD).map(|_| ()));
            if let Err(what) = assessed.unwrap_or_else(|panic| Err(format!("panicked: {panic}"))) {
                let first = what.lines().next().unwrap_or_default();
                return Some((seed * OF_A_WORLD, format!("{}: {first}", core.name())));
            }
        }
    }
    None
}

#[test]
fn every_fault_is_found_by_the_differential_test_and_none_in_the_sources_as_they_are() {
    let inputs = fixed_inputs(INPUTS);
    let objects = compiled::Objects::new();
    let right = Cores {
        ops: [kernel_model::anticipatory(), kernel_model::wpcas(), kernel_model::occupancy()],
        seek: Seek::core(),
    };
    let healthy = (broken(right, 0..3, &inputs), parts(right, 0..3));
    let assessed: Vec<_> = FAULTS
        .iter()
        .map(|fault| {
            let dir = tempfile::tempdir().expect("there is room for a copy");
            let loaded = catch_panic(|| {
                compiled::write_mutant(dir.path(), fault.file, fault.from, fault.to);
                compiled::load(dir.path(), fault.file, &objects)
            });
            (
                fault,
                loaded.map(|cores| {
                    let which = made_of(fault.file);
                    let properties = if testbed::is_soak() {
                        broken(cores, which.clone(), &inputs)
                    } else {
                        Vec::new()
                    };
                    (parts(cores, which), properties)
                }),
            )
        })
        .collect();
    for (fault, assessed) in &assessed {
        match assessed {
            Err(why) => println!("{:<48} NOT MADE: {why}", fault.name),
            Ok((None, properties)) => {
                println!("{:<48} SURVIVED; properties: {properties:?}", fault.name)
            }
            Ok((Some((after, what)), properties)) => {
                println!(
                    "{:<48} after {after:>6}+ {what:<60.60} properties: {}",
                    fault.name,
                    properties.join(", ")
                );
            }
        }
    }
    assert_eq!(healthy, (vec![], None), "the unchanged sources pass");
    let found =
        assessed.iter().filter(|(_, assessed)| matches!(assessed, Ok((Some(_), _)))).count();
    let by_properties = assessed
        .iter()
        .filter(|(_, assessed)| matches!(assessed, Ok((_, properties)) if !properties.is_empty()))
        .count();
    println!("{} faults, {found} found by the differential test", FAULTS.len());
    if testbed::is_soak() {
        println!("{by_properties} found by a property");
    }
    assert_eq!(found, FAULTS.len(), "every fault is found");
}
