/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Version differences for the modules: 6.1 to 7.3. No other file tests LINUX_VERSION_CODE.
 *
 * The second part requires COMPAT_ELEVATOR and the block layer's private headers of exactly the
 * target kernel, whose directory Kbuild adds to the include path.
 */
#ifndef SCHEDLAB_COMPAT_H
#define SCHEDLAB_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>

/* 6.13 added hrtimer_setup(), 6.15 removed hrtimer_init(). */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void compat_hrtimer_setup(struct hrtimer *timer,
					enum hrtimer_restart (*function)(struct hrtimer *),
					clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#else
#define compat_hrtimer_setup hrtimer_setup
#endif

#ifdef COMPAT_ELEVATOR

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/iocontext.h>
#include <linux/module.h>
#include <linux/sbitmap.h>

#include "elevator.h"
#include "blk.h"
#include "blk-mq.h"
#include "blk-mq-debugfs.h"
#include "blk-mq-sched.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "schedlab's elevators are for Linux 6.1 and later"
#endif

/* Since 6.16.4 and 6.17, the block layer allocates the elevator_queue. */
#define COMPAT_CORE_ALLOCATES (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 4))

/*
 * Whether the block layer calls ->finish_request and ->completed_request. Otherwise it does not
 * call ->insert_requests either (6.1: passthrough from a plug; 6.12: none known), and rq->elv may
 * be in other use. The flag was split and renamed in 6.5.
 */
static inline bool compat_prepared(const struct request *rq)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	return rq->rq_flags & RQF_USE_SCHED;
#else
	return rq->rq_flags & RQF_ELVPRIV;
#endif
}

/* The third argument of ->insert_requests: a bool before 6.4. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
typedef blk_insert_t compat_insert_t;
#define compat_at_head(flags) (((flags) & BLK_MQ_INSERT_AT_HEAD) != 0)
#else
typedef bool compat_insert_t;
#define compat_at_head(flags) (flags)
#endif

/* Sysfs table entries. Const since about 6.3; a non-const array fits all versions. */
typedef struct elv_fs_entry compat_entry_t;

/* Flag, sense and macro changed; the macro's existence distinguishes the versions. */
static inline bool compat_rotational(struct request_queue *q)
{
#ifdef blk_queue_nonrot
	return !blk_queue_nonrot(q);
#else
	return q->limits.features & BLK_FEAT_ROTATIONAL;
#endif
}

/* Created if needed, with a reference to its io_context; NULL without memory. */
static inline struct io_cq *compat_get_icq(struct request_queue *q)
{
#ifdef CONFIG_BLK_ICQ
	return ioc_find_get_icq(q);
#else
	return NULL;
#endif
}

/* Or NULL. Valid while the caller holds a reference to the queue. */
static inline struct io_cq *compat_find_icq(struct request_queue *q)
{
#ifdef CONFIG_BLK_ICQ
	unsigned long flags;
	struct io_cq *icq;

	if (!current->io_context)
		return NULL;
	spin_lock_irqsave(&q->queue_lock, flags);
	icq = ioc_lookup_icq(q);
	spin_unlock_irqrestore(&q->queue_lock, flags);
	return icq;
#else
	return NULL;
#endif
}

/*
 * Whether a shallow depth applies to the whole tag map, as since 6.17, or to each of its words.
 * Stable kernels (6.12 since 6.12.43) and distributions have the change too, so it is measured: of
 * two words of 8 bits, a depth of 2 gives 2 bits or 4.
 */
static inline int compat_measure_depth(bool *whole)
{
	struct sbitmap_queue map;
	unsigned int got = 0;
	int error = sbitmap_queue_init_node(&map, 16, 3, false, GFP_KERNEL, NUMA_NO_NODE);

	if (error)
		return error;
	sbitmap_queue_min_shallow_depth(&map, 1);
	while (got < 16 && sbitmap_queue_get_shallow(&map, 2) >= 0)
		got++;
	*whole = got <= 2;
	sbitmap_queue_free(&map);
	return 0;
}

/* @whole: see compat_measure_depth(). */
static inline void compat_limit(struct blk_mq_alloc_data *data, unsigned int limit,
				unsigned int total, bool whole)
{
	unsigned int word = 1u << data->hctx->sched_tags->bitmap_tags.sb.shift;

	data->shallow_depth = whole ? limit : max(1u, word * limit / total);
}

/* Lets ->limit_depth restrict allocations of a hardware queue down to one tag. */
static inline void compat_allow_limits(struct blk_mq_hw_ctx *hctx)
{
	sbitmap_queue_min_shallow_depth(&hctx->sched_tags->bitmap_tags, 1);
}

static inline void compat_allow_queue_limits(struct request_queue *q)
{
	struct blk_mq_hw_ctx *hctx;
	unsigned long i;

	queue_for_each_hw_ctx(q, hctx, i)
		compat_allow_limits(hctx);
}

/*
 * ->depth_updated gets the queue since 6.17, and each hardware queue before; stable kernels and
 * distributions differ, so the type decides and not the version.
 */
#define COMPAT_DEPTH_UPDATED								\
	_Generic(((struct elevator_mq_ops *)NULL)->depth_updated,			\
		 void (*)(struct request_queue *): compat_queue_depth_updated,		\
		 void (*)(struct blk_mq_hw_ctx *): compat_hctx_depth_updated)

/*
 * COMPAT_SCHED(init, resize) defines compat_init_sched, compat_init_hctx and the functions of
 * COMPAT_DEPTH_UPDATED. int init(struct request_queue *, struct elevator_queue *) sets
 * elevator_data; void resize(struct request_queue *) is called after the number of tags has
 * changed, once or per hardware queue.
 */
#define COMPAT_SCHED(init, resize)							\
	static void __maybe_unused compat_queue_depth_updated(struct request_queue *q)	\
	{										\
		compat_allow_queue_limits(q);						\
		resize(q);								\
	}										\
	static void __maybe_unused compat_hctx_depth_updated(struct blk_mq_hw_ctx *hctx) \
	{										\
		compat_allow_limits(hctx);						\
		resize(hctx->queue);							\
	}										\
	static int compat_init_hctx(struct blk_mq_hw_ctx *hctx, unsigned int index)	\
	{										\
		compat_allow_limits(hctx);						\
		return 0;								\
	}										\
	COMPAT_INIT_SCHED(init)

#if COMPAT_CORE_ALLOCATES
#define COMPAT_INIT_SCHED(init)								\
	static int compat_init_sched(struct request_queue *q, struct elevator_queue *eq) \
	{										\
		int error = init(q, eq);						\
											\
		if (!error)								\
			q->elevator = eq;						\
		return error;								\
	}
#else
#define COMPAT_INIT_SCHED(init)								\
	static int compat_init_sched(struct request_queue *q, struct elevator_type *type) \
	{										\
		struct elevator_queue *eq = elevator_alloc(q, type);			\
		int error;								\
											\
		if (!eq)								\
			return -ENOMEM;							\
		error = init(q, eq);							\
		if (error)								\
			kobject_put(&eq->kobj);						\
		else									\
			q->elevator = eq;						\
		return error;								\
	}
#endif

#endif

#endif
