// SPDX-License-Identifier: GPL-2.0
/* Preparation, insertion, dispatch, requeue and completion of requests. */
#include <linux/ktime.h>
#include <linux/list.h>
#include <trace/events/block.h>

#include "iosched.h"

/* False if nr_requests grew and there was no memory for a larger core. */
static bool has_core_tag(const struct iosched *io, const struct request *rq)
{
	return rq->internal_tag >= 0 && rq->internal_tag < io->queue_tags &&
	       rq_core_tag(io, rq) < io->tags;
}

static bool is_for_core(const struct iosched *io, const struct request *rq)
{
	if (req_op(rq) != REQ_OP_READ && req_op(rq) != REQ_OP_WRITE)
		return false;
	return blk_rq_sectors(rq) && has_core_tag(io, rq);
}

static void insert_bypass(struct iosched *io, struct request *rq, bool at_head)
{
	if (at_head)
		list_add(&rq->queuelist, &io->bypass_list);
	else
		list_add_tail(&rq->queuelist, &io->bypass_list);
	if (compat_prepared(rq))
		rq_set_state(rq, IOSCHED_RQ_BYPASS);
}

/* Requeued requests are dispatched first and not merged. */
static void requeue_request(struct iosched *io, u64 now, struct request *rq)
{
	struct core_request core_rq;

	iosched_add_in_flight(io, -1);
	if (rq_state(rq) == IOSCHED_RQ_BYPASS_ISSUED) {
		insert_bypass(io, rq, true);
		return;
	}
	iosched_fill_request(io, rq, &core_rq);
	rq_set_state(rq, IOSCHED_RQ_REQUEUED);
	iosched_add_held(io, 1);
	io->ops->insert(io->core, now, &core_rq, true);
}

static void hold_request(struct iosched *io, u64 now, struct request *rq)
{
	struct iosched_icq *icq = rq_icq(rq);
	struct core_request core_rq;
	u32 tag = rq_core_tag(io, rq);

	/* The core has forgotten a process whose exit was reported. */
	if (icq && icq->exit_reported)
		rq->elv.priv[0] = icq = NULL;
	if (icq)
		icq->nr_requests++;
	io->slots[tag] = (struct iosched_slot){ .rq = rq, .seq = io->seq++ };
	rq_set_state(rq, IOSCHED_RQ_HELD);
	iosched_add_held(io, 1);
	iosched_add_sorted(io, rq);
	iosched_fill_request(io, rq, &core_rq);
	io->ops->insert(io->core, now, &core_rq, false);
	iosched_unhash_aliases(io, rq);
}

static void insert_request(struct iosched *io, u64 now, struct request *rq, bool at_head,
			   struct list_head *free)
{
	if (!compat_prepared(rq)) {
		insert_bypass(io, rq, at_head);
	} else if (rq_state(rq) == IOSCHED_RQ_ISSUED || rq_state(rq) == IOSCHED_RQ_BYPASS_ISSUED) {
		requeue_request(io, now, rq);
	} else if (at_head || !is_for_core(io, rq)) {
		insert_bypass(io, rq, at_head);
	} else if (!io->ops->shares && blk_mq_sched_try_insert_merge(io->q, rq, free)) {
		/*
		 * Not with core_ops.shares: this path does not ask the elevator whether the
		 * requests belong to one process.
		 */
		return;
	} else {
		hold_request(io, now, rq);
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

void iosched_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list,
			     compat_insert_t insert_flags)
{
	struct iosched *io = iosched_of(hctx->queue);
	unsigned long flags;
	LIST_HEAD(free);
	u64 now;

	spin_lock_irqsave(&io->lock, flags);
	now = iosched_clock(io, ktime_get_ns());
	while (!list_empty(list)) {
		struct request *rq = list_first_entry(list, struct request, queuelist);

		list_del_init(&rq->queuelist);
		insert_request(io, now, rq, compat_at_head(insert_flags), &free);
	}
	iosched_restart(io);
	spin_unlock_irqrestore(&io->lock, flags);
	free_requests(&free);
}

static struct request *dispatch_from_core(struct iosched *io)
{
	struct request *rq;
	u32 tag;

