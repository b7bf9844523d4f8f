/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The simulator's disk in C, identical to DeviceModel to the nanosecond. The caller provides
 * core_disk_size() bytes and the model's tables; except for flash nothing is allocated.
 */
#ifndef SCHEDLAB_CORE_DISK_H
#define SCHEDLAB_CORE_DISK_H

#include "types.h"

#define CORE_DISK_NEVER (~0ull)

/* In the order of struct DeviceStats in crates/sim. */
struct core_disk_stats {
	u64 transfers, bytes, busy_ns, seeks, seek_cylinders, seek_ns, rotation_ns, transfer_ns;
	u64 cache_hits, cached_writes, moved_pages, erases, programs, suspends;
};

struct core_disk;

/* 0 if the tables (disk-model.h) are malformed. */
size_t core_disk_size(const void *tables, size_t len);
/* @memory must be zeroed and aligned to 8. @tables must remain valid. */
struct core_disk *core_disk_init(void *memory, const void *tables, size_t len);
/* Frees what a model has allocated (flash). */
void core_disk_exit(struct core_disk *disk);
/* No command has arrived since core_disk_init(). */
bool core_disk_is_new(const struct core_disk *disk);
/* Of tables that core_disk_size() accepts. */
u32 core_disk_tables_depth(const void *tables);

u64 core_disk_sectors(const struct core_disk *disk);
u32 core_disk_queue_depth(const struct core_disk *disk);
/* Service times depend on distance. */
bool core_disk_has_arm(const struct core_disk *disk);
/* Writes may complete before they are on the medium. */
bool core_disk_has_volatile_cache(const struct core_disk *disk);

/*
 * Events before @now must have been handled by core_disk_advance(), which also reports the
 * completion. Returns false, without effect, if the command exceeds the disk or 2^24 sectors, if
 * time went back, or if the disk is full: queue depth transfers, plus 16 flushes.
 */
bool core_disk_submit(struct core_disk *disk, u64 now, u32 tag, bool write, u64 sector,
		      u32 nr_sectors);
bool core_disk_flush(struct core_disk *disk, u64 now, u32 tag);
/* CORE_DISK_NEVER: nothing happens without another command. */
u64 core_disk_next_event(const struct core_disk *disk);
/* Calls done() with the modelled time of each completion, in order. */
void core_disk_advance(struct core_disk *disk, u64 now, void (*done)(void *ctx, u32 tag, u64 at),
		       void *ctx);
void core_disk_stats(const struct core_disk *disk, struct core_disk_stats *out);

#endif
