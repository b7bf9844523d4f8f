/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The layout of modeldisk's log. Plain C; crates/sim has the Rust reader (conformance).
 *
 * /sys/kernel/debug/modeldisk/NAME/log is a struct modeldisk_log_head and its records,
 * little-endian, without gaps, in order of submission. It starts at power-on or the epoch, because
 * a model can be replayed only from its start; commands that did not fit are counted. Deliberately
 * failed requests are not submitted and not logged. Times are nanoseconds since the epoch.
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
	__u64 submit_ns;	/* submission to the model */
	__u64 done_ns;		/* completion by the model */
	__u64 completed_ns;	/* completion by the timer, which may be late */
	__u64 sector;
	__u32 nr_sectors;
	__u32 tag;
	__u32 op;		/* enum modeldisk_op; sector and nr_sectors are 0 for a flush */
	__u32 done;		/* 1 if done_ns and completed_ns are valid, 0 before completion */
};

#endif
