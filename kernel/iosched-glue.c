// SPDX-License-Identifier: GPL-2.0
/*
 * The glue between blk-mq and a core: see iosched-glue.h. Included by each elevator's module.
 *
 * How a wait works: dispatch_request returns nothing though requests are held, and has_work says no
 * until something happens that could end the wait, so that the block layer does not poll every 3
 * ms. An insertion runs the queue by itself; the timer runs it; a completion asks the block layer
 * to run it once the driver's tag is free again (the restart bit of the hardware queue, which
 * blk_mq_free_request looks at after finish_request).
 *
 * How deep the device's queue is: an idle that the core decides on means nothing to a drive that
 * still has other requests queued, and the core's order is lost in a drive that reorders. So a
 * bound of our own, max_inflight, 1 for devices with moving parts: the drive then gets one request
 * after the other, as under 2.6.20 without command queueing. 0 leaves it to the device; that is the
 * default where there is no arm.
 *
 * A request is completed for the core when completed_request comes. A requeue says nothing to the
 * core by itself: a request that the driver keeps (RQF_DONTPREP) goes past the scheduler, another
 * comes through insert_requests and is taken back there.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <trace/events/block.h>

#include "iosched-glue.h"

/*
 * The rate of ticks by which the core counts: what HZ was to 2.6.20, not what it is to this kernel.
 */
static unsigned int hz = 1000;
module_param(hz, uint, 0444);
MODULE_PARM_DESC(hz, "ticks a second by which the algorithm counts, 100 to 1000 (default 1000)");

static struct elevator_type iosched_type;
static const struct core_ops *iosched_ops;
static iosched_configure_t *iosched_configure;

/*
 * A record of a process may be used at any time between init_icq and the last reference to its
 * io_context.
 */
static struct iosched_icq *record_of(struct io_cq *icq)
{
	return container_of(icq, struct iosched_icq, icq);
}

static enum place place_of(const struct request *rq)
{
	return (enum place)(uintptr_t)rq->elv.priv[1];
}

static void set_place(struct request *rq, enum place place)
{
	rq->elv.priv[1] = (void *)(uintptr_t)place;
}

static struct iosched *of_queue(struct request_queue *q)
{
	return q->elevator->elevator_data;
}

/*
 * The core's tag: the scheduler's, which is the queue's or, with several hardware queues, one of
 * theirs.
 */
static u32 tag_of(const struct iosched *io, const struct request *rq)
{
	u32 base = io->shared_tags ? 0 : rq->mq_hctx->queue_num * io->queue_tags;

	return base + rq->internal_tag;
}

/* Whether the core was made for that many; if it could not be made larger, it was not. */
static bool has_tag(const struct iosched *io, const struct request *rq)
{
	return rq->internal_tag >= 0 && rq->internal_tag < io->queue_tags && tag_of(io, rq) < io->tags;
}

/* The record that a request is counted to; NULL: to nobody's. */
static struct iosched_icq *owner_of(const struct request *rq)
{
	return rq->elv.priv[0];
}

static u64 tick(struct iosched *io, u64 now)
{
	io->now = max(io->now, now);
	return io->now;
}

static void describe(struct iosched *io, struct request *rq, struct core_request *out)
{
	struct iosched_icq *owner = owner_of(rq);
	u32 tag = tag_of(io, rq);

	*out = (struct core_request){
		.sector = blk_rq_pos(rq),
		.seq = io->slots[tag].seq,
		.allocated_ns = rq->start_time_ns,
		.process = owner ? (struct core_process *)owner->process : io->anonymous,
		.tag = tag,
		.nr_sectors = blk_rq_sectors(rq),
		.write = op_is_write(req_op(rq)),
		.sync = op_is_sync(rq->cmd_flags),
	};
}

/* A piece that is compared with held requests. Nobody asks whose it is. */
static void describe_bio(struct iosched *io, struct bio *bio, struct core_request *out)
{
	*out = (struct core_request){
		.sector = bio->bi_iter.bi_sector,
		.seq = ~0ull,
		.allocated_ns = io->now,
		.process = io->anonymous,
		.tag = CORE_NONE,
		.nr_sectors = bio_sectors(bio),
		.write = op_is_write(bio_op(bio)),
		.sync = op_is_sync(bio->bi_opf),
	};
}

