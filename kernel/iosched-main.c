// SPDX-License-Identifier: GPL-2.0
/* Registration, queue initialisation, and the idle timer. See iosched.h. */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "iosched.h"

/* HZ of 2.6.20 for the core, independent of CONFIG_HZ. */
static unsigned int hz = 1000;
module_param(hz, uint, 0444);
MODULE_PARM_DESC(hz, "ticks per second of the algorithm's clock, 100 to 1000 (default 1000)");

bool iosched_whole_depth;

static const struct core_ops *iosched_ops;
static iosched_configure_t *iosched_configure;

void iosched_set_timer(struct iosched *io)
{
	u64 expires = io->ops->next_timer(io->core);

	if (expires == io->timer_ns)
		return;
	io->timer_ns = expires;
	if (expires == CORE_NEVER)
		hrtimer_try_to_cancel(&io->timer);
	else
		hrtimer_start(&io->timer, ns_to_ktime(expires), HRTIMER_MODE_ABS);
}

void iosched_restart(struct iosched *io)
{
	WRITE_ONCE(io->idle, false);
	iosched_set_timer(io);
}

static enum hrtimer_restart iosched_timer(struct hrtimer *timer)
{
	struct iosched *io = container_of(timer, struct iosched, timer);
	unsigned long flags;
	bool due;
	u64 now;

	spin_lock_irqsave(&io->lock, flags);
	now = iosched_clock(io, ktime_get_ns());
	due = now >= io->ops->next_timer(io->core);
	if (due)
		io->ops->on_timer(io->core, now);
	io->timer_ns = CORE_NEVER;
	if (due)
		WRITE_ONCE(io->idle, false);
	iosched_set_timer(io);
	spin_unlock_irqrestore(&io->lock, flags);
	if (due)
		blk_mq_run_hw_queues(io->q, true);
	return HRTIMER_NORESTART;
}

/* The maximum over all hctxs, or that of a shared map. */
static u32 count_queue_tags(struct request_queue *q)
{
	struct blk_mq_hw_ctx *hctx;
	unsigned long i;
	u32 tags = 0;

	if (blk_mq_is_shared_tags(q->tag_set->flags))
		return MAX_SCHED_RQ;
	queue_for_each_hw_ctx(q, hctx, i) {
		if (hctx->sched_tags)
			tags = max(tags, hctx->sched_tags->nr_tags);
	}
	return tags;
}

