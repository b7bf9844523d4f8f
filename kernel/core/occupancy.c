// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * occupancy: fair queueing of device time, which is learned from completions.
 *
 * A request advances its process's start tag by its predicted occupancy. Virtual time is the
 * minimum start tag of processes with requests. A process may run ahead of it by the slack; within
 * the slack, class, age and, if the device has positions, one-way sector order and anticipation
 * decide. On a device that seeks, with a real-time process, or if weights differ, the window bounds
 * the predicted occupancy in flight. Completion latency adjusts it to the target of the strictest
 * class.
 *
 * Differences from crates/elevator/src/algorithm/occupancy/: a flow is a process, weighted by its I/O
 * priority; a process exits after its last request (core_ops.shares); values derived from tunables
 * and model are computed once per completion. crates/kernel-model compares both.
 */
#include "occupancy-parts.h"

#define SWITCH(name) { name, "switch", 0, 1, 1 }

static const struct core_tunable tunables[] = {
	{ "target_rt", "µs", 0, 60000000, 0 },
	{ "target_sync", "µs", 0, 60000000, 0 },
	{ "target_async", "µs", 0, 60000000, 0 },
	SWITCH("fairness"),
	SWITCH("learning"),
	SWITCH("kappa"),
	SWITCH("window"),
	SWITCH("steering"),
	SWITCH("anticipation"),
	SWITCH("holds"),
	SWITCH("positions"),
	SWITCH("credit"),
	SWITCH("classes"),
	SWITCH("overdue"),
	SWITCH("starved"),
	{ "slack_costs", "requests", 0, 1024, 8 },
	{ "slack_window", "percent", 0, 1000, 25 },
	{ "rt_costs", "requests", 1, 1024, 4 },
	{ "sync_costs", "requests", 1, 1024, 32 },
	{ "async_costs", "requests", 1, 10000, 200 },
	{ "turn", "percent", 0, 1000, 25 },
	{ "overdue_ms", "ms", 1, 60000, 5000 },
	{ "overdue_every", "requests", 1, 1024, 16 },
	{ "patience", "targets", 1, 1000, 4 },
	{ "least_window", "requests", 1, 1024, 32 },
	{ "credit_costs", "requests", 0, 100000, 1000 },
	{ "credit_share", "weights", 1, 100, 7 },
	{ "idle_percent", "percent", 0, 100, 12 },
	{ "exposed", "requests", 1, 4096, 32 },
};

_Static_assert(sizeof(tunables) / sizeof(tunables[0]) == OCC_TUNABLES, "a row for each tunable");

static u64 target(const struct occ *occ, u32 wanted, u32 costs, u64 least)
{
	if (occ->set[wanted])
		return occ->set[wanted] * 1000;
	return core_max(occ->set[costs] * occ_unloaded_ns(&occ->model), least);
}

void occ_refresh(struct occ *occ)
{
	u64 costs = occ->set[OCC_SLACK_COSTS] * occ_random_ns(&occ->model), window = 0;

	occ->targets[OCC_OF_REAL_TIME] = target(occ, OCC_TARGET_RT, OCC_RT_COSTS, 100000);
	occ->targets[OCC_OF_SYNC] = target(occ, OCC_TARGET_SYNC, OCC_SYNC_COSTS, 200000);
	occ->targets[OCC_OF_ASYNC] = target(occ, OCC_TARGET_ASYNC, OCC_ASYNC_COSTS, 5000000);
	occ_window_refresh(occ);
	if (occ_on(occ, OCC_WINDOW) && occ_seeks(&occ->model) == OCC_YES)
		window = core_min(occ->size, 10 * CORE_SECOND_NS);
	occ->slack = core_max(costs, core_div(window * occ->set[OCC_SLACK_WINDOW], 100));
	occ->virtual_slack = core_div(occ->slack << OCC_VIRTUAL_BITS, OCC_USUAL_WEIGHT);
	occ->most = (u32)occ->set[OCC_EXPOSED];
}

static u32 held(const void *core)
{
	const struct occ *occ = core;

	return occ->queued + occ->nr_came_back;
}

static u64 next_timer(const void *core)
{
	const struct occ *occ = core;

	if (occ->timer == CORE_NEVER)
		return CORE_NEVER;
	return occ->timer > occ->ahead ? occ->timer - occ->ahead : 0;
}

