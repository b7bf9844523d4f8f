// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks and counts commands and advances time. Port of crates/sim/src/device/mod.rs. Commands at
 * which the simulator panics are rejected: no argument or table causes an access outside the disk's
 * memory.
 */
#include "disk-model.h"

/* As in the parsers of disk descriptions. */
#define MOST_SECTORS	(~0ull >> 16)
#define MOST_DEPTH	65535u

static const struct disk_model *model_of(const u8 *tables, size_t len)
{
	const struct disk_model *model = NULL;
	u64 sectors, depth;

	if (len < DISK_HEAD || disk_le32(tables) != DISK_MAGIC || disk_le32(tables + 4) !=
	    DISK_VERSION)
		return NULL;
	if (disk_le32(tables + 12) != len)
		return NULL;
	if (disk_le32(tables + 8) == DISK_HDD)
		model = &disk_hdd;
	else if (disk_le32(tables + 8) == DISK_NULL)
		model = &disk_null;
	else if (disk_le32(tables + 8) == DISK_MEASURED)
		model = &disk_measured;
#ifdef CORE_DISK_FLASH
	else if (disk_le32(tables + 8) == DISK_FLASH)
		model = &disk_flash;
#endif
	sectors = disk_le64(tables + DISK_SECTORS_AT);
	depth = disk_le64(tables + DISK_DEPTH_AT);
	if (sectors < 1 || sectors > MOST_SECTORS || depth < 1 || depth > MOST_DEPTH)
		return NULL;
	return model;
}

size_t core_disk_size(const void *tables, size_t len)
{
	const struct disk_model *model = model_of(tables, len);

	return model ? model->size(tables, len) : 0;
}

struct core_disk *core_disk_init(void *memory, const void *tables, size_t len)
{
	const u8 *at = tables;
	struct core_disk *disk = memory;

	disk->model = model_of(tables, len);
	if (!disk->model)
		return NULL;
	disk->sectors = disk_le64(at + DISK_SECTORS_AT);
	disk->depth = (u32)disk_le64(at + DISK_DEPTH_AT);
	disk->model->init(disk, at);
	return disk;
}

void core_disk_exit(struct core_disk *disk)
{
	if (disk->model->exit)
		disk->model->exit(disk);
}

bool core_disk_is_new(const struct core_disk *disk)
{
	return !disk->used && !disk->clock_ns;
}

u32 core_disk_tables_depth(const void *tables)
{
	return (u32)disk_le64((const u8 *)tables + DISK_DEPTH_AT);
}

u64 core_disk_sectors(const struct core_disk *disk)
{
	return disk->sectors;
}

u32 core_disk_queue_depth(const struct core_disk *disk)
{
	return disk->depth;
}

bool core_disk_has_arm(const struct core_disk *disk)
{
	return disk->model->has_arm(disk);
}

bool core_disk_has_volatile_cache(const struct core_disk *disk)
{
	return disk->model->has_volatile_cache(disk);
}

/* Time with a command in the disk is busy time. */
static void pass_time(struct core_disk *disk, u64 now)
{
	if (disk->transfers || disk->flushes)
		disk->stats.busy_ns += now - disk->clock_ns;
	disk->clock_ns = now;
}

/* Due events must be handled first. */
static bool in_time(const struct core_disk *disk, u64 now)
{
	return now >= disk->clock_ns && now <= core_disk_next_event(disk);
}

bool core_disk_submit(struct core_disk *disk, u64 now, u32 tag, bool write, u64 sector,
		      u32 nr_sectors)
{
	if (!in_time(disk, now) || disk->transfers >= disk->depth)
		return false;
	if (nr_sectors < 1 || nr_sectors > DISK_MAX_SECTORS)
		return false;
	if (nr_sectors > disk->sectors || sector > disk->sectors - nr_sectors)
		return false;
	pass_time(disk, now);
	disk->used = true;
	disk->transfers++;
	disk->stats.transfers++;
	disk->stats.bytes += (u64)nr_sectors * DISK_SECTOR_BYTES;
	disk->model->transfer(disk, now, tag, write, sector, nr_sectors);
	return true;
}

bool core_disk_flush(struct core_disk *disk, u64 now, u32 tag)
{
	if (!in_time(disk, now) || disk->flushes >= disk->depth + DISK_FLUSHES)
		return false;
	pass_time(disk, now);
	disk->used = true;
	disk->flushes++;
	disk->model->flush(disk, now, tag);
	return true;
}

u64 core_disk_next_event(const struct core_disk *disk)
{
	return disk->model->next_event(disk);
}

void core_disk_advance(struct core_disk *disk, u64 now, void (*done)(void *ctx, u32 tag, u64 at),
		       void *ctx)
{
	const struct disk_sink sink = { done, ctx };
	u64 at;

	if (now < disk->clock_ns)
		return;
	while ((at = core_disk_next_event(disk)) <= now && at != CORE_DISK_NEVER) {
		pass_time(disk, at);
		disk->model->event(disk, at, &sink);
	}
	pass_time(disk, now);
}

void core_disk_stats(const struct core_disk *disk, struct core_disk_stats *out)
{
	*out = disk->stats;
	if (disk->model->count)
		disk->model->count(disk, out);
}
