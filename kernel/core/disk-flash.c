// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A flash device: the simulator's own model, compiled from Rust. The numbers after the head are
 * those of encode() in crates/flash-model/src/config.rs.
 */
#include "disk-flash.h"
#include "disk-model.h"

/* The model uses SSE, which needs an aligned stack. */
#define CALLS_MODEL __attribute__((force_align_arg_pointer))

struct flash_disk {
	struct core_disk disk;
	struct flash *flash;
};

struct reporting {
	struct core_disk *disk;
	const struct disk_sink *sink;
};

static struct flash *flash_of(const struct core_disk *disk)
{
	return ((const struct flash_disk *)(const void *)disk)->flash;
}

static CALLS_MODEL size_t flash_size(const u8 *tables, size_t len)
{
	bool fits = flash_check(tables + DISK_HEAD, len - DISK_HEAD,
				disk_le64(tables + DISK_SECTORS_AT),
				disk_le64(tables + DISK_DEPTH_AT));

	return fits ? sizeof(struct flash_disk) : 0;
}

static CALLS_MODEL void flash_init(struct core_disk *disk, const u8 *tables)
{
	struct flash_disk *own = (struct flash_disk *)(void *)disk;

	own->flash = flash_new(tables + DISK_HEAD, disk_le32(tables + 12) - DISK_HEAD);
}

static CALLS_MODEL void flash_exit(struct core_disk *disk)
{
	flash_drop(flash_of(disk));
}

static CALLS_MODEL void transfer(struct core_disk *disk, u64 now, u32 tag, bool write, u64 sector,
				 u32 nr)
{
	flash_transfer(flash_of(disk), now, tag, write, sector, nr);
}

static CALLS_MODEL void flush(struct core_disk *disk, u64 now, u32 tag)
{
	flash_flush(flash_of(disk), now, tag);
}

static CALLS_MODEL u64 next_event(const struct core_disk *disk)
{
	return flash_next_event(flash_of(disk));
}

static void report(void *ctx, u32 tag, bool is_flush, u64 at)
{
	const struct reporting *reporting = ctx;

	disk_done(reporting->disk, reporting->sink, tag, is_flush, at);
}

static CALLS_MODEL void event(struct core_disk *disk, u64 at, const struct disk_sink *sink)
{
	struct reporting reporting = { disk, sink };

	flash_advance(flash_of(disk), at, report, &reporting);
}

static CALLS_MODEL void count(const struct core_disk *disk, struct core_disk_stats *stats)
{
	struct flash_counters counters;

	flash_counters(flash_of(disk), &counters);
	stats->cached_writes = counters.cached_writes;
	stats->moved_pages = counters.moved_pages;
	stats->erases = counters.erases;
	stats->programs = counters.programs;
	stats->suspends = counters.suspends;
}

static bool has_arm(const struct core_disk *disk)
{
	(void)disk;
	return false;
}

static bool has_volatile_cache(const struct core_disk *disk)
{
	(void)disk;
	return true;
}

const struct disk_model disk_flash = {
	.size = flash_size,
	.init = flash_init,
	.exit = flash_exit,
	.transfer = transfer,
	.flush = flush,
	.next_event = next_event,
	.event = event,
	.count = count,
	.has_arm = has_arm,
	.has_volatile_cache = has_volatile_cache,
};
