/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A modelled disk inside the kernel: its state, and what the parts of the driver ask of each other.
 */
#ifndef SCHEDLAB_MODELDISK_DEVICE_H
#define SCHEDLAB_MODELDISK_DEVICE_H

#include <linux/blk-mq.h>
#include <linux/configfs.h>
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>

#include "core/disk.h"
#include "modeldisk.h"

/* Sectors of the largest request: Limits::usual of crates/elevator. */
#define MODELDISK_MAX_SECTORS	1024
/* Tags of an adapter at least: AHCI's 32, as there. */
#define MODELDISK_ADAPTER_TAGS	32
#define MODELDISK_NO_SECTOR	(~0ull)

/* What a request carries. */
struct modeldisk_cmd {
	struct list_head done;
	blk_status_t status;
};

/* A tag while its request is inside. */
struct modeldisk_slot {
	/* NULL: nothing is inside, or what was has been failed and the model does not know */
	struct request *rq;
	bool held;		/* until it times out; the model does not know it */
	u32 record;		/* its place in the log, or ~0 */
};

struct modeldisk_counters {
	u64 requests, flushes, errors, timeouts, max_inside, refused, late_ns, max_late_ns;
};

struct modeldisk {
	struct config_item item;
	struct mutex mutex;		/* configuration and power */

	/* Configuration; does not change while the disk is on. */
	void *tables;
	size_t tables_len;
	unsigned int nr_requests, queue_depth, timeout_ms, log_entries, memory_backed;
	bool on;

	struct blk_mq_tag_set set;
	struct gendisk *disk;
	struct dentry *dir;
	struct xarray store;

	spinlock_t lock;		/* all that follows */
	struct hrtimer timer;
	struct core_disk *core;		/* memory of its own */
	size_t core_size;
	u64 epoch_ns, armed_ns;		/* of CLOCK_MONOTONIC; since the epoch */
	struct modeldisk_slot *slots;	/* by tag */
	struct list_head done;		/* requests to complete, in order */
	unsigned int depth, budget_used, inside;
	bool starved;			/* somebody was refused a budget */
	bool gone;
	u64 error_sector, error_count, timeout_sector;
	struct modeldisk_counters counters;
	struct modeldisk_record *log;
	u32 log_used;
	u64 log_lost;
};

/* modeldisk-queue.c */
int modeldisk_queue_make(struct modeldisk *dev);
void modeldisk_queue_remove(struct modeldisk *dev);
/* Makes the model anew, with its time 0 at `epoch_ns`; -EBUSY while something is inside. */
int modeldisk_restart(struct modeldisk *dev, u64 epoch_ns);
/* From now on everything fails, what is inside included. */
void modeldisk_be_gone(struct modeldisk *dev);
/* Nanoseconds since the epoch; the lock is held. */
u64 modeldisk_now(const struct modeldisk *dev);

/* modeldisk-store.c */
/* Copies a request's data to or from the store; -ENOMEM: nothing is wrong with the request. */
int modeldisk_store_transfer(struct modeldisk *dev, struct request *rq);
void modeldisk_store_free(struct modeldisk *dev);

/* modeldisk-log.c */
int modeldisk_log_make(struct modeldisk *dev);
void modeldisk_log_free(struct modeldisk *dev);
/* The place of a new record, or ~0; the lock is held. */
u32 modeldisk_log_submit(struct modeldisk *dev, u64 now, struct request *rq);
void modeldisk_debugfs_add(struct modeldisk *dev);
void modeldisk_debugfs_init(void);
void modeldisk_debugfs_exit(void);

#endif
