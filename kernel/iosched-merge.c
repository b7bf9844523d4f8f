// SPDX-License-Identifier: GPL-2.0
/*
 * Merging.
 *
 * Back merges use the elevator hash, front merges core_ops.front_merge.
 * blk_mq_sched_try_insert_merge() uses the hash without asking the elevator, so a request that may
 * not grow must not be hashed.
 */
#include <linux/ktime.h>
#include <linux/rbtree.h>

#include "iosched.h"

static void fill_bio(struct iosched *io, struct bio *bio, struct core_request *out)
{
	*out = (struct core_request){
		.sector = bio->bi_iter.bi_sector,
		.seq = ~0ull,
		.allocated_ns = io->now,
		.process = io->merging ? io->merging : io->anonymous,
		.tag = CORE_NONE,
		.nr_sectors = bio_sectors(bio),
		.write = op_is_write(bio_op(bio)),
		.sync = op_is_sync(bio->bi_opf),
	};
	iosched_fill_priority(out, bio->bi_ioprio);
}

static void unhash(struct iosched *io, struct request *rq)
{
	elv_rqhash_del(io->q, rq);
	if (io->q->last_merge == rq)
		io->q->last_merge = NULL;
}

void iosched_add_sorted(struct iosched *io, struct request *rq)
{
	elv_rb_add(&io->sort_list[rq_data_dir(rq)], rq);
	if (rq_mergeable(rq)) {
		elv_rqhash_add(io->q, rq);
		if (!io->q->last_merge)
			io->q->last_merge = rq;
	}
}

void iosched_del_sorted(struct iosched *io, struct request *rq)
{
	elv_rb_del(&io->sort_list[rq_data_dir(rq)], rq);
	unhash(io, rq);
}

/* False if the core has moved one of them to its dispatch list. */
static bool may_merge(struct iosched *io, struct request *rq, struct request *next)
{
	struct core_request first, second;

	iosched_fill_request(io, rq, &first);
	iosched_fill_request(io, next, &second);
	return io->ops->allow_merge(io->core, first.tag, &second, CORE_BACK_MERGE) &&
	       io->ops->allow_merge(io->core, second.tag, &first, CORE_BACK_MERGE);
}

static void unhash_if_fixed(struct iosched *io, struct request *rq)
{
	if (!may_merge(io, rq, rq))
		unhash(io, rq);
}

/*
 * @rq starts at a new sector. Like 2.6.20, the core sorts one request per sector and moves an older
 * one to its dispatch list, where it does not grow any more. Cores that share have no such aliases.
 */
void iosched_unhash_aliases(struct iosched *io, struct request *rq)
{
	int dir;

	if (io->ops->shares)
		return;
	for (dir = 0; dir < 2; dir++) {
		struct request *first = elv_rb_find(&io->sort_list[dir], blk_rq_pos(rq));
		struct rb_node *node;

		if (!first)
			continue;
		for (node = &first->rb_node; node; node = rb_prev(node)) {
			if (blk_rq_pos(rb_entry_rq(node)) != blk_rq_pos(rq))
				break;
			unhash_if_fixed(io, rb_entry_rq(node));
		}
		for (node = rb_next(&first->rb_node); node; node = rb_next(node)) {
			if (blk_rq_pos(rb_entry_rq(node)) != blk_rq_pos(rq))
				break;
			unhash_if_fixed(io, rb_entry_rq(node));
		}
	}
}

bool iosched_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs)
{
	struct iosched *io = iosched_of(q);
	struct request *free = NULL;
	struct io_cq *io_cq = NULL;
	unsigned long flags;
	bool merged, run;

	if (bio_op(bio) != REQ_OP_READ && bio_op(bio) != REQ_OP_WRITE)
		return false;
	if (!READ_ONCE(io->held))
		return false;
	/* Takes q->queue_lock, which nests outside io->lock. */
	if (io->ops->shares)
		io_cq = compat_find_icq(q);
	spin_lock_irqsave(&io->lock, flags);
	io->merging = io_cq ? icq_process(to_iosched_icq(io_cq)) : NULL;
	merged = blk_mq_sched_try_merge(q, bio, nr_segs, &free);
	io->merging = NULL;
	if (merged)
		iosched_restart(io);
	run = merged && io->held && iosched_has_budget(io);
	spin_unlock_irqrestore(&io->lock, flags);
	if (free)
		blk_mq_free_request(free);
	/* A merge can end idling, but blk-mq does not run the queue without an insertion. */
	if (run)
		blk_mq_run_hw_queues(q, true);
	return merged;
}

