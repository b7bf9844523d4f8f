/* SPDX-License-Identifier: GPL-2.0 */
/*
 * blk-mq glue for an elevator whose decisions a core makes (core_ops in core/elevator.h).
 *
 * These objects (iosched-*.o) are linked into each elevator's module, which registers exactly one
 * core. They map tags to requests, find merges, count requests in the driver, run the timer and
 * export tunables.
 *
 * Idling: ->dispatch_request returns NULL with requests held, and ->has_work returns false so that
 * blk-mq does not poll every 3 ms. Insertions, completions and the timer run the queue again. A
 * completion marks the hctx for restart; blk_mq_free_request() runs it once the driver tag is free.
 *
 * max_inflight: idling is useless while the drive has other requests, and a drive that reorders
 * requests undoes the core's order. The default is 1 on rotational devices, as under 2.6.20 without
 * command queueing. It is 0 (no limit) on other devices and with core_ops.shares.
 *
 * A requeue is not reported to the elevator: a request with driver state (RQF_DONTPREP) bypasses
 * it, any other one returns through ->insert_requests.
 */
#ifndef SCHEDLAB_IOSCHED_H
#define SCHEDLAB_IOSCHED_H

#define COMPAT_ELEVATOR
#include "compat.h"
#include "core/elevator.h"

/* In rq->elv.priv[1] of a prepared request. */
enum iosched_rq_state {
	IOSCHED_RQ_NONE,		/* not inserted, completed or merged away */
	IOSCHED_RQ_HELD,		/* in the core, may be merged */
	IOSCHED_RQ_REQUEUED,		/* in the core again, not merged */
	IOSCHED_RQ_BYPASS,		/* in bypass_list */
	IOSCHED_RQ_ISSUED,		/* dispatched by the core */
	IOSCHED_RQ_BYPASS_ISSUED,	/* dispatched from bypass_list */
};

/* A tag from insertion to completion. */
struct iosched_slot {
	struct request *rq;
	u64 seq;
};

struct iosched {
	struct request_queue *q;
	const struct core_ops *ops;
	void *core;
	struct hrtimer timer;
	/* For requests without an io_cq and bios of unknown processes. */
	struct core_process *anonymous;
	struct iosched_slot *slots;
	u32 tags;		/* of the core */
	u32 queue_tags;		/* per hctx, or of all if shared */
	bool shared_tags;

	/*
	 * Protects the core and all members below. Nests inside ioc->lock and q->queue_lock
	 * (->exit_icq), so neither may be taken and no request freed under it. Taken in hard
	 * interrupt context.
	 */
	spinlock_t lock;
	u64 now;		/* last time passed to the core; CPUs may differ */
	u64 seq;
	u64 timer_ns;		/* expiry of the timer, or CORE_NEVER */
	u64 max_inflight;	/* 0: no limit */
	u32 in_flight;		/* prepared requests in the driver */
	u32 held;		/* requests in the core */
	bool idle;		/* the core idles with requests held */
	/* Not for the core: discards, insertions at the head, unprepared requests. */
	struct list_head bypass_list;
	/* Submitter of the bio being merged, or NULL. */
	struct core_process *merging;
	struct list_head icqs;	/* io_cqs whose exit is not reported yet */
	struct core_anticipation past;	/* of cores that iosched_resize() replaced */
	struct rb_root sort_list[2];	/* held requests by data direction */
};

/* A process is an io_context. The core's data follow. */
struct iosched_icq {
	struct io_cq icq;	/* must be first */
	struct list_head link;
	u32 nr_requests;	/* inserted and not completed */
	bool exited;		/* ->exit_icq has run */
	bool exit_reported;	/* core_ops.exited has run */
	u64 process[];
};

/* Adds the disk geometry from module parameters. */
typedef void iosched_configure_t(struct core_config *config);

/* iosched-main.c */
extern bool iosched_whole_depth;	/* of compat_measure_depth() */
int iosched_register(const struct core_ops *ops, iosched_configure_t *configure,
		     bool shows_internal);
void iosched_unregister(void);
/* Ends idling after an event to which the core may react. */
void iosched_restart(struct iosched *io);
/* Call after anything that can change core_ops.next_timer. */
void iosched_set_timer(struct iosched *io);

/* iosched-icq.c */
void iosched_put_icq(struct iosched *io, u64 now, struct iosched_icq *icq);
void iosched_init_icq(struct io_cq *io_cq);
void iosched_exit_icq(struct io_cq *io_cq);
void iosched_limit_depth(blk_opf_t opf, struct blk_mq_alloc_data *data);

/* iosched-requests.c */
void iosched_insert_requests(struct blk_mq_hw_ctx *hctx, struct list_head *list,
			     compat_insert_t flags);