/* After every call of the core: its timer may have changed. */
static void arm(struct iosched *io)
{
	u64 at = io->ops->next_timer(io->core);

	if (at == io->armed)
		return;
	io->armed = at;
	if (at == CORE_NEVER)
		hrtimer_try_to_cancel(&io->timer);
	else
		hrtimer_start(&io->timer, ns_to_ktime(at), HRTIMER_MODE_ABS);
}

/* Something has happened that may end an idle. */
static void stir(struct iosched *io)
{
	WRITE_ONCE(io->idle, false);
	arm(io);
}

static void count_held(struct iosched *io, int by)
{
	WRITE_ONCE(io->held, io->held + by);
}

static void count_in_flight(struct iosched *io, int by)
{
	WRITE_ONCE(io->in_flight, io->in_flight + by);
}

/* The core shall not know the process any more: its record may go. */
static void part(struct iosched *io, u64 now, struct iosched_icq *record)
{
	record->told = true;
	list_del_init(&record->link);
	io->ops->exited(io->core, now, (struct core_process *)record->process);
}

/*
 * A request of this process is no longer the core's; the last one of a process that has ended lets
 * it go.
 */
static void leave(struct iosched *io, u64 now, struct iosched_icq *owner)
{
	if (!owner || --owner->outstanding || !owner->ended || owner->told)
		return;
	part(io, now, owner);
}

/* A request that was held and mergeable is not any more. */
static void forget(struct iosched *io, struct request *rq)
{
	elv_rqhash_del(io->q, rq);
	elv_rb_del(&io->sorted[rq_data_dir(rq)], rq);
	if (io->q->last_merge == rq)
		io->q->last_merge = NULL;
}

/* Whether two held requests may become one: the core may have sent one of them ahead already. */
static bool may_unite(struct iosched *io, struct request *one, struct request *two)
{
	struct core_request first, second;

	describe(io, one, &first);
	describe(io, two, &second);
	return io->ops->allow_merge(io->core, first.tag, &second, CORE_BACK_MERGE) &&
	       io->ops->allow_merge(io->core, second.tag, &first, CORE_BACK_MERGE);
}

/* No piece shall find this request if the core does not let it grow any more. */
static void hide_if_settled(struct iosched *io, struct request *rq)
{
	if (may_unite(io, rq, rq))
		return;
	elv_rqhash_del(io->q, rq);
	if (io->q->last_merge == rq)
		io->q->last_merge = NULL;
}

/*
 * A request has come to start here: the core may have sent ahead those that already did (legacy
 * Linux holds one request a sector). Merges of whole requests ask the hash, not the core, so these
 * must not be in it.
 */
static void hide_aliases(struct iosched *io, struct request *rq)
{
	int dir;

	for (dir = 0; dir < 2; dir++) {
		struct request *first = elv_rb_find(&io->sorted[dir], blk_rq_pos(rq));
		struct rb_node *at;

		if (!first)
			continue;
		for (at = &first->rb_node; at; at = rb_prev(at)) {
			if (blk_rq_pos(rb_entry_rq(at)) != blk_rq_pos(rq))
				break;
			hide_if_settled(io, rb_entry_rq(at));
		}
		for (at = rb_next(&first->rb_node); at; at = rb_next(at)) {
			if (blk_rq_pos(rb_entry_rq(at)) != blk_rq_pos(rq))
				break;
			hide_if_settled(io, rb_entry_rq(at));
		}
	}
}

static void insert_aside(struct iosched *io, struct request *rq, bool at_head)
{
	if (at_head)
		list_add(&rq->queuelist, &io->aside);
	else
		list_add_tail(&rq->queuelist, &io->aside);
	if (compat_prepared(rq))
		set_place(rq, PLACE_ASIDE);
}

/* The device has given a request back: before all others, as it is. */
static void take_back(struct iosched *io, u64 now, struct request *rq)
{
	struct core_request as;

	count_in_flight(io, -1);
	if (place_of(rq) == PLACE_DEVICE_ASIDE) {
		insert_aside(io, rq, true);
		return;
	}
	describe(io, rq, &as);
	set_place(rq, PLACE_HELD_AGAIN);
	count_held(io, 1);
	io->ops->insert(io->core, now, &as, true);
}

