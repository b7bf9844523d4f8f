/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * State of the anticipatory schedulers, see antic.c. Their own state begins with struct antic,
 * their per-process data with struct core_process.
 */
#ifndef SCHEDLAB_CORE_ANTIC_H
#define SCHEDLAB_CORE_ANTIC_H

#include "arith.h"
#include "elevator.h"

enum { ANTIC_ASYNC, ANTIC_SYNC, ANTIC_CLASSES };

struct antic_moment {
	u64 ns, ticks;
};

/* Decaying, in units of 1/256. A sample leaves 7/8 of the previous sum. */
struct antic_mean {
	u64 samples, total, mean;
};

/* struct as_io_context. Zeroed: no history. */
struct core_process {
	struct core_process *next, *prev;	/* in antic.processes */
	u32 queued;		/* requests in the sorted lists */
	u32 listed;		/* requests in the dispatch list */
	u32 in_device;
	bool known;		/* linked into antic.processes */
	bool exited;		/* the core's copy of an exited process */
	bool io_started;	/* AS_TASK_IOSTARTED: has issued a sync request */
	bool io_running;	/* AS_TASK_IORUNNING: one has completed */
	struct antic_moment last_end;	/* its completion */
	u64 last_pos;		/* end of the last sync request */
	struct antic_mean think;
	struct antic_mean seek;
};

/* Averages over first requests, for processes without history. */
struct antic_newcomers {
	u64 exit_prob;		/* of exiting while waited for, of 256 */
	u64 exit_no_coop;	/* that no cooperating process follows, of 256 */
	u64 think_total, think_mean;	/* ticks */
	u64 seek_total, seek_mean;	/* sectors */
};

enum antic_place { ANTIC_NONE, ANTIC_QUEUED, ANTIC_LISTED, ANTIC_DEVICE };

struct antic_slot {
	struct core_process *process;
	u64 sector, seq;
	u64 expires;		/* ticks */
	u32 nr_sectors;
	u32 before, after;	/* in the FIFO or the dispatch list */
	u8 place;
	bool write, sync;
	bool barrier;		/* inserted at the head: nothing is sorted before it */
};

struct antic_chain {
	u32 head, tail;
};

struct antic_class {
	u32 *sorted;		/* tags by first sector, which is unique */
	u32 nr;
	struct antic_chain fifo;
	u32 next;		/* in elevator order; valid if nr > 0 */
	u64 last_sector;	/* end of the last dispatch */
	u64 last_check;		/* of the FIFO, in ticks */
	bool was_checked;
};

enum antic_state {
	ANTIC_OFF,
	ANTIC_WAIT_REQ,		/* a request is still in the device, the timer is not armed */
	ANTIC_WAIT_NEXT,	/* until the timer expires */
	ANTIC_FINISHED,		/* the next dispatch may not wait again */
};

/* How long to wait after the process's last completion. */
struct antic_period {
	u64 amount;
	bool exact;		/* nanoseconds, otherwise ticks */
};

/* A wait begins, or continues after an arrival. */
enum antic_phase { ANTIC_BEGIN, ANTIC_CONTINUE };

/* A sync arrival, and its process's history before it. */
struct antic_arrival {
	struct core_process *process;	/* to which it is accounted */
	struct antic_moment now;
	u64 sector;
	bool first;			/* of its process: the members below are invalid */
	bool ended;			/* an earlier request has completed, at last_end */
	bool nothing_outstanding;
	struct antic_moment last_end;
	u64 last_pos;
};

enum antic_ending { ANTIC_SUCCESS, ANTIC_FAILURE, ANTIC_CANCELLED };

struct antic;

/* Where the schedulers differ. */
struct antic_rule {
	bool (*is_on)(const struct antic *antic);
	struct antic_period (*period)(struct antic *antic, struct core_process *process);
	bool (*refuses)(struct antic *antic, struct antic_moment now, enum antic_phase phase);
	/* period() applies to a wait that has begun, too. */
	bool period_is_current;
	/* Whether the awaited process's mean seek distance is close. */
	bool (*mean_seek_is_close)(const struct antic *antic);
	void (*learn)(struct antic *antic, const struct antic_arrival *arrival);
	/* @wait_ns counts from the last completion. May be NULL. */
	void (*ended)(struct antic *antic, struct core_process *process, enum antic_ending ending,
		      u64 wait_ns);
};

