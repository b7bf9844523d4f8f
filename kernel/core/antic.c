// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Common code of the anticipatory schedulers: batches, dispatch list, per-process history, and the
 * decision to wait for the process served last.
 *
 * Source: Linux 2.6.20, block/as-iosched.c and block/elevator.c (confirmed), including its bugs: a
 * batch that waits for the device to drain starts with the previous batch's deadline (tunable
 * `drain`); a write batch does not start with the oldest write (`first_write`); as_merge() searches
 * the tree of the data direction instead of the class (`front_merge`); as_close_req() compares
 * milliseconds with ticks.
 *
 * Differences from 2.6.20: no plugging; every process has a record, one per queue instead of one for
 * all disks; requests are issued at once, so the dispatch list is empty except after an alias or a
 * requeue; waits are counted.
 *
 * Differences from crates/elevator/src/algorithm/anticipatory/: a process is its record, of which
 * antic_exited() copies what outstanding requests need; front merges are looked up here, not in the
 * queue's hash. Sorted lists are arrays, which suffice for hundreds of tags.
 */
#include "antic-parts.h"

static void insert_at_head(struct antic *antic, const struct core_request *rq)
{
	struct antic_slot *slot = &antic->slots[rq->tag];

	if (slot->place == ANTIC_DEVICE) {
		/* The caller may have freed rq->process. */
		slot->process->in_device--;
	} else {
		antic_track_process(antic, rq->process);
		slot->process = rq->process;
		antic->nr_dispatched++;
	}
	slot->process->listed++;
	slot->sector = rq->sector;
	slot->seq = rq->seq;
	slot->nr_sectors = rq->nr_sectors;
	slot->write = rq->write;
	slot->sync = rq->sync;
	slot->place = ANTIC_LISTED;
	slot->barrier = true;
	antic_chain_add(antic, &antic->list, rq->tag, CORE_NONE, antic->list.head);
	antic->nr_listed++;
}

void antic_insert(void *core, u64 now_ns, const struct core_request *rq, bool at_head)
{
	struct antic *antic = core;
	struct antic_moment now = antic_moment_of(antic, now_ns);
	struct antic_slot *slot = &antic->slots[rq->tag];
	struct antic_class *class = &antic->classes[rq->sync];

	if (at_head) {
		insert_at_head(antic, rq);
		return;
	}
	antic_track_process(antic, rq->process);
	if (rq->sync)
		antic_learn(antic, now, rq->process, rq->sector, rq->sector + rq->nr_sectors);
	rq->process->queued++;
	slot->process = rq->process;
	slot->sector = rq->sector;
	slot->seq = rq->seq;
	slot->nr_sectors = rq->nr_sectors;
	slot->write = rq->write;
	slot->sync = rq->sync;
	slot->place = ANTIC_QUEUED;
	slot->barrier = false;
	slot->expires = now.ticks + antic->fifo_expire[rq->sync];
	antic_add_sorted(antic, rq->tag);
	antic_chain_add(antic, &class->fifo, rq->tag, class->fifo.tail, CORE_NONE);
	class->next = antic_choose(antic, rq->tag, class->next, class->last_sector);
	if (antic->last_merge == CORE_NONE)
		antic->last_merge = rq->tag;
	antic_request_arrived(antic, now, rq->tag);
}

u32 antic_dispatch(void *core, u64 now)
{
	struct antic *antic = core;
	struct antic_slot *rq;
	u32 tag;

	if (antic->list.head == CORE_NONE) {
		tag = antic_choose_next(antic, antic_moment_of(antic, now));
		if (tag == CORE_NONE)
			return CORE_NONE;
		antic_move_to_dispatch(antic, tag);
	}
	tag = antic->list.head;
	rq = &antic->slots[tag];
	antic_chain_remove(antic, &antic->list, tag);
	antic->nr_listed--;
	antic->list_end = antic_end_of(rq);
	rq->place = ANTIC_DEVICE;
	rq->process->listed--;
	rq->process->in_device++;
	return tag;
}

