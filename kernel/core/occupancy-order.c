// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Exposed requests by sector, and flows by start tag.
 *
 * Each class has a treap, linked through the slots. Its random priorities keep the depth
 * logarithmic for any sequence of sectors. Flows are in binary heaps.
 */
#include "occupancy-parts.h"

static bool is_before(const struct occ_slot *one, u64 sector, u64 seq)
{
	return one->sector < sector || (one->sector == sector && one->seq < seq);
}

/* xorshift32. It only has to be independent of the sectors. */
static u32 next_random(struct occ *occ)
{
	u32 x = occ->random;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	occ->random = x;
	return x;
}

void occ_tree_insert(struct occ *occ, u32 class, u32 tag)
{
	struct occ_slot *slots = occ->slots, *slot = &slots[tag];
	u32 *link = &occ->exposed[class].root, *left = &slot->left, *right = &slot->right, at;
	u64 sector = slot->sector, seq = slot->seq;

	slot->height = next_random(occ);
	while (*link != CORE_NONE && slots[*link].height > slot->height)
		link = is_before(&slots[*link], sector, seq) ? &slots[*link].right :
							       &slots[*link].left;
	at = *link;
	*link = tag;
	while (at != CORE_NONE) {
		if (is_before(&slots[at], sector, seq)) {
			*left = at;
			left = &slots[at].right;
			at = *left;
		} else {
			*right = at;
			right = &slots[at].left;
			at = *right;
		}
	}
	*left = CORE_NONE;
	*right = CORE_NONE;
}

void occ_tree_remove(struct occ *occ, u32 class, u32 tag)
{
	struct occ_slot *slots = occ->slots, *slot = &slots[tag];
	u32 *link = &occ->exposed[class].root, left = slot->left, right = slot->right;
	u64 sector = slot->sector, seq = slot->seq;

	while (*link != tag)
		link = is_before(&slots[*link], sector, seq) ? &slots[*link].right :
							       &slots[*link].left;
	while (left != CORE_NONE && right != CORE_NONE) {
		if (slots[left].height > slots[right].height) {
			*link = left;
			link = &slots[left].right;
			left = *link;
		} else {
			*link = right;
			link = &slots[right].left;
			right = *link;
		}
	}
	*link = left != CORE_NONE ? left : right;
}

u32 occ_tree_next(const struct occ *occ, u32 class, u64 sector)
{
	u32 at = occ->exposed[class].root, lowest = CORE_NONE, next = CORE_NONE;

	while (at != CORE_NONE) {
		if (occ->slots[at].sector < sector) {
			at = occ->slots[at].right;
		} else {
			next = at;
			at = occ->slots[at].left;
		}
	}
	if (next != CORE_NONE)
		return next;
	for (at = occ->exposed[class].root; at != CORE_NONE; at = occ->slots[at].left)
		lowest = at;
	return lowest;
}

static bool is_first(const struct occ_process *one, const struct occ_process *two, u32 heap)
{
	return one->start < two->start ||
	       (one->start == two->start && one->entered[heap] < two->entered[heap]);
}

static void put(struct occ_heap *heap, u32 which, u32 at, struct occ_process *of)
{
	heap->of[at] = of;
	of->heap_at[which] = at + 1;
}

static void rise_or_sink(struct occ_heap *heap, u32 which, u32 at, struct occ_process *of)
{
	u32 child;

	while (at && is_first(of, heap->of[(at - 1) / 2], which)) {
		put(heap, which, at, heap->of[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	while ((child = 2 * at + 1) < heap->nr) {
		if (child + 1 < heap->nr && is_first(heap->of[child + 1], heap->of[child], which))
			child++;
		if (is_first(of, heap->of[child], which))
			break;
		put(heap, which, at, heap->of[child]);
		at = child;
	}
	put(heap, which, at, of);
}

void occ_heap_set(struct occ *occ, u32 which, struct occ_process *of)
{
	struct occ_heap *heap = &occ->heaps[which];
	u32 at = of->heap_at[which] ? of->heap_at[which] - 1 : heap->nr++;

	of->entered[which] = heap->entered++;
	rise_or_sink(heap, which, at, of);
}

void occ_heap_remove(struct occ *occ, u32 which, struct occ_process *of)
{
	struct occ_heap *heap = &occ->heaps[which];
	struct occ_process *moved;
	u32 at = of->heap_at[which];

	if (!at)
		return;
	of->heap_at[which] = 0;
	moved = heap->of[--heap->nr];
	if (moved != of)
		rise_or_sink(heap, which, at - 1, moved);
}
