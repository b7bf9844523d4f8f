/* SPDX-License-Identifier: GPL-2.0 OR MIT */
#ifndef SCHEDLAB_CORE_DISK_HDD_H
#define SCHEDLAB_CORE_DISK_HDD_H

#include "disk-mechanics.h"

/* Limits of the write cache: extents, and sectors of a merged extent. */
#define DISK_EXTENTS		256u
#define DISK_LONGEST_EXTENT	2048u

/* Sectors in the read cache, without @end. */
struct disk_segment {
	u64 start, end, used;
};

/*
 * @last is the number of the extent's last write. The overhead of its writes ends at @ready_ns;
 * from @earliest_ns on the medium does not overtake their data.
 */
struct disk_extent {
	u64 sector, nr, last;
	u64 ready_ns, earliest_ns;
};

struct disk_waiting {
	u64 sector, ready_ns;	/* end of its overhead */
	u32 nr, tag;
	bool write;
};

/* Waits for all writes up to number @covers. */
struct disk_flush {
	u64 covers;
	u32 tag;
};

struct disk_leaving {
	u64 at;
	u32 tag;
	bool flush;
};

enum disk_doing { DISK_IDLE, DISK_READ, DISK_WRITE, DISK_DESTAGE };

/* The current work of the actuator, until @done_ns. */
struct disk_work {
	enum disk_doing doing;
	u32 tag;
	u32 segment;		/* to grow by the read; DISK_NONE: a new one */
	/* A sector was overwritten, so the read is not cached. */
	bool stale;
	u64 done_ns, media_end_ns;
	u64 sector, end;
	struct disk_extent extent;
};

struct disk_ahead {
	bool on;
	u32 segment;
	struct disk_head head;
	struct disk_arm arm;	/* at @seen_ns */
	u64 seen_ns, limit;
};

struct disk_electronics {
	bool nearest_first, immediate_reporting;
	bool read_to_track_end, read_on_idle_hit, almost_hits;
	/* After a read, after a write. */
	u64 read_overhead_ns[2], hit_overhead_ns[2], write_overhead_ns[2];
	u64 reconnect_ns, read_completion_ns, write_completion_ns, write_seek_least_ns;
	u64 bus_bytes_per_s[2];		/* reads, writes */
	u64 write_watermark, read_watermark, read_ahead;
	u64 order_window;		/* number of oldest commands to choose from */
};

struct hdd {
	struct core_disk disk;
	struct disk_mechanics mechanics;
	struct disk_electronics electronics;
	/* Nanoseconds per sector on the bus, and the remainder. */
	u64 bus_whole_ns[2], bus_rest[2];
	u64 bus_free_ns;
	bool after_write;		/* the last command was a write */

	struct disk_segment *segments;
	u32 nr_segments;
	u64 segment_size, segment_clock;

	struct disk_extent *extents;
	u32 nr_extents, most_extents;
	bool moving;			/* the extent in @current is being written */
	u64 dirty_room, dirty_held, dirty_writes;

	struct disk_arm arm;
	struct disk_ahead ahead;
	struct disk_work current;
	struct disk_waiting *waiting;
	struct disk_flush *flushes;
	struct disk_leaving *leaving;
	u32 nr_waiting, nr_flushes, nr_leaving;
};

u32 disk_segments_hold(const struct hdd *hdd, u64 start, u64 end);
void disk_segments_touch(struct hdd *hdd, u32 segment);
/* Reuses the least recently used segment. DISK_NONE if there are no segments. */
u32 disk_segments_fill(struct hdd *hdd, u64 start, u64 end);
/* Drops sectors at the start that do not fit. */
void disk_segments_grow(struct hdd *hdd, u32 segment, u64 end);
/* True if the sectors overlap @watched. */
bool disk_segments_overwrite(struct hdd *hdd, u64 start, u64 end, u32 watched);

bool disk_dirty_take(struct hdd *hdd, const struct disk_waiting *write, u64 earliest_ns);
bool disk_dirty_hold(const struct hdd *hdd, u64 sector, u64 end);
/* Its space is freed when it is on the medium. */
struct disk_extent disk_dirty_start(struct hdd *hdd, u32 at);
bool disk_dirty_clean_up_to(const struct hdd *hdd, u64 write);

/* Size of the memory for these tables, 0 if they are malformed. */
size_t disk_hdd_size(const u8 *tables, size_t len);
void disk_hdd_init(struct core_disk *disk, const u8 *tables);

#endif
