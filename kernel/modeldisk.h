/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What modeldisk and those who use it have in common: the layout of its log. Plain C; the Rust
 * reader is crates/sim, conformance.
 *
 * The file /sys/kernel/debug/modeldisk/NAME/log is a struct modeldisk_log_head and its records,
 * little-endian, without gaps, in the order in which the model was given the commands. It holds the
 * first commands since power-on (or since the epoch was set), because a model can only be asked to
 * repeat its history from the start; what did not fit is counted. Requests that were failed on
 * purpose did not get to the model and are not in it. All times are nanoseconds since the epoch.
 */
#ifndef SCHEDLAB_MODELDISK_H
#define SCHEDLAB_MODELDISK_H

#define MODELDISK_LOG_MAGIC	0x474c4c53u	/* "SLLG" */
#define MODELDISK_LOG_VERSION	1u

enum modeldisk_op { MODELDISK_READ, MODELDISK_WRITE, MODELDISK_FLUSH };

struct modeldisk_log_head {
	__u32 magic, version;
	__u32 head_bytes, record_bytes;
	__u64 records;
	__u64 lost;		/* commands that did not fit */
};

struct modeldisk_record {
	__u64 submit_ns;	/* when the model was given it */
	__u64 done_ns;		/* when the model had done it */
	__u64 completed_ns;	/* when the timer saw that, which is later by its own lateness */
	__u64 sector;
	__u32 nr_sectors;
	__u32 tag;
	__u32 op;		/* enum modeldisk_op; sector and nr_sectors are 0 for a flush */
	__u32 done;		/* 1; 0: not yet, and done_ns and completed_ns mean nothing */
};

#endif
