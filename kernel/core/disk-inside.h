/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A min-heap of commands whose completion times are known on arrival. */
#ifndef SCHEDLAB_CORE_DISK_INSIDE_H
#define SCHEDLAB_CORE_DISK_INSIDE_H

#include "types.h"

/* Ties complete in order of arrival. */
struct inside {
	u64 at, arrival;
	u32 tag;
	bool flush, write;
};

static inline bool before(const struct inside *a, const struct inside *b)
{
	return a->at != b->at ? a->at < b->at : a->arrival < b->arrival;
}

static inline void put_inside(struct inside *heap, u32 *nr, struct inside command)
{
	u32 at = (*nr)++;

	for (; at > 0 && before(&command, &heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = command;
}

static inline struct inside take_inside(struct inside *heap, u32 *nr)
{
	struct inside first = heap[0], last = heap[--*nr];
	u32 at = 0, child;

	for (; (child = 2 * at + 1) < *nr; at = child) {
		if (child + 1 < *nr && before(&heap[child + 1],
							  &heap[child]))
			child++;
		if (!before(&heap[child], &last))
			break;
		heap[at] = heap[child];
	}
	heap[at] = last;
	return first;
}

#endif
