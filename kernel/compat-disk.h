/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the making of a disk looks like from version to version, for modeldisk: apart from compat.h,
 * so that modules which make no disk need none of this.
 */
#ifndef SCHEDLAB_COMPAT_DISK_H
#define SCHEDLAB_COMPAT_DISK_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>

#include "compat.h"

/*
 * Tags are given out in turn, as libata's are. Otherwise the search for a free one begins at a
 * random place, and what depends on tags (bfq does) is different in every run. Since 6.14 that is
 * a flag, and merging needs none.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define COMPAT_MQ_FLAGS \
	(BLK_MQ_F_SHOULD_MERGE | BLK_ALLOC_POLICY_TO_MQ_FLAG(BLK_TAG_ALLOC_RR))
#else
#define COMPAT_MQ_FLAGS BLK_MQ_F_TAG_RR
#endif

/*
 * Features became part of a queue's limits in 6.11, the macro tells; limits are given when a disk
 * is made since 6.9.
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