void antic_complete(void *core, u64 now_ns, u32 tag)
{
	struct antic *antic = core;
	struct antic_moment now = antic_moment_of(antic, now_ns);
	struct antic_slot *rq = &antic->slots[tag];
	struct core_process *process = rq->process;

	rq->place = ANTIC_NONE;
	rq->process = NULL;
	antic_batch_completed(antic, now, rq->sync);
	process->in_device--;
	if (antic->awaited == process)
		antic_awaited_completed(antic, now);
	if (rq->sync)
		antic_request_ended(process, now);
	antic_release(antic, process);
}

u32 antic_held(const void *core)
{
	const struct antic *antic = core;

	return antic->classes[ANTIC_ASYNC].nr + antic->classes[ANTIC_SYNC].nr + antic->nr_listed;
}

u64 antic_next_timer(const void *core)
{
	const struct antic *antic = core;

	return antic->state == ANTIC_WAIT_NEXT ? antic->antic_ends : CORE_NEVER;
}

bool antic_may_exceed(const void *core, const struct core_process *process)
{
	const struct antic *antic = core;

	return antic_is_waiting(antic) && antic->awaited == process;
}

bool antic_allow_merge(const void *core, u32 tag, const struct core_request *bio,
		       enum core_merge how)
{
	const struct antic *antic = core;
	const struct antic_slot *rq = &antic->slots[tag];

	if (rq->place != ANTIC_QUEUED)
		return false;
	if (how == CORE_BACK_MERGE || antic->front_merge || antic->last_merge == tag)
		return true;
	/*
	 * as_merge() searches sort_list[bio_data_dir()], but the index is the class: 1 is sync, not
	 * write.
	 */
	return rq->sync == bio->write;
}

/* Both classes may have a request there; the younger one takes the bio. */
u32 antic_find_front_merge(void *core, const struct core_request *bio, u32 max_sectors)
{
	const struct antic *antic = core;
	u64 end = bio->sector + bio->nr_sectors;
	u32 found = CORE_NONE, of;

	for (of = 0; of < ANTIC_CLASSES; of++) {
		u32 tag = antic_starts_at(antic, &antic->classes[of], end);
		const struct antic_slot *rq;

		if (tag == CORE_NONE)
			continue;
		rq = &antic->slots[tag];
		if (rq->write != bio->write
		    || (u64)rq->nr_sectors + bio->nr_sectors > max_sectors
		    || !antic_allow_merge(core, tag, bio, CORE_FRONT_MERGE))
			continue;
		if (found == CORE_NONE || rq->seq > antic->slots[found].seq)
			found = tag;
	}
	return found;
}

void antic_merged(void *core, u64 now, const struct core_request *after)
{
	struct antic *antic = core;
	struct antic_slot *rq = &antic->slots[after->tag];

	(void)now;
	antic->last_merge = after->tag;
	antic_starts_remove(antic, &antic->classes[rq->sync], after->tag);
	/* The class and the process do not change. */
	rq->sector = after->sector;
	rq->nr_sectors = after->nr_sectors;
	antic_add_sorted(antic, after->tag);
}

void antic_coalesced(void *core, u64 now, u32 survivor, u32 gone)
{
	struct antic *antic = core;
	struct antic_slot *one = &antic->slots[survivor], *two = &antic->slots[gone];
	struct core_process *process = two->process;

	if (two->expires < one->expires && one->sync == two->sync) {
		struct antic_chain *fifo = &antic->classes[one->sync].fifo;

		antic_chain_remove(antic, fifo, survivor);
		antic_chain_add(antic, fifo, survivor, two->before, gone);
		one->expires = two->expires;
	}
	antic_del_request(antic, gone);
	two->place = ANTIC_NONE;
	two->process = NULL;
	antic->last_merge = survivor;
	if (two->sync)
		antic_request_ended(process, antic_moment_of(antic, now));
	antic_release(antic, process);
}

