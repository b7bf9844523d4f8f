/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Internal to core/disk*.c: the common state of a disk and the interface of a model. Users include
 * disk.h.
 *
 * The tables, little-endian, without gaps; numbers are u64 unless noted:
 *   head: u32 magic "SLDM", u32 version 2, u32 model (1 hdd, 2 null, 3 measured, 4 flash), u32
 *         total length in bytes; sectors; queue depth; then by model
 *   hdd:  cylinders, heads, revolution_ns, head_switch_ns, write_settle_ns, spare sectors per
 *         cylinder, seek c_ns, seek e_ps, nearest first (0, 1), read, hit and write overhead_ns,
 *         bus bytes per second, read-ahead, immediate reporting (0, 1), segments, sectors per
 *         segment, write cache in sectors, read, hit and write overhead_ns after a write,
 *         reconnect_ns, read and write completion_ns, minimum seek_ns of a write, read watermark in
 *         percent, read-ahead to the end of the track (0, 1), read-ahead on an idle hit (0, 1),
 *         almost hits (0, 1), runs of the write cache, bus bytes per second of writes, write
 *         watermark in sectors, order window, write lead_ns, number of zones, number of near seek
 *         times; then by zone: cylinders, sectors per track, track skew, skew from cylinder to
 *         cylinder, angle of its first track in sectors, reserved tracks, spare tracks, number of
 *         slipped tracks; then all slipped tracks, u64 each; then the near seek times in ns, u32
 *         each, from distance 0 on; longer seeks take c_ns + e_ps * distance / 1000.
 *   null: service_ns, servers, exponential (0, 1), the 32 bytes of the ChaCha8 key, the stream
 *         number.
 *   measured: flush_ns, numbers of shares, sizes, depths and percentages, key and stream as above;
 *         then the shares in millionths, sizes in sectors, depths, percentages of a read's time by
 *         writes in progress; then for reads and for writes, by size, then depth, a time in ns per
 *         share.
 *   flash: see encode() in crates/flash-model/src/config.rs.
 */
#ifndef SCHEDLAB_CORE_DISK_MODEL_H
#define SCHEDLAB_CORE_DISK_MODEL_H

#include "disk.h"

#define DISK_MAGIC	0x4d444c53u
#define DISK_VERSION	2u
#define DISK_HDD	1u
#define DISK_NULL	2u
#define DISK_MEASURED	3u
#define DISK_FLASH	4u

#define DISK_HEAD	32u
#define DISK_SECTORS_AT	16u
#define DISK_DEPTH_AT	24u

#define DISK_SECTOR_BYTES	512u
/* 8 GiB, so that products of bytes and nanoseconds do not overflow. */
#define DISK_MAX_SECTORS	(1u << 24)
#define DISK_FLUSHES		16u
#define DISK_SECOND_NS		1000000000ull

#define DISK_NONE	(~0u)	/* no segment, no index */

struct disk_sink {
	void (*done)(void *ctx, u32 tag, u64 at);
	void *ctx;
};

/* A model's state begins with struct core_disk. */
struct disk_model {
	/* 0 if the tables are malformed. */
	size_t (*size)(const u8 *tables, size_t len);
	void (*init)(struct core_disk *disk, const u8 *tables);
	void (*exit)(struct core_disk *disk);		/* may be NULL */
	void (*transfer)(struct core_disk *disk, u64 now, u32 tag, bool write, u64 sector, u32 nr);
	void (*flush)(struct core_disk *disk, u64 now, u32 tag);
	u64 (*next_event)(const struct core_disk *disk);
	/* Handles the event, or all events, of the time that next_event() returned. */
	void (*event)(struct core_disk *disk, u64 at, const struct disk_sink *sink);
	/* Adds the model's own counters; may be NULL. */
	void (*count)(const struct core_disk *disk, struct core_disk_stats *stats);
	bool (*has_arm)(const struct core_disk *disk);
	bool (*has_volatile_cache)(const struct core_disk *disk);
};

struct core_disk {
	const struct disk_model *model;
	u64 sectors;
	u64 clock_ns;
	u32 depth;
	u32 transfers, flushes;
	bool used;
	struct core_disk_stats stats;
};

extern const struct disk_model disk_hdd, disk_null, disk_measured, disk_flash;

static inline void disk_done(struct core_disk *disk, const struct disk_sink *sink, u32 tag,
			     bool flush, u64 at)
{
	if (flush)
		disk->flushes--;
	else
		disk->transfers--;
	sink->done(sink->ctx, tag, at);
}

static inline u32 disk_le32(const u8 *at)
{
	return at[0] | (u32)at[1] << 8 | (u32)at[2] << 16 | (u32)at[3] << 24;
}

static inline u64 disk_le64(const u8 *at)
{
	return disk_le32(at) | (u64)disk_le32(at + 4) << 32;
}

static inline u64 disk_div(u64 dividend, u64 divisor)
{
#ifdef __KERNEL__
	return div64_u64(dividend, divisor);
#else
	return dividend / divisor;
#endif
}

static inline u64 disk_min(u64 a, u64 b)
{
	return a < b ? a : b;
}

static inline u64 disk_max(u64 a, u64 b)
{
	return a > b ? a : b;
}

#endif
