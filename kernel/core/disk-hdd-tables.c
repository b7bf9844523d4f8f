// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Initialises a hard disk from its tables. Values that could divide by zero, overflow, index out of
 * the memory or loop endlessly are checked as in the reader of descriptions
 * (crates/sim/src/device/hdd/read.rs).
 */
#include "disk-hdd.h"

/* The numbers of the tables after the head, in order. */
enum field {
	CYLINDERS, HEADS, REVOLUTION_NS, HEAD_SWITCH_NS, WRITE_SETTLE_NS, SPARE, SEEK_C_NS,
		SEEK_E_PS,
	NEAREST_FIRST, READ_OVERHEAD_NS, HIT_OVERHEAD_NS, WRITE_OVERHEAD_NS, BUS, READ_AHEAD,
		IMMEDIATE,
	SEGMENTS, SEGMENT_SECTORS, WRITE_CACHE, ZONES, NEAR, NR_FIELDS
};

/* The bounds of each. */
static const struct {
	u64 min, max;
} bounds[NR_FIELDS] = {
	[CYLINDERS] = { 1, 1000000 },
	[HEADS] = { 1, 256 },
	[REVOLUTION_NS] = { 600000, 200000000 },	/* 100,000 to 300 a minute */
	[HEAD_SWITCH_NS] = { 0, DISK_SECOND_NS },
	[WRITE_SETTLE_NS] = { 0, DISK_SECOND_NS },
	[SPARE] = { 0, 65535 },
	[SEEK_C_NS] = { 0, DISK_SECOND_NS },
	[SEEK_E_PS] = { 0, 3600 * DISK_SECOND_NS / 1000 },
	[NEAREST_FIRST] = { 0, 1 },
	[READ_OVERHEAD_NS] = { 0, DISK_SECOND_NS },
	[HIT_OVERHEAD_NS] = { 0, DISK_SECOND_NS },
	[WRITE_OVERHEAD_NS] = { 0, DISK_SECOND_NS },
	[BUS] = { 1000, 1ull << 40 },
	[READ_AHEAD] = { 0, 1 << 20 },
	[IMMEDIATE] = { 0, 1 },
	[SEGMENTS] = { 0, 4096 },
	[SEGMENT_SECTORS] = { 1, 1 << 20 },
	[WRITE_CACHE] = { 0, 1 << 24 },
	[ZONES] = { 1, 4096 },
	[NEAR] = { 1, 1000000 },
};

#define MOST_DEPTH	4096u
#define ZONES_AT	(DISK_HEAD + 8u * NR_FIELDS)
#define ZONE_SIZE	(4u * 8u)
/* The largest listed seek time, and the largest a_ns + b_ns * sqrt(distance). */
#define MOST_SEEK_NS	(2 * DISK_SECOND_NS)

static u64 field(const u8 *tables, enum field at)
{
	return disk_le64(tables + DISK_HEAD + 8 * (size_t)at);
}

/* Reads the zone after @before, which is NULL for the first one. */
static struct disk_zone read_zone(const u8 *tables, u32 nr, const struct disk_zone *before)
{
	const u8 *at = tables + ZONES_AT + (size_t)nr * ZONE_SIZE;
	struct disk_zone zone = { 0 };

	zone.cylinders = (u32)disk_le64(at);
	zone.sectors_per_track = disk_le64(at + 8);
	zone.track_skew = disk_le64(at + 16);
	zone.skew_per_cylinder = disk_le64(at + 24);
	zone.sectors_per_cylinder = field(tables, HEADS) * zone.sectors_per_track - field(tables,
			SPARE);
	if (before) {
		zone.first_sector =
			before->first_sector + before->cylinders * before->sectors_per_cylinder;
		zone.first_cylinder = before->first_cylinder + before->cylinders;
	}
	return zone;
}

/* Whether the zones are valid, cover all cylinders and hold all sectors. */
static bool zones_are_sound(const u8 *tables)
{
	struct disk_zone zone = { 0 };
	u64 cylinders = 0, sectors = 0;
	u32 nr;

	for (nr = 0; nr < field(tables, ZONES); nr++) {
		u64 count = disk_le64(tables + ZONES_AT + (size_t)nr * ZONE_SIZE);

		if (count < 1 || count > field(tables, CYLINDERS) - cylinders)
			return false;
		zone = read_zone(tables, nr, NULL);
		if (zone.sectors_per_track <= field(tables, SPARE) ||
		    zone.sectors_per_track > 65535)
			return false;
		if (zone.track_skew > zone.sectors_per_track || zone.skew_per_cylinder >=
		    zone.sectors_per_track)
			return false;
		cylinders += count;
		sectors += count * zone.sectors_per_cylinder;
	}
	return cylinders == field(tables, CYLINDERS) && disk_le64(tables + DISK_SECTORS_AT) <=
		sectors;
}

