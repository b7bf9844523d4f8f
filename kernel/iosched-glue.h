/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What stands between blk-mq and a core of core/elevator.h: the state of one queue, and what a
 * module hands over to become an elevator. The core decides; the glue locks, keeps the requests by
 * their tags, finds merges, counts what the device has, runs the timer, and shows the tunables.
 * Each module includes iosched-glue.c as it is (a unit of its own would have to be linked into both
 * modules, which kbuild does not like), so everything there is static.
 */
#ifndef SCHEDLAB_IOSCHED_GLUE_H
#define SCHEDLAB_IOSCHED_GLUE_H

#define COMPAT_ELEVATOR
#include "compat.h"
#include "core/elevator.h"

/* Where a request is; in rq->elv.priv[1] of requests that were prepared. */
enum place {
	PLACE_NONE,		/* not inserted, or completed, or merged into another */
	PLACE_HELD,		/* in the core, and others can join it */
	PLACE_HELD_AGAIN,	/* in the core as the device gave it back; nothing joins */
	PLACE_ASIDE,		/* in the list of those that the core does not see */
	PLACE_DEVICE,		/* dispatched by the core */
	PLACE_DEVICE_ASIDE,	/* dispatched without the core */
};

/* A request by its tag, from its insertion to its completion. */
struct iosched_slot {
	struct request *rq;
	u64 seq;
};

struct iosched {
	struct request_queue *q;
	const struct core_ops *ops;
	void *core;
	struct hrtimer timer;
	/* Of those without a record of their own, and of pieces that are only compared. */
	struct core_process *anonymous;
	struct iosched_slot *slots;
	u32 tags;		/* that the core is made for */
	u32 queue_tags;		/* of each hardware queue, or of all together where they share them */
	bool shared_tags;

	/*
	 * Guards all below, the core, its slots and sizes. Taken inside of ioc->lock and
	 * q->queue_lock (exit_icq), so neither may be taken, and no request freed, while it is
	 * held. It is taken in interrupts (completion, timer).
	 */
	spinlock_t lock;
	/*
	 * What the core has been told last; the clocks of two processors' calls may arrive in the
	 * wrong order.
	 */
	u64 now;
	u64 seq;
	u64 armed;		/* when the timer fires, or CORE_NEVER */
	u64 max_inflight;	/* 0: no bound but the device's */
	u32 in_flight;		/* prepared requests that were dispatched and have not completed */
	u32 held;		/* in the core */
	/* The core holds requests and gives none until something happens. */
	bool idle;
	/*
	 * Requests that bypass the core: discards and other operations without a position, head
	 * inserts, unprepared ones.
	 */
	struct list_head aside;
	/* Processes that have not ended. */
	struct list_head records;
	/* What cores before this one have counted. */
	struct core_anticipation before;
	/* Held requests by sector, reads and writes apart: neighbours that could become one. */
	struct rb_root sorted[2];
};

/* A process (an io_context) at a queue. The core's record follows. */
struct iosched_icq {
	struct io_cq icq;	/* must be first */
	struct list_head link;	/* in iosched.records until the core is told of its end */
	u32 outstanding;	/* requests inserted and not completed */
	bool ended;		/* the process has ended */
	bool told;		/* and the core knows */
	u64 process[];
};

/* Fills in what the module's parameters say of the disk; NULL: nothing. */
typedef void iosched_configure_t(struct core_config *config);

#endif