	tag = io->ops->dispatch(io->core, iosched_clock(io, ktime_get_ns()));
	iosched_set_timer(io);
	if (tag == CORE_NONE) {
		/* Otherwise nothing would run the queue again, and blk-mq has to poll. */
		WRITE_ONCE(io->idle, io->in_flight || io->timer_ns != CORE_NEVER);
		return NULL;
	}
	/* A bug in the core must not crash the kernel. */
	if (WARN_ON_ONCE(tag >= io->tags || !io->slots[tag].rq))
		return NULL;
	rq = io->slots[tag].rq;
	if (WARN_ON_ONCE(rq_state(rq) != IOSCHED_RQ_HELD && rq_state(rq) != IOSCHED_RQ_REQUEUED))
		return NULL;
	if (rq_state(rq) == IOSCHED_RQ_HELD)
		iosched_del_sorted(io, rq);
	rq_set_state(rq, IOSCHED_RQ_ISSUED);
	iosched_add_held(io, -1);
	iosched_add_in_flight(io, 1);
	return rq;
}

struct request *iosched_dispatch_request(struct blk_mq_hw_ctx *hctx)
{
	struct iosched *io = iosched_of(hctx->queue);
	struct request *rq = NULL;
	unsigned long flags;

	spin_lock_irqsave(&io->lock, flags);
	if (!list_empty(&io->bypass_list)) {
		rq = list_first_entry(&io->bypass_list, struct request, queuelist);
		list_del_init(&rq->queuelist);
		if (compat_prepared(rq)) {
			rq_set_state(rq, IOSCHED_RQ_BYPASS_ISSUED);
			iosched_add_in_flight(io, 1);
		}
	} else if (io->held && iosched_has_budget(io)) {
		rq = dispatch_from_core(io);
	}
	if (rq)
		rq->rq_flags |= RQF_STARTED;
	spin_unlock_irqrestore(&io->lock, flags);
	return rq;
}

/*
 * Lockless. A false positive costs a dispatch attempt. After a false negative, the context that
 * changed the counters runs the queue.
 */
bool iosched_has_work(struct blk_mq_hw_ctx *hctx)
{
	struct iosched *io = iosched_of(hctx->queue);

	return !list_empty_careful(&io->bypass_list) ||
	       (READ_ONCE(io->held) && !READ_ONCE(io->idle) && iosched_has_budget(io));
}

void iosched_prepare_request(struct request *rq)
{
	struct io_cq *io_cq = compat_get_icq(rq->q);

	rq->elv.icq = io_cq;
	rq->elv.priv[0] = io_cq ? to_iosched_icq(io_cq) : NULL;
	rq_set_state(rq, IOSCHED_RQ_NONE);
}

static void complete_request(struct iosched *io, u64 now, struct request *rq)
{
	enum iosched_rq_state state = rq_state(rq);
	u32 tag;

	if (state != IOSCHED_RQ_ISSUED && state != IOSCHED_RQ_BYPASS_ISSUED)
		return;
	rq_set_state(rq, IOSCHED_RQ_NONE);
	iosched_add_in_flight(io, -1);
	if (state == IOSCHED_RQ_ISSUED) {
		tag = rq_core_tag(io, rq);
		io->ops->complete(io->core, now, tag);
		io->slots[tag].rq = NULL;
		iosched_put_icq(io, now, rq_icq(rq));
	}
	iosched_restart(io);
	/* The tag is still in use. blk_mq_free_request() restarts the hctx after releasing it. */
	if (io->held || !list_empty(&io->bypass_list))
		blk_mq_sched_mark_restart_hctx(rq->mq_hctx);
}

void iosched_completed_request(struct request *rq, u64 now)
{
	struct iosched *io = iosched_of(rq->q);
	unsigned long flags;

	if (!compat_prepared(rq))
		return;
	spin_lock_irqsave(&io->lock, flags);
	complete_request(io, iosched_clock(io, now), rq);
	spin_unlock_irqrestore(&io->lock, flags);
}

/* Runs after completion, or for a request that was merged or never inserted. */
void iosched_finish_request(struct request *rq)
{
	struct io_cq *io_cq = rq->elv.icq;

	if (rq_state(rq) != IOSCHED_RQ_NONE) {
		struct iosched *io = iosched_of(rq->q);
		unsigned long flags;

		spin_lock_irqsave(&io->lock, flags);
		complete_request(io, iosched_clock(io, ktime_get_ns()), rq);
		spin_unlock_irqrestore(&io->lock, flags);
		WARN_ON_ONCE(rq_state(rq) != IOSCHED_RQ_NONE);
	}
	rq->elv.icq = NULL;
	rq->elv.priv[0] = NULL;
	if (io_cq)
		put_io_context(io_cq->ioc);
}
