/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The protocol of /dev/modelload: write() takes the steps of clients, read() returns records of
 * their completion. No ioctl, so that programs need no unsafe code. A test compares the layouts
 * with crates/guest/src/load/wire.rs.
 *
 * An open file is one pass of a workload:
 *
 * 	write	a modelload_setup, then the iodepth of each client (u32 each)
 * 	read	which clients have room for steps (MODELLOAD_ROOM)
 * 	write	MODELLOAD_STEPS: modelload_step records of any clients, up to the room
 * 	write	a modelload_start
 * 	read	MODELLOAD_DONE, _SYNCED, _ENDED in order of time, MODELLOAD_ROOM when steps run
 * 		low; blocks until there are enough records or a client is short of steps
 * 	write	more steps, and so on
 * 	read	0 bytes: every client has ended and everything has been read
 *
 * Closing the file ends the clients and returns when all requests in flight have completed.
 * Integers have the machine's byte order; times are nanoseconds of the monotonic clock, offsets and
 * lengths bytes on the disk.
 */
#ifndef SCHEDLAB_MODELLOAD_H
#define SCHEDLAB_MODELLOAD_H

#include <linux/types.h>

#define MODELLOAD_VERSION	2
#define MODELLOAD_MAX_CLIENTS	1024
#define MODELLOAD_MAX_DEPTH	4096
/* Sum of the clients' iodepths. */
#define MODELLOAD_MAX_OPEN	65536
/* The largest request. */
#define MODELLOAD_MAX_BYTES	(64 << 20)
/* The largest time in a message: 100 days. */
#define MODELLOAD_MAX_NS	(100ULL * 86400 * 1000000000)

/* The type of a written message: its first word. */
enum modelload_message {
	MODELLOAD_SETUP = 1,
	MODELLOAD_STEPS = 2,
	MODELLOAD_START = 3,
};

/* Rules, in modelload_setup.rules. */
/* The first client that finishes stops the others. */
#define MODELLOAD_FIRST_STOPS_ALL	(1U << 0)
/*
 * Turnarounds are given one by one, as steps of kind MODELLOAD_TURN; otherwise each is
 * modelload_setup.turnaround_ns.
 */
#define MODELLOAD_TURNS_DRAWN		(1U << 1)

struct modelload_head {
	__u32 what;	/* enum modelload_message */
	__u32 count;	/* clients or records that follow */
};

struct modelload_setup {
	struct modelload_head head;	/* count: clients */
	__u32 version;
	__s32 disk_fd;		/* the disk, opened for reading or for reading and writing */
	__u32 rules;
	__u32 max_bytes;	/* size of the largest request */
	__u64 warmup_ns;
	__u64 duration_ns;
	__u64 turnaround_ns;	/* from a completion to the client's next step */
};

struct modelload_start {
	struct modelload_head head;
	__u64 at_ns;		/* start of the clients; at once if in the past */
};

enum modelload_kind {
	MODELLOAD_IO = 1,	/* start a request: op, arg = offset, bytes */
	MODELLOAD_THINK = 2,	/* start nothing for arg ns */
	MODELLOAD_SYNC = 3,	/* wait for all requests in flight, then flush */
	MODELLOAD_END = 4,	/* the last step */
	MODELLOAD_TURN = 5,	/* not a step: the next turnaround is arg ns */
};

enum modelload_op {
	MODELLOAD_READ = 0,
	MODELLOAD_WRITE = 1,
};

struct modelload_step {
	__u64 arg;
	__u32 bytes;
	__u16 client;
	__u8 kind;
	__u8 op;
};

enum modelload_event {
	MODELLOAD_ROOM = 1,	/* bytes = steps, offset = turnarounds that the client can take */
	MODELLOAD_STARTED = 2,	/* submitted_ns = the start of the pass */
	MODELLOAD_DONE = 3,	/* a request is done */
	MODELLOAD_SYNCED = 4,	/* a flush is done */
	/* completed_ns = when, bytes = whether on its own, offset = turnarounds that it has used */
	MODELLOAD_ENDED = 5,
};

struct modelload_record {
	__u64 submitted_ns;
	__u64 completed_ns;
	__u64 offset;
	__u32 bytes;
	__s32 error;	/* 0, or a negative errno */
	__u16 client;
	__u8 kind;	/* enum modelload_event */
	__u8 op;
	__u32 unused;
};

#endif
