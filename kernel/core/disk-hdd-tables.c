// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Initialises a hard disk from its tables, with the checks of crates/sim/src/device/hdd/read.rs:
 * nothing may divide by zero, overflow, index out of bounds or loop endlessly.
 */
#include "disk-hdd.h"

/* In the order of the tables. */
enum field {
	CYLINDERS, HEADS, REVOLUTION_NS, HEAD_SWITCH_NS, WRITE_SETTLE_NS, SPARE, SEEK_C_NS,
		SEEK_E_PS,
	NEAREST_FIRST, READ_OVERHEAD_NS, HIT_OVERHEAD_NS, WRITE_OVERHEAD_NS, BUS, READ_AHEAD,
		IMMEDIATE,
	SEGMENTS, SEGMENT_SECTORS, WRITE_CACHE,
	READ_AFTER_WRITE_NS, HIT_AFTER_WRITE_NS, WRITE_AFTER_WRITE_NS, RECONNECT_NS,
		READ_COMPLETION_NS, WRITE_COMPLETION_NS, WRITE_SEEK_LEAST_NS, WATERMARK,
		TO_TRACK_END, ON_IDLE_HIT, ALMOST_HITS, WRITE_RUNS, WRITE_BUS, WRITE_WATERMARK,
		ORDER_WINDOW, WRITE_LEAD_NS,
	ZONES, NEAR, NR_FIELDS
};

static const struct {
	u64 min, max;
} bounds[NR_FIELDS] = {
	[CYLINDERS] = { 1, 1000000 },
	[HEADS] = { 1, 256 },
	[REVOLUTION_NS] = { 600000, 200000000 },	/* 100,000 to 300 rpm */
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
	[READ_AFTER_WRITE_NS] = { 0, DISK_SECOND_NS },
	[HIT_AFTER_WRITE_NS] = { 0, DISK_SECOND_NS },
	[WRITE_AFTER_WRITE_NS] = { 0, DISK_SECOND_NS },
	[RECONNECT_NS] = { 0, DISK_SECOND_NS },
	[READ_COMPLETION_NS] = { 0, DISK_SECOND_NS },
	[WRITE_COMPLETION_NS] = { 0, DISK_SECOND_NS },
	[WRITE_SEEK_LEAST_NS] = { 0, DISK_SECOND_NS },
	[WATERMARK] = { 0, 100 },
	[TO_TRACK_END] = { 0, 1 },
	[ON_IDLE_HIT] = { 0, 1 },
	[ALMOST_HITS] = { 0, 1 },
	[WRITE_RUNS] = { 1, DISK_EXTENTS },
	[WRITE_BUS] = { 1000, 1ull << 40 },
	[WRITE_WATERMARK] = { 1, 1 << 20 },
	[ORDER_WINDOW] = { 1, 4096 },
	[WRITE_LEAD_NS] = { 0, DISK_SECOND_NS },
	[ZONES] = { 1, 4096 },
	[NEAR] = { 1, 1000000 },
};

#define MOST_DEPTH	4096u
#define ZONES_AT	(DISK_HEAD + 8u * NR_FIELDS)
#define ZONE_SIZE	(8u * 8u)
#define MOST_SLIPPED	64u
/* Limits a listed seek time, and a_ns + b_ns * sqrt(distance). */
#define MOST_SEEK_NS	(2 * DISK_SECOND_NS)

static u64 field(const u8 *tables, enum field at)
{
	return disk_le64(tables + DISK_HEAD + 8 * (size_t)at);
}

static const u8 *zone_at(const u8 *tables, u64 nr)
{
	return tables + ZONES_AT + (size_t)nr * ZONE_SIZE;
}

static struct disk_arm track_at(const u8 *tables, const struct disk_zone *zone, u64 track)
{
	u64 heads = field(tables, HEADS), cylinder = disk_div(track, heads);

	return (struct disk_arm){ zone->first_cylinder + (u32)cylinder,
		(u32)(track - cylinder * heads) };
}