static int alloc_core(struct iosched *io, u32 queue_tags)
{
	struct request_queue *q = io->q;
	struct core_config config = {
		.tags = queue_tags * (io->shared_tags ? 1 : q->nr_hw_queues),
		.hz = clamp(hz, 100u, 1000u),
		.sectors = q->disk ? get_capacity(q->disk) : 0,
	};
	/*
	 * The queue is frozen, so reclaim cannot write to this disk. If its dirty pages fill the
	 * memory, an allocation that must succeed would retry forever.
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

/* Keeps tunables and counters but not process history. Neither core holds requests. */
static void swap_core(struct iosched *io, struct iosched *other)
{
	struct core_anticipation counts = {};
	struct iosched_icq *icq;
	u64 now = iosched_clock(io, ktime_get_ns());
	u32 i;

	for (i = 0; i < io->ops->nr_tunables; i++) {
		u64 value = io->ops->get(io->core, i);

		if (value != io->ops->get(other->core, i))
			io->ops->set(other->core, i, value);
	}
	list_for_each_entry(icq, &io->icqs, link)
		io->ops->exited(io->core, now, icq_process(icq));
	io->ops->exited(io->core, now, io->anonymous);
	io->ops->anticipation(io->core, &counts);
	io->past.started += counts.started;
	io->past.successes += counts.successes;
	io->past.failures += counts.failures;
	io->past.success_wait_ns += counts.success_wait_ns;
	io->past.failure_wait_ns += counts.failure_wait_ns;
	swap(io->core, other->core);
	swap(io->slots, other->slots);
	swap(io->tags, other->tags);
	swap(io->queue_tags, other->queue_tags);
}

/*
 * ->depth_updated, with the queue frozen. A larger depth needs a new core; if there is no memory
 * for one, requests with the new tags bypass the core.
 */
static void iosched_resize(struct request_queue *q)
{
	struct iosched *io = iosched_of(q);
	struct iosched other = { .q = q, .ops = io->ops, .shared_tags = io->shared_tags };
	u32 queue_tags = count_queue_tags(q);
	unsigned long flags;

	if (queue_tags <= io->queue_tags || alloc_core(&other, queue_tags))
		return;
	spin_lock_irqsave(&io->lock, flags);
	if (!WARN_ON_ONCE(io->held || io->in_flight))
		swap_core(io, &other);
	iosched_restart(io);
	spin_unlock_irqrestore(&io->lock, flags);
	kvfree(other.core);
	kvfree(other.slots);
}

static struct iosched *iosched_alloc(struct request_queue *q)
{
	struct iosched *io = kzalloc_node(sizeof(*io), GFP_KERNEL, q->node);

	if (!io)
		return NULL;
	io->q = q;
	io->ops = iosched_ops;
	io->shared_tags = blk_mq_is_shared_tags(q->tag_set->flags);
	io->anonymous = kzalloc(max_t(size_t, 8, io->ops->process_size), GFP_KERNEL);
	if (!io->anonymous || alloc_core(io, count_queue_tags(q))) {
		kfree(io->anonymous);
		kfree(io);
		return NULL;
	}
	io->timer_ns = CORE_NEVER;
	io->max_inflight = compat_rotational(q) && !io->ops->shares ? 1 : 0;
	io->sort_list[READ] = RB_ROOT;
	io->sort_list[WRITE] = RB_ROOT;
	INIT_LIST_HEAD(&io->bypass_list);
	INIT_LIST_HEAD(&io->icqs);
	spin_lock_init(&io->lock);
	compat_hrtimer_setup(&io->timer, iosched_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	return io;
}

static int iosched_init_queue(struct request_queue *q, struct elevator_queue *eq)
{
	struct iosched *io = iosched_alloc(q);

	if (!io)
		return -ENOMEM;
	eq->elevator_data = io;
	/* One dispatch order for all hctxs. */
	blk_queue_flag_set(QUEUE_FLAG_SQ_SCHED, q);
	return 0;
}

COMPAT_SCHED(iosched_init_queue, iosched_resize)

static void iosched_exit_sched(struct elevator_queue *eq)
{
	struct iosched *io = eq->elevator_data;

	hrtimer_cancel(&io->timer);
	WARN_ON_ONCE(io->held || io->in_flight || !list_empty(&io->bypass_list));
	kvfree(io->core);
	kvfree(io->slots);
	kfree(io->anonymous);
	kfree(io);
}

static struct elevator_type iosched_type = {
	.ops = {
		.init_sched = compat_init_sched,
		.exit_sched = iosched_exit_sched,
		.init_hctx = compat_init_hctx,
		.depth_updated = COMPAT_DEPTH_UPDATED,
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
	.queue_debugfs_attrs = iosched_debugfs_attrs,
#endif
	.elevator_owner = THIS_MODULE,
};

/**
 * iosched_register - register a core as an elevator
 * @ops: the core
 * @configure: adds the disk geometry to a queue's configuration, or NULL
 *
 * A module registers exactly one elevator. Returns 0 or a negative error.
 */
int iosched_register(const struct core_ops *ops, iosched_configure_t *configure,
		     bool shows_internal)
{
	int error = iosched_init_attrs(ops, shows_internal) ?:
		    compat_measure_depth(&iosched_whole_depth);

	if (error)
		return error;
	iosched_ops = ops;
	iosched_configure = configure;
	iosched_type.elevator_name = ops->name;
	iosched_type.icq_size = sizeof(struct iosched_icq) + ops->process_size;
	return elv_register(&iosched_type);
}

void iosched_unregister(void)
{
	elv_unregister(&iosched_type);
}