static void insert_sorted(struct iosched *io, u64 now, struct request *rq)
{
	struct iosched_icq *owner = owner_of(rq);
	struct core_request as;
	u32 tag = tag_of(io, rq);

	if (owner && owner->told)	/* cannot be: who has ended does not ask */
		rq->elv.priv[0] = owner = NULL;
	if (owner)
		owner->outstanding++;
	io->slots[tag] = (struct iosched_slot){ .rq = rq, .seq = io->seq++ };
	set_place(rq, PLACE_HELD);
	count_held(io, 1);
	elv_rb_add(&io->sorted[rq_data_dir(rq)], rq);
	if (rq_mergeable(rq)) {
		elv_rqhash_add(io->q, rq);
		if (!io->q->last_merge)
			io->q->last_merge = rq;
	}
	describe(io, rq, &as);
	io->ops->insert(io->core, now, &as, false);
	hide_aliases(io, rq);
}

/*
 * Whether the core knows what to do with it: it has a position, a direction and a place of its own.
 */
static bool is_for_core(const struct iosched *io, const struct request *rq)
{
	if (req_op(rq) != REQ_OP_READ && req_op(rq) != REQ_OP_WRITE)
		return false;
	return blk_rq_sectors(rq) && has_tag(io, rq);
}

static void insert_one(struct iosched *io, u64 now, struct request *rq, bool at_head,
		       struct list_head *merged)
{
	if (!compat_prepared(rq)) {
		insert_aside(io, rq, at_head);
	} else if (place_of(rq) == PLACE_DEVICE || place_of(rq) == PLACE_DEVICE_ASIDE) {
		take_back(io, now, rq);
	} else if (at_head || !is_for_core(io, rq)) {
		insert_aside(io, rq, at_head);
	} else if (blk_mq_sched_try_insert_merge(io->q, rq, merged)) {
		return;
	} else {
		insert_sorted(io, now, rq);
	}
	trace_block_rq_insert(rq);
}

static void free_requests(struct list_head *list)
{
	while (!list_empty(list)) {
		struct request *rq = list_first_entry(list, struct request, queuelist);

		list_del_init(&rq->queuelist);
		blk_mq_free_request(rq);
	}
}

static void iosched_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list,
				    compat_insert_t flags)
{
	struct iosched *io = of_queue(hctx->queue);
	unsigned long irq;
	LIST_HEAD(merged);
	u64 now;

	spin_lock_irqsave(&io->lock, irq);
	now = tick(io, ktime_get_ns());
	while (!list_empty(list)) {
		struct request *rq = list_first_entry(list, struct request, queuelist);

		list_del_init(&rq->queuelist);
		insert_one(io, now, rq, compat_at_head(flags), &merged);
	}
	stir(io);
	spin_unlock_irqrestore(&io->lock, irq);
	free_requests(&merged);
}

static bool has_room(const struct iosched *io)
{
	u64 max = READ_ONCE(io->max_inflight);

	return !max || READ_ONCE(io->in_flight) < max;
}

/* The request that the core gives now. */
static struct request *dispatch_sorted(struct iosched *io)
{
	struct request *rq;
	u32 tag;

	tag = io->ops->dispatch(io->core, tick(io, ktime_get_ns()));
	arm(io);
	if (tag == CORE_NONE) {
		/*
		 * Somebody must be there to wake it: if nobody is, leave the block layer polling.
		 */
		WRITE_ONCE(io->idle, io->in_flight || io->armed != CORE_NEVER);
		return NULL;
	}
	/* A core that gives what it does not have shall not take the machine down. */
	if (WARN_ON_ONCE(tag >= io->tags || !io->slots[tag].rq))
		return NULL;
	rq = io->slots[tag].rq;
	if (WARN_ON_ONCE(place_of(rq) != PLACE_HELD && place_of(rq) != PLACE_HELD_AGAIN))
		return NULL;
	if (place_of(rq) == PLACE_HELD)
		forget(io, rq);
	set_place(rq, PLACE_DEVICE);
	count_held(io, -1);
	count_in_flight(io, 1);
	return rq;
}

static struct request *iosched_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct iosched *io = of_queue(hctx->queue);
	struct request *rq = NULL;
	unsigned long irq;

	spin_lock_irqsave(&io->lock, irq);
	if (!list_empty(&io->aside)) {
		rq = list_first_entry(&io->aside, struct request, queuelist);
		list_del_init(&rq->queuelist);
		if (compat_prepared(rq)) {
			set_place(rq, PLACE_DEVICE_ASIDE);
			count_in_flight(io, 1);
		}
	} else if (io->held && has_room(io)) {
		rq = dispatch_sorted(io);
	}
	if (rq)
		rq->rq_flags |= RQF_STARTED;
	spin_unlock_irqrestore(&io->lock, irq);
	return rq;
}

