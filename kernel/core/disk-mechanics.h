/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Sector positions, seek time and rotational latency, exact in integers. Port of
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
	u64 sectors_per_cylinder;	/* without spare sectors */
	u64 track_skew;
	/* Skew between cylinders, in sectors. */
	u64 skew_per_cylinder;
	u64 phase;			/* angle of the first track, in sectors */
	u64 reserved;			/* sectors without numbers in the first tracks */
	u64 sectors;			/* with numbers */
	const u8 *slipped;		/* tracks to skip, as in the tables */
	u32 nr_slipped;
	u32 first_cylinder, cylinders;
	struct disk_arm first, last;	/* tracks with numbered sectors */
};

/* Its first sector does not pass before @earliest_ns. */
struct disk_transfer {
	u64 sector, nr;
	bool write;
	u64 earliest_ns;
	u64 mark;			/* sets mark_ns after this many sectors; 0: none */
	/* Start of the data on the bus, and its time per sector; 0: already present. */
	u64 data_ns, data_sector_ns;
};

struct disk_costs {
	u64 seeks, cylinders, move_ns, rotation_ns, transfer_ns;
};

struct disk_walk {
	u64 first_ns;			/* the first sector begins to pass the head */
	u64 mark_ns;			/* the marked sectors have passed */
	u64 end_ns;			/* all have passed */
	struct disk_arm arm;
	struct disk_costs costs;
};

/* A read-ahead: the sector before @next had passed at @at_ns. */
struct disk_head {
	u64 next, at_ns;
	struct disk_arm arm;
};

/* @arm may be on the next track already. */
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
	u64 seek_c_ns, seek_e_ps;	/* beyond @near */
};

u64 disk_positioning_ns(const struct disk_mechanics *m, u64 begin_ns, struct disk_arm arm,
			u64 sector, bool write);

struct disk_walk disk_walk(const struct disk_mechanics *m, u64 ns, struct disk_arm arm,
			   struct disk_transfer transfer);

/* @past is the sector after the track's last one. */
void disk_track_of(const struct disk_mechanics *m, u64 sector, u64 *first, u64 *past);

u64 disk_sectors_per_track(const struct disk_mechanics *m, u64 sector);

/* The read-ahead's position at @now, if it ends before @limit. */
struct disk_reached disk_reading_on(const struct disk_mechanics *m, u64 now, struct disk_head from,
				    u64 limit);

#endif