int iosched_request_merge(struct request_queue *q, struct request **out, struct bio *bio)
{
	struct iosched *io = iosched_of(q);
	struct core_request core_bio;
	struct request *rq;
	u32 tag;

	lockdep_assert_held(&io->lock);
	if (!io->ops->front_merge)
		return ELEVATOR_NO_MERGE;
	fill_bio(io, bio, &core_bio);
	tag = io->ops->front_merge(io->core, &core_bio, queue_max_sectors(q));
	if (tag == CORE_NONE)
		return ELEVATOR_NO_MERGE;
	rq = io->slots[tag].rq;
	if (rq_state(rq) != IOSCHED_RQ_HELD || bio_end_sector(bio) != blk_rq_pos(rq))
		return ELEVATOR_NO_MERGE;
	if (!elv_bio_merge_ok(rq, bio))
		return ELEVATOR_NO_MERGE;
	*out = rq;
	return ELEVATOR_FRONT_MERGE;
}

bool iosched_allow_merge(struct request_queue *q, struct request *rq, struct bio *bio)
{
	struct iosched *io = iosched_of(q);
	struct core_request core_bio;
	enum core_merge type;

	lockdep_assert_held(&io->lock);
	if (!compat_prepared(rq) || rq_state(rq) != IOSCHED_RQ_HELD)
		return false;
	if (blk_rq_pos(rq) + blk_rq_sectors(rq) == bio->bi_iter.bi_sector)
		type = CORE_BACK_MERGE;
	else if (bio_end_sector(bio) == blk_rq_pos(rq))
		type = CORE_FRONT_MERGE;
	else
		return false;
	fill_bio(io, bio, &core_bio);
	return io->ops->allow_merge(io->core, rq_core_tag(io, rq), &core_bio, type);
}

void iosched_request_merged(struct request_queue *q, struct request *rq, enum elv_merge type)
{
	struct iosched *io = iosched_of(q);
	struct core_request after;

	lockdep_assert_held(&io->lock);
	if (type == ELEVATOR_FRONT_MERGE) {
		elv_rb_del(&io->sort_list[rq_data_dir(rq)], rq);
		elv_rb_add(&io->sort_list[rq_data_dir(rq)], rq);
	}
	iosched_fill_request(io, rq, &after);
	io->ops->merged(io->core, iosched_clock(io, ktime_get_ns()), &after);
	iosched_unhash_aliases(io, rq);
}

/* @next, held or about to be inserted, is now part of @rq. */
void iosched_requests_merged(struct request_queue *q, struct request *rq, struct request *next)
{
	struct iosched *io = iosched_of(q);
	struct core_request after;
	u64 now;

	lockdep_assert_held(&io->lock);
	now = iosched_clock(io, ktime_get_ns());
	if (rq_state(next) == IOSCHED_RQ_HELD) {
		u32 tag = rq_core_tag(io, next);

		iosched_del_sorted(io, next);
		rq_set_state(next, IOSCHED_RQ_NONE);
		iosched_add_held(io, -1);
		io->ops->coalesced(io->core, now, rq_core_tag(io, rq), tag);
		io->slots[tag].rq = NULL;
		iosched_put_icq(io, now, rq_icq(next));
	}
	iosched_fill_request(io, rq, &after);
	io->ops->merged(io->core, now, &after);
}

struct request *iosched_former_request(struct request_queue *q, struct request *rq)
{
	struct iosched *io = iosched_of(q);
	struct request *former = elv_rb_former_request(q, rq);

	return former && may_merge(io, former, rq) ? former : NULL;
}

struct request *iosched_next_request(struct request_queue *q, struct request *rq)
{
	struct iosched *io = iosched_of(q);
	struct request *next = elv_rb_latter_request(q, rq);

	return next && may_merge(io, rq, next) ? next : NULL;
}
