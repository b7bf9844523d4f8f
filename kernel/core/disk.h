/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The simulator's disk, in C: the counterpart of the trait DeviceModel of crates/sim, identical to
 * the nanosecond. It owns no clock and allocates nothing: the caller gives it core_disk_size()
 * bytes and the model's tables, as the host wrote them.
 */
#ifndef SCHEDLAB_CORE_DISK_H
#define SCHEDLAB_CORE_DISK_H

#include "types.h"

#define CORE_DISK_NEVER (~0ull)

/* What a device has done since it was made: struct DeviceStats of crates/sim, in its order. */
struct core_disk_stats {
	u64 transfers, bytes, busy_ns, seeks, seek_cylinders, seek_ns, rotation_ns, transfer_ns;
	u64 cache_hits, cached_writes, moved_pages, erases;
};

struct core_disk;

/*
 * Checks the tables (a packed little-endian blob, see disk-model.h) and tells how many bytes the
 * disk needs; 0: they are malformed.
 */
size_t core_disk_size(const void *tables, size_t len);
/*
 * Makes the disk in `memory`, which is zeroed and aligned to 8; `tables` must stay where they are
 * and as they are.
 */
struct core_disk *core_disk_init(void *memory, const void *tables, size_t len);

u64 core_disk_sectors(const struct core_disk *disk);
u32 core_disk_queue_depth(const struct core_disk *disk);
/* Whether requests far from each other cost more than near ones. */
bool core_disk_has_arm(const struct core_disk *disk);
/* Whether a write can be done before it is on the medium, so that a flush has something to do. */
bool core_disk_has_volatile_cache(const struct core_disk *disk);

/*
 * Everything due before `now` must have been advanced over. It completes at a later call of
 * core_disk_advance(), never in this one. False, and nothing has happened: the command is beyond
 * the disk or too long (2^24 sectors), time went back, or the disk is full: it takes its queue
 * depth of transfers at once, and 16 more flushes than that.
 */
bool core_disk_submit(struct core_disk *disk, u64 now, u32 tag, bool write, u64 sector,
		      u32 nr_sectors);
bool core_disk_flush(struct core_disk *disk, u64 now, u32 tag);
/* When something happens inside next; CORE_DISK_NEVER: nothing will without another command. */
u64 core_disk_next_event(const struct core_disk *disk);
/*
 * Lets everything happen that is due at `now`; calls done() for each command that is done, in
 * order, with the modelled time.
 */
void core_disk_advance(struct core_disk *disk, u64 now, void (*done)(void *ctx, u32 tag, u64 at),
		       void *ctx);
void core_disk_stats(const struct core_disk *disk, struct core_disk_stats *out);

#endif
