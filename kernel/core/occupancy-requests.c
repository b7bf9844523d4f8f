// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Held requests, throttled flows and exposed requests, as in
 * crates/elevator/src/algorithm/occupancy/requests.rs.
 *
 * Only a FIFO's oldest requests are exposed, that is, in the treap and in the order of age. A flow
 * that crosses the slack therefore moves a bounded number of requests. On a device without seeks
 * none is.
 */
#include "occupancy-parts.h"

static void fifo_add(struct occ *occ, struct occ_fifo *fifo, u32 tag, u32 before, u32 after)
{
	struct occ_slot *slot = &occ->slots[tag];

	slot->before = before;
	slot->after = after;
	if (before == CORE_NONE)
		fifo->head = tag;
	else
		occ->slots[before].after = tag;
	if (after == CORE_NONE)
		fifo->tail = tag;
	else
		occ->slots[after].before = tag;
}

static void fifo_remove(struct occ *occ, struct occ_fifo *fifo, u32 tag)
{
	struct occ_slot *slot = &occ->slots[tag];

	if (slot->before == CORE_NONE)
		fifo->head = slot->after;
	else
		occ->slots[slot->before].after = slot->after;
	if (slot->after == CORE_NONE)
		fifo->tail = slot->before;
	else
		occ->slots[slot->after].before = slot->before;
}

static void age_add(struct occ *occ, u32 class, u32 tag, u32 older, u32 younger)
{
	struct occ_exposed *exposed = &occ->exposed[class];

	occ->slots[tag].older = older;
	occ->slots[tag].younger = younger;
	if (older == CORE_NONE)
		exposed->oldest = tag;
	else
		occ->slots[older].younger = tag;
	if (younger == CORE_NONE)
		exposed->youngest = tag;
	else
		occ->slots[younger].older = tag;
}

static void age_remove(struct occ *occ, u32 class, u32 tag)
{
	struct occ_exposed *exposed = &occ->exposed[class];
	struct occ_slot *slot = &occ->slots[tag];

	if (slot->older == CORE_NONE)
		exposed->oldest = slot->younger;
	else
		occ->slots[slot->older].younger = slot->younger;
	if (slot->younger == CORE_NONE)
		exposed->youngest = slot->older;
	else
		occ->slots[slot->younger].older = slot->older;
}

static void hide(struct occ *occ, u32 tag)
{
	struct occ_slot *slot = &occ->slots[tag];

	slot->exposed = false;
	occ_tree_remove(occ, slot->class, tag);
	age_remove(occ, slot->class, tag);
}

static void expose(struct occ *occ, u64 now, struct occ_process *of, u32 class)
{
	struct occ_fifo *fifo = &of->fifos[class];

	if (!of->may_go || !occ->exposes)
		return;
	while (fifo->exposed < occ->most && fifo->hidden != CORE_NONE) {
		u32 tag = fifo->hidden;
		struct occ_slot *slot = &occ->slots[tag];

		fifo->hidden = slot->after;
		fifo->exposed++;
		slot->exposed = true;
		slot->since = now;
		occ_tree_insert(occ, class, tag);
		age_add(occ, class, tag, occ->exposed[class].youngest, CORE_NONE);
	}
}

void occ_queue(struct occ *occ, u64 now, u32 tag)
{
	struct occ_slot *slot = &occ->slots[tag];
	struct occ_process *of = slot->process;
	struct occ_fifo *fifo = &of->fifos[slot->class];

	fifo_add(occ, fifo, tag, fifo->tail, CORE_NONE);
	if (fifo->hidden == CORE_NONE)
		fifo->hidden = tag;
	of->queued++;
	occ->queued++;
	if (fifo->head == tag) {
		occ_heap_set(occ, slot->class, of);
		if (of->queued == 1 && !of->may_go)
			occ_heap_set(occ, OCC_THROTTLED, of);
	}
	expose(occ, now, of, slot->class);
}