static bool seeks_are_sound(const u8 *tables)
{
	const u8 *near = tables + ZONES_AT + (size_t)field(tables, ZONES) * ZONE_SIZE;
	u64 nr = field(tables, NEAR), cylinders = field(tables, CYLINDERS), at;

	if (nr > cylinders || disk_le32(near) != 0)
		return false;
	for (at = 0; at < nr; at++)
		if (disk_le32(near + 4 * (size_t)at) > MOST_SEEK_NS)
			return false;
	return nr == cylinders ||
	       field(tables, SEEK_C_NS) + disk_div(field(tables, SEEK_E_PS) * (cylinders - 1),
						   1000) <= DISK_SECOND_NS;
}

size_t disk_hdd_size(const u8 *tables, size_t len)
{
	u64 depth = disk_le64(tables + DISK_DEPTH_AT);
	int at;

	if (len < ZONES_AT || depth > MOST_DEPTH)
		return 0;
	for (at = 0; at < NR_FIELDS; at++) {
		u64 value = field(tables, (enum field)at);

		if (value < bounds[at].min || value > bounds[at].max)
			return 0;
	}
	if (len != ZONES_AT + field(tables, ZONES) * ZONE_SIZE + field(tables, NEAR) * 4)
		return 0;
	if (field(tables, SEGMENTS) > 0 && field(tables, READ_AHEAD) > field(tables,
			SEGMENT_SECTORS))
		return 0;
	if (field(tables, IMMEDIATE) && field(tables, WRITE_CACHE) == 0)
		return 0;
	if (!zones_are_sound(tables) || !seeks_are_sound(tables))
		return 0;
	return sizeof(struct hdd) + (size_t)field(tables, ZONES) * sizeof(struct disk_zone)
		+ (size_t)field(tables, SEGMENTS) * sizeof(struct disk_segment)
		+ DISK_EXTENTS * sizeof(struct disk_extent)
		+ (size_t)depth * sizeof(struct disk_waiting)
		+ (size_t)(depth + DISK_FLUSHES) * sizeof(struct disk_flush)
		+ (size_t)(2 * depth + DISK_FLUSHES) * sizeof(struct disk_leaving);
}

static void init_mechanics(struct hdd *hdd, const u8 *tables)
{
	struct disk_mechanics *m = &hdd->mechanics;
	struct disk_zone *zones = (struct disk_zone *)(void *)(hdd + 1);
	u32 nr;

	m->nr_zones = (u32)field(tables, ZONES);
	for (nr = 0; nr < m->nr_zones; nr++)
		zones[nr] = read_zone(tables, nr, nr ? &zones[nr - 1] : NULL);
	m->zones = zones;
	m->near = tables + ZONES_AT + (size_t)m->nr_zones * ZONE_SIZE;
	m->nr_near = (u32)field(tables, NEAR);
	m->cylinders = (u32)field(tables, CYLINDERS);
	m->heads = (u32)field(tables, HEADS);
	m->sectors = hdd->disk.sectors;
	m->revolution_ns = field(tables, REVOLUTION_NS);
	m->head_switch_ns = field(tables, HEAD_SWITCH_NS);
	m->write_settle_ns = field(tables, WRITE_SETTLE_NS);
	m->spare_per_cylinder = field(tables, SPARE);
	m->seek_c_ns = field(tables, SEEK_C_NS);
	m->seek_e_ps = field(tables, SEEK_E_PS);
	/* The lists follow the zones. */
	hdd->segments = (struct disk_segment *)(void *)(zones + m->nr_zones);
}

void disk_hdd_init(struct core_disk *disk, const u8 *tables)
{
	struct hdd *hdd = (struct hdd *)(void *)disk;
	struct disk_electronics *e = &hdd->electronics;
	const u64 sector = DISK_SECTOR_BYTES * DISK_SECOND_NS;

	init_mechanics(hdd, tables);
	e->nearest_first = field(tables, NEAREST_FIRST) == 1;
	e->immediate_reporting = field(tables, IMMEDIATE) == 1;
	e->read_overhead_ns = field(tables, READ_OVERHEAD_NS);
	e->hit_overhead_ns = field(tables, HIT_OVERHEAD_NS);
	e->write_overhead_ns = field(tables, WRITE_OVERHEAD_NS);
	e->bus_bytes_per_s = field(tables, BUS);
	e->read_ahead = field(tables, READ_AHEAD);
	hdd->bus_whole_ns = disk_div(sector, e->bus_bytes_per_s);
	hdd->bus_rest = sector - hdd->bus_whole_ns * e->bus_bytes_per_s;
	hdd->nr_segments = (u32)field(tables, SEGMENTS);
	hdd->segment_size = field(tables, SEGMENT_SECTORS);
	hdd->dirty_room = field(tables, WRITE_CACHE);
	hdd->extents = (struct disk_extent *)(void *)(hdd->segments + hdd->nr_segments);
	hdd->waiting = (struct disk_waiting *)(void *)(hdd->extents + DISK_EXTENTS);
	hdd->flushes = (struct disk_flush *)(void *)(hdd->waiting + disk->depth);
	hdd->leaving = (struct disk_leaving *)(void *)(hdd->flushes + disk->depth + DISK_FLUSHES);
}