static void on_timer(void *core, u64 now)
{
	occ_now(core, now);
	((struct occ *)core)->timer = CORE_NEVER;
}

static bool may_exceed(const void *core, const struct core_process *process)
{
	(void)core;
	(void)process;
	return false;
}

/* Front merges alone would need a tree of all held requests. */
static u32 front_merge(void *core, const struct core_request *bio, u32 max_sectors)
{
	(void)core;
	(void)bio;
	(void)max_sectors;
	return CORE_NONE;
}

static bool allow_merge(const void *core, u32 tag, const struct core_request *bio,
			enum core_merge how)
{
	const struct occ_slot *slot = &((const struct occ *)core)->slots[tag];

	return how == CORE_BACK_MERGE && slot->place == OCC_QUEUED &&
	       slot->process == occ_process_of(bio->process) && slot->sync == bio->sync &&
	       slot->prio_class == bio->prio_class;
}

static void merged(void *core, u64 now, const struct core_request *after)
{
	struct occ *occ = core;
	struct occ_slot *slot = &occ->slots[after->tag];

	(void)now;
	occ_grow(occ, after);
	if (slot->sync)
		slot->process->last_end = occ_end_of(slot);
}

static void coalesced(void *core, u64 now, u32 survivor, u32 gone)
{
	struct occ *occ = core;

	occ->slots[gone].process->waiting--;
	occ_absorb(occ, occ_now(occ, now), survivor, gone);
}

static void exited(void *core, u64 now, struct core_process *process)
{
	struct occ *occ = core;
	struct occ_process *of = occ_process_of(process);

	(void)now;
	if (!of->known)
		return;
	if (occ->last == of)
		occ->last = NULL;
	if (occ->waits_for == of)
		occ->waits_for = NULL;
	occ_forget(occ, of);
}

static u64 get(const void *core, u32 tunable)
{
	return ((const struct occ *)core)->set[tunable];
}

static void set(void *core, u32 tunable, u64 value)
{
	struct occ *occ = core;

	occ->set[tunable] = value;
	occ_refresh(occ);
}

static void anticipation(const void *core, struct core_anticipation *out)
{
	*out = ((const struct occ *)core)->counts;
}

static size_t state_size(u32 tags)
{
	return sizeof(struct occ) + tags * (sizeof(struct occ_slot) +
					    OCC_HEAPS * sizeof(struct occ_process *));
}

static void init(void *core, const struct core_config *config)
{
	struct occ *occ = core;
	struct occ_process **flows;
	u32 at;

	occ->tags = config->tags;
	occ->slots = (void *)(occ + 1);
	flows = (void *)(occ->slots + occ->tags);
	for (at = 0; at < OCC_HEAPS; at++)
		occ->heaps[at].of = flows + (size_t)at * occ->tags;
	for (at = 0; at <= OCC_CLASSES; at++) {
		occ->exposed[at].root = CORE_NONE;
		occ->exposed[at].oldest = CORE_NONE;
		occ->exposed[at].youngest = CORE_NONE;
	}
	for (at = 0; at < OCC_TUNABLES; at++)
		occ->set[at] = tunables[at].initial;
	occ->random = 2463534242u;
	occ->came_back = CORE_NONE;
	occ->timer = CORE_NEVER;
	occ->head = CORE_MAX >> 1;
	occ->idle_tokens = CORE_SECOND_NS / 8;
	occ_model_init(&occ->model);
	occ_window_init(&occ->window);
	occ_refresh(occ);
}

const struct core_ops core_occupancy = {
	.name = "occupancy",
	.process_size = sizeof(struct occ_process),
	.tunables = tunables,
	.nr_tunables = OCC_TUNABLES,
	.nr_internal = OCC_TUNABLES - OCC_FAIRNESS,
	.shares = true,
	.state_size = state_size,
	.init = init,
	.insert = occ_insert,
	.dispatch = occ_dispatch,
	.complete = occ_complete,
	.held = held,
	.next_timer = next_timer,
	.on_timer = on_timer,
	.may_exceed = may_exceed,
	.front_merge = front_merge,
	.allow_merge = allow_merge,
	.merged = merged,
	.coalesced = coalesced,
	.exited = exited,
	.get = get,
	.set = set,
	.anticipation = anticipation,
};
