// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The caches of a hard disk: read segments of equal size, write extents. Port of
 * crates/sim/src/device/hdd/segments.rs and dirty.rs.
 */
#include "disk-hdd.h"

u32 disk_segments_hold(const struct hdd *hdd, u64 start, u64 end)
{
	u32 at;

	for (at = 0; at < hdd->nr_segments; at++)
		if (hdd->segments[at].start <= start && end <= hdd->segments[at].end)
			return at;
	return DISK_NONE;
}

void disk_segments_touch(struct hdd *hdd, u32 segment)
{
	hdd->segments[segment].used = ++hdd->segment_clock;
}

void disk_segments_grow(struct hdd *hdd, u32 segment, u64 end)
{
	struct disk_segment *grown = &hdd->segments[segment];

	grown->end = end;
	if (end > hdd->segment_size)
		grown->start = disk_max(grown->start, end - hdd->segment_size);
}

u32 disk_segments_fill(struct hdd *hdd, u64 start, u64 end)
{
	u32 at, oldest = 0;

	if (!hdd->nr_segments)
		return DISK_NONE;
	for (at = 1; at < hdd->nr_segments; at++)
		if (hdd->segments[at].used < hdd->segments[oldest].used)
			oldest = at;
	hdd->segments[oldest].start = start;
	/* If the extent is too long for a segment, its end is kept. */
	disk_segments_grow(hdd, oldest, end);
	disk_segments_touch(hdd, oldest);
	return oldest;
}

bool disk_segments_overwrite(struct hdd *hdd, u64 start, u64 end, u32 watched)
{
	bool found = false;
	u32 at;

	for (at = 0; at < hdd->nr_segments; at++) {
		struct disk_segment *segment = &hdd->segments[at];

		if (segment->start < end && start < segment->end) {
			*segment = (struct disk_segment){ 0 };
			found |= at == watched;
		}
	}
	return found;
}

static bool holds(const struct disk_extent *extent, u64 sector, u64 end)
{
	return extent->sector <= sector && end <= extent->sector + extent->nr;
}

static bool join(struct hdd *hdd, struct disk_extent *extent, u64 nr, u64 ready_ns, u64 earliest_ns)
{
	extent->nr += nr;
	extent->last = ++hdd->dirty_writes;
	extent->ready_ns = disk_max(extent->ready_ns, ready_ns);
	extent->earliest_ns = disk_max(extent->earliest_ns, earliest_ns);
	hdd->dirty_held += nr;
	return true;
}

bool disk_dirty_take(struct hdd *hdd, const struct disk_waiting *write, u64 earliest_ns)
{
	struct disk_extent *extent, *past = hdd->extents + hdd->nr_extents;
	const struct disk_extent *moving = &hdd->current.extent;
	u64 sector = write->sector, nr = write->nr;
	bool streams = hdd->moving && moving->sector + moving->nr == sector;

	/* Overwriting needs no space. */
	for (extent = hdd->extents; extent < past; extent++)
		if (holds(extent, sector, sector + nr))
			return join(hdd, extent, 0, write->ready_ns, earliest_ns);
	if (hdd->dirty_held + nr > hdd->dirty_room)
		return false;
	for (extent = hdd->extents; extent < past; extent++)
		if (extent->sector + extent->nr == sector && extent->nr + nr <= DISK_LONGEST_EXTENT)
			return join(hdd, extent, nr, write->ready_ns, earliest_ns);
	/* An extent that continues the moving one takes its place. */
	if (hdd->nr_extents + (hdd->moving && !streams) >= hdd->most_extents)
		return false;
	hdd->nr_extents++;
	*extent = (struct disk_extent){ .sector = sector };
	return join(hdd, extent, nr, write->ready_ns, earliest_ns);
}

bool disk_dirty_hold(const struct hdd *hdd, u64 sector, u64 end)
{
	u32 at;

	if (hdd->moving && holds(&hdd->current.extent, sector, end))
		return true;
	for (at = 0; at < hdd->nr_extents; at++)
		if (holds(&hdd->extents[at], sector, end))
			return true;
	return false;
}

struct disk_extent disk_dirty_start(struct hdd *hdd, u32 at)
{
	struct disk_extent extent = hdd->extents[at];

	hdd->extents[at] = hdd->extents[--hdd->nr_extents];
	return extent;
}

bool disk_dirty_clean_up_to(const struct hdd *hdd, u64 write)
{
	u32 at;

	for (at = 0; at < hdd->nr_extents; at++)
		if (hdd->extents[at].last <= write)
			return false;
	return true;
}
