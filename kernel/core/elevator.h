/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What an elevator's core is: the C counterpart of the trait Elevator of crates/elevator. It is told what happened and when, and
 * answers what to do next. No allocation, no clock, no lock, no floating point; requests are known by their tags, processes by a
 * record that the caller keeps. The caller serialises all calls.
 *
 * Times are nanoseconds of one clock that never goes back.
 */
#ifndef SCHEDLAB_CORE_ELEVATOR_H
#define SCHEDLAB_CORE_ELEVATOR_H

#include "types.h"

#define CORE_NONE (~0u)		/* no tag */
#define CORE_NEVER (~0ull)	/* no timer */

/* A process that asks: core_ops.process_size bytes, zeroed by the caller before the first use, aligned to 8. */
struct core_process;

struct core_request {
	u64 sector;
	u64 seq;			/* ascending in order of arrival, unique */
	u64 allocated_ns;
	struct core_process *process;	/* never NULL */
	u32 tag;			/* below the number of tags */
	u32 nr_sectors;
	bool write;
	bool sync;
};

/* What idling on purpose has cost and brought: struct Anticipation of crates/elevator. */
struct core_anticipation {
	u64 started, successes, failures, success_wait_ns, failure_wait_ns;
};

/* A tunable, as in the row of the table ELEVATORS: same name, unit, range and default. */
struct core_tunable {
	const char *name, *unit;
	u64 min, max, initial;
};

/* What a core is made with. */
struct core_config {
	u32 tags;
	u32 hz;				/* ticks a second by which it counts; the laboratory's default is 1000 */
	u64 sectors;			/* of the disk */
	/* For wpcas: the geometry and seek curve that it is configured with, as elevator::Geometry. */
	u64 cylinders, sectors_per_cylinder;
	const void *seek;		/* struct core_seek_curve of core/seek.h */
};

enum core_merge { CORE_NO_MERGE, CORE_FRONT_MERGE, CORE_BACK_MERGE };

struct core_ops {
	const char *name;
	size_t process_size;
	const struct core_tunable *tunables;
	u32 nr_tunables;

	size_t (*state_size)(u32 tags);	/* bytes that the caller allocates, zeroed, aligned to 8 */
	void (*init)(void *core, const struct core_config *config);

	void (*insert)(void *core, u64 now, const struct core_request *rq, bool at_head);
	/* The tag of the request that the device shall get now, or CORE_NONE; asking again at the same time changes nothing. */
	u32 (*dispatch)(void *core, u64 now);
	/* The device has finished the request with this tag. */
	void (*complete)(void *core, u64 now, u32 tag);
	u32 (*held)(const void *core);
	u64 (*next_timer)(const void *core);	/* or CORE_NEVER */
	void (*on_timer)(void *core, u64 now);
	bool (*may_exceed)(const void *core, const struct core_process *process);

	/* A held request that a piece could join, other than by the hash of ends; its tag, or CORE_NONE. */
	u32 (*front_merge)(void *core, const struct core_request *piece, u32 max_sectors);
	bool (*allow_merge)(const void *core, u32 tag, const struct core_request *piece, enum core_merge how);
	/* A held request has grown: `after` is it now. */
	void (*merged)(void *core, u64 now, const struct core_request *after);
	/* The held request `gone` was taken into the held request `survivor`, which is still as it was; merged() follows. */
	void (*coalesced)(void *core, u64 now, u32 survivor, u32 gone);

	/* A process has ended; its record may be freed afterwards. */
	void (*exited)(void *core, u64 now, struct core_process *process);

	u64 (*get)(const void *core, u32 tunable);
	void (*set)(void *core, u32 tunable, u64 value);
	void (*anticipation)(const void *core, struct core_anticipation *out);
};

extern const struct core_ops core_anticipatory, core_wpcas;

#endif
