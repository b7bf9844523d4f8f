/* SPDX-License-Identifier: GPL-2.0 */
/* Internal to modeldisk: a disk's state and the interfaces of the driver's parts. */
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

/* Maximum request size in sectors: Limits::usual of crates/elevator. */
#define MODELDISK_MAX_SECTORS	1024
/* Minimum number of adapter tags: AHCI's 32, as there. */
#define MODELDISK_ADAPTER_TAGS	32
#define MODELDISK_NO_SECTOR	(~0ull)

/* The driver's part of a request. */
struct modeldisk_cmd {
	struct list_head done;
	blk_status_t status;
};

/* A tag while its request is in the disk. */
struct modeldisk_slot {
	/* NULL: the tag is free, or its request failed and is still in the model */
	struct request *rq;
	bool held;		/* until it times out; not in the model */
	u32 record;		/* index in the log, or ~0 */
};

struct modeldisk_counters {
	u64 requests, flushes, errors, timeouts, max_inside, refused, late_ns, max_late_ns;
};

struct modeldisk {
	struct config_item item;
	struct mutex mutex;		/* configuration and power */

	/* Constant while the power is on. */
	void *tables;
	size_t tables_len;
	unsigned int nr_requests, queue_depth, timeout_ms, log_entries, memory_backed;
	unsigned int submit_ns, complete_ns;	/* CPU time of a request */
	unsigned int charge_all;		/* nothing of it is credited */
	bool on;

	struct blk_mq_tag_set set;
	struct gendisk *disk;
	struct dentry *dir;
	struct xarray store;

	spinlock_t lock;		/* all following members */
	struct hrtimer timer;
	struct core_disk *core;		/* in separate memory */
	size_t core_size;
	u64 epoch_ns, armed_ns;		/* of CLOCK_MONOTONIC; since the epoch */
	struct modeldisk_slot *slots;	/* by tag */
	struct list_head done;		/* requests to complete, in order */
	unsigned int depth, budget_used, inside;
	s64 owed_ns;			/* CPU time; see burn() */
	u64 busy_ns;
	bool burning;
	bool starved;			/* a request was refused without budget */
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
/* Resets the model with its time 0 at @epoch_ns; -EBUSY while requests are in the disk. */
int modeldisk_restart(struct modeldisk *dev, u64 epoch_ns);
/* Fails all later requests, including those in the disk. */
void modeldisk_be_gone(struct modeldisk *dev);
/* Nanoseconds since the epoch; requires the lock. */
u64 modeldisk_now(const struct modeldisk *dev);

/* modeldisk-store.c */
/* Copies a request's data to or from the store. Can be retried after -ENOMEM. */
int modeldisk_store_transfer(struct modeldisk *dev, struct request *rq);
void modeldisk_store_free(struct modeldisk *dev);

/* modeldisk-log.c */
int modeldisk_log_make(struct modeldisk *dev);
void modeldisk_log_free(struct modeldisk *dev);
/* The index of a new record, or ~0; requires the lock. */
u32 modeldisk_log_submit(struct modeldisk *dev, u64 now, struct request *rq);
void modeldisk_debugfs_add(struct modeldisk *dev);
void modeldisk_debugfs_init(void);
void modeldisk_debugfs_exit(void);

#endif