u64 antic_get(const void *core, u32 tunable)
{
	const struct antic *antic = core;

	switch (tunable) {
	case ANTIC_READ_EXPIRE:
		return antic_to_ms(antic, antic->fifo_expire[ANTIC_SYNC]);
	case ANTIC_WRITE_EXPIRE:
		return antic_to_ms(antic, antic->fifo_expire[ANTIC_ASYNC]);
	case ANTIC_READ_BATCH_EXPIRE:
		return antic_to_ms(antic, antic->batch_expire[ANTIC_SYNC]);
	case ANTIC_WRITE_BATCH_EXPIRE:
		return antic_to_ms(antic, antic->batch_expire[ANTIC_ASYNC]);
	case ANTIC_ANTIC_EXPIRE:
		return antic_to_ms(antic, antic->antic_expire);
	case ANTIC_DRAIN:
		return antic->drain;
	case ANTIC_FRONT_MERGE:
		return antic->front_merge;
	default:
		return antic->first_write;
	}
}

void antic_set(void *core, u32 tunable, u64 value)
{
	struct antic *antic = core;

	switch (tunable) {
	case ANTIC_READ_EXPIRE:
		antic->fifo_expire[ANTIC_SYNC] = antic_from_ms(antic, value);
		break;
	case ANTIC_WRITE_EXPIRE:
		antic->fifo_expire[ANTIC_ASYNC] = antic_from_ms(antic, value);
		break;
	case ANTIC_READ_BATCH_EXPIRE:
		antic->batch_expire[ANTIC_SYNC] = antic_from_ms(antic, value);
		break;
	case ANTIC_WRITE_BATCH_EXPIRE:
		antic->batch_expire[ANTIC_ASYNC] = antic_from_ms(antic, value);
		break;
	case ANTIC_ANTIC_EXPIRE:
		antic->antic_expire = antic_from_ms(antic, value);
		break;
	case ANTIC_DRAIN:
		antic->drain = value;
		break;
	case ANTIC_FRONT_MERGE:
		antic->front_merge = value;
		break;
	default:
		antic->first_write = value;
		break;
	}
}

void antic_anticipation(const void *core, struct core_anticipation *out)
{
	const struct antic *antic = core;

	*out = antic->counts;
}

static size_t rounded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

size_t antic_state_size(u32 tags, size_t own_size, size_t process_size)
{
	return rounded(own_size) + tags * sizeof(struct antic_slot)
		+ ANTIC_CLASSES * rounded(tags * sizeof(u32))
		+ ((size_t)tags + 1) * rounded(process_size);
}

void antic_init(struct antic *antic, const struct core_config *config,
		const struct antic_rule *rule, size_t own_size, size_t process_size)
{
	u8 *memory = (u8 *)antic + rounded(own_size);
	u32 hz = config->hz, of;

	antic->rule = rule;
	antic->tags = config->tags;
	antic->hz = hz;
	antic->process_size = rounded(process_size);
	antic->fifo_expire[ANTIC_SYNC] = hz / 8;
	antic->fifo_expire[ANTIC_ASYNC] = hz / 4;
	antic->batch_expire[ANTIC_SYNC] = hz / 2;
	antic->batch_expire[ANTIC_ASYNC] = hz / 8;
	antic->antic_expire = core_max(hz / 150, 1);
	antic->slots = (struct antic_slot *)(void *)memory;
	memory += config->tags * sizeof(struct antic_slot);
	for (of = 0; of < ANTIC_CLASSES; of++) {
		struct antic_class *class = &antic->classes[of];

		class->sorted = (u32 *)(void *)memory;
		memory += rounded(config->tags * sizeof(u32));
		class->fifo = (struct antic_chain){ CORE_NONE, CORE_NONE };
		class->next = CORE_NONE;
	}
	antic->exited_records = memory;
	antic->list = (struct antic_chain){ CORE_NONE, CORE_NONE };
	antic->last_merge = CORE_NONE;
	antic->dir = ANTIC_ASYNC;
	antic->batch_expires = antic->batch_expire[ANTIC_SYNC];
	antic->write_count = core_max(antic->batch_expire[ANTIC_ASYNC] / 10, 2);
}
