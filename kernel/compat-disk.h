/* SPDX-License-Identifier: GPL-2.0 */
/* Version differences in disk allocation, for modeldisk only. */
#ifndef SCHEDLAB_COMPAT_DISK_H
#define SCHEDLAB_COMPAT_DISK_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>

#include "compat.h"

/*
 * Round-robin tag allocation, as in libata. A random start would make schedulers that depend on
 * tags (bfq) differ from run to run. 6.14 changed the flag and removed that for merging.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define COMPAT_MQ_FLAGS \
	(BLK_MQ_F_SHOULD_MERGE | BLK_ALLOC_POLICY_TO_MQ_FLAG(BLK_TAG_ALLOC_RR))
#else
#define COMPAT_MQ_FLAGS BLK_MQ_F_TAG_RR
#endif

/*
 * Queue limits are an argument of disk allocation since 6.9; since 6.11, which defines the macro,
 * they include the features.
 */
static inline struct gendisk *compat_make_disk(struct blk_mq_tag_set *set, void *queuedata,
					       unsigned int max_sectors,
					       bool rotational, bool write_cache)
{
#ifdef BLK_FEAT_ROTATIONAL
	struct queue_limits limits = {
		.max_hw_sectors = max_sectors,
		.max_segments = max_sectors,
		.features = (rotational ? BLK_FEAT_ROTATIONAL : 0) | (write_cache ?
				BLK_FEAT_WRITE_CACHE : 0),
	};

	return blk_mq_alloc_disk(set, &limits, queuedata);
#else
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 9, 0)
	struct gendisk *disk = blk_mq_alloc_disk(set, NULL, queuedata);
#else
	struct gendisk *disk = blk_mq_alloc_disk(set, queuedata);
#endif

	if (IS_ERR(disk))
		return disk;
	blk_queue_max_hw_sectors(disk->queue, max_sectors);
	blk_queue_max_segments(disk->queue, max_sectors);
	blk_queue_write_cache(disk->queue, write_cache, false);
	if (!rotational)
		blk_queue_flag_set(QUEUE_FLAG_NONROT, disk->queue);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, disk->queue);
	return disk;
#endif
}

#endif
