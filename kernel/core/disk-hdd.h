/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The state of a hard disk. */
#ifndef SCHEDLAB_CORE_DISK_HDD_H
#define SCHEDLAB_CORE_DISK_HDD_H

#include "disk-mechanics.h"

/* Maximum extents in the write cache, and maximum length of a merged one. */
#define DISK_EXTENTS		256u
#define DISK_LONGEST_EXTENT	2048u

/* Sectors in the drive's memory, @end not included. */
struct disk_segment {
	u64 start, end, used;
};

/*
 * @last: the extent's last write. Its writes' overhead ends at @ready_ns; from @earliest_ns on the
 * medium does not overtake their data.
 */
struct disk_extent {
	u64 sector, nr, last;
	u64 ready_ns, earliest_ns;
};

struct disk_waiting {
	u64 sector, ready_ns;	/* when its overhead is over */
	u32 nr, tag;
	bool write;
};

/* A waiting flush and the last write it covers. */
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

/* The work of the actuator until @done_ns. */
struct disk_work {
	enum disk_doing doing;
	u32 tag;
	u32 segment;		/* for a read to grow, or DISK_NONE: a new one */
	/* sectors of a read were overwritten: it is not cached */
	bool stale;
	u64 done_ns, media_end_ns;
	u64 sector, end;
	struct disk_extent extent;
};

struct disk_ahead {
	bool on;
	u32 segment;
	struct disk_head head;
	struct disk_arm arm;	/* its position at @seen_ns */
	u64 seen_ns, limit;
};

struct disk_electronics {
	bool nearest_first, immediate_reporting;
	bool read_to_track_end, read_on_idle_hit, almost_hits;
	/* after a read, after a write */
	u64 read_overhead_ns[2], hit_overhead_ns[2], write_overhead_ns[2];
	u64 reconnect_ns, read_completion_ns, write_completion_ns, write_seek_least_ns;
	u64 bus_bytes_per_s[2];		/* of reads, of writes */
	u64 write_watermark, read_watermark, read_ahead;
	u64 order_window;		/* consider this many of the oldest commands */
};

struct hdd {
	struct core_disk disk;
	struct disk_mechanics mechanics;
	struct disk_electronics electronics;
	/* nanoseconds per sector on the bus, and the remainder of the division */
	u64 bus_whole_ns[2], bus_rest[2];
	u64 bus_free_ns;
	bool after_write;		/* the last command received was a write */

	struct disk_segment *segments;
	u32 nr_segments;
	u64 segment_size, segment_clock;

	struct disk_extent *extents;
	u32 nr_extents, most_extents;
	bool moving;			/* @current's extent is being written */
	u64 dirty_room, dirty_held, dirty_writes;

	struct disk_arm arm;
	struct disk_ahead ahead;
	struct disk_work current;
	struct disk_waiting *waiting;
	struct disk_flush *flushes;
	struct disk_leaving *leaving;	/* earliest first */
	u32 nr_waiting, nr_flushes, nr_leaving;
};

/* The segment that holds all of the sectors, or DISK_NONE. */
u32 disk_segments_hold(const struct hdd *hdd, u64 start, u64 end);
void disk_segments_touch(struct hdd *hdd, u32 segment);
/* The least recently used segment, or DISK_NONE if there are none. */
u32 disk_segments_fill(struct hdd *hdd, u64 start, u64 end);
/* Drops sectors at the start that do not fit. */
void disk_segments_grow(struct hdd *hdd, u32 segment, u64 end);
/* Returns whether @watched overlaps. */
bool disk_segments_overwrite(struct hdd *hdd, u64 start, u64 end, u32 watched);

/* Returns false if there is no space. */
bool disk_dirty_take(struct hdd *hdd, const struct disk_waiting *write, u64 earliest_ns);
/* Whether one extent holds all of these sectors. */
bool disk_dirty_hold(const struct hdd *hdd, u64 sector, u64 end);
/* Its space is freed once it is on the medium. */
struct disk_extent disk_dirty_start(struct hdd *hdd, u32 at);
/* Whether all writes up to this one have left the cache. */
bool disk_dirty_clean_up_to(const struct hdd *hdd, u64 write);

/* Bytes of memory for these tables (0: malformed), and initialisation. */
size_t disk_hdd_size(const u8 *tables, size_t len);
void disk_hdd_init(struct core_disk *disk, const u8 *tables);

#endif