/*
 * Without the lock: a wrong yes costs a look, a wrong no is put right by whoever changed it, as he
 * runs the queue.
 */
static bool iosched_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct iosched *io = of_queue(hctx->queue);

	return !list_empty_careful(&io->aside) ||
	       (READ_ONCE(io->held) && !READ_ONCE(io->idle) && has_room(io));
}

/* The device is done with it, whatever came of it. */
static void settle(struct iosched *io, u64 now, struct request *rq)
{
	enum place place = place_of(rq);
	u32 tag;

	if (place != PLACE_DEVICE && place != PLACE_DEVICE_ASIDE)
		return;
	set_place(rq, PLACE_NONE);
	count_in_flight(io, -1);
	if (place == PLACE_DEVICE) {
		tag = tag_of(io, rq);
		io->ops->complete(io->core, now, tag);
		io->slots[tag].rq = NULL;
		leave(io, now, owner_of(rq));
	}
	stir(io);
	/* Its tags are still taken; blk_mq_free_request runs the queue when it has let them go. */
	if (io->held || !list_empty(&io->aside))
		blk_mq_sched_mark_restart_hctx(rq->mq_hctx);
}

static void iosched_completed_request(struct request *rq, u64 now)
{
	struct iosched *io = of_queue(rq->q);
	unsigned long irq;

	if (!compat_prepared(rq))
		return;
	spin_lock_irqsave(&io->lock, irq);
	settle(io, tick(io, now), rq);
	spin_unlock_irqrestore(&io->lock, irq);
}

static void iosched_prepare_request(struct request *rq)
{
	struct io_cq *icq = compat_get_icq(rq->q);

	rq->elv.icq = icq;
	rq->elv.priv[0] = icq ? record_of(icq) : NULL;
	set_place(rq, PLACE_NONE);
}

/* The request is freed; most have completed, some were merged away or never inserted. */
static void iosched_finish_request(struct request *rq)
{
	struct io_cq *icq = rq->elv.icq;

	if (place_of(rq) != PLACE_NONE) {
		struct iosched *io = of_queue(rq->q);
		unsigned long irq;

		spin_lock_irqsave(&io->lock, irq);
		settle(io, tick(io, ktime_get_ns()), rq);
		spin_unlock_irqrestore(&io->lock, irq);
		WARN_ON_ONCE(place_of(rq) != PLACE_NONE);
	}
	rq->elv.icq = NULL;
	rq->elv.priv[0] = NULL;
	if (icq)
		put_io_context(icq->ioc);
}

static bool iosched_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs)
{
	struct iosched *io = of_queue(q);
	struct request *gone = NULL;
	unsigned long irq;
	bool merged, run;

	if (bio_op(bio) != REQ_OP_READ && bio_op(bio) != REQ_OP_WRITE)
		return false;
	if (!READ_ONCE(io->held))
		return false;
	spin_lock_irqsave(&io->lock, irq);
	merged = blk_mq_sched_try_merge(q, bio, nr_segs, &gone);
	if (merged)
		stir(io);
	run = merged && io->held && has_room(io);
	spin_unlock_irqrestore(&io->lock, irq);
	if (gone)
		blk_mq_free_request(gone);
	/*
	 * Nothing is inserted, so nobody else runs the queue; a request that has grown can have
	 * ended an idle.
	 */
	if (run)
		blk_mq_run_hw_queues(q, true);
	return merged;
}

/* A front merge that the core has looked for; back merges are found by the hash of ends. */
static int iosched_request_merge(struct request_queue *q, struct request **out, struct bio *bio)
{
	struct iosched *io = of_queue(q);
	struct core_request piece;
	struct request *rq;
	u32 tag;

	lockdep_assert_held(&io->lock);
	if (!io->ops->front_merge)
		return ELEVATOR_NO_MERGE;
	describe_bio(io, bio, &piece);
	tag = io->ops->front_merge(io->core, &piece, queue_max_sectors(q));
	if (tag == CORE_NONE)
		return ELEVATOR_NO_MERGE;
	rq = io->slots[tag].rq;
	if (place_of(rq) != PLACE_HELD || bio_end_sector(bio) != blk_rq_pos(rq))
		return ELEVATOR_NO_MERGE;
	if (!elv_bio_merge_ok(rq, bio))
		return ELEVATOR_NO_MERGE;
	*out = rq;
	return ELEVATOR_FRONT_MERGE;
}

