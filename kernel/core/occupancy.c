// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * occupancy: fair queueing of device time, which is learned from completions.
 *
 * A request advances its process's start tag by its predicted occupancy. Virtual time is the
 * minimum start tag of processes with requests. If the device seeks, or a process is privileged, no
 * process may run ahead of another with a request, queued or in the device, by more than the slack.
 * Within the slack, class and, if the device has positions, one-way sector order and anticipation
 * decide.
 *
 * Differences from crates/elevator/src/algorithm/occupancy/: a flow is a process, weighted by its I/O
 * priority; a process exits after its last request (core_ops.shares); values derived from tunables
 * and model are computed once per completion. crates/kernel-model compares both.
 */
#include "occupancy-parts.h"

#define SWITCH(name) { name, "switch", 0, 1, 1 }

static const struct core_tunable tunables[] = {
	SWITCH("fairness"),
	SWITCH("learning"),
	SWITCH("anticipation"),
	SWITCH("holds"),
	SWITCH("positions"),
	SWITCH("credit"),
	SWITCH("classes"),
	{ "slack_costs", "requests", 0, 1024, 16 },
	{ "turn", "percent", 0, 1000, 25 },
	{ "overdue_ms", "ms", 1, 60000, 5000 },
	{ "overdue_every", "requests", 1, 1024, 16 },
	{ "credit_costs", "requests", 0, 100000, 1000 },
	{ "credit_share", "weights", 1, 100, 7 },
	{ "idle_percent", "percent", 0, 100, 12 },
	{ "exposed", "requests", 1, 4096, 64 },
};

_Static_assert(sizeof(tunables) / sizeof(tunables[0]) == OCC_TUNABLES, "a row for each tunable");

void occ_refresh(struct occ *occ)
{
	u64 slack = occ->set[OCC_SLACK_COSTS] * occ_random_ns(&occ->model);

	occ->most = (u32)occ->set[OCC_EXPOSED];
	if (slack != occ->slack) {
		occ->slack = slack;
		occ->virtual_slack = core_div(slack << OCC_VIRTUAL_BITS, OCC_USUAL_WEIGHT);
	}
	occ_set_exposes(occ, occ->latest, occ_seeks(&occ->model) != OCC_NO);
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
	(void)process;
	return !*(const volatile bool *)&((const struct occ *)core)->leaves_tags;
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
	for (at = 0; at < OCC_CLASSES; at++) {
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
	occ->exposes = true;
	occ_refresh(occ);
}

const struct core_ops core_occupancy = {
	.name = "occupancy",
	.process_size = sizeof(struct occ_process),
	.tunables = tunables,
	.nr_tunables = OCC_TUNABLES,
	.nr_internal = OCC_TUNABLES,
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
