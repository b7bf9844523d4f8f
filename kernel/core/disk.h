/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The simulator's disk in C: the counterpart of the trait DeviceModel of crates/sim, identical to
 * the nanosecond. It has no clock and does not allocate: the caller provides core_disk_size() bytes
 * and the model's tables, as written by the host.
 */
#ifndef SCHEDLAB_CORE_DISK_H
#define SCHEDLAB_CORE_DISK_H

#include "types.h"

#define CORE_DISK_NEVER (~0ull)

/* Counters since initialisation: struct DeviceStats of crates/sim, in its order. */
struct core_disk_stats {
	u64 transfers, bytes, busy_ns, seeks, seek_cylinders, seek_ns, rotation_ns, transfer_ns;
	u64 cache_hits, cached_writes, moved_pages, erases;
};

struct core_disk;

/*
 * Checks the tables (see disk-model.h). Returns the bytes of memory that the disk needs, or 0 if
 * they are malformed.
 */
size_t core_disk_size(const void *tables, size_t len);
/*
 * Initialises the disk in @memory, which must be zeroed and aligned to 8. @tables must remain valid
 * and unchanged.
 */
struct core_disk *core_disk_init(void *memory, const void *tables, size_t len);

u64 core_disk_sectors(const struct core_disk *disk);
u32 core_disk_queue_depth(const struct core_disk *disk);
/* Whether service times depend on the distance between requests. */
bool core_disk_has_arm(const struct core_disk *disk);
/* Whether writes can complete before they are on the medium. */
bool core_disk_has_volatile_cache(const struct core_disk *disk);

/*
 * Submits a command. Events before @now must have been handled by core_disk_advance(). The command
 * completes in a later call of core_disk_advance(), never in this one. Returns false, without
 * effect, if the command is beyond the disk or too long (2^24 sectors), if time went back, or if
 * the disk is full: it accepts its queue depth of transfers, and 16 flushes more than that.
 */
bool core_disk_submit(struct core_disk *disk, u64 now, u32 tag, bool write, u64 sector,
		      u32 nr_sectors);
bool core_disk_flush(struct core_disk *disk, u64 now, u32 tag);
/* The time of the next event, or CORE_DISK_NEVER if there is none without another command. */
u64 core_disk_next_event(const struct core_disk *disk);
/*
 * Handles all events up to @now. Calls done() for each command that completes, in order, with the
 * modelled time.
 */
void core_disk_advance(struct core_disk *disk, u64 now, void (*done)(void *ctx, u32 tag, u64 at),
		       void *ctx);
void core_disk_stats(const struct core_disk *disk, struct core_disk_stats *out);

#endif
