/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The machine that the anticipatory family shares, and the rule in which its members differ: the
 * counterpart of crates/elevator/src/algorithm/anticipatory/. antic.c says where it comes from.
 *
 * A member's state begins with struct antic, its record of a process with struct core_process.
 */
#ifndef SCHEDLAB_CORE_ANTIC_H
#define SCHEDLAB_CORE_ANTIC_H

#include "arith.h"
#include "elevator.h"

enum { ANTIC_ASYNC, ANTIC_SYNC, ANTIC_CLASSES };

/* A moment, in nanoseconds and in ticks. */
struct antic_moment {
	u64 ns, ticks;
};

/* The decaying mean of whole numbers: 256 is one, seven eighths are kept with each sample. */
struct antic_mean {
	u64 samples, total, mean;
};

/* What is known of a process. All zero: nothing. */
struct core_process {
	struct core_process *next, *prev;	/* all that the core knows of */
	u32 queued;		/* its requests in the trees */
	u32 listed;		/* in the dispatch list */
	u32 in_device;
	bool known;		/* it is in the list */
	bool exited;		/* this is the core's copy of a process that has ended */
	bool io_started;	/* it has sent a synchronous request */
	bool io_running;	/* one of them has completed */
	struct antic_moment last_end;	/* when one completed last */
	u64 last_pos;		/* the end of its last synchronous request */
	struct antic_mean think;	/* think times in ticks */
	struct antic_mean seek;	/* seek distances in sectors */
};

/* What processes do first, on average: stands in for a history that is not there yet. */
struct antic_newcomers {
	u64 exit_prob;		/* a process ends while it is waited for; of 256 */
	u64 exit_no_coop;	/* nobody who co-operates follows one that has ended; of 256 */
	u64 think_total, think_mean;	/* ticks */
	u64 seek_total, seek_mean;	/* sectors */
};

enum antic_place { ANTIC_NOWHERE, ANTIC_QUEUED, ANTIC_LISTED, ANTIC_DEVICE };

/* A request by its tag. */
struct antic_slot {
	struct core_process *process;
	u64 sector, seq;
	u64 expires;		/* ticks */
	u32 nr_sectors;
	u32 before, after;	/* in its FIFO or in the dispatch list */
	u8 place;
	bool write, sync;
};

/* Tags in a row, linked through their slots. */
struct antic_chain {
	u32 head, tail;
};

/* The requests of a class. */
struct antic_class {
	u32 *sorted;		/* tags in order of first sectors; no two are equal */
	u32 nr;
	struct antic_chain fifo;
	u32 next;		/* in the elevator's order; there is one whenever nr > 0 */
	u64 last_sector;	/* the end of the one that was dispatched last */
	u64 last_check;		/* when the FIFO was looked at, in ticks */
};

/* Whether somebody is waited for. */
enum antic_state {
	ANTIC_OFF,
	ANTIC_WAIT_REQ,		/* yes, but its last request is still in the device: no timer yet */
	ANTIC_WAIT_NEXT,	/* yes, until the timer fires */
	ANTIC_FINISHED,		/* the wait is over; the next dispatch may not wait again */
};

/*
 * How long a process is waited for, from the completion of its last request: ticks, or exactly so
 * many nanoseconds.
 */
struct antic_period {
	u64 amount;
	bool exact;
};

/*
 * What a decision is made for: to begin a wait, or to go on after an arrival that is not what was
 * waited for.
 */
enum antic_asked { ANTIC_TO_BEGIN, ANTIC_TO_GO_ON };

/* What an arrival says of its process. */
struct antic_arrival {
	struct core_process *process;	/* whose history it belongs to */
	struct antic_moment now;
	u64 sector;
	bool first;			/* its first: what follows means nothing */
	bool ended;			/* one has completed before, at last_end */
	bool nothing_outstanding;
	struct antic_moment last_end;
	u64 last_pos;
};

enum antic_ending { ANTIC_SUCCESS, ANTIC_FAILURE, ANTIC_CALLED_OFF };

struct antic;

/* The part of an anticipatory scheduler that its authors changed. What may be NULL says so. */
struct antic_rule {
	bool (*is_on)(const struct antic *antic);
	struct antic_period (*period)(struct antic *antic, struct core_process *process);
	/* Rule 8: whether waiting for antic->who is not worth it. */
	bool (*refuses)(struct antic *antic, struct antic_moment now, enum antic_asked asked);
	/*
	 * Whether a request also counts as close that is nearer than the mean seek of the process
	 * waited for.
	 */
	bool (*mean_seek_is_close)(const struct antic *antic);
	/* A synchronous request arrives. May be NULL. */
	void (*learn)(struct antic *antic, const struct antic_arrival *arrival);
	/* A wait has ended so many nanoseconds after the completion before. May be NULL. */
	void (*ended)(struct antic *antic, struct core_process *process, enum antic_ending ending,
		      u64 wait_ns);
};