void occ_unqueue(struct occ *occ, u64 now, u32 tag)
{
	struct occ_slot *slot = &occ->slots[tag];
	struct occ_process *of = slot->process;
	struct occ_fifo *fifo = &of->fifos[slot->class];

	if (slot->exposed) {
		hide(occ, tag);
		fifo->exposed--;
	}
	if (fifo->hidden == tag)
		fifo->hidden = slot->after;
	fifo_remove(occ, fifo, tag);
	of->queued--;
	occ->queued--;
	if (fifo->head != CORE_NONE) {
		expose(occ, now, of, slot->class);
		return;
	}
	occ_heap_remove(occ, slot->class, of);
	if (!of->queued)
		occ_heap_remove(occ, OCC_THROTTLED, of);
}

static void expose_before(struct occ *occ, struct occ_fifo *fifo, u32 survivor, u32 gone)
{
	struct occ_slot *slot = &occ->slots[survivor];

	if (slot->exposed) {
		age_remove(occ, slot->class, survivor);
	} else {
		occ_tree_insert(occ, slot->class, survivor);
		fifo->exposed++;
	}
	age_add(occ, slot->class, survivor, occ->slots[gone].older, gone);
}

void occ_absorb(struct occ *occ, u64 now, u32 survivor, u32 gone)
{
	struct occ_slot *kept = &occ->slots[survivor], *lost = &occ->slots[gone];
	struct occ_fifo *fifo = &kept->process->fifos[kept->class];

	if (lost->rank < kept->rank && lost->process == kept->process &&
	    lost->class == kept->class) {
		if (fifo->hidden == survivor)
			fifo->hidden = kept->after;
		fifo_remove(occ, fifo, survivor);
		fifo_add(occ, fifo, survivor, lost->before, gone);
		if (lost->exposed)
			expose_before(occ, fifo, survivor, gone);
		else if (fifo->hidden == gone)
			fifo->hidden = survivor;
		kept->rank = lost->rank;
		kept->exposed = lost->exposed;
		kept->since = lost->since;
	}
	occ_unqueue(occ, now, gone);
	lost->place = OCC_NOWHERE;
}

void occ_grow(struct occ *occ, const struct core_request *after)
{
	struct occ_slot *slot = &occ->slots[after->tag];
	bool moves = slot->exposed && slot->sector != after->sector;

	if (moves)
		occ_tree_remove(occ, slot->class, after->tag);
	slot->sector = after->sector;
	slot->nr_sectors = after->nr_sectors;
	if (moves)
		occ_tree_insert(occ, slot->class, after->tag);
}

static void hide_all(struct occ *occ, struct occ_fifo *fifo)
{
	u32 tag = fifo->head;

	for (; fifo->exposed; fifo->exposed--) {
		hide(occ, tag);
		tag = occ->slots[tag].after;
	}
	fifo->hidden = fifo->head;
}

void occ_allow(struct occ *occ, u64 now, struct occ_process *of, bool may_go)
{
	u32 class;

	of->may_go = may_go;
	if (may_go)
		occ_heap_remove(occ, OCC_THROTTLED, of);
	else if (of->queued)
		occ_heap_set(occ, OCC_THROTTLED, of);
	for (class = 0; class < OCC_CLASSES; class++) {
		if (may_go)
			expose(occ, now, of, class);
		else
			hide_all(occ, &of->fifos[class]);
	}
}

void occ_set_exposes(struct occ *occ, u64 now, bool exposes)
{
	struct occ_process *of;
	u32 class;

	if (exposes == occ->exposes)
		return;
	occ->exposes = exposes;
	for (of = occ->processes; of; of = of->next)
		for (class = 0; class < OCC_CLASSES; class++)
			expose(occ, now, of, class);
}

u32 occ_backlogged(const struct occ *occ)
{
	u32 class, nr = 0;

	for (class = 0; class < OCC_CLASSES; class++)
		nr += occ->heaps[class].nr;
	return nr;
}