struct request *iosched_dispatch_request(struct blk_mq_hw_ctx *hctx);
bool iosched_has_work(struct blk_mq_hw_ctx *hctx);
void iosched_prepare_request(struct request *rq);
void iosched_completed_request(struct request *rq, u64 now);
void iosched_finish_request(struct request *rq);

/* iosched-merge.c */
void iosched_add_sorted(struct iosched *io, struct request *rq);
void iosched_del_sorted(struct iosched *io, struct request *rq);
void iosched_unhash_aliases(struct iosched *io, struct request *rq);
bool iosched_bio_merge(struct request_queue *q, struct bio *bio, unsigned int nr_segs);
int iosched_request_merge(struct request_queue *q, struct request **out, struct bio *bio);
bool iosched_allow_merge(struct request_queue *q, struct request *rq, struct bio *bio);
void iosched_request_merged(struct request_queue *q, struct request *rq, enum elv_merge type);
void iosched_requests_merged(struct request_queue *q, struct request *rq, struct request *next);
struct request *iosched_former_request(struct request_queue *q, struct request *rq);
struct request *iosched_next_request(struct request_queue *q, struct request *rq);

/* iosched-attrs.c */
extern compat_entry_t iosched_attrs[];
extern const struct blk_mq_debugfs_attr iosched_debugfs_attrs[];
int iosched_init_attrs(const struct core_ops *ops, bool shows_internal);

static inline struct iosched *iosched_of(struct request_queue *q)
{
	return q->elevator->elevator_data;
}

static inline struct iosched_icq *to_iosched_icq(struct io_cq *icq)
{
	return container_of(icq, struct iosched_icq, icq);
}

static inline struct core_process *icq_process(struct iosched_icq *icq)
{
	return (struct core_process *)icq->process;
}

static inline enum iosched_rq_state rq_state(const struct request *rq)
{
	return (enum iosched_rq_state)(uintptr_t)rq->elv.priv[1];
}

static inline void rq_set_state(struct request *rq, enum iosched_rq_state state)
{
	rq->elv.priv[1] = (void *)(uintptr_t)state;
}

static inline struct iosched_icq *rq_icq(const struct request *rq)
{
	return rq->elv.priv[0];
}

/* The scheduler tag, unique over all hctxs. */
static inline u32 rq_core_tag(const struct iosched *io, const struct request *rq)
{
	u32 base = io->shared_tags ? 0 : rq->mq_hctx->queue_num * io->queue_tags;

	return base + rq->internal_tag;
}

/* Times passed to the core never decrease. */
static inline u64 iosched_clock(struct iosched *io, u64 now)
{
	io->now = max(io->now, now);
	return io->now;
}

/* ->has_work reads these counters without the lock. */
static inline void iosched_add_held(struct iosched *io, int nr)
{
	WRITE_ONCE(io->held, io->held + nr);
}

static inline void iosched_add_in_flight(struct iosched *io, int nr)
{
	WRITE_ONCE(io->in_flight, io->in_flight + nr);
}

static inline bool iosched_has_budget(const struct iosched *io)
{
	u64 max = READ_ONCE(io->max_inflight);

	return !max || READ_ONCE(io->in_flight) < max;
}

/* As in the block layer, no class is the middle level of best effort. */
static inline void iosched_fill_priority(struct core_request *out, unsigned short ioprio)
{
	out->prio_class = CORE_BEST_EFFORT;
	out->prio_level = ioprio & (IOPRIO_BE_NR - 1);
	switch (IOPRIO_PRIO_CLASS(ioprio)) {
	case IOPRIO_CLASS_RT:
		out->prio_class = CORE_REAL_TIME;
		break;
	case IOPRIO_CLASS_IDLE:
		out->prio_class = CORE_IDLE;
		break;
	case IOPRIO_CLASS_NONE:
		out->prio_level = IOPRIO_BE_NORM;
		break;
	}
}

static inline void iosched_fill_request(struct iosched *io, struct request *rq,
					struct core_request *out)
{
	struct iosched_icq *icq = rq_icq(rq);
	u32 tag = rq_core_tag(io, rq);

	*out = (struct core_request){
		.sector = blk_rq_pos(rq),
		.seq = io->slots[tag].seq,
		.allocated_ns = rq->start_time_ns,
		.process = icq ? icq_process(icq) : io->anonymous,
		.tag = tag,
		.nr_sectors = blk_rq_sectors(rq),
		.write = op_is_write(req_op(rq)),
		.sync = op_is_sync(rq->cmd_flags),
	};
	iosched_fill_priority(out, req_get_ioprio(rq));
}

#endif