static bool iosched_allow_merge(struct request_queue *q, struct request *rq, struct bio *bio)
{
	struct iosched *io = of_queue(q);
	struct core_request piece;
	enum core_merge how;

	lockdep_assert_held(&io->lock);
	if (!compat_prepared(rq) || place_of(rq) != PLACE_HELD)
		return false;
	if (blk_rq_pos(rq) + blk_rq_sectors(rq) == bio->bi_iter.bi_sector)
		how = CORE_BACK_MERGE;
	else if (bio_end_sector(bio) == blk_rq_pos(rq))
		how = CORE_FRONT_MERGE;
	else
		return false;	/* does not touch it */
	describe_bio(io, bio, &piece);
	return io->ops->allow_merge(io->core, tag_of(io, rq), &piece, how);
}

static void iosched_request_merged(struct request_queue *q, struct request *rq,
				   enum elv_merge type)
{
	struct iosched *io = of_queue(q);
	struct core_request after;

	lockdep_assert_held(&io->lock);
	if (type == ELEVATOR_FRONT_MERGE) {
		elv_rb_del(&io->sorted[rq_data_dir(rq)], rq);
		elv_rb_add(&io->sorted[rq_data_dir(rq)], rq);
	}
	describe(io, rq, &after);
	io->ops->merged(io->core, tick(io, ktime_get_ns()), &after);
	hide_aliases(io, rq);
}

/* `next` is part of `rq` now. It may have been held, or be on its way in. */
static void iosched_requests_merged(struct request_queue *q, struct request *rq,
				    struct request *next)
{
	struct iosched *io = of_queue(q);
	struct core_request after;
	u64 now;

	lockdep_assert_held(&io->lock);
	now = tick(io, ktime_get_ns());
	if (place_of(next) == PLACE_HELD) {
		u32 gone = tag_of(io, next);

		forget(io, next);
		set_place(next, PLACE_NONE);
		count_held(io, -1);
		io->ops->coalesced(io->core, now, tag_of(io, rq), gone);
		io->slots[gone].rq = NULL;
		leave(io, now, owner_of(next));
	}
	describe(io, rq, &after);
	io->ops->merged(io->core, now, &after);
}

/* The neighbour that a request could become one with, now that it has grown. */
static struct request *iosched_former_request(struct request_queue *q, struct request *rq)
{
	struct iosched *io = of_queue(q);
	struct request *former = elv_rb_former_request(q, rq);

	return former && may_unite(io, former, rq) ? former : NULL;
}

static struct request *iosched_next_request(struct request_queue *q, struct request *rq)
{
	struct iosched *io = of_queue(q);
	struct request *next = elv_rb_latter_request(q, rq);

	return next && may_unite(io, rq, next) ? next : NULL;
}

/*
 * Who may take how many of the tags. 2.6.20 has a pool of requests for each direction and lets the
 * process that is waited for exceed it. Here is one pool, which a flood of asynchronous writes
 * would use up, and nobody can exceed it: so asynchronous requests get three quarters of it, and
 * one eighth is kept for whoever is waited for.
 */
static void iosched_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data)
{
	struct iosched *io = of_queue(data->q);
	unsigned int total = data->q->nr_requests;
	struct io_cq *icq;
	unsigned long irq;
	bool awaited;

	if (!op_is_sync(opf)) {
		compat_limit(data, max(1u, total - total / 4), total);
		return;
	}
	icq = compat_find_icq(data->q);
	if (icq) {
		spin_lock_irqsave(&io->lock, irq);
		awaited = io->ops->may_exceed(io->core,
					      (struct core_process *)record_of(icq)->process);
		spin_unlock_irqrestore(&io->lock, irq);
		if (awaited)
			return;
	}
	compat_limit(data, max(1u, total - total / 8), total);
}

static void iosched_init_icq(struct io_cq *icq)
{
	struct iosched *io = of_queue(icq->q);
	struct iosched_icq *record = record_of(icq);
	unsigned long irq;

	record->outstanding = 0;
	record->ended = record->told = false;
	memset(record->process, 0, iosched_ops->process_size);
	spin_lock_irqsave(&io->lock, irq);
	list_add_tail(&record->link, &io->records);
	spin_unlock_irqrestore(&io->lock, irq);
}