/* @before: the previous zone, or NULL. */
static struct disk_zone read_zone(const u8 *tables, u32 nr, const struct disk_zone *before)
{
	const u8 *at = zone_at(tables, nr);
	u64 reserved = disk_le64(at + 40), spare = disk_le64(at + 48);
	struct disk_zone zone = { 0 };

	zone.cylinders = (u32)disk_le64(at);
	zone.sectors_per_track = disk_le64(at + 8);
	zone.track_skew = disk_le64(at + 16);
	zone.skew_per_cylinder = disk_le64(at + 24);
	zone.sectors_per_cylinder = field(tables, HEADS) * zone.sectors_per_track - field(tables,
			SPARE);
	zone.phase = disk_le64(at + 32);
	zone.reserved = reserved * zone.sectors_per_track;
	zone.nr_slipped = (u32)disk_le64(at + 56);
	zone.sectors = zone.cylinders * zone.sectors_per_cylinder -
		(reserved + spare) * zone.sectors_per_track;
	zone.slipped = zone_at(tables, field(tables, ZONES));
	if (before) {
		zone.first_sector = before->first_sector + before->sectors;
		zone.first_cylinder = before->first_cylinder + before->cylinders;
		zone.slipped = before->slipped + 8 * (size_t)before->nr_slipped;
	}
	zone.first = track_at(tables, &zone, reserved);
	zone.last = track_at(tables, &zone, zone.cylinders * field(tables, HEADS) - spare +
			     zone.nr_slipped - 1);
	return zone;
}

static u64 all_slipped(const u8 *tables)
{
	u64 sum = 0, nr;

	for (nr = 0; nr < field(tables, ZONES); nr++)
		sum += disk_min(disk_le64(zone_at(tables, nr) + 56), MOST_SLIPPED + 1);
	return sum;
}

static const u8 *near_at(const u8 *tables)
{
	return zone_at(tables, field(tables, ZONES)) + 8 * (size_t)all_slipped(tables);
}

/* Slipped tracks must lie between the first and last track in use, too. */
static bool layout_is_sound(const u8 *tables, u64 nr, u64 count, const u8 *slipped)
{
	const u8 *at = zone_at(tables, nr);
	u64 reserved = disk_le64(at + 40), spare = disk_le64(at + 48), after = reserved;
	u64 tracks = count * field(tables, HEADS), many = disk_le64(at + 56);

	if (disk_le64(at + 32) >= disk_le64(at + 8) || reserved >= tracks ||
	    spare >= tracks - reserved || many > MOST_SLIPPED || many > spare)
		return false;
	if (reserved + spare > 0 && field(tables, SPARE) > 0)
		return false;
	for (nr = 0; nr < many; nr++) {
		u64 track = disk_le64(slipped + 8 * (size_t)nr);

		if (track < after || track >= tracks - spare + many - 1)
			return false;
		after = track + 1;
	}
	return true;
}

static bool zones_are_sound(const u8 *tables)
{
	const u8 *slipped = zone_at(tables, field(tables, ZONES));
	struct disk_zone zone = { 0 };
	u64 cylinders = 0, sectors = 0;
	u32 nr;

	for (nr = 0; nr < field(tables, ZONES); nr++) {
		u64 count = disk_le64(zone_at(tables, nr));

		if (count < 1 || count > field(tables, CYLINDERS) - cylinders ||
		    !layout_is_sound(tables, nr, count, slipped))
			return false;
		slipped += 8 * (size_t)disk_le64(zone_at(tables, nr) + 56);
		zone = read_zone(tables, nr, NULL);
		if (zone.sectors_per_track <= field(tables, SPARE) ||
		    zone.sectors_per_track > 65535)
			return false;
		if (zone.track_skew > zone.sectors_per_track || zone.skew_per_cylinder >=
		    zone.sectors_per_track)
			return false;
		cylinders += count;
		sectors += zone.sectors;
	}
	return cylinders == field(tables, CYLINDERS) && disk_le64(tables + DISK_SECTORS_AT) <=
		sectors;
}

