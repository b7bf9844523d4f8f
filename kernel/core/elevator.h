/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The interface of an elevator's core: the C counterpart of the trait Elevator of crates/elevator.
 *
 * The caller reports events with their times and requests dispatches, serialising all calls. A core
 * does not allocate, read a clock, lock, or use floating point. Requests are identified by tag,
 * processes by a record in the caller's memory. Times are nanoseconds of one monotonic clock.
 */
#ifndef SCHEDLAB_CORE_ELEVATOR_H
#define SCHEDLAB_CORE_ELEVATOR_H

#include "types.h"

#define CORE_NONE (~0u)		/* no tag */
#define CORE_NEVER (~0ull)	/* no timer */

/* core_ops.process_size bytes, aligned to 8, zeroed by the caller before first use. */
struct core_process;

enum core_class { CORE_REAL_TIME, CORE_BEST_EFFORT, CORE_IDLE };

struct core_request {
	u64 sector;
	u64 seq;			/* ascending in order of arrival, unique */
	u64 allocated_ns;
	struct core_process *process;	/* never NULL */
	u32 tag;			/* below the number of tags */
	u32 nr_sectors;
	bool write;
	bool sync;
	u8 prio_class;			/* enum core_class */
	u8 prio_level;			/* 0 to 7, the most urgent first */
};

/* struct Anticipation of crates/elevator. */
struct core_anticipation {
	u64 started, successes, failures, success_wait_ns, failure_wait_ns;
};

/* As in the row of the table ELEVATORS. */
struct core_tunable {
	const char *name, *unit;
	u64 min, max, initial;
};

struct core_config {
	u32 tags;
	u32 hz;				/* ticks per second; schedlab's default is 1000 */
	u64 sectors;			/* of the disk */
	/* Geometry and seek curve for wpcas, as in elevator::Geometry. */
	u64 cylinders, sectors_per_cylinder;
	const void *seek;		/* struct core_seek_curve of core/seek.h */
};

enum core_merge { CORE_NO_MERGE, CORE_FRONT_MERGE, CORE_BACK_MERGE };

struct core_ops {
	const char *name;
	size_t process_size;
	const struct core_tunable *tunables;
	u32 nr_tunables;
	u32 nr_internal;	/* the last tunables are internal */
	/*
	 * The core itself limits the driver's requests, merges only within a process, and expects a
	 * process's exit after its last request.
	 */
	bool shares;

	/* Bytes of zeroed memory, aligned to 8, to pass as @core. */
	size_t (*state_size)(u32 tags);
	void (*init)(void *core, const struct core_config *config);

	void (*insert)(void *core, u64 now, const struct core_request *rq, bool at_head);
	/* Or CORE_NONE; then repeating the call at the same time has no effect. */
	u32 (*dispatch)(void *core, u64 now);
	void (*complete)(void *core, u64 now, u32 tag);
	u32 (*held)(const void *core);
	u64 (*next_timer)(const void *core);
	void (*on_timer)(void *core, u64 now);
	bool (*may_exceed)(const void *core, const struct core_process *process);

	/* A held request that @bio can front-merge into, or CORE_NONE. */
	u32 (*front_merge)(void *core, const struct core_request *bio, u32 max_sectors);
	bool (*allow_merge)(const void *core, u32 tag, const struct core_request *bio,
			    enum core_merge how);
	void (*merged)(void *core, u64 now, const struct core_request *after);
	/* Both are held. merged() follows with the new extent. */
	void (*coalesced)(void *core, u64 now, u32 survivor, u32 gone);

	/* The caller may free the process's record afterwards. */
	void (*exited)(void *core, u64 now, struct core_process *process);

	u64 (*get)(const void *core, u32 tunable);
	void (*set)(void *core, u32 tunable, u64 value);
	void (*anticipation)(const void *core, struct core_anticipation *out);
};

extern const struct core_ops core_anticipatory, core_wpcas, core_occupancy;

#endif