/*
 * The process has ended, or the elevator goes. Requests of it may be in the core still: then the
 * core hears of it with the last of them, and until then their references keep the record.
 * ioc->lock is held.
 */
static void iosched_exit_icq(struct io_cq *icq)
{
	struct iosched *io = of_queue(icq->q);
	struct iosched_icq *record = record_of(icq);
	unsigned long irq;

	spin_lock_irqsave(&io->lock, irq);
	record->ended = true;
	if (!record->outstanding && !record->told) {
		part(io, tick(io, ktime_get_ns()), record);
		arm(io);
	}
	spin_unlock_irqrestore(&io->lock, irq);
}

static enum hrtimer_restart iosched_timer(struct hrtimer *timer)
{
	struct iosched *io = container_of(timer, struct iosched, timer);
	unsigned long irq;
	bool due;
	u64 now;

	spin_lock_irqsave(&io->lock, irq);
	now = tick(io, ktime_get_ns());
	due = now >= io->ops->next_timer(io->core);
	if (due)
		io->ops->on_timer(io->core, now);
	io->armed = CORE_NEVER;
	if (due)
		WRITE_ONCE(io->idle, false);
	arm(io);
	spin_unlock_irqrestore(&io->lock, irq);
	if (due)
		blk_mq_run_hw_queues(io->q, true);
	return HRTIMER_NORESTART;
}

/* How many tags a hardware queue has now; with a shared map, all that it can come to have. */
static u32 count_queue_tags(struct request_queue *q)
{
	struct blk_mq_hw_ctx *hctx;
	unsigned long i;
	u32 most = 0;

	if (blk_mq_is_shared_tags(q->tag_set->flags))
		return MAX_SCHED_RQ;
	queue_for_each_hw_ctx(q, hctx, i) {
		if (hctx->sched_tags)
			most = max(most, hctx->sched_tags->nr_tags);
	}
	return most;
}

/* Gives it a core for so many tags of each hardware queue, if there is memory. */
static int make_core(struct iosched *io, u32 queue_tags)
{
	struct request_queue *q = io->q;
	struct core_config config = {
		.tags = queue_tags * (io->shared_tags ? 1 : q->nr_hw_queues),
		.hz = clamp(hz, 100u, 1000u),
		.sectors = q->disk ? get_capacity(q->disk) : 0,
	};
	/*
	 * The queue is frozen: memory must not be waited for by writing to it. Nor for ever: without
	 * I/O nobody is killed for memory either, and where all of it waits to be written to this disk
	 * the allocator would look for some until the queue runs again, which it does after this.
	 */
	const gfp_t may_fail = GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN;
	unsigned int noio = memalloc_noio_save();

	io->tags = config.tags;
	io->queue_tags = queue_tags;
	io->core = kvzalloc_node(io->ops->state_size(config.tags), may_fail, q->node);
	io->slots = kvcalloc(config.tags, sizeof(*io->slots), may_fail);
	memalloc_noio_restore(noio);
	if (!io->core || !io->slots) {
		kvfree(io->core);
		kvfree(io->slots);
		return -ENOMEM;
	}
	if (iosched_configure)
		iosched_configure(&config);
	io->ops->init(io->core, &config);
	return 0;
}

/*
 * Another core takes the place of this one: with its tunables, but without what it knew of
 * processes. No request is held.
 */
static void replace_core(struct iosched *io, struct iosched *other)
{
	struct iosched_icq *record;
	struct core_anticipation counts = {};
	u64 now = tick(io, ktime_get_ns());
	u32 at;

	for (at = 0; at < io->ops->nr_tunables; at++) {
		u64 value = io->ops->get(io->core, at);

		if (value != io->ops->get(other->core, at))
			io->ops->set(other->core, at, value);
	}
	list_for_each_entry(record, &io->records, link)
		io->ops->exited(io->core, now, (struct core_process *)record->process);
	io->ops->exited(io->core, now, io->anonymous);
	io->ops->anticipation(io->core, &counts);
	io->before.started += counts.started;
	io->before.successes += counts.successes;
	io->before.failures += counts.failures;
	io->before.success_wait_ns += counts.success_wait_ns;
	io->before.failure_wait_ns += counts.failure_wait_ns;
	swap(io->core, other->core);
	swap(io->slots, other->slots);
	swap(io->tags, other->tags);
	swap(io->queue_tags, other->queue_tags);
}

/*
 * The number of tags has changed. The queue is frozen, so the core is empty. It is made anew if
 * there are more than it was made for; if there is no memory, requests with the new tags go past it
 * in order of arrival.
 */