struct antic {
	const struct antic_rule *rule;
	u32 tags, hz;
	size_t process_size;
	u64 fifo_expire[ANTIC_CLASSES], batch_expire[ANTIC_CLASSES];
	u64 antic_expire;
	bool drain, front_merge, first_write;

	struct antic_class classes[ANTIC_CLASSES];
	struct antic_chain list;
	u64 list_end;			/* end of the last issue */
	u32 nr_listed;
	u32 last_merge;			/* one-hit cache */
	u8 dir;				/* class of the batch */
	bool changed;			/* the device still has requests of the previous batch */
	bool new_batch;			/* no sync request of the batch has completed */
	bool write_idled;		/* the write batch had no contention */
	u64 batch_expires;		/* ticks */
	u64 write_count, writes_left;	/* per batch, adaptive; left in this one */
	u32 nr_dispatched;		/* on the dispatch list and in the device */

	enum antic_state state;
	struct antic_moment antic_start;	/* last completion of a request of awaited */
	u64 antic_ends;			/* in ANTIC_WAIT_NEXT */
	struct core_process *awaited;	/* process of the last dispatch if that was sync */
	bool awaited_done;		/* one of its requests has completed since */
	struct antic_newcomers newcomers;
	struct core_anticipation counts;

	struct core_process *processes;
	struct antic_slot *slots;
	u8 *exited_records;		/* tags + 1 records */
};

/* In row order. A scheduler's own tunables follow. */
enum {
	ANTIC_READ_EXPIRE, ANTIC_WRITE_EXPIRE, ANTIC_READ_BATCH_EXPIRE, ANTIC_WRITE_BATCH_EXPIRE,
	ANTIC_ANTIC_EXPIRE, ANTIC_DRAIN, ANTIC_FRONT_MERGE, ANTIC_FIRST_WRITE, ANTIC_TUNABLES
};

#define ANTIC_MAX_MS 0x7fffffff
/* Defaults at 1000 ticks per second; 2.6.20 defines fractions of HZ. */
#define ANTIC_TUNABLE_ROWS \
	{ "read_expire", "ms", 0, ANTIC_MAX_MS, 125 }, \
	{ "write_expire", "ms", 0, ANTIC_MAX_MS, 250 }, \
	{ "read_batch_expire", "ms", 0, ANTIC_MAX_MS, 500 }, \
	{ "write_batch_expire", "ms", 0, ANTIC_MAX_MS, 125 }, \
	{ "antic_expire", "ms", 0, ANTIC_MAX_MS, 6 }, \
	{ "drain", "switch", 0, 1, 0 }, \
	{ "front_merge", "switch", 0, 1, 0 }, \
	{ "first_write", "switch", 0, 1, 0 }

size_t antic_state_size(u32 tags, size_t own_size, size_t process_size);
void antic_init(struct antic *antic, const struct core_config *config,
		const struct antic_rule *rule, size_t own_size, size_t process_size);

u64 antic_ticks(const struct antic *antic, u64 ns);
u64 antic_ticks_up(const struct antic *antic, u64 ns);

/* Rule 8 of as_can_break_anticipation(). */
bool antic_thinks_too_long(const struct antic *antic);

/* Requires a queued sync request. The higher sector on a tie. */
u64 antic_nearest(const struct antic *antic, u64 sector);

/*
 * The operations that all schedulers share; @core is a struct antic. In 2.6.20 they are
 * as_add_request(), as_dispatch_request(), as_completed_request(), as_antic_timeout(),
 * as_may_queue(), as_merge(), as_merged_request() and as_merged_requests().
 */
void antic_insert(void *core, u64 now, const struct core_request *rq, bool at_head);
u32 antic_dispatch(void *core, u64 now);
void antic_complete(void *core, u64 now, u32 tag);
u32 antic_held(const void *core);
u64 antic_next_timer(const void *core);
void antic_on_timer(void *core, u64 now);
bool antic_may_exceed(const void *core, const struct core_process *process);
u32 antic_find_front_merge(void *core, const struct core_request *bio, u32 max_sectors);
bool antic_allow_merge(const void *core, u32 tag, const struct core_request *bio,
		       enum core_merge how);
void antic_merged(void *core, u64 now, const struct core_request *after);
void antic_coalesced(void *core, u64 now, u32 survivor, u32 gone);
void antic_exited(void *core, u64 now, struct core_process *process);
u64 antic_get(const void *core, u32 tunable);
void antic_set(void *core, u32 tunable, u64 value);
void antic_anticipation(const void *core, struct core_anticipation *out);

#endif
