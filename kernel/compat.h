/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All differences between the versions of Linux that the modules are built for: 6.1, 6.12, and
 * newer ones as far as they are known. No other file asks for a version. What a version wants is
 * given one shape here, so that the rest is written once.
 *
 * The second part is for who defines COMPAT_ELEVATOR before including this. It needs the private
 * headers of the block layer (elevator.h, blk.h, blk-mq.h, blk-mq-debugfs.h, blk-mq-sched.h) of
 * exactly the kernel that is built for; Kbuild puts their directory on the path.
 */
#ifndef SCHEDLAB_COMPAT_H
#define SCHEDLAB_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>

/* 6.13 sets a timer's function when it is set up, 6.15 knows no other way. */
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

/*
 * Since 6.18 the core allocates the elevator_queue, asks about depth by queue, and counts a shallow
 * depth over the whole map.
 */
#define COMPAT_CORE_ALLOCATES (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0))

/*
 * Whether the block layer calls finish_request and completed_request for this request. Others come
 * through insert_requests too (6.1: passthrough from a plug; 6.12: none that is known), and what
 * they have in rq->elv may be somebody else's. The flag was split in two and renamed in 6.5.
 */
static inline bool compat_prepared(const struct request *rq)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	return rq->rq_flags & RQF_USE_SCHED;
#else
	return rq->rq_flags & RQF_ELVPRIV;
#endif
}

/* What insert_requests is told besides the list: a bool before 6.4. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
typedef blk_insert_t compat_insert_t;
#define compat_at_head(flags) (((flags) & BLK_MQ_INSERT_AT_HEAD) != 0)
#else
typedef bool compat_insert_t;
#define compat_at_head(flags) (flags)
#endif

/*
 * Tables of sysfs and debugfs entries; the former are constant from 6.3 or so, which a plain array
 * fits everywhere.
 */
typedef struct elv_fs_entry compat_entry_t;

/*
 * Whether the device says that it has moving parts. Flag, sense and macro have changed; whether the
 * macro is there tells which.
 */
static inline bool compat_rotational(struct request_queue *q)
{
#ifdef blk_queue_nonrot
	return !blk_queue_nonrot(q);
#else
	return q->limits.features & BLK_FEAT_ROTATIONAL;
#endif
}

/*
 * The record of the calling process for this queue, with a reference to its io_context; NULL: none
 * could be had.
 */
static inline struct io_cq *compat_get_icq(struct request_queue *q)
{
#ifdef CONFIG_BLK_ICQ
	return ioc_find_get_icq(q);
#else
	return NULL;
#endif
}

/*
 * The record of the calling process for this queue if there is one; it stays as long as the caller
 * is in the queue.
 */
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
 * Lets a request that is being allocated have one of the first `limit` of the queue's `total` tags
 * only.
 */
static inline void compat_limit(struct blk_mq_alloc_data *data, unsigned int limit,
				unsigned int total)
{
#if COMPAT_CORE_ALLOCATES
	data->shallow_depth = limit;
#else
	/* The map is made of words, and the depth is counted in each of them. */
	unsigned int word = 1u << data->hctx->sched_tags->bitmap_tags.sb.shift;

	data->shallow_depth = max(1u, word * limit / total);
#endif
}

/*
 * COMPAT_SCHED(made, resized): defines compat_init_sched, compat_init_hctx and compat_depth_updated
 * around int made(struct request_queue *, struct elevator_queue *), which sets elevator_data, and
 * void resized(struct request_queue *), which is called once the number of tags has changed: at
 * least once, perhaps for each hardware queue.
 */
#if COMPAT_CORE_ALLOCATES
#define COMPAT_SCHED(made, resized)								\
	static void compat_depth_updated(struct request_queue *q)				\
	{											\
		blk_mq_set_min_shallow_depth(q, 1);						\
		resized(q);									\
	}											\
	static int compat_init_sched(struct request_queue *q, struct elevator_queue *eq)	\
	{											\
		int error = made(q, eq);							\
												\
		if (!error) {									\
			q->elevator = eq;							\
			blk_mq_set_min_shallow_depth(q, 1);					\
		}										\
		return error;									\
	}
#define COMPAT_INIT_HCTX
#else
#define COMPAT_SCHED(made, resized)								\
	static void compat_depth_updated(struct blk_mq_hw_ctx *hctx)				\
	{											\
		sbitmap_queue_min_shallow_depth(&hctx->sched_tags->bitmap_tags, 1);		\
		resized(hctx->queue);								\
	}											\
	static int compat_init_hctx(struct blk_mq_hw_ctx *hctx, unsigned int index)		\
	{											\
		sbitmap_queue_min_shallow_depth(&hctx->sched_tags->bitmap_tags, 1);		\
		return 0;									\
	}											\
	static int compat_init_sched(struct request_queue *q, struct elevator_type *type)	\
	{											\
		struct elevator_queue *eq = elevator_alloc(q, type);				\
		int error;									\
												\
		if (!eq)									\
			return -ENOMEM;								\
		error = made(q, eq);								\
		if (error)									\
			kobject_put(&eq->kobj);							\
		else										\
			q->elevator = eq;							\
		return error;									\
	}
#define COMPAT_INIT_HCTX .init_hctx = compat_init_hctx,
#endif

#endif

#endif
