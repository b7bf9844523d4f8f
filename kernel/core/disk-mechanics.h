/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Sector positions, seek time, rotational latency; exact, in integers. Port of
 * crates/sim/src/device/hdd/mechanics.rs, which describes the model.
 */
#ifndef SCHEDLAB_CORE_DISK_MECHANICS_H
#define SCHEDLAB_CORE_DISK_MECHANICS_H

#include "disk-model.h"

struct disk_arm {
	u32 cylinder, head;
};

struct disk_zone {
	u64 first_sector;
	u64 sectors_per_track;
	u64 sectors_per_cylinder;	/* without the spare ones */
	u64 track_skew;
	/* skew of a cylinder to the previous one, in sectors */
	u64 skew_per_cylinder;
	u64 phase;			/* angle of the first track, in sectors */
	u64 reserved;			/* unnumbered sectors of the front tracks */
	u64 sectors;			/* numbered ones */
	const u8 *slipped;		/* tracks that are passed over, as in the tables */
	u32 nr_slipped;
	u32 first_cylinder, cylinders;
	struct disk_arm first, last;	/* tracks with numbered sectors */
};

/* A transfer; its first sector is not before @earliest_ns. */
struct disk_transfer {
	u64 sector, nr;
	bool write;
	u64 earliest_ns;
	u64 mark;			/* mark after this many sectors; 0: none */
	/* when the bus starts to bring data, and its time per sector; 0: present */
	u64 data_ns, data_sector_ns;
};

struct disk_costs {
	u64 seeks, cylinders, move_ns, rotation_ns, transfer_ns;
};

struct disk_walk {
	u64 first_ns;			/* the first sector began to pass under the head */
	u64 mark_ns;			/* the marked sectors had passed */
	u64 end_ns;			/* the last one had passed */
	struct disk_arm arm;
	struct disk_costs costs;
};

/* Read-ahead: the sector before @next had passed at @at_ns. */
struct disk_head {
	u64 next, at_ns;
	struct disk_arm arm;
};

/* With the head's position, possibly on the next track already. */
struct disk_reached {
	struct disk_head head;
	struct disk_arm arm;
};

struct disk_mechanics {
	const struct disk_zone *zones;
	const u8 *near;			/* seek times by distance, as in the tables */
	u32 nr_zones, nr_near;
	u32 cylinders, heads;
	u64 sectors;
	u64 revolution_ns, head_switch_ns, write_settle_ns, write_lead_ns;
	u64 spare_per_cylinder;
	u64 seek_c_ns, seek_e_ps;	/* beyond the table */
};

/* Of @sector, with the head at @arm from @begin_ns on. */
u64 disk_positioning_ns(const struct disk_mechanics *m, u64 begin_ns, struct disk_arm arm,
			u64 sector, bool write);

struct disk_walk disk_walk(const struct disk_mechanics *m, u64 ns, struct disk_arm arm,
			   struct disk_transfer transfer);

/* @past follows its last sector. */
void disk_track_of(const struct disk_mechanics *m, u64 sector, u64 *first, u64 *past);

u64 disk_sectors_per_track(const struct disk_mechanics *m, u64 sector);

/* At @now, if it stops before @limit. */
struct disk_reached disk_reading_on(const struct disk_mechanics *m, u64 now, struct disk_head from,
				    u64 limit);

#endif