static void iosched_resize(struct request_queue *q)
{
	struct iosched *io = of_queue(q);
	struct iosched other = { .q = q, .ops = io->ops, .shared_tags = io->shared_tags };
	u32 queue_tags = count_queue_tags(q);
	unsigned long irq;

	if (queue_tags <= io->queue_tags || make_core(&other, queue_tags))
		return;
	spin_lock_irqsave(&io->lock, irq);
	if (!WARN_ON_ONCE(io->held || io->in_flight))
		replace_core(io, &other);
	stir(io);
	spin_unlock_irqrestore(&io->lock, irq);
	kvfree(other.core);
	kvfree(other.slots);
}

static void iosched_free(struct iosched *io)
{
	kvfree(io->core);
	kvfree(io->slots);
	kfree(io->anonymous);
	kfree(io);
}

static struct iosched *iosched_new(struct request_queue *q)
{
	struct iosched *io = kzalloc_node(sizeof(*io), GFP_KERNEL, q->node);

	if (!io)
		return NULL;
	io->q = q;
	io->ops = iosched_ops;
	io->shared_tags = blk_mq_is_shared_tags(q->tag_set->flags);
	io->anonymous = kzalloc(max_t(size_t, 8, io->ops->process_size), GFP_KERNEL);
	if (!io->anonymous || make_core(io, count_queue_tags(q))) {
		kfree(io->anonymous);
		kfree(io);
		return NULL;
	}
	io->armed = CORE_NEVER;
	io->max_inflight = compat_rotational(q) ? 1 : 0;
	io->sorted[READ] = io->sorted[WRITE] = RB_ROOT;
	INIT_LIST_HEAD(&io->aside);
	INIT_LIST_HEAD(&io->records);
	spin_lock_init(&io->lock);
	compat_hrtimer_setup(&io->timer, iosched_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	return io;
}

static int iosched_made(struct request_queue *q, struct elevator_queue *eq)
{
	struct iosched *io = iosched_new(q);

	if (!io)
		return -ENOMEM;
	eq->elevator_data = io;
	/* Requests of all hardware queues are in one order. */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	return 0;
}

COMPAT_SCHED(iosched_made, iosched_resize)

/* The queue is frozen: no request is left. */
static void iosched_exit_sched(struct elevator_queue *eq)
{
	struct iosched *io = eq->elevator_data;

	hrtimer_cancel(&io->timer);
	WARN_ON_ONCE(io->held || io->in_flight || !list_empty(&io->aside));
	iosched_free(io);
}

#include "iosched-attrs.c"

static struct elevator_type iosched_type = {
	.ops = {
		.init_sched = compat_init_sched,
		.exit_sched = iosched_exit_sched,
		COMPAT_INIT_HCTX
		.depth_updated = compat_depth_updated,
		.allow_merge = iosched_allow_merge,
		.bio_merge = iosched_bio_merge,
		.request_merge = iosched_request_merge,
		.request_merged = iosched_request_merged,
		.requests_merged = iosched_requests_merged,
		.limit_depth = iosched_limit_depth,
		.prepare_request = iosched_prepare_request,
		.finish_request = iosched_finish_request,
		.insert_requests = iosched_insert_requests,
		.dispatch_request = iosched_dispatch_request,
		.has_work = iosched_has_work,
		.completed_request = iosched_completed_request,
		.former_request = iosched_former_request,
		.next_request = iosched_next_request,
		.init_icq = iosched_init_icq,
		.exit_icq = iosched_exit_icq,
	},
	.icq_align = __alignof__(struct iosched_icq),
	.elevator_attrs = iosched_attrs,
#ifdef CONFIG_BLK_DEBUG_FS
	.queue_debugfs_attrs = iosched_debugfs,
#endif
	.elevator_owner = THIS_MODULE,
};

/* Makes a core an elevator. `configure` may be NULL. */
static int iosched_register(const struct core_ops *ops, iosched_configure_t *configure)
{
	int error = iosched_fill_attrs(ops);

	if (error)
		return error;
	iosched_ops = ops;
	iosched_configure = configure;
	iosched_type.elevator_name = ops->name;
	iosched_type.icq_size = sizeof(struct iosched_icq) + ops->process_size;
	return elv_register(&iosched_type);
}

static void iosched_unregister(void)
{
	elv_unregister(&iosched_type);
}
