// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Alternating batches of sync and async requests, as_dispatch_request() of 2.6.20. See antic.c. */
#include "antic-parts.h"

/* as_fifo_expired(). Checked once per interval, because serving old requests costs seeks. */
static bool fifo_expired(struct antic *antic, struct antic_moment now, u32 of)
{
	struct antic_class *class = &antic->classes[of];

	if (class->was_checked && now.ticks - class->last_check < antic->fifo_expire[of])
		return false;
	class->last_check = now.ticks;
	class->was_checked = true;
	return class->nr && now.ticks > antic->slots[class->fifo.head].expires;
}

/* as_batch_expired() of 2.6.20 */
static bool batch_expired(const struct antic *antic, struct antic_moment now)
{
	if (antic->changed || antic->new_batch)
		return false;
	return now.ticks > antic->batch_expires
		|| (antic->dir == ANTIC_ASYNC && !antic->writes_left);
}

static u32 begin(struct antic *antic, struct antic_moment now, u32 tag)
{
	if (tag == CORE_NONE || !antic->changed)
		return tag;
	if (antic->nr_dispatched)
		return CORE_NONE;
	if (antic->dir == ANTIC_ASYNC)
		antic->batch_expires = now.ticks + antic->batch_expire[ANTIC_ASYNC];
	else
		antic->new_batch = true;
	antic->changed = false;
	return tag;
}

static u32 unless_expired(struct antic *antic, struct antic_moment now, u32 chosen)
{
	if (chosen == CORE_NONE)
		return CORE_NONE;
	if (fifo_expired(antic, now, antic->dir))
		chosen = antic->classes[antic->dir].fifo.head;
	return begin(antic, now, chosen);
}

static u32 start_batch(struct antic *antic, struct antic_moment now, bool reads, bool writes)
{
	const struct antic_class *class = &antic->classes[ANTIC_ASYNC];

	if (reads && !(writes && antic->dir == ANTIC_SYNC)) {
		if (antic->dir == ANTIC_ASYNC)
			antic->changed = true;
		antic->dir = ANTIC_SYNC;
		antic->classes[ANTIC_SYNC].last_check = now.ticks;
		antic->classes[ANTIC_SYNC].was_checked = true;
		return antic->classes[ANTIC_SYNC].fifo.head;
	}
	if (antic->dir == ANTIC_SYNC) {
		antic->changed = true;
		antic->new_batch = false;
	}
	antic->dir = ANTIC_ASYNC;
	antic->writes_left = antic->write_count;
	antic->write_idled = false;
	/*
	 * A front merge that displaces another request can leave no next one. 2.6.20 then
	 * dereferences NULL unless a request has expired.
	 */
	return antic->first_write || class->next == CORE_NONE ? class->fifo.head : class->next;
}

/* as_can_anticipate() of 2.6.20 */
static bool can_anticipate(struct antic *antic, struct antic_moment now, u32 next)
{
	if (!antic->awaited || antic->state == ANTIC_FINISHED)
		return false;
	return antic_decide(antic, now, next, ANTIC_BEGIN) == ANTIC_WAIT;
}

u32 antic_choose_next(struct antic *antic, struct antic_moment now)
{
	bool reads = antic->classes[ANTIC_SYNC].nr, writes = antic->classes[ANTIC_ASYNC].nr;

	if (antic->dir == ANTIC_ASYNC && !reads && (!antic->writes_left || !writes))
		antic->write_idled = true;
	if (!(reads || writes) || antic->changed || antic_is_waiting(antic))
		return CORE_NONE;
	if (!(reads && writes && batch_expired(antic, now))) {
		u32 next = antic->classes[antic->dir].next;

		if (antic->dir == ANTIC_SYNC && antic->rule->is_on(antic)) {
			if (fifo_expired(antic, now, ANTIC_SYNC))
				return begin(antic, now, antic->classes[ANTIC_SYNC].fifo.head);
			if (can_anticipate(antic, now, next)) {
				antic_start_waiting(antic);
				return CORE_NONE;
			}
		}
		if (next != CORE_NONE) {
			/* A batch without contention does not expire. */
			if (reads && !writes)
				antic->batch_expires = now.ticks + antic->batch_expire[ANTIC_SYNC];
			return unless_expired(antic, now, next);
		}
	}
	return unless_expired(antic, now, start_batch(antic, now, reads, writes));
}

/* update_write_batch(), at the first sync completion after a write batch. */
static void update_write_count(struct antic *antic, struct antic_moment now)
{
	u64 batch = antic->batch_expire[ANTIC_ASYNC];
	u64 until = now.ticks + batch;
	u64 took = until > antic->batch_expires ? until - antic->batch_expires : 0;

	if (took > batch && !antic->write_idled) {
		if (took > 3 * batch)
			antic->write_count /= 2;
		else
			antic->write_count--;
	} else if (took < batch && !antic->writes_left) {
		if (batch > 3 * took)
			antic->write_count = core_mul(antic->write_count, 2);
		else
			antic->write_count = core_add(antic->write_count, 1);
	}
	antic->write_count = core_max(antic->write_count, 1);
}

void antic_batch_completed(struct antic *antic, struct antic_moment now, u32 class)
{
	if (antic->changed && antic->nr_dispatched == 1) {
		antic->changed = false;
		if (antic->dir == ANTIC_SYNC)
			antic->new_batch = true;
		if (antic->drain)
			antic->batch_expires = now.ticks + antic->batch_expire[antic->dir];
	}
	antic->nr_dispatched--;
	if (antic->new_batch && antic->dir == class) {
		update_write_count(antic, now);
		antic->batch_expires = now.ticks + antic->batch_expire[ANTIC_SYNC];
		antic->new_batch = false;
	}
}
