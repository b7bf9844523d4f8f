/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The interface of an elevator's core, see struct core_ops.
 */
#ifndef SCHEDLAB_CORE_ELEVATOR_H
#define SCHEDLAB_CORE_ELEVATOR_H

#include "types.h"

#define CORE_NONE (~0u)		/* no tag */
#define CORE_NEVER (~0ull)	/* no timer */

/* core_ops.process_size bytes, aligned to 8, zeroed before first use. */
struct core_process;

enum core_class { CORE_REAL_TIME, CORE_BEST_EFFORT, CORE_IDLE };

struct core_request {
	u64 sector;
	u64 seq;			/* order of arrival, unique */
	u64 allocated_ns;
	struct core_process *process;	/* never NULL */
	u32 tag;			/* less than core_config.tags */
	u32 nr_sectors;
	bool write;
	bool sync;
	u8 prio_class;			/* enum core_class */
	u8 prio_level;			/* 0 (most urgent) to 7 */
};

/* Waits for the next request of a process; struct Anticipation of crates/elevator. */
struct core_anticipation {
	u64 started, successes, failures, success_wait_ns, failure_wait_ns;
};

struct core_tunable {
	const char *name, *unit;
	u64 min, max, initial;
};

struct core_config {
	u32 tags;
	u32 hz;				/* ticks per second of algorithms with jiffies */
	u64 sectors;			/* capacity of the disk */
	/* For wpcas, as in elevator::Geometry. */
	u64 cylinders, sectors_per_cylinder;
	const void *seek;		/* struct core_seek_curve */
};

enum core_merge { CORE_NO_MERGE, CORE_FRONT_MERGE, CORE_BACK_MERGE };

/*
 * The core holds requests and decides; the caller does everything else. In the kernel the caller is
 * the blk-mq glue of iosched.h, which owns struct request, the lock, the clock and the timer, and
 * maps elevator_mq_ops to these operations. In tests the caller is crates/kernel-model, which gives
 * the same events to a core and to the Rust elevator of the same name and compares the dispatches.
 * The additional layer exists for this comparison: both callers use the same code.
 *
 * The caller serialises all calls and passes the time of each event, in nanoseconds of one
 * monotonic clock. A core does not allocate, lock, read a clock or use floating point.
 */
struct core_ops {
	const char *name;
	size_t process_size;
	const struct core_tunable *tunables;
	u32 nr_tunables;
	u32 nr_internal;	/* the last ones; in sysfs only if asked for */
	/*
	 * The core itself limits the requests in the driver and merges only requests of the same
	 * process. A process exits after its last completion.
	 */
	bool shares;

	/* Size of @core: zeroed memory, aligned to 8. */
	size_t (*state_size)(u32 tags);
	void (*init)(void *core, const struct core_config *config);

	void (*insert)(void *core, u64 now, const struct core_request *rq, bool at_head);
	/* CORE_NONE: the core idles. Repeating the call at the same time has no effect. */
	u32 (*dispatch)(void *core, u64 now);
	void (*complete)(void *core, u64 now, u32 tag);
	u32 (*held)(const void *core);
	u64 (*next_timer)(const void *core);
	void (*on_timer)(void *core, u64 now);
	/*
	 * Whether a request of @process may take a tag beyond the limit. With @shares: whether a
	 * write may; the caller holds no lock, and @process is NULL.
	 */
	bool (*may_exceed)(const void *core, const struct core_process *process);

	/* A front merge candidate for @bio, or CORE_NONE. */
	u32 (*front_merge)(void *core, const struct core_request *bio, u32 max_sectors);
	bool (*allow_merge)(const void *core, u32 tag, const struct core_request *bio,
			    enum core_merge how);
	void (*merged)(void *core, u64 now, const struct core_request *after);
	/* Both are held. merged() follows with the survivor's new extent. */
	void (*coalesced)(void *core, u64 now, u32 survivor, u32 gone);

	/* The caller may free the record afterwards. */
	void (*exited)(void *core, u64 now, struct core_process *process);

	u64 (*get)(const void *core, u32 tunable);
	void (*set)(void *core, u32 tunable, u64 value);
	void (*anticipation)(const void *core, struct core_anticipation *out);
};

extern const struct core_ops core_anticipatory, core_wpcas, core_occupancy;

#endif