struct antic {
	const struct antic_rule *rule;
	u32 tags, hz;
	size_t process_size;
	/* Tunables, in ticks where they are times. */
	u64 fifo_expire[ANTIC_CLASSES], batch_expire[ANTIC_CLASSES];
	u64 antic_expire;
	bool drain, front_merge, first_write;

	struct antic_class classes[ANTIC_CLASSES];
	struct antic_chain list;	/* the dispatch list */
	u64 list_end;			/* where its circular order begins */
	u32 nr_listed;
	u32 last_merge;			/* the one-hit cache of merges */
	u8 dir;				/* the class of the present batch */
	bool changed;			/* and the device still works on the batch before */
	bool new_batch;			/* no synchronous request of it has completed yet */
	bool write_idled;		/* nobody contended for the write batch */
	u64 batch_expires;		/* ticks */
	u64 write_count, writes_left;	/* writes in a batch, which adapts, and in this one */
	u32 nr_dispatched;		/* in the dispatch list and in the device */

	enum antic_state state;
	struct antic_moment antic_start;	/* when the last request of `who` completed */
	u64 antic_ends;			/* when the timer fires, in ANTIC_WAIT_NEXT */
	struct core_process *who;	/* was served last, synchronously; NULL: nobody */
	bool who_done;			/* a request of it has completed since */
	struct antic_newcomers newcomers;
	struct core_anticipation counts;

	struct core_process *processes;	/* all that are known */
	struct antic_slot *slots;
	u8 *departed;			/* room for tags + 1 records of processes that have ended */
};

/* The tunables that every member has, in the order of the rows; a member's own follow. */
enum {
	ANTIC_READ_EXPIRE, ANTIC_WRITE_EXPIRE, ANTIC_READ_BATCH_EXPIRE, ANTIC_WRITE_BATCH_EXPIRE,
	ANTIC_ANTIC_EXPIRE, ANTIC_DRAIN, ANTIC_FRONT_MERGE, ANTIC_FIRST_WRITE, ANTIC_TUNABLES
};

#define ANTIC_MAX_MS 0x7fffffff
/* Defaults as at 1000 ticks a second; they are fractions of a second in whole ticks. */
#define ANTIC_TUNABLE_ROWS \
	{ "read_expire", "ms", 0, ANTIC_MAX_MS, 125 }, \
	{ "write_expire", "ms", 0, ANTIC_MAX_MS, 250 }, \
	{ "read_batch_expire", "ms", 0, ANTIC_MAX_MS, 500 }, \
	{ "write_batch_expire", "ms", 0, ANTIC_MAX_MS, 125 }, \
	{ "antic_expire", "ms", 0, ANTIC_MAX_MS, 6 }, \
	{ "drain", "switch", 0, 1, 0 }, \
	{ "front_merge", "switch", 0, 1, 0 }, \
	{ "first_write", "switch", 0, 1, 0 }

/* For members: sizes and beginnings. */
size_t antic_state_size(u32 tags, size_t own_size, size_t process_size);
void antic_init(struct antic *antic, const struct core_config *config,
		const struct antic_rule *rule, size_t own_size, size_t process_size);

/* Ticks and times; exact for all 64 bits. */
u64 antic_ticks(const struct antic *antic, u64 ns);	/* whole ticks until ns */
u64 antic_ticks_up(const struct antic *antic, u64 ns);	/* rounded up */

/* Rule 8 of Linux 2.6.20, for others until they know a process. */
bool antic_thinks_too_long(const struct antic *antic);

/*
 * The start of the synchronous request that is nearest to `sector`; of two the higher. There is one
 * at least.
 */
u64 antic_nearest(const struct antic *antic, u64 sector);

/* What core_ops points at, as far as members do not differ. `core` is a struct antic. */
void antic_insert(void *core, u64 now, const struct core_request *rq, bool at_head);
u32 antic_dispatch(void *core, u64 now);
void antic_complete(void *core, u64 now, u32 tag);
u32 antic_held(const void *core);
u64 antic_next_timer(const void *core);
void antic_on_timer(void *core, u64 now);
bool antic_may_exceed(const void *core, const struct core_process *process);
u32 antic_find_front_merge(void *core, const struct core_request *piece, u32 max_sectors);
bool antic_allow_merge(const void *core, u32 tag, const struct core_request *piece,
		       enum core_merge how);
void antic_merged(void *core, u64 now, const struct core_request *after);
void antic_coalesced(void *core, u64 now, u32 survivor, u32 gone);
void antic_exited(void *core, u64 now, struct core_process *process);
u64 antic_get(const void *core, u32 tunable);
void antic_set(void *core, u32 tunable, u64 value);
void antic_anticipation(const void *core, struct core_anticipation *out);

#endif
