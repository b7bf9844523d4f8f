// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Virtual time, weights and burst credit, as in crates/elevator/src/algorithm/occupancy/shares.rs.
 * A flow is a process.
 */
#include "occupancy-parts.h"

#define AWAY CORE_SECOND_NS	/* a process idle for longer counts as new */
/* Above this, start tags restart from 0 when no flow is active. */
#define REBASE (1ull << 48)
#define CREDIT_BITS 8

void occ_track(struct occ *occ, u64 now, struct occ_process *of)
{
	u32 class;

	if (!occ->last_touched || (now > occ->last_touched && now - occ->last_touched >
				   CORE_SECOND_NS))
		occ->busy_since = now;
	if (of->known)
		return;
	of->known = true;
	of->may_go = true;
	of->weight = OCC_USUAL_WEIGHT;
	for (class = 0; class < OCC_CLASSES; class++) {
		of->fifos[class].head = of->fifos[class].tail = CORE_NONE;
		of->fifos[class].hidden = CORE_NONE;
	}
	of->prev = NULL;
	of->next = occ->processes;
	if (of->next)
		of->next->prev = of;
	occ->processes = of;
}

void occ_forget(struct occ *occ, struct occ_process *of)
{
	occ->granted = occ->granted > of->credit ? occ->granted - of->credit : 0;
	of->credit = 0;
	occ_count(occ, of);
	if (of->next)
		of->next->prev = of->prev;
	if (of->prev)
		of->prev->next = of->next;
	else
		occ->processes = of->next;
	memset(of, 0, sizeof(*of));
}

void occ_restart(struct occ *occ, struct occ_process *of, u64 start)
{
	u32 heap;

	of->start = start;
	for (heap = 0; heap < OCC_HEAPS; heap++)
		if (of->heap_at[heap])
			occ_heap_set(occ, heap, of);
}

static u64 in_requests(const struct occ *occ, u64 ns)
{
	return core_div(core_mul(ns, 1 << CREDIT_BITS), occ_random_ns(&occ->model));
}

/* What was granted is returned at an eighth of the time. */
static void grant(struct occ *occ, u64 now, struct occ_process *of)
{
	u64 most = occ->set[OCC_CREDIT_COSTS] << CREDIT_BITS;
	u64 earned = core_add(in_requests(occ, (now - occ->granted_since) / 8), of->credit);
	u64 seconds = core_div(now - occ->births_since, CORE_SECOND_NS);
	u64 births = seconds < 64 ? occ->births >> seconds : 0;

	occ->births = core_min(births + 1, 1 << 20);
	if (seconds)
		occ->births_since = now;
	occ->granted = occ->granted > earned ? occ->granted - earned : 0;
	occ->granted_since = now;
	of->credit = 0;
	if (!occ_on(occ, OCC_CREDIT) || now - occ->busy_since < CORE_SECOND_NS)
		return;
	of->credit = core_min(most > occ->granted ? most - occ->granted : 0,
			      most >> core_min(births, 63));
	occ->granted += of->credit;
}

/* The first request of a flow that was idle. */
void occ_wakes(struct occ *occ, u64 now, struct occ_process *of)
{
	struct occ_process *other;
	u64 away = now > of->touched ? now - of->touched : 0, behind = 0, least;

	if (occ->virtual_time > REBASE && !occ->heaps[OCC_ACTIVE].nr) {
		occ->virtual_time = 0;
		for (other = occ->processes; other; other = other->next)
			other->start = 0;
	}
	if (of->touched && away <= occ->slack)
		behind = occ->virtual_slack;
	least = occ->virtual_time > behind ? occ->virtual_time - behind : 0;
	occ_restart(occ, of, core_max(of->start, least));
	if (!of->touched || away > AWAY)
		grant(occ, now, of);
}

void occ_touched(struct occ *occ, u64 now, struct occ_process *of)
{
	of->touched = core_max(now, 1);
	occ->last_touched = of->touched;
}

u32 occ_class_of(const struct occ *occ, const struct occ_process *of,
		 const struct core_request *rq)
{
	if (!occ_on(occ, OCC_BY_CLASS))
		return OCC_SYNC;
	if (rq->prio_class == CORE_REAL_TIME)
		return OCC_REAL_TIME;
	if (rq->prio_class == CORE_IDLE || !rq->sync)
		return OCC_ASYNC;
	return of->credit ? OCC_ON_CREDIT : OCC_SYNC;
}

u64 occ_weight_of(const struct occ *occ, const struct occ_slot *slot)
{
	const struct occ_process *of = slot->process;
	u64 together;

	if (slot->prio_class == CORE_IDLE)
		return core_max(of->weight / OCC_WEIGHT_SCALE, 1);
	if (!of->credit || !slot->sync || slot->class == OCC_REAL_TIME)
		return of->weight;
	together = occ->set[OCC_CREDIT_SHARE] * (occ->weights - occ->credit_weights);
	return core_max(of->weight, core_div(together, core_max(occ->nr_on_credit, 1)));
}

void occ_spend(struct occ *occ, const struct occ_slot *slot, u64 charge)
{
	struct occ_process *of = slot->process;
	u64 spent;

	if (of->credit && slot->class != OCC_ASYNC && slot->class != OCC_REAL_TIME) {
		spent = core_max(in_requests(occ, charge), 1);
		of->credit = of->credit > spent ? of->credit - spent : 0;
	}
	occ_count(occ, of);
}

void occ_count(struct occ *occ, struct occ_process *of)
{
	bool active = occ_is_active(of), on_credit = active && of->credit;
	u64 weight = active ? of->weight : 0;

	if (of->counted == weight && of->counted_on_credit == on_credit)
		return;
	occ->weights += weight - of->counted;
	occ->nr_privileged -= of->counted_privileged;
	of->counted_privileged = on_credit || (active && weight != OCC_USUAL_WEIGHT);
	occ->nr_privileged += of->counted_privileged;
	if (of->counted_on_credit) {
		occ->credit_weights -= of->counted;
		occ->nr_on_credit--;
	}
	if (on_credit) {
		occ->credit_weights += weight;
		occ->nr_on_credit++;
	}
	if (active && !of->counted)
		occ_heap_set(occ, OCC_ACTIVE, of);
	else if (!active)
		occ_heap_remove(occ, OCC_ACTIVE, of);
	of->counted = weight;
	of->counted_on_credit = on_credit;
}

void occ_follow(struct occ *occ)
{
	u64 least = CORE_MAX;
	u32 class;

	for (class = 0; class < OCC_CLASSES; class++) {
		struct occ_process *first = occ_heap_first(occ, class);

		if (first)
			least = core_min(least, first->start);
	}
	if (least != CORE_MAX)
		occ->virtual_time = core_max(occ->virtual_time, least);
}
