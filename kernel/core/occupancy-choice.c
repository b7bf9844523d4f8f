// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The next request, and whether to wait instead, as in
 * crates/elevator/src/algorithm/occupancy/choice.rs.
 *
 * Flows within the slack are served by class; async requests if nothing else is eligible, or for an
 * async slice. Within a class, one-way sector order applies if positions matter or are unknown,
 * otherwise the minimum start tag. If a device may seek, an overdue request goes first, once in 17
 * dispatches.
 */
#include "occupancy-parts.h"

static bool may_go(const struct occ *occ, u32 class)
{
	const struct occ_process *first = occ_heap_first(occ, class);

	if (occ->exposes)
		return occ->exposed[class].root != CORE_NONE;
	return first && first->may_go;
}

static u32 overdue(const struct occ *occ, u64 now)
{
	u64 rounds = core_mul(occ->slack, 2 * (u64)occ_backlogged(occ));
	u64 limit = core_add(occ->set[OCC_OVERDUE_MS] * 1000000, rounds);
	u32 class;

	for (class = 0; class < OCC_CLASSES; class++) {
		u32 tag = occ->exposed[class].oldest;

		if (tag != CORE_NONE && now - occ->slots[tag].since > limit)
			return tag;
	}
	return CORE_NONE;
}

/* OCC_CLASSES if nothing is eligible. */
static u32 class_in_turn(const struct occ *occ)
{
	u64 least = CORE_MAX;
	u32 first = 0, class;

	while (first < OCC_CLASSES && !may_go(occ, first))
		first++;
	if (first >= OCC_ASYNC || !may_go(occ, OCC_ASYNC))
		return first;
	if (occ->turn || (first != OCC_REAL_TIME && occ->since_turn > occ->slack))
		return OCC_ASYNC;
	for (class = 0; class < OCC_ASYNC; class++) {
		const struct occ_process *of = occ_heap_first(occ, class);

		if (of)
			least = core_min(least, of->start);
	}
	return occ_heap_first(occ, OCC_ASYNC)->start < least ? OCC_ASYNC : first;
}

u32 occ_choose(struct occ *occ, u64 now, bool *is_overdue)
{
	u32 class, tag;

	*is_overdue = false;
	if (occ->exposes && occ_on(occ, OCC_POSITIONS) &&
	    occ->since_overdue >= occ->set[OCC_OVERDUE_EVERY]) {
		tag = overdue(occ, now);
		if (tag != CORE_NONE) {
			*is_overdue = true;
			return tag;
		}
	}
	class = class_in_turn(occ);
	if (class == OCC_CLASSES)
		return CORE_NONE;
	if (occ_on(occ, OCC_POSITIONS) && occ_positions_matter(&occ->model) != OCC_NO)
		return occ_tree_next(occ, class, occ->head);
	return occ_heap_first(occ, class)->fifos[class].head;
}

static u64 gain_of(const struct occ *occ, const struct occ_process *last,
		   const struct occ_slot *slot)
{
	const struct occ_process *other = slot->process;
	u64 gain = 0;

	if (occ_on(occ, OCC_ANTICIPATION)) {
		s64 back = occ_positional_ns(&occ->model,
					     occ_bucket(occ_end_of(slot), last->last_end));

		back -= last->own_position.value;
		/* Less than half of a far seek is noise. */
		if (back > 0 && (u64)back > occ_far_ns(&occ->model) / 2)
			gain = (u64)back;
	}
	if (occ_on(occ, OCC_HOLDS) && last->start < other->start)
		gain += occ_predict(occ, slot->write, slot->nr_sectors,
				    occ_bucket(occ->head, slot->sector));
	return gain;
}

static void earn_idle(struct occ *occ, u64 now)
{
	u64 earned = (now - occ->idle_since) / 100 * occ->set[OCC_IDLE_PERCENT];

	if (!earned)
		return;
	occ->idle_tokens = core_min(core_add(occ->idle_tokens, earned), CORE_SECOND_NS / 8);
	occ->idle_since = now;
}

static void begin_wait(struct occ *occ, u64 now, u64 until)
{
	struct occ_process *last = occ->last;

	if (occ->waits && occ->waits_for != last)
		occ_end_wait(occ, now, last);
	if (!occ->waits) {
		occ->counts.started++;
		occ->waits = true;
		occ->waits_for = last;
		occ->waits_since = last->done;
	}
	occ->timer = last->done + until;
}

bool occ_waits(struct occ *occ, u64 now, u32 tag)
{
	const struct occ_slot *slot = &occ->slots[tag];
	const struct occ_process *last = occ->last;
	const struct occ_thinks *thinks;
	u64 gain, until;

	if (!last || occ_positions_matter(&occ->model) != OCC_YES)
		return false;
	if (slot->process == last || last->waiting || !last->may_go)
		return false;
	if (slot->class < (last->credit ? OCC_ON_CREDIT : OCC_SYNC))
		return false;
	gain = gain_of(occ, last, slot);
	if (!gain)
		return false;
	thinks = occ_thinks_known(&last->thinks) ? &last->thinks : &occ->thinks;
	if (last->busy)
		return occ_thinks_best_wait(thinks, 0, gain);
	if (!last->done)
		return false;
	earn_idle(occ, now);
	until = occ_thinks_best_wait(thinks, now > last->done ? now - last->done : 0, gain);
	if (!until || !occ->idle_tokens)
		return false;
	begin_wait(occ, now, until);
	return true;
}
