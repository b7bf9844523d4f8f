// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Sorted lists, FIFOs and the dispatch list. See antic.c. */
#include "antic-parts.h"

#define BACK_SECTORS (1024 * 1024)	/* 512 MiB */
#define BACK_PENALTY 2

void antic_chain_add(struct antic *antic, struct antic_chain *chain, u32 tag, u32 before, u32 after)
{
	antic->slots[tag].before = before;
	antic->slots[tag].after = after;
	if (before == CORE_NONE)
		chain->head = tag;
	else
		antic->slots[before].after = tag;
	if (after == CORE_NONE)
		chain->tail = tag;
	else
		antic->slots[after].before = tag;
}

void antic_chain_remove(struct antic *antic, struct antic_chain *chain, u32 tag)
{
	u32 before = antic->slots[tag].before, after = antic->slots[tag].after;

	if (before == CORE_NONE)
		chain->head = after;
	else
		antic->slots[before].after = after;
	if (after == CORE_NONE)
		chain->tail = before;
	else
		antic->slots[after].before = before;
}

static u32 starts_below(const struct antic *antic, const struct antic_class *class, u64 sector)
{
	u32 low = 0, high = class->nr;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (antic->slots[class->sorted[middle]].sector < sector)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

u32 antic_starts_at(const struct antic *antic, const struct antic_class *class, u64 sector)
{
	u32 at = starts_below(antic, class, sector);

	if (at < class->nr && antic->slots[class->sorted[at]].sector == sector)
		return class->sorted[at];
	return CORE_NONE;
}

static void starts_insert(struct antic *antic, struct antic_class *class, u32 tag)
{
	u32 at = starts_below(antic, class, antic->slots[tag].sector);
	u32 *place = class->sorted + at;

	memmove(place + 1, place, (class->nr - at) * sizeof(*place));
	*place = tag;
	class->nr++;
}

void antic_starts_remove(struct antic *antic, struct antic_class *class, u32 tag)
{
	u32 at = starts_below(antic, class, antic->slots[tag].sector);
	u32 *place = class->sorted + at;

	class->nr--;
	memmove(place, place + 1, (class->nr - at) * sizeof(*place));
}

u64 antic_nearest(const struct antic *antic, u64 sector)
{
	const struct antic_class *class = &antic->classes[ANTIC_SYNC];
	u32 at = starts_below(antic, class, sector);
	u64 above, below;

	if (!at)
		return antic->slots[class->sorted[0]].sector;
	below = antic->slots[class->sorted[at - 1]].sector;
	if (at == class->nr)
		return below;
	above = antic->slots[class->sorted[at]].sector;
	return above - sector <= sector - below ? above : below;
}

/* One-way elevator with short backward seeks. False if @sector is farther behind. */
static bool distance(u64 sector, u64 last, u64 *out)
{
	if (sector >= last)
		*out = sector - last;
	else if (core_add(sector, BACK_SECTORS) >= last)
		*out = core_mul(last - sector, BACK_PENALTY);
	else
		return false;
	return true;
}

u32 antic_choose(const struct antic *antic, u32 a, u32 b, u64 last)
{
	u64 one, two, near = 0, far = 0;
	bool ahead, behind;

	if (a == CORE_NONE || b == CORE_NONE)
		return a == CORE_NONE ? b : a;
	one = antic->slots[a].sector;
	two = antic->slots[b].sector;
	ahead = distance(one, last, &near);
	behind = distance(two, last, &far);
	if (ahead != behind)
		return ahead ? a : b;
	if (!ahead)
		return one <= two ? a : b;
	/* On a tie the higher sector, which is ahead of the head. */
	return near < far || (near == far && one >= two) ? a : b;
}

/*
 * as_find_next_rq(): the better of both neighbours, wrapping at the end. @tag must be in the sorted
 * list, but may have been merged away.
 */
static u32 next_after(const struct antic *antic, u32 tag)
{
	const struct antic_slot *rq = &antic->slots[tag];
	const struct antic_class *class = &antic->classes[rq->sync];
	u32 at = starts_below(antic, class, rq->sector);
	u32 up = CORE_NONE, down = CORE_NONE;

	if (at + 1 < class->nr)
		up = class->sorted[at + 1];
	else if (class->nr > 1)
		up = class->sorted[0];
	if (at > 0)
		down = class->sorted[at - 1];
	return antic_choose(antic, up, down, class->last_sector);
}

void antic_del_request(struct antic *antic, u32 tag)
{
	struct antic_slot *rq = &antic->slots[tag];
	struct antic_class *class = &antic->classes[rq->sync];

	rq->process->queued--;
	if (class->next == tag)
		class->next = next_after(antic, tag);
	antic_starts_remove(antic, class, tag);
	antic_chain_remove(antic, &class->fifo, tag);
	if (antic->last_merge == tag)
		antic->last_merge = CORE_NONE;
}

/* elv_dispatch_sort(): ascending from the end of the last request issued, then wrapping. */
static void list_add_sorted(struct antic *antic, u32 tag)
{
	u64 boundary = antic->list_end, sector = antic->slots[tag].sector;
	u32 before = antic->list.tail;

	while (before != CORE_NONE && !antic->slots[before].barrier) {
		u64 other = antic->slots[before].sector;

		if ((other < boundary) == (sector < boundary) ? other <= sector : other >= boundary)
			break;
		before = antic->slots[before].before;
	}
	antic_chain_add(antic, &antic->list, tag, before,
		  before == CORE_NONE ? antic->list.head : antic->slots[before].after);
	antic->nr_listed++;
}

void antic_move_to_dispatch(struct antic *antic, u32 tag)
{
	struct antic_slot *rq = &antic->slots[tag];
	struct antic_class *class = &antic->classes[rq->sync];
	struct core_process *before = antic->awaited;

	if (antic_is_waiting(antic))
		antic_finish(antic, antic->antic_start.ns, ANTIC_CANCELLED);
	antic->state = ANTIC_OFF;
	class->last_sector = antic_end_of(rq);
	if (rq->sync) {
		antic->awaited = rq->process;
	} else {
		antic->awaited = NULL;
		if (antic->writes_left)
			antic->writes_left--;
	}
	antic->awaited_done = false;
	class->next = next_after(antic, tag);
	antic_del_request(antic, tag);
	list_add_sorted(antic, tag);
	rq->place = ANTIC_LISTED;
	rq->process->listed++;
	antic->nr_dispatched++;
	antic_release(antic, before);
}

void antic_add_sorted(struct antic *antic, u32 tag)
{
	struct antic_class *class = &antic->classes[antic->slots[tag].sync];
	u32 alias = antic_starts_at(antic, class, antic->slots[tag].sector);

	if (alias != CORE_NONE)
		antic_move_to_dispatch(antic, alias);
	starts_insert(antic, class, tag);
}