static bool seeks_are_sound(const u8 *tables)
{
	const u8 *near = near_at(tables);
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
	if (len < ZONES_AT + field(tables, ZONES) * ZONE_SIZE)
		return 0;
	if (len != ZONES_AT + field(tables, ZONES) * ZONE_SIZE + all_slipped(tables) * 8 +
	    field(tables, NEAR) * 4)
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
	m->near = near_at(tables);
	m->nr_near = (u32)field(tables, NEAR);
	m->cylinders = (u32)field(tables, CYLINDERS);
	m->heads = (u32)field(tables, HEADS);
	m->sectors = hdd->disk.sectors;
	m->revolution_ns = field(tables, REVOLUTION_NS);
	m->head_switch_ns = field(tables, HEAD_SWITCH_NS);
	m->write_settle_ns = field(tables, WRITE_SETTLE_NS);
	m->write_lead_ns = field(tables, WRITE_LEAD_NS);
	m->spare_per_cylinder = field(tables, SPARE);
	m->seek_c_ns = field(tables, SEEK_C_NS);
	m->seek_e_ps = field(tables, SEEK_E_PS);
	hdd->segments = (struct disk_segment *)(void *)(zones + m->nr_zones);
}

void disk_hdd_init(struct core_disk *disk, const u8 *tables)
{
	struct hdd *hdd = (struct hdd *)(void *)disk;
	struct disk_electronics *e = &hdd->electronics;
	const u64 sector = DISK_SECTOR_BYTES * DISK_SECOND_NS;
	int write;

	init_mechanics(hdd, tables);
	e->nearest_first = field(tables, NEAREST_FIRST) == 1;
	e->immediate_reporting = field(tables, IMMEDIATE) == 1;
	e->read_to_track_end = field(tables, TO_TRACK_END) == 1;
	e->read_on_idle_hit = field(tables, ON_IDLE_HIT) == 1;
	e->almost_hits = field(tables, ALMOST_HITS) == 1;
	for (write = 0; write < 2; write++) {
		u64 bus = field(tables, write ? WRITE_BUS : BUS);

		e->read_overhead_ns[write] =
			field(tables, write ? READ_AFTER_WRITE_NS : READ_OVERHEAD_NS);
		e->hit_overhead_ns[write] =
			field(tables, write ? HIT_AFTER_WRITE_NS : HIT_OVERHEAD_NS);
		e->write_overhead_ns[write] =
			field(tables, write ? WRITE_AFTER_WRITE_NS : WRITE_OVERHEAD_NS);
		e->bus_bytes_per_s[write] = bus;
		hdd->bus_whole_ns[write] = disk_div(sector, bus);
		hdd->bus_rest[write] = sector - hdd->bus_whole_ns[write] * bus;
	}
	e->reconnect_ns = field(tables, RECONNECT_NS);
	e->read_completion_ns = field(tables, READ_COMPLETION_NS);
	e->write_completion_ns = field(tables, WRITE_COMPLETION_NS);
	e->write_seek_least_ns = field(tables, WRITE_SEEK_LEAST_NS);
	e->write_watermark = field(tables, WRITE_WATERMARK);
	e->order_window = field(tables, ORDER_WINDOW);
	e->read_watermark = field(tables, WATERMARK);
	e->read_ahead = field(tables, READ_AHEAD);
	hdd->most_extents = (u32)field(tables, WRITE_RUNS);
	hdd->nr_segments = (u32)field(tables, SEGMENTS);
	hdd->segment_size = field(tables, SEGMENT_SECTORS);
	hdd->dirty_room = field(tables, WRITE_CACHE);
	hdd->extents = (struct disk_extent *)(void *)(hdd->segments + hdd->nr_segments);
	hdd->waiting = (struct disk_waiting *)(void *)(hdd->extents + DISK_EXTENTS);
	hdd->flushes = (struct disk_flush *)(void *)(hdd->waiting + disk->depth);
	hdd->leaving = (struct disk_leaving *)(void *)(hdd->flushes + disk->depth + DISK_FLUSHES);
}
